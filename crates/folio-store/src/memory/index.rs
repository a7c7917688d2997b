//! The index of blobs in memory: the specification the SQLite one is compared with, and what tests and demos
//! run on. Nothing survives the process.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use bytes::Bytes;
use folio_core::ports::{Encoding, StoreError};
use folio_model::{Digest, Timestamp};

use crate::blobs::index::{self, Index, Job, Meta, Pack, PackId, Row, Table};

/// A handle to the rows. Clones share them, so a ledger can look into the same index.
#[derive(Clone, Default)]
pub struct MemoryIndex(Arc<Mutex<Rows>>);

#[derive(Default)]
struct Rows {
    rows: BTreeMap<Digest, Row>,
    packs: BTreeMap<PackId, (Pack, Option<Bytes>)>,
    packs_made: PackId,
    touched: u64,
    mark: u64,
    grace: u64,
    unpacked: BTreeMap<Digest, Digest>,
    encoded: BTreeMap<Digest, Digest>,
}

impl MemoryIndex {
    /// Notes the use of nodes that must all be stored; changes nothing if one is not.
    pub(crate) fn require(&self, digests: &[Digest], now: Timestamp) -> Result<(), StoreError> {
        index::require(&mut *self.rows(), digests, now)
    }

    /// Starts the grace period of nodes that lost a user.
    pub(crate) fn free(&self, digests: &[Digest], now: Timestamp) -> Result<(), StoreError> {
        index::free(&mut *self.rows(), digests, now)
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().expect("no job panics while it holds the rows")
    }
}

#[async_trait]
impl Index for MemoryIndex {
    async fn look(&self, job: Job) -> Result<(), StoreError> {
        job(&mut *self.rows())
    }

    async fn change(&self, job: Job, _callers: usize) -> Result<(), StoreError> {
        job(&mut *self.rows())
    }
}

impl Table for Rows {
    fn row(&self, digest: Digest) -> Result<Option<Row>, StoreError> {
        Ok(self.rows.get(&digest).copied())
    }

    fn set(&mut self, digest: Digest, row: &Row) -> Result<(), StoreError> {
        self.rows.insert(digest, *row);
        Ok(())
    }

    fn touch(&mut self, digest: Digest, at: u64) -> Result<(), StoreError> {
        if let Some(row) = self.rows.get_mut(&digest) {
            row.touched = at;
        }
        Ok(())
    }

    fn remove(&mut self, digest: Digest) -> Result<(), StoreError> {
        self.rows.remove(&digest);
        self.unpacked.retain(|archive, tree| *archive != digest && *tree != digest);
        self.encoded.retain(|file, node| *file != digest && *node != digest);
        Ok(())
    }

    fn each(&self, visit: &mut dyn FnMut(Digest, Row)) -> Result<(), StoreError> {
        self.rows.iter().for_each(|(digest, row)| visit(*digest, *row));
        Ok(())
    }

    fn packs(&self) -> Result<Vec<(PackId, Pack)>, StoreError> {
        Ok(self.packs.iter().map(|(id, (pack, _))| (*id, pack.clone())).collect())
    }

    fn pack(&self, id: PackId) -> Result<Option<Pack>, StoreError> {
        Ok(self.packs.get(&id).map(|(pack, _)| pack.clone()))
    }

    fn add_pack(&mut self, pack: &Pack, body: Option<&Bytes>) -> Result<PackId, StoreError> {
        self.packs_made += 1;
        self.packs.insert(self.packs_made, (pack.clone(), body.cloned()));
        Ok(self.packs_made)
    }

    fn pack_part(&self, id: PackId, part: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        let Some((_, Some(body))) = self.packs.get(&id) else { return Ok(None) };
        let within = |at: u64| usize::try_from(at).map_or(body.len(), |at| at.min(body.len()));
        Ok(Some(body.slice(within(part.start)..within(part.end))))
    }

    fn remove_pack(&mut self, id: PackId) -> Result<(), StoreError> {
        self.packs.remove(&id);
        Ok(())
    }

    fn meta(&self, key: Meta) -> Result<u64, StoreError> {
        Ok(match key {
            Meta::Touched => self.touched,
            Meta::Mark => self.mark,
            Meta::Grace => self.grace,
        })
    }

    fn set_meta(&mut self, key: Meta, value: u64) -> Result<(), StoreError> {
        match key {
            Meta::Touched => self.touched = value,
            Meta::Mark => self.mark = value,
            Meta::Grace => self.grace = value,
        }
        Ok(())
    }

    fn unpacked(&self, archive: Digest) -> Result<Option<Digest>, StoreError> {
        Ok(self.unpacked.get(&archive).copied())
    }

    fn set_unpacked(&mut self, archive: Digest, tree: Digest) -> Result<(), StoreError> {
        self.unpacked.insert(archive, tree);
        Ok(())
    }

    fn encoded(&self, file: Digest) -> Result<Option<Digest>, StoreError> {
        Ok(self.encoded.get(&file).copied())
    }

    fn set_encoded(&mut self, encoding: Encoding) -> Result<(), StoreError> {
        self.encoded.insert(encoding.file, encoding.node);
        Ok(())
    }

    fn each_encoded(&self, visit: &mut dyn FnMut(Encoding)) -> Result<(), StoreError> {
        self.encoded.iter().for_each(|(file, node)| visit(Encoding { file: *file, node: *node }));
        Ok(())
    }
}
