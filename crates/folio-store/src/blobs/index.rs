//! The index: which node lies where, and when it was last used. Rules of use and age are here, once, over a
//! [`Table`]; where the rows live is the affair of an [`Index`].
//!
//! `touched` counts hybrid milliseconds: the clock's, or one more than the last if the clock stands or falls
//! back. It orders transactions, so safety never depends on the clock; only grace periods do.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use folio_core::ports::{Encoding, StoreError};
use folio_model::{Digest, NodeKind, Timestamp, TreeTotals};
use tokio::sync::oneshot;

/// A pack's number in the index, never reused.
pub(crate) type PackId = i64;

/// Where a node lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The pack.
    pub(crate) pack: PackId,
    /// Where its block is in the pack.
    pub(crate) spot: Spot,
}

/// Where a node lies inside its pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Spot {
    /// The first byte of its block in the pack.
    pub(crate) block_at: u64,
    /// The bytes of the block as stored.
    pub(crate) block_bytes: u32,
    /// The node's first byte in the unpacked block.
    pub(crate) at: u32,
}

/// What the index knows of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) kind: NodeKind,
    pub(crate) place: Place,
    /// The bytes of the node itself.
    pub(crate) bytes: u64,
    /// The files and bytes behind it.
    pub(crate) totals: TreeTotals,
    /// The SHA-256 of a chunk list's own bytes, which its digest does not cover.
    pub(crate) checksum: Option<Digest>,
    /// When it was last used.
    pub(crate) touched: u64,
}

impl Row {
    /// The length of the file these bytes are, if they are taken as a file.
    pub(crate) fn file_bytes(&self) -> u64 {
        match self.kind {
            NodeKind::Raw | NodeKind::Tree => self.bytes,
            NodeKind::Chunked => self.totals.bytes,
        }
    }
}

/// Many nodes in one piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pack {
    /// Its name, never used twice.
    pub(crate) name: String,
    /// Its bytes as stored.
    pub(crate) bytes: u64,
    /// The bytes of the nodes it was written with.
    pub(crate) raw_bytes: u64,
    /// Where its bytes are.
    pub(crate) home: Home,
}

/// Where the bytes of a pack are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// In the object store, under the pack's name.
    Object,
    /// In the index, beside the rows.
    Index,
}

/// A number kept beside the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Meta {
    /// The last value of `touched` that was given out.
    Touched,
    /// The youngest mark of a sweep.
    Mark,
    /// The grace period in milliseconds.
    Grace,
}

/// The rows inside one transaction. A job refuses before its first write, so no store has to undo one.
pub(crate) trait Table {
    fn row(&self, digest: Digest) -> Result<Option<Row>, StoreError>;
    /// Adds a row or replaces it.
    fn set(&mut self, digest: Digest, row: &Row) -> Result<(), StoreError>;
    fn touch(&mut self, digest: Digest, at: u64) -> Result<(), StoreError>;
    /// Removes a row, and what was remembered of it as an archive, a tree, a file or its encodings.
    fn remove(&mut self, digest: Digest) -> Result<(), StoreError>;
    /// Visits every row.
    fn each(&self, visit: &mut dyn FnMut(Digest, Row)) -> Result<(), StoreError>;
    fn packs(&self) -> Result<Vec<(PackId, Pack)>, StoreError>;
    fn pack(&self, id: PackId) -> Result<Option<Pack>, StoreError>;
    /// Adds a pack; with its bytes if its home is the index.
    fn add_pack(&mut self, pack: &Pack, body: Option<&Bytes>) -> Result<PackId, StoreError>;
    /// A part of a pack whose home is the index, as far as it goes.
    fn pack_part(&self, id: PackId, part: Range<u64>) -> Result<Option<Bytes>, StoreError>;
    fn remove_pack(&mut self, id: PackId) -> Result<(), StoreError>;
    /// A kept number, 0 before it was first set.
    fn meta(&self, key: Meta) -> Result<u64, StoreError>;
    fn set_meta(&mut self, key: Meta, value: u64) -> Result<(), StoreError>;
    fn unpacked(&self, archive: Digest) -> Result<Option<Digest>, StoreError>;
    fn set_unpacked(&mut self, archive: Digest, tree: Digest) -> Result<(), StoreError>;
    /// The node that holds a file in other encodings.
    fn encoded(&self, file: Digest) -> Result<Option<Digest>, StoreError>;
    fn set_encoded(&mut self, encoding: Encoding) -> Result<(), StoreError>;
    /// Visits every file that has such a node.
    fn each_encoded(&self, visit: &mut dyn FnMut(Encoding)) -> Result<(), StoreError>;
}

/// Work inside one transaction.
pub(crate) type Job = Box<dyn FnOnce(&mut dyn Table) -> Result<(), StoreError> + Send>;

