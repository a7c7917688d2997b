//! What units were at an entry: what they are now, with everything taken back that happened since.
//!
//! Every edit names what it replaces, so nothing has to be kept for this; the cost is that of reading what happened
//! since. How a unit stands otherwise, as whether its build has ended and what is live, is told as it is now. Start at
//! [`Past::read`].

use std::collections::{BTreeMap, BTreeSet, HashMap};

use folio_model::{
    AppName, Draft, Edit, Kind, Marks, Name, Number, Place, Pointer, Unit, UnitKey, UnitUid,
    Version, VersionKey,
};

use super::{LiveVersions, ObjectView, Shown, Standing, units_of};
use crate::apply::object::marks;
use crate::ports::{Page, State, StoreError};
use crate::view;

/// Entries that are read at once.
const PAGE: usize = 500;

/// What units of one kind were at an entry, as far as they were touched since.
#[derive(Default)]
pub(super) struct Past {
    at: u64,
    units: HashMap<UnitUid, Before>,
    /// Those that were there, by name.
    there: BTreeMap<(AppName, Name), UnitUid>,
}

/// What a unit was before it was touched. What is not said here was as it is now.
#[derive(Default)]
struct Before {
    key: Option<UnitKey>,
    was_there: Option<bool>,
    draft: Option<Option<Draft>>,
    marks: Option<Option<Marks>>,
    /// The versions that came or went, and what they were; none for those that were not there.
    versions: BTreeMap<Number, Option<Version>>,
    /// The versions that could not be called yet.
    readied: BTreeSet<Number>,
}

impl Past {
    /// Reads what happened after an entry, in an app or in all.
    pub(super) fn read(
        state: &dyn State,
        (app, kind): (Option<&AppName>, Kind),
        at: u64,
    ) -> Result<Self, StoreError> {
        let mut past = Self { at, ..Self::default() };
        let mut after = at;
        loop {
            let entries = state.entries(app, Page { after, limit: PAGE })?;
            let Some(last) = entries.last() else { break };
            after = last.seq;
            entries.iter().flat_map(|entry| &entry.edits).for_each(|edit| past.note(edit));
        }
        let mut units = std::mem::take(&mut past.units);
        for (uid, before) in &mut units {
            let now = state.unit_by_uid(*uid)?;
            let was_there = before.was_there.unwrap_or(now.is_some());
            before.key = before.key.take().or_else(|| now.map(|unit| unit.key));
            let key = before.key.as_ref().filter(|key| key.kind == kind && was_there);
            if let Some(UnitKey { app, name, .. }) = key {
                past.there.insert((app.clone(), name.clone()), *uid);
            }
        }
        past.units = units;
        Ok(past)
    }

    /// Notes what an edit replaced, unless an earlier one said so.
    fn note(&mut self, edit: &Edit) {
        for uid in units_of(edit) {
            let unit = self.units.entry(uid).or_default();
            match edit {
                Edit::CreateUnit { key, .. } | Edit::RestoreUnit { key, .. } => {
                    unit.was_there.get_or_insert(false);
                    unit.key.get_or_insert_with(|| key.clone());
                }
                Edit::DeleteUnit { key, .. } => {
                    unit.was_there.get_or_insert(true);
                    unit.key.get_or_insert_with(|| key.clone());
                }
                Edit::SetDraft { from, .. } => {
                    unit.draft.get_or_insert_with(|| from.clone());
                }
                Edit::Publish { version, .. } | Edit::RestoreVersion { version, .. } => {
                    unit.versions.entry(version.number).or_insert(None);
                }
                Edit::DeleteVersion { version, .. } => {
                    unit.versions.entry(version.number).or_insert_with(|| Some(version.clone()));
                }
                Edit::Built { readies, .. } => {
                    let own = readies.iter().filter(|key| key.unit == uid);
                    unit.readied.extend(own.map(|key| key.number));
                }
                Edit::Move { pointer: Pointer::Marks { .. }, from, .. } => {
                    unit.marks.get_or_insert_with(|| match from {
                        Some(Place::Marks(marks)) => Some((**marks).clone()),
                        _ => None,
                    });
                }
                _ => {}
            }
        }
    }

