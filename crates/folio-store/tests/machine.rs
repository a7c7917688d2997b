//! Random commands on memory and on a SQLite data directory, which must answer alike and look alike after every
//! one of them, with clean stops and crashes in between.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use folio_core::Folio;
use folio_core::ports::{Clock, Ledger};
use folio_model::AppName;
use folio_store::{DataDirectory, MemoryIndex, MemoryLedger, MemoryQueue, PackOptions, PackStore};
use folio_testkit::Depth;
use folio_testkit::clock::TestClock;
use folio_testkit::machine::{Command, Stop, Workshop, World, any_commands, run, settings};
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use tempfile::TempDir;

/// Fifty on average: a case has between one and this many, so that a failing one can shrink.
const COMMANDS: usize = 99;

#[test]
fn memory_and_sqlite_never_differ() {
    check(cases("FOLIO_MACHINE_CASES", 2_000), &fast());
}

/// A directory in memory, where there is one.
pub(super) fn fast() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

#[test]
fn memory_and_sqlite_never_differ_on_disk() {
    check(cases("FOLIO_MACHINE_DISK_CASES", 100), Path::new(env!("CARGO_TARGET_TMPDIR")));
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long to search is for whoever runs the test to say"
)]
fn cases(variable: &str, default: u32) -> u32 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number of cases"))
}

/// Searches on every core at once.
fn check(cases: u32, parent: &Path) {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| search(cases.div_ceil(cores), parent));
        }
    });
}

fn search(cases: u32, parent: &Path) {
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let outcome = TestRunner::new(config).run(&any_commands(COMMANDS), |commands| {
        runtime.block_on(run_on_both(&commands, parent));
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

async fn run_on_both(commands: &[Command], parent: &Path) {
    // Stores draw their own chance, so that the two platforms draw the same.
    let clocks: Vec<_> = (0..4).map(|store| Arc::new(TestClock::new(store / 2))).collect();
    let mut memory = InMemory::open(clocks[0].clone(), clocks[2].clone()).await;
    let mut sqlite = OnDisk::open(parent, clocks[1].clone(), clocks[3].clone()).await;
    run(commands, &clocks, &mut memory, &mut sqlite).await;
}

struct InMemory {
    folio: Folio,
    ledger: Arc<dyn Ledger>,
    blobs: Arc<PackStore>,
    clock: Arc<dyn Clock>,
    queue: Arc<MemoryQueue>,
    workshop: Workshop,
}

impl InMemory {
    async fn open(clock: Arc<dyn Clock>, store_clock: Arc<dyn Clock>) -> Self {
        let index = MemoryIndex::default();
        let options = PackOptions { grace: settings().grace };
        let blobs = PackStore::in_memory(index.clone(), store_clock, options).await.unwrap();
        let ledger: Arc<dyn Ledger> = Arc::new(MemoryLedger::new(index));
        let (blobs, queue) = (Arc::new(blobs), Arc::new(MemoryQueue::default()));
        let folio = Folio::new(ledger.clone(), blobs.clone(), clock.clone(), settings());
        let workshop = Workshop::new(queue.clone());
        Self { folio: workshop.serve(folio), ledger, blobs, clock, queue, workshop }
    }
}

#[async_trait]
impl World for InMemory {
    fn folio(&self) -> &Folio {
        &self.folio
    }

    fn workshop(&self) -> &Workshop {
        &self.workshop
    }

    async fn restart(&mut self, _: Stop) {
        let (ledger, blobs) = (self.ledger.clone(), self.blobs.clone());
        let folio = Folio::new(ledger, blobs, self.clock.clone(), settings());
        self.workshop = Workshop::new(self.queue.clone());
        self.folio = self.workshop.serve(folio);
    }

    async fn dump(&self, depth: Depth) -> Value {
        dump(self.ledger.as_ref(), depth).await
    }
}

struct OnDisk {
    directory: TempDir,
    clock: Arc<dyn Clock>,
    store_clock: Arc<dyn Clock>,
    /// Absent only while the world is between two lives.
    open: Option<(Folio, DataDirectory, Workshop)>,
}

impl OnDisk {
    async fn open(parent: &Path, clock: Arc<dyn Clock>, store_clock: Arc<dyn Clock>) -> Self {
        let directory = tempfile::tempdir_in(parent).unwrap();
        let mut world = Self { directory, clock, store_clock, open: None };
        world.start().await;
        world
    }

    async fn start(&mut self) {
        let clock = Arc::clone(&self.store_clock);
        let data = DataDirectory::open(&self.data(), clock, settings().grace).await.unwrap();
        let (ledger, blobs) = (Arc::clone(&data.ledger), Arc::clone(&data.blobs));
        let folio = Folio::new(ledger, blobs, Arc::clone(&self.clock), settings());
        let workshop = Workshop::new(data.queue.clone());
        self.open = Some((workshop.serve(folio), data, workshop));
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }
}

#[async_trait]
impl World for OnDisk {
    fn folio(&self) -> &Folio {
        &self.open.as_ref().expect("open between two lives").0
    }

    fn workshop(&self) -> &Workshop {
        &self.open.as_ref().expect("open between two lives").2
    }

    async fn restart(&mut self, stop: Stop) {
        let image = self.directory.path().join("image");
        if stop == Stop::Crash {
            // What kill -9 leaves behind is what the files hold at this moment.
            copy(&self.data(), &image);
        }
        let (folio, data, workshop) = self.open.take().expect("open between two lives");
        drop((folio, workshop));
        data.close().await.unwrap();
        if stop == Stop::Crash {
            std::fs::remove_dir_all(self.data()).unwrap();
            std::fs::rename(&image, self.data()).unwrap();
        }
        self.start().await;
    }

    async fn dump(&self, depth: Depth) -> Value {
        let (_, data, _) = self.open.as_ref().expect("open between two lives");
        dump(data.ledger.as_ref(), depth).await
    }
}

async fn dump(ledger: &dyn Ledger, depth: Depth) -> Value {
    let (sender, receiver) = std::sync::mpsc::channel();
    let look = move |state: &dyn folio_core::ports::State| {
        let dump = folio_testkit::dump(state, &AppName::default_app(), depth)?;
        sender.send(dump).expect("somebody waits");
        Ok(())
    };
    ledger.view(Box::new(look)).await.unwrap();
    receiver.recv_timeout(Duration::from_secs(60)).unwrap()
}

/// What `kill -9` leaves behind is what the files hold at this moment.
pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