/// Where the rows live.
#[async_trait]
pub(crate) trait Index: Send + Sync + 'static {
    /// Runs a job that only reads, on rows that stand still and hold every finished change.
    async fn look(&self, job: Job) -> Result<(), StoreError>;

    /// Runs a job that as many callers wait for as one transaction, after all earlier ones; durable when this returns.
    async fn change(&self, job: Job, callers: usize) -> Result<(), StoreError>;
}

/// Reads the rows.
pub(crate) async fn look<T: Send + 'static>(
    index: &dyn Index,
    job: impl FnOnce(&dyn Table) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (answer, mut answered) = oneshot::channel();
    let job: Job = Box::new(move |table| deliver(answer, job(table)?));
    index.look(job).await?;
    Ok(answered.try_recv().expect("a job that succeeded has answered"))
}

/// Changes the rows.
pub(crate) async fn change<T: Send + 'static>(
    index: &dyn Index,
    job: impl FnOnce(&mut dyn Table) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    change_for(index, 1, job).await
}

/// Changes the rows on behalf of as many callers.
pub(crate) async fn change_for<T: Send + 'static>(
    index: &dyn Index,
    callers: usize,
    job: impl FnOnce(&mut dyn Table) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (answer, mut answered) = oneshot::channel();
    let job: Job = Box::new(move |table| deliver(answer, job(table)?));
    index.change(job, callers).await?;
    Ok(answered.try_recv().expect("a job that succeeded has answered"))
}

fn deliver<T>(answer: oneshot::Sender<T>, value: T) -> Result<(), StoreError> {
    // Nobody listens any more if the caller was cancelled; the transaction stands all the same.
    drop(answer.send(value));
    Ok(())
}

/// What a use of some nodes found.
#[derive(Debug, Default)]
pub(crate) struct Used {
    /// Not stored.
    pub(crate) missing: Vec<Digest>,
    /// Stored, and so long unused that the use has to be written down.
    pub(crate) stale: Vec<Digest>,
}

/// Looks at nodes that are about to be used. Writes nothing.
pub(crate) fn used(
    table: &dyn Table,
    digests: &[Digest],
    now: Timestamp,
) -> Result<Used, StoreError> {
    let age = Age::now(table, now)?;
    let mut used = Used::default();
    for digest in digests {
        match table.row(*digest)? {
            None => used.missing.push(*digest),
            Some(row) if age.is_stale(row.touched) => used.stale.push(*digest),
            Some(_) => {}
        }
    }
    Ok(used)
}

/// Notes the use of nodes that must all be stored.
pub(crate) fn require(
    table: &mut dyn Table,
    digests: &[Digest],
    now: Timestamp,
) -> Result<(), StoreError> {
    let used = used(table, digests, now)?;
    if let Some(digest) = used.missing.first() {
        return Err(StoreError::MissingBlob { digest: *digest });
    }
    touch_all(table, &used.stale, now)
}

/// Starts the grace period of nodes that lost a user, if they are stored.
pub(crate) fn free(
    table: &mut dyn Table,
    digests: &[Digest],
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut stored = Vec::new();
    for digest in digests {
        stored.extend(table.row(*digest)?.map(|_| *digest));
    }
    touch_all(table, &stored, now)
}

/// Sets the last use of stored nodes to this transaction.
pub(crate) fn touch_all(
    table: &mut dyn Table,
    digests: &[Digest],
    now: Timestamp,
) -> Result<(), StoreError> {
    if digests.is_empty() {
        return Ok(());
    }
    let at = tick(table, now)?;
    digests.iter().try_for_each(|digest| table.touch(*digest, at))
}

/// The moment of this transaction: later than that of every transaction before it.
pub(crate) fn tick(table: &mut dyn Table, now: Timestamp) -> Result<u64, StoreError> {
    let at = milliseconds(now).max(table.meta(Meta::Touched)? + 1);
    table.set_meta(Meta::Touched, at)?;
    Ok(at)
}

/// A moment as the rows count it.
pub(crate) fn milliseconds(moment: Timestamp) -> u64 {
    u64::try_from(moment.as_millisecond()).unwrap_or(0)
}

/// Decides whether a use has to be written down.
pub(crate) struct Age {
    mark: u64,
    fresh_after: Option<u64>,
}

impl Age {
    /// What counts as old at a moment.
    pub(crate) fn now(table: &dyn Table, now: Timestamp) -> Result<Self, StoreError> {
        let grace = table.meta(Meta::Grace)?;
        let fresh_after = (grace > 0).then(|| milliseconds(now).saturating_sub(grace / 2));
        Ok(Self { mark: table.meta(Meta::Mark)?, fresh_after })
    }

    /// Whether the last use is so long ago that a sweep might not see this one.
    ///
    /// A use after a mark is always written: the sweep of that mark compares `touched` with it, whatever
    /// the clock says. Otherwise repeated uses within half a grace period cost nothing.
    pub(crate) fn is_stale(&self, touched: u64) -> bool {
        touched <= self.mark || self.fresh_after.is_none_or(|after| touched < after)
    }
}
