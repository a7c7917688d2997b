//! What an entry's steps come to when taken back: the steps themselves, in the opposite order, and what they
//! remove and bring back, so that no check has to search all steps for each of them.

use std::collections::{BTreeMap, BTreeSet};

use folio_model::{
    Digest, Draft, Edit, Entry, Number, Place, Pointer, UnitKey, UnitUid, Version, VersionId,
    VersionKey,
};

use super::Error;
use crate::delete::guard::Leaving;
use crate::ports::{Page, State, StoreError};

/// The steps that take an entry back.
#[derive(Debug, Default)]
pub(super) struct Reversal {
    /// The entry they take back.
    pub(super) seq: u64,
    /// The steps, in order.
    pub(super) edits: Vec<Edit>,
    /// What they remove or move away.
    pub(super) leaving: Leaving,
    /// The versions they bring back, with their snapshots.
    restored: BTreeMap<VersionKey, Digest>,
    /// What they make of drafts.
    drafts: BTreeMap<UnitUid, Option<Draft>>,
    /// The units they bring back.
    returning: BTreeMap<UnitUid, UnitKey>,
    /// The units they remove.
    units_leaving: BTreeSet<UnitUid>,
}

impl Reversal {
    /// Turns an entry's steps around, on top of a state.
    pub(super) fn of(state: &dyn State, entry: Entry) -> Result<Self, Error> {
        let seq = entry.seq;
        let mut reversal = Self { seq, ..Self::default() };
        let mut edits = Vec::new();
        if entry.edits.iter().all(is_of_marks) {
            return Err(Error::Permanent(seq));
        }
        for edit in entry.edits.into_iter().rev() {
            if is_of_marks(&edit) && !is_forgetting(&edit) {
                // What is said about an object is of what it was then; it says itself what it is now. What went with
                // it is back with it.
                continue;
            }
            if entry.app_version.is_some() && is_of_releases(&edit) {
                // What takes a change back makes a release of its own; the one it made stays what it is.
                continue;
            }
            let inverse = taken_back(edit).ok_or(Error::Permanent(seq))?;
            let edit = as_it_stands(state, inverse)?;
            reversal.note(&edit);
            edits.push(edit);
        }
        for edit in edits {
            match &edit {
                Edit::DeleteUnit { uid, .. } if !reversal.empties(state, *uid)? => continue,
                Edit::DeleteUnit { uid, .. } => {
                    reversal.units_leaving.insert(*uid);
                    reversal.leaving.units.insert(*uid);
                }
                _ => {}
            }
            reversal.edits.push(edit);
        }
        Ok(reversal)
    }

    fn note(&mut self, edit: &Edit) {
        match edit {
            Edit::DeleteVersion { uid, version } => {
                self.leaving.versions.insert(key(*uid, version));
            }
            Edit::RestoreVersion { uid, version } => {
                self.restored.insert(key(*uid, version), version.snapshot);
            }
            Edit::SetDraft { uid, to, .. } => {
                self.leaving.drafts.insert(*uid);
                self.drafts.insert(*uid, to.clone());
            }
            Edit::RestoreUnit { uid, key } => {
                self.returning.insert(*uid, key.clone());
            }
            Edit::Move { pointer, to, .. } => {
                self.leaving.pointers.insert(pointer.clone());
                match (pointer, to) {
                    (_, None) => drop(self.leaving.gone.insert(pointer.clone())),
                    (Pointer::Alias { name, .. }, _) => drop(self.leaving.led.insert(name.clone())),
                    (_, Some(Place::Binding(binding))) => self.leaving.led.extend(binding.alias()),
                    _ => {}
                }
            }
            Edit::DeleteUnit { .. } | Edit::Describe { .. } | Edit::Own { .. } => {}
            Edit::CreateUnit { .. } | Edit::Publish { .. } => {}
            Edit::CreateApp { .. }
            | Edit::DeleteApp { .. }
            | Edit::AddToken { .. }
            | Edit::RevokeToken { .. }
            | Edit::Built { .. }
            | Edit::Forget { .. } => {}
        }
    }

