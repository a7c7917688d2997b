//! Random edits on memory and on SQLite, which must take, refuse and show them alike, with restarts in between.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use folio_core::ports::Ledger;
use folio_store::{Db, MemoryIndex, MemoryLedger, Options, SqliteLedger};
use folio_testkit::edits::{Subject, any_commands, run};
use folio_testkit::machine::Stop;
use proptest::prelude::*;
use tempfile::TempDir;

use super::machine::{copy, fast};

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() })]

    #[test]
    fn memory_and_sqlite_take_the_same_edits(commands in any_commands(60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let memory = MemoryLedger::new(MemoryIndex::default());
            let mut sqlite = Restarting::open(&fast());
            run(&commands, &memory, &mut sqlite).await;
        });
    }
}

struct Restarting {
    directory: TempDir,
    /// Absent only while it is between two lives.
    open: Option<(SqliteLedger, Db)>,
}

impl Restarting {
    fn open(parent: &Path) -> Self {
        let directory = tempfile::tempdir_in(parent).unwrap();
        let mut restarting = Self { directory, open: None };
        restarting.start();
        restarting
    }

    fn start(&mut self) {
        let db = Db::open(&self.data(), Options::default()).unwrap();
        self.open = Some((SqliteLedger::new(db.clone()).unwrap(), db));
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }
}

#[async_trait]
impl Subject for Restarting {
    fn ledger(&self) -> &dyn Ledger {
        &self.open.as_ref().expect("open between two lives").0
    }

    async fn restart(&mut self, stop: Stop) {
        let image = self.directory.path().join("image");
        if stop == Stop::Crash {
            copy(&self.data(), &image);
        }
        let (ledger, db) = self.open.take().expect("open between two lives");
        db.close().await.unwrap();
        drop((ledger, db));
        if stop == Stop::Crash {
            std::fs::remove_dir_all(self.data()).unwrap();
            std::fs::rename(&image, self.data()).unwrap();
        }
        self.start();
    }
}
