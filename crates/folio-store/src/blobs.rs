//! Blobs in packs: one pack per batch, an index of what lies where. A large pack is an object, a small one lies in the
//! index itself. Start at [`PackStore`], then `put`, `sweep` and [`index`].
//!
//! Why nothing is ever lost: objects are written before rows, rows removed before objects; a row is only added
//! in a transaction that finds all it names, and touches that. A sweep removes rows only in a transaction that
//! finds none of them touched since its mark. Whoever names a row again touches it or something above it that
//! is also about to go: what the sweep had reached names only what it had reached. So one touch stops the round.
//! A node whose bytes are damaged keeps its row until they are stored again, and then the row names their new place.

mod abouts;
mod batch;
mod cache;
mod commit;
mod damaged;
mod files;
pub(crate) mod index;
mod objects;
mod pack;
mod put;
mod read;
mod sweep;
mod together;
mod verify;
mod whole;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use folio_core::ports::{
    About, Blobs, Clock, Damage, Encoding, Node, StoreError, Stored, SweepMark, Swept, Usage,
};
use folio_model::{Digest, Timestamp};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use tokio::sync::Semaphore;

use self::abouts::Abouts;
use self::cache::Cache;
use self::damaged::Damaged;
use self::index::{Index, Meta, change, look};
use self::objects::Objects;
use self::together::Gathering;
use self::whole::Depth;
use crate::memory::MemoryIndex;
use crate::sqlite::Db;

/// How packs are kept.
#[derive(Debug, Clone, Copy)]
pub struct PackOptions {
    /// How long a node stays after its last use. Uses within half of it are not written down again.
    pub grace: Duration,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self { grace: Duration::from_secs(24 * 60 * 60) }
    }
}

/// Bytes up to which a pack is kept in the index. There it costs a few pages of a commit that is made anyway; as an
/// object, a file and two syncs of its own.
const KEPT_MAX: usize = 64 * 1024;

/// Nodes in packs in an object store, found through an index.
pub struct PackStore {
    objects: Objects,
    kept_max: usize,
    index: Arc<dyn Index>,
    clock: Arc<dyn Clock>,
    cache: Cache,
    abouts: Abouts,
    damaged: Arc<Damaged>,
    gathering: Gathering,
    /// Held by whoever removes objects or relies on none being removed.
    turn: Semaphore,
}

impl PackStore {
    /// Keeps everything in memory.
    pub async fn in_memory(
        index: MemoryIndex,
        clock: Arc<dyn Clock>,
        options: PackOptions,
    ) -> Result<Self, StoreError> {
        let objects = Objects::new(Arc::new(InMemory::new()));
        Self::open(objects, Arc::new(index), clock, options).await
    }

    /// Keeps packs in the database's own data directory, each durable before anything names it.
    pub async fn in_directory(
        db: Db,
        clock: Arc<dyn Clock>,
        options: PackOptions,
    ) -> Result<Self, StoreError> {
        let objects = Objects::in_directory(&db.directory().join("blobs"))?;
        Self::open(objects, Arc::new(db), clock, options).await
    }

    /// Keeps packs in any object store that does not acknowledge a write before it is durable.
    pub async fn in_object_store(
        objects: Arc<dyn ObjectStore>,
        db: Db,
        clock: Arc<dyn Clock>,
        options: PackOptions,
    ) -> Result<Self, StoreError> {
        Self::open(Objects::new(objects), Arc::new(db), clock, options).await
    }

    /// Reads packs from the database's own data directory and changes nothing there.
    pub fn read_only(db: Db, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let objects = objects::existing(&db.directory().join("blobs"))?;
        Ok(Self::of(Objects::new(objects), Arc::new(db), clock))
    }

    async fn open(
        objects: Objects,
        index: Arc<dyn Index>,
        clock: Arc<dyn Clock>,
        options: PackOptions,
    ) -> Result<Self, StoreError> {
        let grace_ms = u64::try_from(options.grace.as_millis()).unwrap_or(u64::MAX / 2);
        if look(&*index, |table| table.meta(Meta::Grace)).await? != grace_ms {
            change(&*index, move |table| table.set_meta(Meta::Grace, grace_ms)).await?;
        }
        Ok(Self::of(objects, index, clock))
    }

    fn of(objects: Objects, index: Arc<dyn Index>, clock: Arc<dyn Clock>) -> Self {
        Self {
            objects,
            kept_max: KEPT_MAX,
            index,
            clock,
            cache: Cache::default(),
            abouts: Abouts::default(),
            damaged: Arc::default(),
            gathering: Gathering::default(),
            turn: Semaphore::new(1),
        }
    }

