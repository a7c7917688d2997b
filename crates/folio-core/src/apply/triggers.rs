//! Checks the triggers of an apply: each leads to functions that are asked for, to versions and aliases that are
//! there, and takes requests that no other takes.

use std::collections::BTreeSet;
use std::sync::Arc;

use folio_kinds::spec::Part;
use folio_model::{
    AppName, Kind, Name, Qualifier, RoutePath, RouteSpec, Snapshot, Target, TriggerSpec, UnitKey,
    UnitUid, VersionId, VersionKey,
};

use super::plan::place;
use super::unread::Unread;
use super::{Error, Fault, Scope, Wish};
use crate::ports::State;
use crate::timer::{Schedule, ScheduleError};
use crate::{resolve, route, trigger, view};

/// Where what triggers name may be.
pub(super) struct Within<'a> {
    pub(super) app: &'a AppName,
    pub(super) scope: Scope,
    pub(super) unread: &'a Unread,
    pub(super) taken: Taken,
    /// The aliases that are asked for beside the triggers, each of its function: they are checked by themselves.
    pub(super) aliases: BTreeSet<(&'a Name, &'a VersionId)>,
}

/// When what is asked for was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is to be.
    Now,
    /// It was there once.
    Before,
}

/// What is wrong with the triggers that are asked for, in the place of others.
pub(super) fn faults(
    state: &dyn State,
    within: &Within<'_>,
    wishes: &[Arc<Wish>],
    replaced: BTreeSet<UnitUid>,
) -> Result<Vec<Fault>, Error> {
    let app = within.app;
    let functions: BTreeSet<&Name> = wishes
        .iter()
        .filter(|wish| wish.spec.kind() == Kind::Function)
        .map(|wish| &wish.name)
        .collect();
    let mut faults = Vec::new();
    let mut routes = Vec::new();
    for wish in wishes {
        let Snapshot::Trigger(spec) = &wish.spec else { continue };
        for target in spec.targets() {
            if let Some(what) = lost(state, within, &functions, (wish, target))? {
                faults.push(wish.fault(Part::Targets, what));
            }
        }
        if let Err(what) = trigger::check_spec(state, app, spec)? {
            let is_timed = trigger::check_schedule(spec).is_ok();
            let part = if is_timed { Part::Targets } else { Part::Schedule };
            faults.push(wish.fault(part, what));
        }
        if within.taken == Taken::Now && !senseless(wish, spec, None).is_empty() {
            let base = standing(state, app, wish)?;
            faults.extend(senseless(wish, spec, base.as_ref()));
        }
        let TriggerSpec::Http(spec) = spec else { continue };
        if let Err(error) = route::check_patterns(spec) {
            faults.push(wish.fault(path_of(spec), error.to_string()));
        }
        routes.push((&**wish, spec));
    }
    // Of two that clash, the second one is at fault.
    routes.sort_by_cached_key(|(wish, _)| place(&wish.at));
    faults.extend(clashes(state, app, &routes, &replaced)?);
    Ok(faults)
}

/// What makes no sense in a trigger that is to be, and is left as it is in the one whose place it takes.
fn senseless(wish: &Wish, spec: &TriggerSpec, base: Option<&TriggerSpec>) -> Vec<Fault> {
    match spec {
        TriggerSpec::Http(spec) => {
            let base = match base {
                Some(TriggerSpec::Http(base)) => Some(base),
                _ => None,
            };
            let path = route::check_path(spec, base).map_err(|error| (path_of(spec), error));
            let host = route::check_host(spec, base).map_err(|error| (Part::Host, error));
            let wrong = [path, host].into_iter().filter_map(Result::err);
            wrong.map(|(part, error)| wish.fault(part, error.to_string())).collect()
        }
        TriggerSpec::Timer(timer) => {
            let says_the_same = matches!(base, Some(TriggerSpec::Timer(base))
                if base.cron == timer.cron && base.zone == timer.zone);
            match Schedule::parse(&timer.cron, timer.zone.as_deref()) {
                Err(error @ ScheduleError::Years(_)) if !says_the_same => {
                    vec![wish.fault(Part::Schedule, error.to_string())]
                }
                // Everything else is wrong in any timer.
                Ok(_) | Err(_) => Vec::new(),
            }
        }
        TriggerSpec::Queue(_) | TriggerSpec::Watch(_) => Vec::new(),
    }
}

