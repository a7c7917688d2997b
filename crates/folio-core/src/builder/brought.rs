//! The values and blobs that a change brings, needs or lets go.

use std::collections::btree_map::Entry;

use folio_model::{Content, Digest, Snapshot};

use super::Builder;
use crate::ports::StoreError;

impl Builder<'_> {
    /// Brings a snapshot along, with the built-in environment it may be the first to freeze.
    pub(super) fn keep(&mut self, snapshot: &Snapshot) {
        if let Some((environment, digest)) = crate::environment::built_in_of(snapshot) {
            self.bring(environment, digest);
        }
        self.bring(snapshot, snapshot.digest());
    }

    /// Brings a snapshot along that others stand on.
    pub(crate) fn bring_along(&mut self, snapshot: &Snapshot) {
        self.bring(snapshot, snapshot.digest());
    }

    fn bring(&mut self, snapshot: &Snapshot, digest: Digest) {
        let place = self.change.snapshots.len();
        if let Entry::Vacant(free) = self.brought.entry(digest) {
            free.insert(place);
            self.change.snapshots.push(snapshot.clone());
        }
    }

    pub(super) fn require(
        &mut self,
        value: Option<(Digest, Option<Digest>)>,
    ) -> Result<(), StoreError> {
        let blobs = self.blobs(value)?;
        self.change.requires.extend(blobs);
        Ok(())
    }

    /// Needs everything that a snapshot of the state stands on. False if it had to be built, and what was made is gone.
    pub(crate) fn stand_on(&mut self, digest: Digest) -> Result<bool, StoreError> {
        self.require(Some((digest, None)))?;
        let snapshot = self.snapshot(digest)?;
        Ok(self.build_of(&snapshot)?.is_ready())
    }

    pub(super) fn free(
        &mut self,
        value: Option<(Digest, Option<Digest>)>,
    ) -> Result<(), StoreError> {
        let blobs = self.blobs(value)?;
        self.change.frees.extend(blobs);
        Ok(())
    }

    /// The blobs a snapshot and an archive stand on. A function stands on those of the package it pins.
    fn blobs(&self, value: Option<(Digest, Option<Digest>)>) -> Result<Vec<Digest>, StoreError> {
        let Some((digest, archive)) = value else { return Ok(Vec::new()) };
        let snapshot = self.snapshot(digest)?;
        let pinned = match &snapshot {
            Snapshot::Function(spec) => Some(self.snapshot(spec.package.snapshot)?),
            Snapshot::Package(_)
            | Snapshot::Environment(_)
            | Snapshot::Trigger(_)
            | Snapshot::Config(_)
            | Snapshot::Secret(_)
            | Snapshot::Static(_) => None,
        };
        let contents = snapshot.contents().chain(pinned.iter().flat_map(Snapshot::contents));
        let trees = contents.map(|Content { tree, .. }| tree).chain(archive);
        let built = self.built_blobs(pinned.as_ref().unwrap_or(&snapshot))?;
        Ok(trees.chain(built).collect())
    }

    /// What the build of a package made and printed, if one ended.
    fn built_blobs(&self, package: &Snapshot) -> Result<Vec<Digest>, StoreError> {
        let Snapshot::Package(spec) = package else { return Ok(Vec::new()) };
        let Some(key) = spec.build_key() else { return Ok(Vec::new()) };
        let record = self.state.build(key)?.filter(|_| !self.forgotten.contains(&key));
        let Some(record) = record else { return Ok(Vec::new()) };
        Ok(record.made().collect())
    }

    /// A snapshot this change brings, or one the state has.
    pub(super) fn snapshot(&self, digest: Digest) -> Result<Snapshot, StoreError> {
        match self.brought.get(&digest) {
            Some(place) => Ok(self.change.snapshots[*place].clone()),
            None => crate::view::snapshot(self.state, digest),
        }
    }
}