    /// The apps in which touched units were.
    pub(super) fn apps(&self) -> impl Iterator<Item = &AppName> {
        self.there.keys().map(|(app, _)| app)
    }

    /// Whether a unit was touched since, so that what it is now says nothing of what it was.
    pub(super) fn touches(&self, uid: UnitUid) -> bool {
        self.units.contains_key(&uid)
    }

    /// The touched units that were there in an app, after a name.
    pub(super) fn there(&self, app: &AppName, after: Option<&Name>) -> BTreeMap<Name, UnitUid> {
        let own = self.there.iter().filter(|((of, _), _)| of == app);
        let later = own.filter(|((_, name), _)| after.is_none_or(|after| name > after));
        later.map(|((_, name), uid)| (name.clone(), *uid)).collect()
    }

    /// A touched unit as it was; none if nothing of it could be seen.
    pub(super) fn seen(
        &self,
        state: &dyn State,
        uid: UnitUid,
        live: &mut LiveVersions,
    ) -> Result<Option<ObjectView>, StoreError> {
        let now = state.unit_by_uid(uid)?;
        let Some(before) = self.units.get(&uid) else { return Ok(None) };
        let Some(key) = before.key.clone() else { return Ok(None) };
        let newest = before.newest(state, (uid, now.as_ref()), Counted::All)?;
        let latest = before.newest(state, (uid, now.as_ref()), Counted::Ready)?;
        let drafted = now.as_ref().and_then(|unit| unit.draft.clone());
        let draft = before.draft.clone().unwrap_or(drafted);
        let unit = Unit {
            uid,
            key,
            origin: now.map_or(folio_model::Origin::User, |unit| unit.origin),
            owner: None,
            next_number: Number::FIRST,
            latest: latest.as_ref().map(|version| version.number),
            newest: newest.as_ref().map(|version| version.number),
            draft,
            revision: self.at,
        };
        let drafted = unit.draft.as_ref().map(|draft| draft.snapshot);
        let Some(digest) = drafted.or(newest.map(|version| version.snapshot)) else {
            return Ok(None);
        };
        let marks = match &before.marks {
            Some(marks) => marks.clone().map(|marks| (marks, self.at)),
            None => marks(state, &unit)?,
        };
        let spec = view::snapshot(state, digest)?;
        let standing = Standing {
            versions: before.count(state, uid)?,
            latest: latest.map(|latest| (latest.number, latest.id)),
            live: live.of(state, &unit)?,
            draft: unit.draft.is_some(),
            build: Some(view::build(state, &spec)?),
        };
        let shown = Shown { digest, spec, marks, first: None };
        super::object(state, &unit, shown, standing).map(Some)
    }
}

/// Which versions are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    All,
    Ready,
}

impl Before {
    /// The newest version there was.
    fn newest(
        &self,
        state: &dyn State,
        (unit, now): (UnitUid, Option<&Unit>),
        counted: Counted,
    ) -> Result<Option<Version>, StoreError> {
        let counts = |number: Number| match counted {
            Counted::All => Ok(true),
            Counted::Ready if self.readied.contains(&number) => Ok(false),
            Counted::Ready => state.is_ready(VersionKey { unit, number }),
        };
        let mut told = None;
        for version in self.versions.values().rev().flatten() {
            if counts(version.number)? {
                told = Some(version.clone());
                break;
            }
        }
        let newest = now.and_then(|now| now.newest).map(|number| VersionKey { unit, number });
        let mut left = newest.map(|key| state.version(key)).transpose()?.flatten();
        while let Some(version) = &left
            && (self.versions.contains_key(&version.number) || !counts(version.number)?)
        {
            left = state.version_before(VersionKey { unit, number: version.number })?;
        }
        Ok(told.into_iter().chain(left).max_by_key(|version| version.number))
    }

    /// How many versions there were.
    fn count(&self, state: &dyn State, unit: UnitUid) -> Result<u64, StoreError> {
        let mut count = state.version_count(unit)?;
        for (number, was) in &self.versions {
            let is = state.version(VersionKey { unit, number: *number })?.is_some();
            count += u64::from(was.is_some());
            count -= u64::from(is);
        }
        Ok(count)
    }
}
