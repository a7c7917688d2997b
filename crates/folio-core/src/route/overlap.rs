//! Finds routes that take the same requests, and patterns that match none.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use folio_model::{Edit, Kind, PathTemplate, RoutePath, RouteSpec, TriggerSpec, UnitKey, UnitUid};

use super::Error;
use crate::domain;
use crate::ports::{Page, StandingTrigger, State, StoreError};

/// How large a placeholder's compiled pattern may be.
const PATTERN_SIZE_MAX: usize = 64 * 1024;

/// Every route by the shape of its path, so that finding one that is in the way costs one lookup. Follows the
/// ledger: what it knows is brought up to the state it is asked about.
#[derive(Default)]
pub(crate) struct Paths(Mutex<Rows>);

#[derive(Default)]
struct Rows {
    /// The entry that everything here stands at.
    as_of: u64,
    routes: HashMap<UnitUid, Standing>,
    by_shape: HashMap<String, BTreeSet<UnitUid>>,
}

struct Standing {
    key: UnitKey,
    spec: RouteSpec,
}

impl Paths {
    /// Forgets everything: what was read belongs to a transaction that may not have happened.
    pub(crate) fn forget(&self) {
        *self.lock() = Rows::default();
    }

    /// Refuses a route whose host, path and a method another route has, or whose host is another app's.
    pub(super) fn check(
        &self,
        state: &dyn State,
        key: &UnitKey,
        spec: &RouteSpec,
    ) -> Result<(), Error> {
        if let Some(foreign) = foreign(state, key, spec)? {
            return Err(foreign);
        }
        let mut rows = self.lock();
        rows.catch_up(state)?;
        let same = rows.by_shape.get(&shape(&spec.path)).into_iter().flatten();
        let others = same.filter_map(|uid| rows.routes.get(uid));
        let mut clashes = others.filter(|other| other.key != *key);
        match clashes.find_map(|other| clash((key, spec), (&other.key, &other.spec))) {
            Some(taken) => Err(taken),
            None => Ok(()),
        }
    }

    // Nothing that holds the lock leaves the rows half changed: what they know is read before it is put there.
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn catch_up(&mut self, state: &dyn State) -> Result<(), StoreError> {
        const ENTRIES_MAX: u64 = 256;
        let head = state.head()?;
        if head < self.as_of || head - self.as_of > ENTRIES_MAX {
            let standing = state.triggers()?;
            *self = Self { as_of: head, ..Self::default() };
            for StandingTrigger { unit, spec } in standing {
                if let TriggerSpec::Http(spec) = spec {
                    self.put(unit.uid, Some(Standing { key: unit.key, spec }));
                }
            }
            return Ok(());
        }
        let page = Page { after: self.as_of, limit: usize::MAX };
        let mut changed = BTreeSet::new();
        for entry in state.entries(None, page)? {
            for edit in &entry.edits {
                let made = matches!(edit, Edit::CreateUnit { key, .. } | Edit::RestoreUnit { key, .. }
                    if key.kind == Kind::Trigger);
                let concerns = |uid: &UnitUid| made || self.routes.contains_key(uid);
                changed.extend(edit.unit().filter(concerns));
            }
        }
        for uid in changed {
            let unit = state.unit_by_uid(uid)?.filter(|unit| unit.latest.is_some());
            let standing = match unit {
                Some(unit) => {
                    let route = super::latest(state, &unit)?;
                    route.map(|(_, spec)| Standing { key: unit.key, spec })
                }
                None => None,
            };
            self.put(uid, standing);
        }
        self.as_of = head;
        Ok(())
    }

    fn put(&mut self, uid: UnitUid, standing: Option<Standing>) {
        if let Some(before) = self.routes.remove(&uid) {
            let shape = shape(&before.spec.path);
            if let Some(same) = self.by_shape.get_mut(&shape) {
                same.remove(&uid);
                if same.is_empty() {
                    self.by_shape.remove(&shape);
                }
            }
        }
        if let Some(standing) = standing {
            self.by_shape.entry(shape(&standing.spec.path)).or_default().insert(uid);
            self.routes.insert(uid, standing);
        }
    }
}

/// The refusal of a route that takes what another one takes that stays, if one does. Reads every route there is.
pub(crate) fn taken(
    state: &dyn State,
    (key, spec): (&UnitKey, &RouteSpec),
    stays: impl Fn(UnitUid) -> bool,
) -> Result<Option<Error>, StoreError> {
    if let Some(foreign) = foreign(state, key, spec)? {
        return Ok(Some(foreign));
    }
    let others = state.triggers()?.into_iter().filter(|other| stays(other.unit.uid));
    let mut others = others.map(|StandingTrigger { unit, spec: theirs }| {
        let TriggerSpec::Http(theirs) = theirs else { return None };
        let same = shape(&spec.path) == shape(&theirs.path);
        same.then(|| clash((key, spec), (&unit.key, &theirs))).flatten()
    });
    Ok(others.find_map(|clash| clash))
}

