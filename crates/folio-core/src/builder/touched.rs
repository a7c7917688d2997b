//! What the edits of a change make of one unit, and where that leaves it in the app.

use std::collections::{BTreeMap, BTreeSet};

use folio_model::{Digest, Number, Placement, UnitKey, UnitUid, VersionId, VersionKey};

use crate::ports::{State, StoreError};

/// What the edits so far make of one unit.
pub(super) struct Touched {
    pub(super) key: UnitKey,
    pub(super) exists: bool,
    pub(super) latest: Option<Number>,
    pub(super) newest: Option<Number>,
    pub(super) draft: Option<Digest>,
    /// Versions that appear and can be called.
    pub(super) added: BTreeMap<Number, (VersionId, Digest)>,
    /// Versions that appear and have to be built.
    pub(super) waiting: BTreeMap<Number, (VersionId, Digest)>,
    pub(super) removed: BTreeSet<Number>,
}

impl Touched {
    pub(super) fn new(key: UnitKey) -> Self {
        Self {
            key,
            exists: true,
            latest: None,
            newest: None,
            draft: None,
            added: BTreeMap::new(),
            waiting: BTreeMap::new(),
            removed: BTreeSet::new(),
        }
    }

    /// Where the unit stands in the app after the change; nothing if it can no longer be seen.
    pub(super) fn placement(
        &self,
        uid: UnitUid,
        state: &dyn State,
    ) -> Result<Option<Placement>, StoreError> {
        let latest = self.latest(uid, state)?;
        let pending = self.pending(uid, state, latest.as_ref().map(|(number, _, _)| *number))?;
        let visible = latest.is_some() || pending.is_some() || self.draft.is_some();
        let visible = self.exists && visible;
        Ok(visible.then(|| Placement {
            uid,
            kind: self.key.kind,
            name: self.key.name.clone(),
            latest,
            pending,
            draft: self.draft,
        }))
    }

    /// The newest version, if it cannot be called.
    fn pending(
        &self,
        unit: UnitUid,
        state: &dyn State,
        latest: Option<Number>,
    ) -> Result<Option<(Number, VersionId, Digest)>, StoreError> {
        let mut kept = match self.newest.filter(|newest| Some(*newest) > latest) {
            Some(number) => state.version(VersionKey { unit, number })?,
            None => None,
        };
        while let Some(version) = &kept
            && self.removed.contains(&version.number)
        {
            kept = state.version_before(VersionKey { unit, number: version.number })?;
        }
        let kept = kept.map(|version| (version.number, version.id, version.snapshot));
        let waiting = self.waiting.last_key_value();
        let waiting = waiting.map(|(number, (id, snapshot))| (*number, id.clone(), *snapshot));
        let newest = kept.into_iter().chain(waiting).max_by_key(|(number, _, _)| *number);
        Ok(newest.filter(|(number, _, _)| Some(*number) > latest))
    }

    fn latest(
        &self,
        unit: UnitUid,
        state: &dyn State,
    ) -> Result<Option<(Number, VersionId, Digest)>, StoreError> {
        let newest_added = self.added.last_key_value().map(|(number, _)| *number);
        let mut kept = match self.latest.filter(|latest| Some(*latest) > newest_added) {
            Some(number) => state.version(VersionKey { unit, number })?,
            None => None,
        };
        while let Some(version) = &kept
            && self.removed.contains(&version.number)
        {
            kept = state.ready_before(VersionKey { unit, number: version.number })?;
        }
        let kept = kept.map(|version| (version.number, version.id, version.snapshot));
        let added = self.added.last_key_value();
        let added = added.map(|(number, (id, snapshot))| (*number, id.clone(), *snapshot));
        Ok(kept.into_iter().chain(added).max_by_key(|(number, _, _)| *number))
    }
}