/// Where a route says its path.
fn path_of(spec: &RouteSpec) -> Part {
    match spec.path {
        RoutePath::Exact(_) => Part::Path,
        RoutePath::Prefix { .. } => Part::Prefix,
    }
}

/// The trigger that is there by the name of one that is asked for.
fn standing(state: &dyn State, app: &AppName, wish: &Wish) -> Result<Option<TriggerSpec>, Error> {
    let key = UnitKey { app: app.clone(), kind: Kind::Trigger, name: wish.name.clone() };
    let Some(unit) = state.unit(&key)? else { return Ok(None) };
    let Some(number) = unit.latest else { return Ok(None) };
    let latest = state.version(VersionKey { unit: unit.uid, number })?;
    let snapshot = latest.map(|latest| view::snapshot(state, latest.snapshot)).transpose()?;
    Ok(match snapshot {
        Some(Snapshot::Trigger(spec)) => Some(spec),
        _ => None,
    })
}

/// Why a target leads nowhere, if it does.
fn lost(
    state: &dyn State,
    within: &Within<'_>,
    functions: &BTreeSet<&Name>,
    (wish, target): (&Wish, &Target),
) -> Result<Option<String>, Error> {
    let Within { app, scope, unread, .. } = *within;
    let named = target.name();
    if named.is_some_and(|name| !functions.contains(name) && unread.may_have(Kind::Function, name))
    {
        return Ok(None);
    }
    let known = match named {
        Some(name) if functions.contains(name) => true,
        Some(name) if scope == Scope::App => {
            let (app, kind) = (app.clone(), Kind::Function);
            let unit = state.unit(&UnitKey { app, kind, name: name.clone() })?;
            unit.is_some_and(|unit| unit.is_visible())
        }
        _ => false,
    };
    let Some(name) = named.filter(|_| known) else {
        let place = if scope == Scope::App { "app" } else { "specs" };
        let what = format!(
            "trigger '{}' references function '{}', which doesn't exist in the {place}",
            wish.name, target.function
        );
        return Ok(Some(what));
    };
    match &target.function.at {
        None | Some(Qualifier::Latest | Qualifier::Draft) => return Ok(None),
        Some(Qualifier::Named(alias)) if within.aliases.contains(&(name, alias)) => {
            return Ok(None);
        }
        Some(Qualifier::Named(_) | Qualifier::Number(_)) => {}
    }
    Ok(match resolve::resolve(state, app, Kind::Function, &target.function) {
        Ok(_) | Err(resolve::Error::Unready(_)) => None,
        Err(resolve::Error::Store(error)) => return Err(error.into()),
        Err(error) => Some(format!("trigger '{}' leads nowhere in '{name}': {error}", wish.name)),
    })
}

/// Routes that take requests of one another, or of a route that stays.
fn clashes(
    state: &dyn State,
    app: &AppName,
    routes: &[(&Wish, &RouteSpec)],
    replaced: &BTreeSet<UnitUid>,
) -> Result<Vec<Fault>, Error> {
    if routes.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = routes.iter().map(|(wish, spec)| {
        let key = UnitKey { app: app.clone(), kind: Kind::Trigger, name: wish.name.clone() };
        (key, *spec)
    });
    let wanted: Vec<_> = wanted.collect();
    let clashes = route::clashes(state, &wanted, replaced)?;
    let fault = |(place, error): (usize, route::Error)| {
        let (wish, spec) = routes[place];
        wish.fault(path_of(spec), error.to_string())
    };
    Ok(clashes.into_iter().map(fault).collect())
}