    /// Whether nothing is left in a unit. One that the entry made goes only then: something else may have come
    /// to live in it.
    fn empties(&self, state: &dyn State, uid: UnitUid) -> Result<bool, StoreError> {
        let Some(unit) = state.unit_by_uid(uid)? else { return Ok(false) };
        let keeps_draft = unit.draft.is_some() && self.drafts.get(&uid) != Some(&None);
        let alias_goes = |name| self.leaving.gone.contains(&Pointer::Alias { unit: uid, name });
        let keeps_alias = !state.aliases(uid)?.into_iter().all(|alias| alias_goes(alias.name));
        Ok(!keeps_draft && !keeps_alias && !self.keeps_version(state, uid)?)
    }

    /// Whether a version is there afterwards.
    pub(super) fn survives(&self, state: &dyn State, key: VersionKey) -> Result<bool, StoreError> {
        let stays = !self.leaving.versions.contains(&key);
        Ok(stays && (self.restored.contains_key(&key) || state.version(key)?.is_some()))
    }

    /// Whether a unit has anything to see afterwards: a draft or a version.
    pub(super) fn shows(&self, state: &dyn State, unit: UnitUid) -> Result<bool, StoreError> {
        let draft = match self.drafts.get(&unit) {
            Some(draft) => draft.is_some(),
            None => state.unit_by_uid(unit)?.is_some_and(|unit| unit.draft.is_some()),
        };
        Ok(draft || self.restores(unit).next().is_some() || self.keeps_version(state, unit)?)
    }

    fn restores(&self, unit: UnitUid) -> impl Iterator<Item = Digest> {
        let first = VersionKey { unit, number: Number::FIRST };
        let restored = self.restored.range(first..).take_while(move |(key, _)| key.unit == unit);
        restored.map(|(_, snapshot)| *snapshot)
    }

    fn keeps_version(&self, state: &dyn State, unit: UnitUid) -> Result<bool, StoreError> {
        let first = VersionKey { unit, number: Number::FIRST };
        let leaving = self.leaving.versions.range(first..).take_while(|key| key.unit == unit);
        let versions = state.versions(unit, Page { after: 0, limit: leaving.count() + 1 })?;
        let stays = |version: &Version| !self.leaving.versions.contains(&key(unit, version));
        Ok(versions.iter().any(stays))
    }

    /// Whether a unit holds a snapshot afterwards, as its draft or as a version.
    pub(super) fn holds(
        &self,
        state: &dyn State,
        unit: UnitUid,
        snapshot: Digest,
    ) -> Result<bool, StoreError> {
        let draft = match self.drafts.get(&unit) {
            Some(draft) => draft.clone(),
            None => state.unit_by_uid(unit)?.and_then(|unit| unit.draft),
        };
        Ok(draft.is_some_and(|draft| draft.snapshot == snapshot)
            || self.restores(unit).any(|restored| restored == snapshot)
            || crate::delete::guard::survives(state, unit, snapshot, &self.leaving)?)
    }

    /// The unit of a name afterwards.
    pub(super) fn unit(
        &self,
        state: &dyn State,
        key: &UnitKey,
    ) -> Result<Option<UnitUid>, StoreError> {
        let returning = self.returning.iter().find(|(_, returning)| *returning == key);
        match returning {
            Some((uid, _)) => Ok(Some(*uid)),
            None => self.occupant(state, key),
        }
    }

    /// The unit that has a name now and keeps it.
    pub(super) fn occupant(
        &self,
        state: &dyn State,
        key: &UnitKey,
    ) -> Result<Option<UnitUid>, StoreError> {
        let unit = state.unit(key)?.map(|unit| unit.uid);
        Ok(unit.filter(|uid| !self.units_leaving.contains(uid)))
    }

    /// The name of a unit that exists or returns.
    pub(super) fn name(
        &self,
        state: &dyn State,
        uid: UnitUid,
    ) -> Result<Option<UnitKey>, StoreError> {
        match self.returning.get(&uid) {
            Some(key) => Ok(Some(key.clone())),
            None => Ok(state.unit_by_uid(uid)?.map(|unit| unit.key)),
        }
    }

    /// The snapshot that is a unit's latest afterwards, of units that never wait for a build.
    pub(super) fn standing(
        &self,
        state: &dyn State,
        uid: UnitUid,
    ) -> Result<Option<Digest>, StoreError> {
        let first = VersionKey { unit: uid, number: Number::FIRST };
        let restored = self.restored.range(first..).take_while(|(key, _)| key.unit == uid).last();
        let mut kept = match state.unit_by_uid(uid)?.and_then(|unit| unit.latest) {
            Some(number) => state.version(VersionKey { unit: uid, number })?,
            None => None,
        };
        while let Some(version) = &kept
            && self.leaving.versions.contains(&key(uid, version))
        {
            kept = state.version_before(key(uid, version))?;
        }
        let kept = kept.map(|version| (version.number, version.snapshot));
        let restored = restored.map(|(key, snapshot)| (key.number, *snapshot));
        Ok(kept.into_iter().chain(restored).max_by_key(|(number, _)| *number).map(|(_, at)| at))
    }

