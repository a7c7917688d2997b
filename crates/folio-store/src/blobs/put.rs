//! Storing a batch: check the bytes, pack what is new, write the pack, then the rows. A small pack is written with them.

use std::sync::Arc;

use folio_core::crash;
use folio_core::ports::{Node, StoreError, Stored};
use folio_model::{Digest, NodeKind};
use sha2::{Digest as _, Sha256};

use super::batch::Batch;
use super::commit::{Commit, Outcome, Written};
use super::index::{Home, Pack, Table, change, look};
use super::{PackStore, blocking, pack, together};

/// How often a batch is tried again because a sweep removed what it relied on.
const ROUNDS_MAX: usize = 8;

/// How many names are tried for a pack. Chance is repeated only in tests that restart it.
const NAMES_MAX: usize = 64;

/// Nodes up to here are packed in less time than it takes to hand them to another thread.
const PACKED_AT_ONCE_MAX: u64 = 16 * 1024;

/// A directory larger than this cannot be made of the bytes of a stored file.
const ADOPTED_BYTES_MAX: u64 = 64 * 1024 * 1024;

impl PackStore {
    /// Stores a batch, a small one together with others.
    pub(super) async fn put_batch(&self, nodes: Vec<Node>) -> Result<Stored, StoreError> {
        let damaged = Arc::clone(&self.damaged);
        if together::is_small(&nodes) {
            let batch = Batch::check(nodes, damaged)?;
            self.require_whole(&batch).await?;
            return self.put_together(batch).await;
        }
        let batch = blocking(move || Batch::check(nodes, damaged)).await?;
        self.require_whole(&batch).await?;
        self.put_alone(batch).await
    }

    /// Stores a batch in a pack of its own.
    pub(super) async fn put_alone(&self, mut batch: Batch) -> Result<Stored, StoreError> {
        for _ in 0..ROUNDS_MAX {
            batch = self.complete(batch).await?;
            let now = self.clock.now();
            let (plan, back) =
                look(&*self.index, move |table| Ok((batch.plan(table, now)?, batch))).await?;
            batch = back;
            let Some(plan) = plan else { continue };
            if plan.new.is_empty() && plan.used.is_empty() {
                // All of it is stored and was used so lately that no sweep takes it: nothing to write.
                return Ok(Stored { added: 0, reused: plan.reused });
            }
            let written = self.write_pack(batch.nodes(&plan.new)).await?;
            let object = written.as_ref().and_then(Written::object);
            let commit = move |table: &mut dyn Table| {
                let mut commit = Commit::new(table, written.as_ref(), now);
                let outcome = commit.add(&batch)?;
                Ok((outcome, commit.uses_pack(), batch, written))
            };
            // The name stays reserved until the rows are committed.
            let (outcome, indexed, back, written) = change(&*self.index, commit).await?;
            crash::point("blob.indexed");
            drop(written);
            batch = back;
            if let Some(name) = object.filter(|_| !indexed) {
                self.objects.remove(&name).await?;
            }
            if let Outcome::Stored(stored) = outcome {
                return Ok(stored);
            }
        }
        Err(StoreError::Conflict { what: "what the upload names".to_owned() })
    }

    /// Finds out what can only be known by reading: the lengths of new chunked files, and stored files that
    /// the batch takes for directories.
    async fn complete(&self, mut batch: Batch) -> Result<Batch, StoreError> {
        loop {
            let (unknown, back) =
                look(&*self.index, move |table| Ok((batch.unknown(table)?, batch))).await?;
            batch = back;
            if unknown.files.is_empty() && unknown.directories.is_empty() {
                return Ok(batch);
            }
            for digest in unknown.files {
                let bytes = self.measure(&batch, digest).await?;
                batch.measured(digest, bytes);
            }
            for digest in unknown.directories {
                let bytes = match batch.raw(digest) {
                    Some(bytes) => Some(bytes),
                    None => {
                        let read = self.read_whole(digest, ADOPTED_BYTES_MAX).await;
                        read.map_err(|error| lacking(digest, error))?
                    }
                };
                batch.adopt(digest, bytes)?;
            }
        }
    }

    /// Puts a chunked file together, chunk by chunk, and checks it. Returns its length.
    async fn measure(&self, batch: &Batch, digest: Digest) -> Result<u64, StoreError> {
        let mut hasher = Sha256::new();
        let mut total = 0;
        for chunk in batch.chunks(digest) {
            let bytes = match batch.raw(*chunk) {
                Some(bytes) => bytes,
                None => self.chunk(digest, *chunk).await?,
            };
            total += bytes.len() as u64;
            let hash = move || {
                hasher.update(&bytes);
                Ok(hasher)
            };
            hasher = blocking(hash).await?;
        }
        if Digest::from_bytes(hasher.finalize().into()) == digest {
            return Ok(total);
        }
        Err(StoreError::Refused { what: format!("the chunks of {digest} do not add up to it") })
    }

    async fn chunk(&self, file: Digest, chunk: Digest) -> Result<bytes::Bytes, StoreError> {
        let node = self.read(chunk).await.map_err(|error| lacking(chunk, error))?;
        if node.kind != NodeKind::Chunked {
            return Ok(node.bytes);
        }
        Err(StoreError::Refused { what: format!("chunk {chunk} of {file} is itself in chunks") })
    }

    /// Packs nodes and writes the pack, unless it is small enough to be kept beside its rows; None if there are no
    /// nodes.
    pub(super) async fn write_pack(&self, nodes: Vec<Node>) -> Result<Option<Written>, StoreError> {
        if nodes.is_empty() {
            return Ok(None);
        }
        let raw_bytes = nodes.iter().map(|node| node.bytes.len() as u64).sum();
        let packed = match raw_bytes {
            ..=PACKED_AT_ONCE_MAX => pack::pack(&nodes)?,
            _ => blocking(move || pack::pack(&nodes)).await?,
        };
        crash::point("blob.packed");
        for _ in 0..NAMES_MAX {
            let reserved = self.objects.reserve(self.clock.chance(), &packed.bytes);
            let name = reserved.name().to_owned();
            let body = (packed.bytes.len() <= self.kept_max).then(|| packed.bytes.clone());
            let home = if body.is_some() { Home::Index } else { Home::Object };
            if home == Home::Index || self.objects.write(&name, packed.bytes.clone()).await? {
                crash::point("blob.written");
                let pack = Pack { name, bytes: packed.bytes.len() as u64, raw_bytes, home };
                let listed = packed.listed.into_iter().map(|entry| (entry.digest, entry)).collect();
                return Ok(Some(Written { _reserved: reserved, pack, body, listed }));
            }
        }
        Err(StoreError::failed("name a pack", "every name that was tried is taken"))
    }
}

/// What a batch relies on and cannot be read has to come with it.
fn lacking(digest: Digest, error: StoreError) -> StoreError {
    match error {
        StoreError::Corrupt { .. } => StoreError::MissingBlob { digest },
        error => error,
    }
}
