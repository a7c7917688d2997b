//! Every ledger does what its port promises.

use folio_store::{Db, MemoryIndex, MemoryLedger, Options, SqliteLedger};
use folio_testkit::conformance;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledger_in_memory_conforms() {
    conformance::ledger::all(&MemoryLedger::new(MemoryIndex::default())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledger_in_sqlite_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let db = Db::open(directory.path(), Options::default()).unwrap();
    conformance::ledger::all(&SqliteLedger::new(db).unwrap()).await;
}
