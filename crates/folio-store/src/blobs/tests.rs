//! Both stores against the conformance suite, and what only this implementation can show: damage, crashes
//! between steps, and a suite that notices an index which forgets.

mod files;
mod healing;
mod races;

use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;

use bytes::Bytes;
use folio_core::ports::{Encoding, SystemClock};
use folio_testkit::clock::TestClock;
use folio_testkit::conformance::blobs as conformance;
use folio_testkit::conformance::blobs::{chunked, directory, file, tree};
use futures::{FutureExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tempfile::TempDir;

use super::index::{Job, Pack, PackId, Row, Table};
use super::*;
use crate::{DataDirectory, sqlite};

const NO_GRACE: PackOptions = PackOptions { grace: Duration::ZERO };

async fn in_memory() -> PackStore {
    PackStore::in_memory(MemoryIndex::default(), Arc::new(SystemClock), NO_GRACE).await.unwrap()
}

async fn in_directory() -> (PackStore, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (reopened(&directory).await, directory)
}

async fn reopened(directory: &TempDir) -> PackStore {
    let db = Db::open(directory.path(), sqlite::Options::default()).unwrap();
    PackStore::in_directory(db, Arc::new(SystemClock), NO_GRACE).await.unwrap()
}

/// A store that makes an object of every pack, so that a test can damage it.
async fn over(objects: &Arc<InMemory>, index: Arc<dyn Index>) -> PackStore {
    let (objects, clock) = (Objects::new(Arc::clone(objects) as _), Arc::new(SystemClock));
    let store = PackStore::open(objects, index, clock, NO_GRACE).await.unwrap();
    PackStore { kept_max: 0, ..store }
}

async fn objects_in(objects: &InMemory) -> Vec<Path> {
    objects.list(None).map_ok(|meta| meta.location).try_collect().await.unwrap()
}

async fn overwrite(objects: &InMemory, path: &Path, bytes: Vec<u8>) {
    objects.put_opts(path, bytes.into(), PutMode::Overwrite.into()).await.unwrap();
}

fn sample() -> (Node, Vec<Node>) {
    let (one, two) = (file("one one one one one one"), file(vec![3; 300]));
    let whole = chunked(&[&one, &two, &one]);
    let inner = directory(&[("one", &one), ("two", &two)]);
    let root = tree(&[("inner", &inner)]);
    (root.clone(), vec![one, two, whole, inner, root])
}

#[tokio::test]
async fn memory_conforms() {
    conformance::all(&in_memory().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_with_sqlite_conforms() {
    let (store, _directory) = in_directory().await;
    conformance::all(&store).await;
}

#[tokio::test]
async fn a_store_that_makes_an_object_of_every_pack_conforms() {
    conformance::all(&over(&Arc::default(), Arc::new(MemoryIndex::default())).await).await;
}

#[tokio::test]
async fn a_small_pack_lies_in_the_index_and_a_large_one_does_not() {
    let (store, directory) = in_directory().await;
    let mut chance = StdRng::seed_from_u64(1);
    let noise: Vec<u8> = std::iter::repeat_with(|| chance.random()).take(KEPT_MAX + 1).collect();
    let (small, large) = (sample().1, file(noise));
    let objects = || async { store.objects.list().await.unwrap().len() };
    store.put(small.clone()).await.unwrap();
    assert_eq!(objects().await, 0);
    store.put(vec![large.clone()]).await.unwrap();
    assert_eq!(objects().await, 1);
    drop(store);
    // A copy has both.
    let beside = tempfile::tempdir().unwrap();
    let copy = beside.path().join("copy");
    DataDirectory::copy(directory.path(), &copy).await.unwrap();
    let db = Db::open(&copy, sqlite::Options::default()).unwrap();
    let store = PackStore::in_directory(db, Arc::new(SystemClock), NO_GRACE).await.unwrap();
    for node in small.iter().chain([&large]) {
        assert_eq!(store.get(node.digest).await.unwrap(), *node);
    }
    assert_eq!(store.verify().await.unwrap(), []);
    let mark = store.mark().await.unwrap();
    store.sweep(mark, Vec::new(), Timestamp::MAX).await.unwrap();
    assert_eq!(store.usage().await.unwrap(), Usage::default());
}

#[tokio::test]
async fn a_damaged_small_pack_is_found_and_never_served() {
    for body in ["zeroblob(length(body))", "substr(body, 1, 20)", "x''", "NULL"] {
        let (store, directory) = in_directory().await;
        let (_, nodes) = sample();
        store.put(nodes.clone()).await.unwrap();
        drop(store);
        let conn = rusqlite::Connection::open(directory.path().join("folio.db")).unwrap();
        conn.execute(&format!("UPDATE packs SET body = {body}"), []).unwrap();
        drop(conn);
        let store = reopened(&directory).await;
        let damages = store.verify().await.unwrap();
        for node in nodes {
            assert!(damages.iter().any(|damage| damage.digest == Some(node.digest)), "{body}");
            let read = store.get(node.digest).await;
            assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{body}: {read:?}");
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn memory_follows_the_model((names, operations) in conformance::any_operations()) {
        runtime().block_on(async {
            conformance::follows_the_model(&in_memory().await, &names, &operations).await;
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn sqlite_follows_the_model((names, operations) in conformance::any_operations()) {
        runtime().block_on(async {
            let (store, _directory) = in_directory().await;
            conformance::follows_the_model(&store, &names, &operations).await;
        });
    }
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_restart() {
    let (store, directory) = in_directory().await;
    let (root, nodes) = sample();
    store.put(nodes.clone()).await.unwrap();
    drop(store);
    let store = reopened(&directory).await;
    assert!(
        store.missing(nodes.iter().map(|node| node.digest).collect()).await.unwrap().is_empty()
    );
    for node in &nodes {
        assert_eq!(store.get(node.digest).await.unwrap(), *node);
    }
    let mark = store.mark().await.unwrap();
    store.sweep(mark, vec![root.digest], Timestamp::MAX).await.unwrap();
    drop(store);
    let store = reopened(&directory).await;
    assert_eq!(store.usage().await.unwrap().nodes, 4);
    assert_eq!(store.verify().await.unwrap(), []);
}

#[tokio::test]
async fn every_flipped_bit_is_found_and_never_served() {
    let objects = Arc::new(InMemory::new());
    let index = MemoryIndex::default();
    let (_, nodes) = sample();
    over(&objects, Arc::new(index.clone())).await.put(nodes.clone()).await.unwrap();
    let path = objects_in(&objects).await.remove(0);
    let good = objects.get(&path).await.unwrap().bytes().await.unwrap();
    for at in 0..good.len() {
        let mut damaged = good.to_vec();
        damaged[at] ^= 1 << (at % 8);
        overwrite(&objects, &path, damaged).await;
        // A new store, because a block that was read before the damage may be remembered.
        let store = over(&objects, Arc::new(index.clone())).await;
        let damages = store.verify().await.unwrap();
        assert!(!damages.is_empty(), "byte {at}");
        for node in &nodes {
            let named = damages.iter().any(|damage| damage.digest == Some(node.digest));
            match store.get(node.digest).await {
                Ok(read) => assert_eq!(read, *node, "byte {at}"),
                Err(error) => {
                    assert!(matches!(error, StoreError::Corrupt { .. }), "byte {at}: {error}");
                    assert!(named, "byte {at}: verify does not name what cannot be read");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_pack_that_is_missing_or_cut_is_found() {
    let objects = Arc::new(InMemory::new());
    let store = over(&objects, Arc::new(MemoryIndex::default())).await;
    let (_, nodes) = sample();
    store.put(nodes.clone()).await.unwrap();
    let path = objects_in(&objects).await.remove(0);
    let good = objects.get(&path).await.unwrap().bytes().await.unwrap();
    for length in [0, 1, 7, 8, 60, good.len() - 1] {
        overwrite(&objects, &path, good[..length].to_vec()).await;
        assert!(!store.verify().await.unwrap().is_empty(), "{length} bytes");
        let read = store.get(nodes[0].digest).await;
        assert!(!matches!(read, Ok(read) if read != nodes[0]), "{length} bytes");
    }
    objects.delete(&path).await.unwrap();
    let store = PackStore { cache: Cache::default(), ..store };
    let mut lost: Vec<_> = store.verify().await.unwrap().iter().filter_map(|d| d.digest).collect();
    lost.sort_unstable();
    let mut expected: Vec<_> = nodes.iter().map(|node| node.digest).collect();
    expected.sort_unstable();
    assert_eq!(lost, expected);
    let read = store.get(nodes[0].digest).await;
    assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{read:?}");
}

#[tokio::test]
async fn a_damaged_directory_stops_the_sweep() {
    let objects = Arc::new(InMemory::new());
    let index = MemoryIndex::default();
    let (root, nodes) = sample();
    over(&objects, Arc::new(index.clone())).await.put(nodes).await.unwrap();
    let path = objects_in(&objects).await.remove(0);
    let mut bytes = objects.get(&path).await.unwrap().bytes().await.unwrap().to_vec();
    // The first block holds the directories.
    bytes[20] ^= 1;
    overwrite(&objects, &path, bytes).await;
    let store = over(&objects, Arc::new(index)).await;
    let mark = store.mark().await.unwrap();
    let swept = store.sweep(mark, vec![root.digest], Timestamp::MAX).await;
    assert!(matches!(swept, Err(StoreError::Corrupt { .. })), "{swept:?}");
    assert_eq!(store.usage().await.unwrap().nodes, 5);
}

#[tokio::test]
async fn what_a_crash_left_behind_is_swept_and_no_damage() {
    let (store, directory) = in_directory().await;
    let (root, nodes) = sample();
    store.put(nodes).await.unwrap();
    let shelf = directory.path().join("blobs/packs/00");
    std::fs::create_dir_all(&shelf).unwrap();
    std::fs::write(shelf.join("00forgotten"), b"a pack whose rows were never written").unwrap();
    std::fs::write(shelf.join("00half#1"), b"a pack that was never finished").unwrap();
    drop(store);
    let store = reopened(&directory).await;
    assert!(!shelf.join("00half#1").exists());
    assert_eq!(store.verify().await.unwrap(), []);
    let mark = store.mark().await.unwrap();
    store.sweep(mark, vec![root.digest], Timestamp::UNIX_EPOCH).await.unwrap();
    assert!(shelf.join("00forgotten").exists(), "it may belong to a batch that is being stored");
    let mark = store.mark().await.unwrap();
    let swept = store.sweep(mark, vec![root.digest], Timestamp::MAX).await.unwrap();
    assert!(!shelf.join("00forgotten").exists());
    assert!(swept.bytes >= 36, "{swept:?}");
    assert_eq!(store.verify().await.unwrap(), []);
}

#[tokio::test]
async fn a_pack_that_is_being_written_is_not_forgotten() {
    let objects = Arc::new(InMemory::new());
    let store = over(&objects, Arc::new(MemoryIndex::default())).await;
    let written = store.write_pack(vec![file("on its way")]).await.unwrap();
    let mark = store.mark().await.unwrap();
    store.sweep(mark, Vec::new(), Timestamp::MAX).await.unwrap();
    assert_eq!(objects_in(&objects).await.len(), 1);
    drop(written);
    let mark = store.mark().await.unwrap();
    store.sweep(mark, Vec::new(), Timestamp::MAX).await.unwrap();
    assert_eq!(objects_in(&objects).await.len(), 0);
}

#[tokio::test]
async fn repeated_uses_are_written_once_in_half_a_grace_period() {
    let index = MemoryIndex::default();
    let day = PackOptions::default();
    let store = PackStore::in_memory(index.clone(), Arc::new(SystemClock), day).await.unwrap();
    let (root, nodes) = sample();
    store.put(nodes.clone()).await.unwrap();
    let counter = || look(&index, |table| table.meta(Meta::Touched));
    let before = counter().await.unwrap();
    let digests: Vec<_> = nodes.iter().map(|node| node.digest).collect();
    store.missing(digests.clone()).await.unwrap();
    store.put(nodes).await.unwrap();
    index.require(&digests, store.clock.now()).unwrap();
    assert_eq!(counter().await.unwrap(), before);
    let half_a_day = store.clock.now() + jiff::SignedDuration::from_hours(13);
    index.require(&digests, half_a_day).unwrap();
    assert!(counter().await.unwrap() > before);
    // After a mark the very next use is written, grace or not.
    let marked = counter().await.unwrap();
    store.mark().await.unwrap();
    index.require(&[root.digest], half_a_day).unwrap();
    assert!(counter().await.unwrap() > marked);
}

#[tokio::test]
async fn without_grace_a_clock_that_stands_keeps_nothing_back() {
    let clock = Arc::new(TestClock::new(1));
    let index = MemoryIndex::default();
    let store = PackStore::in_memory(index, Arc::clone(&clock) as _, NO_GRACE).await.unwrap();
    let (_, nodes) = sample();
    for node in nodes {
        store.put(vec![node]).await.unwrap();
    }
    let mark = store.mark().await.unwrap();
    assert_eq!(store.sweep(mark, Vec::new(), clock.now()).await.unwrap().nodes, 5);
}

#[tokio::test]
async fn time_that_stands_or_falls_back_keeps_the_order() {
    let index = MemoryIndex::default();
    let ticks = change(&index, |table| {
        let moments = [5_000, 5_000, 1, 6_000].map(Timestamp::from_second);
        moments.map(|moment| index::tick(table, moment.unwrap())).into_iter().collect()
    });
    let ticks: Vec<u64> = ticks.await.unwrap();
    assert_eq!(ticks, [5_000_000, 5_000_001, 5_000_002, 6_000_000]);
}

/// An index that does something else just before the next change: the moment between a sweep's look and its
/// transaction.
struct Meddled {
    index: MemoryIndex,
    first: Mutex<Option<Job>>,
    sight: Sight,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sight {
    Clear,
    /// Transactions do not see when rows were last used, as if nothing were checked again.
    Blind,
}

#[async_trait]
impl Index for Meddled {
    async fn look(&self, job: Job) -> Result<(), StoreError> {
        self.index.look(job).await
    }

    async fn change(&self, job: Job, callers: usize) -> Result<(), StoreError> {
        let first = self.first.lock().unwrap().take();
        if let Some(first) = first {
            self.index.change(first, callers).await?;
        }
        let blind = self.sight == Sight::Blind;
        let job: Job = if blind { Box::new(|table| job(&mut Blind(table))) } else { job };
        self.index.change(job, callers).await
    }
}

/// Rows that never seem to have been used.
struct Blind<'a>(&'a mut dyn Table);

impl Table for Blind<'_> {
    fn row(&self, digest: Digest) -> Result<Option<Row>, StoreError> {
        Ok(self.0.row(digest)?.map(|row| Row { touched: 0, ..row }))
    }
    fn set(&mut self, digest: Digest, row: &Row) -> Result<(), StoreError> {
        self.0.set(digest, row)
    }
    fn touch(&mut self, digest: Digest, at: u64) -> Result<(), StoreError> {
        self.0.touch(digest, at)
    }
    fn remove(&mut self, digest: Digest) -> Result<(), StoreError> {
        self.0.remove(digest)
    }
    fn each(&self, visit: &mut dyn FnMut(Digest, Row)) -> Result<(), StoreError> {
        self.0.each(visit)
    }
    fn packs(&self) -> Result<Vec<(PackId, Pack)>, StoreError> {
        self.0.packs()
    }
    fn pack(&self, id: PackId) -> Result<Option<Pack>, StoreError> {
        self.0.pack(id)
    }
    fn add_pack(&mut self, pack: &Pack, body: Option<&Bytes>) -> Result<PackId, StoreError> {
        self.0.add_pack(pack, body)
    }
    fn pack_part(&self, id: PackId, part: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.0.pack_part(id, part)
    }
    fn remove_pack(&mut self, id: PackId) -> Result<(), StoreError> {
        self.0.remove_pack(id)
    }
    fn meta(&self, key: Meta) -> Result<u64, StoreError> {
        self.0.meta(key)
    }
    fn set_meta(&mut self, key: Meta, value: u64) -> Result<(), StoreError> {
        self.0.set_meta(key, value)
    }
    fn unpacked(&self, archive: Digest) -> Result<Option<Digest>, StoreError> {
        self.0.unpacked(archive)
    }
    fn set_unpacked(&mut self, archive: Digest, tree: Digest) -> Result<(), StoreError> {
        self.0.set_unpacked(archive, tree)
    }
    fn encoded(&self, file: Digest) -> Result<Option<Digest>, StoreError> {
        self.0.encoded(file)
    }
    fn set_encoded(&mut self, encoding: Encoding) -> Result<(), StoreError> {
        self.0.set_encoded(encoding)
    }
    fn each_encoded(&self, visit: &mut dyn FnMut(Encoding)) -> Result<(), StoreError> {
        self.0.each_encoded(visit)
    }
}

/// Uses the root between a sweep's look and its transaction; says what is left of the tree.
async fn left_after_a_use_during_the_sweep(sight: Sight) -> Vec<Digest> {
    let index = MemoryIndex::default();
    let meddled = Arc::new(Meddled { index, first: Mutex::default(), sight });
    let objects = Arc::new(InMemory::new());
    let store = over(&objects, Arc::<Meddled>::clone(&meddled)).await;
    let (root, nodes) = sample();
    store.put(nodes.clone()).await.unwrap();
    let mark = store.mark().await.unwrap();
    let now = store.clock.now();
    let job: Job = Box::new(move |table| index::require(table, &[root.digest], now));
    *meddled.first.lock().unwrap() = Some(job);
    store.sweep(mark, Vec::new(), Timestamp::MAX).await.unwrap();
    let mut left = Vec::new();
    for node in nodes {
        left.extend(store.get(node.digest).await.ok().map(|node| node.digest));
    }
    left
}

#[tokio::test]
async fn a_use_between_the_look_and_the_transaction_saves_the_whole_tree() {
    let (_, nodes) = sample();
    let reached: Vec<_> = [0, 1, 3, 4].map(|number: usize| nodes[number].digest).into();
    assert_eq!(left_after_a_use_during_the_sweep(Sight::Clear).await, reached);
    // The same without the second check loses it: this test can tell.
    assert_eq!(left_after_a_use_during_the_sweep(Sight::Blind).await, []);
}

/// An index that does not write uses down.
struct Forgetful(MemoryIndex);

#[async_trait]
impl Index for Forgetful {
    async fn look(&self, job: Job) -> Result<(), StoreError> {
        self.0.look(job).await
    }
    async fn change(&self, job: Job, callers: usize) -> Result<(), StoreError> {
        let job: Job = Box::new(|table| {
            let mark = table.meta(Meta::Mark)?;
            let before = table.meta(Meta::Touched)?;
            job(table)?;
            // Whatever the job touched among older rows is forgotten again.
            let mut touched = Vec::new();
            table.each(&mut |digest, row| touched.push((digest, row.touched)))?;
            let fresh = touched.into_iter().filter(|(_, at)| *at > before && before >= mark);
            fresh.for_each(|(digest, _)| table.touch(digest, 1).unwrap());
            Ok(())
        });
        self.0.change(job, callers).await
    }
}

#[tokio::test]
async fn the_suite_notices_an_index_that_forgets_uses() {
    let objects = Arc::new(InMemory::new());
    let store = over(&objects, Arc::new(Forgetful(MemoryIndex::default()))).await;
    let asked = conformance::what_is_asked_for_after_the_mark_is_kept(&store);
    assert!(AssertUnwindSafe(asked).catch_unwind().await.is_err());
    let named = conformance::what_is_named_after_the_mark_is_kept(&store);
    assert!(AssertUnwindSafe(named).catch_unwind().await.is_err());
}