    /// Notes the use of nodes and says which are not stored.
    async fn note_use(&self, digests: Vec<Digest>) -> Result<Vec<Digest>, StoreError> {
        let now = self.clock.now();
        let (used, digests) =
            look(&*self.index, move |table| Ok((index::used(table, &digests, now)?, digests)))
                .await?;
        if used.stale.is_empty() {
            return Ok(used.missing);
        }
        let noted = change(&*self.index, move |table| {
            // Looked at again: a sweep may have been faster.
            let used = index::used(table, &digests, now)?;
            index::touch_all(table, &used.stale, now)?;
            Ok(used.missing)
        });
        noted.await
    }
}

/// Runs work that takes long where that is allowed.
async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let ran = tokio::task::spawn_blocking(job).await;
    ran.map_err(|error| StoreError::failed("run work on blobs", error))?
}

#[async_trait]
impl Blobs for PackStore {
    async fn missing(&self, digests: Vec<Digest>) -> Result<Vec<Digest>, StoreError> {
        let damaged = self.known_damaged(&digests).await?;
        if damaged.is_empty() {
            return self.note_use(digests).await;
        }
        let missing: HashSet<Digest> =
            self.note_use(digests.clone()).await?.into_iter().chain(damaged).collect();
        Ok(digests.into_iter().filter(|digest| missing.contains(digest)).collect())
    }

    async fn read_back(&self, digests: Vec<Digest>) -> Result<(), StoreError> {
        let all = look(&*self.index, move |table| {
            let mut all = digests.clone();
            for archive in digests {
                all.extend(table.unpacked(archive)?);
            }
            Ok(all)
        });
        self.leading_to_damage(&all.await?, Depth::Bytes).await.map(|_| ())
    }

    async fn put(&self, nodes: Vec<Node>) -> Result<Stored, StoreError> {
        self.put_batch(nodes).await
    }

    async fn get(&self, digest: Digest) -> Result<Node, StoreError> {
        self.read(digest).await
    }

    async fn about(&self, digest: Digest) -> Result<Option<About>, StoreError> {
        if let Some(about) = self.abouts.get(digest) {
            return Ok(Some(about));
        }
        let mark = self.abouts.mark();
        let row = look(&*self.index, move |table| table.row(digest)).await?;
        let about = row.map(|row| About { kind: row.kind, totals: row.totals });
        self.abouts.note(mark, about.map(|about| (digest, about)).into_iter());
        Ok(about)
    }

    async fn unpacked(&self, archive: Digest) -> Result<Option<Digest>, StoreError> {
        let Some(tree) = look(&*self.index, move |table| table.unpacked(archive)).await? else {
            return Ok(None);
        };
        let missing = self.missing(vec![archive, tree]).await?;
        Ok(missing.is_empty().then_some(tree))
    }

    async fn remember_unpacked(&self, archive: Digest, tree: Digest) -> Result<(), StoreError> {
        let now = self.clock.now();
        let remember = change(&*self.index, move |table| {
            index::require(table, &[archive, tree], now)?;
            table.set_unpacked(archive, tree)
        });
        remember.await
    }

    async fn encodings(&self, files: Vec<Digest>) -> Result<Vec<Option<Digest>>, StoreError> {
        let find = look(&*self.index, move |table| {
            files.into_iter().map(|file| table.encoded(file)).collect::<Result<Vec<_>, _>>()
        });
        find.await
    }

    async fn remember_encodings(&self, made: Vec<Encoding>) -> Result<(), StoreError> {
        let now = self.clock.now();
        let remember = change(&*self.index, move |table| {
            let mut stored = Vec::new();
            for encoding in made {
                let both = [encoding.file, encoding.node];
                if index::used(table, &both, now)?.missing.is_empty() {
                    stored.push(encoding);
                }
            }
            let both = stored.iter().flat_map(|made| [made.file, made.node]).collect::<Vec<_>>();
            index::require(table, &both, now)?;
            stored.into_iter().try_for_each(|encoding| table.set_encoded(encoding))
        });
        remember.await
    }

    async fn mark(&self) -> Result<SweepMark, StoreError> {
        let mark = change(&*self.index, |table| {
            let mark = table.meta(Meta::Touched)?;
            table.set_meta(Meta::Mark, mark)?;
            Ok(SweepMark(mark))
        });
        mark.await
    }

    async fn sweep(
        &self,
        mark: SweepMark,
        roots: Vec<Digest>,
        keep_since: Timestamp,
    ) -> Result<Swept, StoreError> {
        self.sweep_now(mark, roots, keep_since).await
    }

    async fn usage(&self) -> Result<Usage, StoreError> {
        let count = look(&*self.index, |table| {
            let mut usage = Usage::default();
            table.each(&mut |_, row| {
                usage.nodes += 1;
                usage.bytes += row.bytes;
            })?;
            for (_, pack) in table.packs()? {
                usage.objects += 1;
                usage.stored_bytes += pack.bytes;
            }
            Ok(usage)
        });
        count.await
    }

    async fn verify(&self) -> Result<Vec<Damage>, StoreError> {
        self.verify_all().await
    }
}

#[cfg(test)]
mod tests;
