//! Storing a batch: check the bytes, pack what is new, write the pack, then the rows. Whether a node is new and
//! whether what it names is stored is decided again in the transaction that adds the rows.

use std::collections::HashMap;

use folio_core::crash;
use folio_core::ports::{Node, StoreError, Stored};
use folio_model::{Digest, NodeKind, Timestamp};
use sha2::{Digest as _, Sha256};

use super::batch::{Batch, Plan};
use super::index::{Pack, Place, Row, Table, change, look, tick};
use super::objects::Reserved;
use super::pack::{self, Listed};
use super::{PackStore, blocking};

/// How often a batch is tried again because a sweep removed what it relied on.
const ROUNDS_MAX: usize = 8;

/// How many names are tried for a pack. Chance is repeated only in tests that restart it.
const NAMES_MAX: usize = 64;

/// A directory larger than this cannot be made of the bytes of a stored file.
const ADOPTED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A pack that is written and not yet in the index.
pub(super) struct Written {
    _reserved: Reserved,
    pub(super) pack: Pack,
    pub(super) listed: HashMap<Digest, Listed>,
}

/// What became of a batch in its transaction.
enum Outcome {
    /// It is stored. The pack is in the index, or nothing of it was needed.
    Stored(Stored, PackUse),
    /// Something it relied on has been swept since it was looked at; nothing was changed.
    Overtaken,
}

#[derive(PartialEq, Eq)]
enum PackUse {
    Indexed,
    Unneeded,
}

impl PackStore {
    /// Stores a batch.
    pub(super) async fn put_batch(&self, nodes: Vec<Node>) -> Result<Stored, StoreError> {
        let mut batch = blocking(move || Batch::check(nodes)).await?;
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
            let name = written.as_ref().map(|written| written.pack.name.clone());
            let commit = move |table: &mut dyn Table| {
                Ok((commit(table, &batch, written.as_ref(), now)?, batch, written))
            };
            // The name stays reserved until the rows are committed.
            let (outcome, back, written) = change(&*self.index, commit).await?;
            crash::point("blob.indexed");
            drop(written);
            batch = back;
            let indexed = matches!(outcome, Outcome::Stored(_, PackUse::Indexed));
            if let Some(name) = name.filter(|_| !indexed) {
                self.objects.remove(&name).await?;
            }
            if let Outcome::Stored(stored, _) = outcome {
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
                    None => self.read_whole(digest, ADOPTED_BYTES_MAX).await?,
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
        let node = self.read(chunk).await?;
        if node.kind != NodeKind::Chunked {
            return Ok(node.bytes);
        }
        Err(StoreError::Refused { what: format!("chunk {chunk} of {file} is itself in chunks") })
    }

    /// Packs nodes and writes the pack; None if there are none.
    pub(super) async fn write_pack(&self, nodes: Vec<Node>) -> Result<Option<Written>, StoreError> {
        if nodes.is_empty() {
            return Ok(None);
        }
        let raw_bytes = nodes.iter().map(|node| node.bytes.len() as u64).sum();
        let packed = blocking(move || pack::pack(&nodes)).await?;
        crash::point("blob.packed");
        for _ in 0..NAMES_MAX {
            let reserved = self.objects.reserve(self.clock.chance(), &packed.bytes);
            let name = reserved.name().to_owned();
            if self.objects.write(&name, packed.bytes.clone()).await? {
                crash::point("blob.written");
                let pack = Pack { name, bytes: packed.bytes.len() as u64, raw_bytes };
                let listed = packed.listed.into_iter().map(|entry| (entry.digest, entry)).collect();
                return Ok(Some(Written { _reserved: reserved, pack, listed }));
            }
        }
        Err(StoreError::failed("name a pack", "every name that was tried is taken"))
    }
}

/// Adds the rows of a batch, if everything it relied on still holds.
fn commit(
    table: &mut dyn Table,
    batch: &Batch,
    written: Option<&Written>,
    now: Timestamp,
) -> Result<Outcome, StoreError> {
    let Some(Plan { new, used, reused }) = &batch.plan(table, now)? else {
        return Ok(Outcome::Overtaken);
    };
    let is_packed = |digest| written.is_some_and(|written| written.listed.contains_key(digest));
    if !new.iter().all(is_packed) {
        return Ok(Outcome::Overtaken);
    }
    let stored = Stored { added: new.len() as u64, reused: *reused };
    let at = if new.is_empty() && used.is_empty() { 0 } else { tick(table, now)? };
    used.iter().try_for_each(|digest| table.touch(*digest, at))?;
    let Some(written) = written.filter(|_| !new.is_empty()) else {
        return Ok(Outcome::Stored(stored, PackUse::Unneeded));
    };
    let pack = table.add_pack(&written.pack)?;
    for digest in new {
        let Listed { kind, bytes, checksum, spot, .. } = written.listed[digest];
        let totals = batch.totals(*digest);
        let place = Place { pack, spot };
        table.set(*digest, &Row { kind, place, bytes, totals, checksum, touched: at })?;
    }
    Ok(Outcome::Stored(stored, PackUse::Indexed))
}
