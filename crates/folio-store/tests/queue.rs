//! Every queue does what its port promises, and the one in SQLite does it again after a restart.

use std::path::Path;
use std::time::Duration;

use folio_core::ports::{Lease, Queue, Task};
use folio_model::Timestamp;
use folio_store::{Db, MemoryQueue, Options, SqliteQueue};
use folio_testkit::conformance;
use serde_json::json;

mod crash;
mod random;

#[tokio::test]
async fn the_queue_in_memory_conforms() {
    conformance::queue::all(&MemoryQueue::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_in_sqlite_conforms() {
    let directory = tempfile::tempdir().unwrap();
    conformance::queue::all(&open(directory.path()).await).await;
}

#[tokio::test]
async fn the_record_of_executions_in_memory_conforms() {
    conformance::executions::all(&MemoryQueue::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_of_executions_in_sqlite_conforms() {
    let directory = tempfile::tempdir().unwrap();
    conformance::executions::all(&open(directory.path()).await).await;
}

#[tokio::test]
async fn tasks_outlive_their_process_and_its_leases_do_not() {
    let directory = tempfile::tempdir().unwrap();
    let queue = open(directory.path()).await;
    for (name, due) in [("leased", 10), ("waiting", 20), ("done", 5), ("returned", 7)] {
        assert!(queue.push(task(name, due)).await.unwrap());
    }
    let done = lease(&queue, 30).await.unwrap();
    assert!(queue.done(done.token).await.unwrap());
    let returned = lease(&queue, 30).await.unwrap();
    assert!(queue.retry(returned.token, at(40)).await.unwrap());
    let held = lease(&queue, 30).await.unwrap();
    assert_eq!(held.task.name, "leased");
    drop(queue);

    let queue = open(directory.path()).await;
    assert!(!queue.done(held.token).await.unwrap(), "whoever held it is gone");
    assert!(!queue.push(task("leased", 1)).await.unwrap());
    let mut left = Vec::new();
    while let Some(lease) = lease(&queue, 50).await {
        left.push((lease.task, lease.attempt));
    }
    let returned = Task { due: at(40), ..task("returned", 7) };
    assert_eq!(left, [(task("leased", 10), 2), (task("waiting", 20), 1), (returned, 2)]);
}

#[tokio::test]
async fn a_reader_beside_the_owner_ends_no_lease() {
    let directory = tempfile::tempdir().unwrap();
    let queue = open(directory.path()).await;
    queue.push(task("one", 10)).await.unwrap();
    let held = lease(&queue, 10).await.unwrap();
    let reader = SqliteQueue::read_only(Db::open_read_only(directory.path()).unwrap());
    assert_eq!(reader.next_due("work").await.unwrap(), Some(at(10) + HOUR));
    assert!(reader.push(task("two", 10)).await.is_err());
    assert!(queue.done(held.token).await.unwrap());
}

const HOUR: Duration = Duration::from_secs(3_600);

async fn open(directory: &Path) -> SqliteQueue {
    SqliteQueue::open(Db::open(directory, Options::default()).unwrap()).await.unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn task(name: &str, due: i64) -> Task {
    Task {
        name: name.to_owned(),
        topic: "work".to_owned(),
        body: json!({ "do": name }),
        due: at(due),
    }
}

async fn lease(queue: &dyn Queue, now: i64) -> Option<Lease> {
    queue.lease("work", at(now), HOUR).await.unwrap()
}