    /// Whether a name is an alias of a function afterwards.
    pub(super) fn has_alias(
        &self,
        state: &dyn State,
        unit: UnitUid,
        name: &VersionId,
    ) -> Result<bool, StoreError> {
        let pointer = Pointer::Alias { unit, name: name.clone() };
        let returns = |edit: &Edit| matches!(edit, Edit::Move { pointer: moved, to: Some(_), .. } if *moved == pointer);
        let stays = state.alias(unit, name)?.is_some() && !self.leaving.gone.contains(&pointer);
        Ok(stays || self.edits.iter().any(returns))
    }

    /// Whether the tag that a trigger names is there afterwards.
    pub(super) fn has_tag(
        &self,
        state: &dyn State,
        trigger: &UnitKey,
        name: &VersionId,
    ) -> Result<bool, StoreError> {
        let pointer = Pointer::Tag { app: trigger.app.clone(), name: name.clone() };
        let returns = |edit: &Edit| matches!(edit, Edit::Move { pointer: moved, to: Some(_), .. } if *moved == pointer);
        let stays =
            state.tag(&trigger.app, name)?.is_some() && !self.leaving.gone.contains(&pointer);
        Ok(stays || self.edits.iter().any(returns))
    }

    /// The packages, or functions, that lose their draft, a version, or their name.
    pub(super) fn losing(&self) -> BTreeSet<UnitUid> {
        let versions = self.leaving.versions.iter().map(|key| key.unit);
        let drafts = self.drafts.iter().filter(|(_, to)| to.is_none()).map(|(uid, _)| *uid);
        versions.chain(drafts).chain(self.units_leaving.iter().copied()).collect()
    }

    /// The units that get a version or draft back.
    pub(super) fn gaining(&self) -> BTreeSet<UnitUid> {
        let versions = self.restored.keys().map(|key| key.unit);
        let drafts = self.drafts.iter().filter(|(_, to)| to.is_some()).map(|(uid, _)| *uid);
        versions.chain(drafts).collect()
    }
}

/// The step back; none for a release that came or went, and for a plan: neither is ever rolled back.
fn taken_back(edit: Edit) -> Option<Edit> {
    match &edit {
        Edit::Move { pointer: Pointer::Release { .. } | Pointer::Plan { .. }, .. } => None,
        _ => edit.inverse(),
    }
}

/// Whether a step only says something about an object.
fn is_of_marks(edit: &Edit) -> bool {
    matches!(edit, Edit::Move { pointer: Pointer::Marks { .. }, .. })
}

/// Whether a step has nothing said about an object any more.
fn is_forgetting(edit: &Edit) -> bool {
    is_of_marks(edit) && matches!(edit, Edit::Move { to: None, .. })
}

/// Whether a step is about what can be reached, which follows from what was changed.
pub(super) fn is_of_releases(edit: &Edit) -> bool {
    let Edit::Move { pointer, .. } = edit else { return false };
    // A change that makes a version moves a tag only for a release that stands aside.
    matches!(pointer, Pointer::Release { .. } | Pointer::ReleaseTag { .. } | Pointer::Live { .. })
}

/// A version goes and returns with the description it has now, not the one it had when the entry was written.
fn as_it_stands(state: &dyn State, edit: Edit) -> Result<Edit, StoreError> {
    Ok(match edit {
        Edit::DeleteVersion { uid, version } => {
            let found = state.version(key(uid, &version))?;
            Edit::DeleteVersion { uid, version: found.unwrap_or(version) }
        }
        Edit::RestoreVersion { uid, version } => {
            let found = state.version_by_id(uid, &version.id)?.map(|(version, _)| version);
            Edit::RestoreVersion { uid, version: found.unwrap_or(version) }
        }
        other => other,
    })
}

fn key(unit: UnitUid, version: &Version) -> VersionKey {
    VersionKey { unit, number: version.number }
}