/// The refusals of routes that take what another of them takes, or one that is there and not replaced. Reads every
/// route there is.
pub(crate) fn clashes(
    state: &dyn State,
    wanted: &[(UnitKey, &RouteSpec)],
    replaced: &BTreeSet<UnitUid>,
) -> Result<Vec<(usize, Error)>, StoreError> {
    let standing = state.triggers()?;
    let stays = standing.iter().filter(|standing| !replaced.contains(&standing.unit.uid));
    let mut by_shape: HashMap<String, Vec<(&UnitKey, &RouteSpec)>> = HashMap::new();
    for StandingTrigger { unit, spec } in stays {
        let TriggerSpec::Http(spec) = spec else { continue };
        by_shape.entry(shape(&spec.path)).or_default().push((&unit.key, spec));
    }
    let mut found = Vec::new();
    for (place, (key, spec)) in wanted.iter().enumerate() {
        let same = by_shape.entry(shape(&spec.path)).or_default();
        let taken = same.iter().find_map(|other| clash((key, spec), *other));
        let refused = foreign(state, key, spec)?.or(taken);
        found.extend(refused.map(|error| (place, error)));
        same.push((key, spec));
    }
    Ok(found)
}

/// The refusal of a route for another one with a path of the same shape, if they share host and method.
fn clash(
    (key, spec): (&UnitKey, &RouteSpec),
    (other, theirs): (&UnitKey, &RouteSpec),
) -> Option<Error> {
    // A host that is written out is the same for every app; the app's own hosts are not.
    let same_app = other.app == key.app;
    if spec.host != theirs.host || !(same_app || spec.host.is_some()) {
        return None;
    }
    let host = spec.host.as_deref().unwrap_or_default();
    Some(Error::Taken {
        methods: shared_methods(spec, theirs)?,
        path: format!("{host}{}", spec.path.as_str()),
        other: other.name.clone(),
        app: if same_app { String::new() } else { other.app.to_string() },
    })
}

/// The refusal of a route whose host is another app's domain.
fn foreign(
    state: &dyn State,
    key: &UnitKey,
    spec: &RouteSpec,
) -> Result<Option<Error>, StoreError> {
    let Some(host) = &spec.host else { return Ok(None) };
    let found = domain::of_another(state, &key.app, host)?;
    Ok(found.map(|found| Error::ForeignDomain { host: host.clone(), app: found.app }))
}

/// What two paths have in common that match the same: the names of placeholders are left out.
fn shape(path: &RoutePath) -> String {
    let path = match path {
        RoutePath::Prefix { path, .. } => return format!("{}/**", path.trim_end_matches('/')),
        RoutePath::Exact(path) => path,
    };
    let Ok(template) = PathTemplate::parse(path) else { return path.clone() };
    let mut shape = path.clone();
    for name in template.parameters() {
        shape = shape.replacen(&format!("{{{name}"), "{", 1);
    }
    shape
}

fn shared_methods(a: &RouteSpec, b: &RouteSpec) -> Option<String> {
    let listed = |methods: Vec<&String>| {
        let methods: Vec<_> = methods.into_iter().map(String::as_str).collect();
        (!methods.is_empty()).then(|| methods.join(", "))
    };
    match (a.methods.is_empty(), b.methods.is_empty()) {
        (true, true) => Some("every method of".to_owned()),
        (true, false) => listed(b.methods.iter().collect()),
        (false, true) => listed(a.methods.iter().collect()),
        (false, false) => listed(a.methods.intersection(&b.methods).collect()),
    }
}

/// Refuses patterns that cannot be compiled.
pub(crate) fn check_patterns(spec: &RouteSpec) -> Result<(), Error> {
    let RoutePath::Exact(path) = &spec.path else { return Ok(()) };
    let Ok(template) = PathTemplate::parse(path) else { return Ok(()) };
    for pattern in template.patterns() {
        let compiled = regex::RegexBuilder::new(pattern).size_limit(PATTERN_SIZE_MAX).build();
        if let Err(error) = compiled {
            let why = error.to_string().lines().last().unwrap_or_default().to_owned();
            return Err(Error::Pattern { pattern: pattern.to_owned(), why });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_placeholders_make_no_difference() {
        let exact = |path: &str| RoutePath::Exact(path.to_owned());
        let check = |a: &str, b: &str, same: bool| {
            assert_eq!(shape(&exact(a)) == shape(&exact(b)), same, "{a} {b}");
        };
        check("/a/{id}", "/a/{name}", true);
        check("/a/{id:[0-9]+}", "/a/{name:[0-9]+}", true);
        check("/a/{id:[0-9]+}", "/a/{name}", false);
        check("/a", "/b", false);
        let prefix = |path: &str| RoutePath::Prefix { path: path.to_owned(), keep: false };
        assert_eq!(shape(&prefix("/a/")), shape(&prefix("/a")));
        assert_ne!(shape(&prefix("/a")), shape(&exact("/a")));
    }
}
