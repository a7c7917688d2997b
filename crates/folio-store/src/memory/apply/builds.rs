//! Keeps snapshots with what has to be built of them, and writes the ends of builds, in memory.

use folio_core::ports::StoreError;
use folio_model::{BuildRecord, Digest, Snapshot, Version, VersionKey};

use super::ensure;
use crate::memory::rows::Rows;

impl Rows {
    pub(in crate::memory) fn keep_snapshot(&mut self, digest: Digest, snapshot: &Snapshot) {
        if let Snapshot::Package(spec) = snapshot
            && let Some(key) = spec.build_key()
        {
            self.recipes.put(key, digest);
        }
        self.snapshots.put(digest, snapshot.clone());
    }

    /// Makes a version wait for the build of its package.
    pub(super) fn wait(&mut self, key: VersionKey, version: &Version) -> Result<(), StoreError> {
        let build = self.build_key(version.snapshot);
        let unbuilt = build.filter(|build| !self.is_built(*build));
        let what = || StoreError::Conflict { what: format!("the build of `{}`", version.id) };
        let build = unbuilt.ok_or_else(what)?;
        self.waits.put(key, build);
        self.waiting.update(build, |waiting| waiting.insert(key));
        Ok(())
    }

    pub(super) fn built(
        &mut self,
        key: Digest,
        from: Option<&BuildRecord>,
        to: &BuildRecord,
    ) -> Result<(), StoreError> {
        let now = self.builds.get(&key);
        let stays = now.is_none_or(|now| !succeeded(now) || now == to);
        ensure(now == from && stays, || format!("build {key}"))?;
        self.builds.put(key, to.clone());
        Ok(())
    }

    /// Forgets a build that nothing needs.
    pub(super) fn forget_build(
        &mut self,
        key: Digest,
        from: &BuildRecord,
    ) -> Result<(), StoreError> {
        let drafts = self.units.range(..).filter_map(|(_, row)| row.unit.draft.as_ref());
        let drafts = drafts.map(|draft| draft.snapshot);
        let surviving = self.surviving.range(..).filter_map(|(key, ())| self.versions.get(key));
        let mut held = surviving.map(|version| version.snapshot).chain(drafts);
        let needed = held.any(|snapshot| self.build_key(snapshot) == Some(key));
        let known = self.builds.get(&key) == Some(from);
        ensure(known && !needed, || format!("build {key}"))?;
        self.builds.remove(&key);
        Ok(())
    }

    pub(super) fn is_built(&self, key: Digest) -> bool {
        self.builds.get(&key).is_some_and(succeeded)
    }

    /// Lets a version that waited be called.
    pub(super) fn ready(&mut self, build: Digest, key: VersionKey) -> Result<(), StoreError> {
        let waits = self.waits.get(&key) == Some(&build) && self.surviving.has(&key);
        ensure(waits && self.is_built(build), || format!("what waits for build {build}"))?;
        self.waits.remove(&key);
        self.waiting.update(build, |waiting| waiting.remove(&key));
        self.find_latest(self.living(key.unit)?)
    }

    /// What has to be built before a snapshot can run: its own files or its package's.
    pub(in crate::memory) fn build_key(&self, snapshot: Digest) -> Option<Digest> {
        match self.snapshots.get(&snapshot)? {
            Snapshot::Package(spec) => spec.build_key(),
            Snapshot::Function(spec) => match self.snapshots.get(&spec.package.snapshot)? {
                Snapshot::Package(package) => package.build_key(),
                _ => None,
            },
            Snapshot::Environment(_)
            | Snapshot::Trigger(_)
            | Snapshot::Config(_)
            | Snapshot::Secret(_)
            | Snapshot::Static(_) => None,
        }
    }
}

fn succeeded(record: &BuildRecord) -> bool {
    record.result.is_some()
}
