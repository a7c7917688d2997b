//! The ledger in memory: the specification the others are compared with. Nothing survives the process.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_trait::async_trait;
use folio_core::ports::{Damage, Ledger, Look, Migrated, Plan, State, StoreError};
use folio_kinds::HUB_VERSION;
use folio_model::{Change, Digest, Entry, Snapshot, Timestamp};
use tokio::sync::watch;

use super::rows::Rows;
use super::{Keys, MemoryIndex};

/// A ledger that lasts as long as the process.
pub struct MemoryLedger {
    rows: RwLock<Rows>,
    blobs: Option<MemoryIndex>,
    head: watch::Sender<u64>,
}

impl MemoryLedger {
    /// An empty ledger that requires blobs of an index.
    pub fn new(blobs: MemoryIndex) -> Self {
        Self { blobs: Some(blobs), ..Self::without_blobs() }
    }

    /// An empty ledger that takes every blob for granted.
    pub(crate) fn without_blobs() -> Self {
        Self { rows: RwLock::default(), blobs: None, head: watch::Sender::new(0) }
    }

    /// Runs a plan and appends what it returns, all or nothing.
    pub(crate) fn append_now(
        &self,
        plan: impl FnOnce(&dyn State) -> Result<Option<Change>, StoreError>,
    ) -> Result<Option<Entry>, StoreError> {
        let mut rows = self.write();
        let Some(change) = plan(&*rows)? else { return Ok(None) };
        let entry = Entry::of(&change, rows.head()? + 1);
        let done = rows.apply(&change, &entry).and_then(|()| self.use_blobs(&change));
        if let Err(error) = done {
            rows.roll_back();
            return Err(error);
        }
        rows.commit();
        self.head.send_replace(entry.seq);
        Ok(Some(entry))
    }

    /// Stores a snapshot before any change names it, under the digest it was published with.
    pub(crate) fn know(&self, digest: Digest, snapshot: Snapshot) {
        let mut rows = self.write();
        rows.keep_snapshot(digest, &snapshot);
        rows.commit();
    }

    /// Lets a function see the state and everything it has a name for.
    pub(crate) fn view_now<T>(&self, look: impl FnOnce(&dyn State, Keys) -> T) -> T {
        let rows = self.read();
        look(&*rows, rows.keys())
    }

    fn use_blobs(&self, change: &Change) -> Result<(), StoreError> {
        let Some(blobs) = &self.blobs else { return Ok(()) };
        blobs.require(&change.requires, change.at)?;
        blobs.free(&change.frees, change.at)
    }

    // A plan that panics has changed nothing, so what it held is as good as before.

    fn read(&self) -> RwLockReadGuard<'_, Rows> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Rows> {
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn append(&self, plan: Plan) -> Result<Option<Entry>, StoreError> {
        self.append_now(plan)
    }

    async fn view(&self, look: Look) -> Result<(), StoreError> {
        look(&*self.read())
    }

    fn head(&self) -> watch::Receiver<u64> {
        self.head.subscribe()
    }

    async fn verify(&self) -> Result<Vec<Damage>, StoreError> {
        let rows = self.read();
        let mut previous = Digest::of(b"");
        let mut damages = Vec::new();
        for (seq, entry) in rows.entries.range(..) {
            let hash = entry.hash(previous);
            if rows.hashes.get(seq) != Some(&hash) {
                damages.push(Damage { what: format!("entry {seq}"), digest: None });
            }
            previous = hash;
        }
        Ok(damages)
    }

    async fn migrate_storage(&self, _: usize, at: Timestamp) -> Result<Migrated, StoreError> {
        let mut rows = self.write();
        let hub = HUB_VERSION.to_owned();
        if !rows.storage_versions.has(&hub) {
            rows.storage_versions.put(hub.clone(), at);
            rows.commit();
        }
        let done_at = rows.storage_versions.get(&hub).copied();
        Ok(Migrated { hub, rewritten: 0, done_at })
    }
}
