//! Random steps on the queue in memory and the one in SQLite, which must answer alike, whatever was reopened in
//! between.

use folio_core::ports::{Queue, Task};
use folio_store::MemoryQueue;
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::{at, open};

#[derive(Debug, Clone)]
enum Step {
    Push {
        name: usize,
        topic: usize,
        due: i64,
    },
    Lease {
        topic: usize,
        now: i64,
        seconds: u64,
    },
    /// One of the leases so far, held or not.
    Done(usize),
    Retry(usize, i64),
    NextDue(usize),
    Reopen,
}

/// One lease, as each queue knows it.
struct Given {
    memory: Uuid,
    sqlite: Uuid,
    task: Task,
}

fn any_step() -> impl Strategy<Value = Step> {
    let topic = || 0..2_usize;
    prop_oneof![
        4 => (0..5_usize, topic(), 0..50_i64)
            .prop_map(|(name, topic, due)| Step::Push { name, topic, due }),
        4 => (topic(), 0..80_i64, 0..30_u64)
            .prop_map(|(topic, now, seconds)| Step::Lease { topic, now, seconds }),
        2 => (0..8_usize).prop_map(Step::Done),
        2 => (0..8_usize, 0..50_i64).prop_map(|(lease, due)| Step::Retry(lease, due)),
        2 => topic().prop_map(Step::NextDue),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn memory_and_sqlite_never_differ(steps in proptest::collection::vec(any_step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(&steps));
    }
}

async fn run(steps: &[Step]) {
    let directory = tempfile::tempdir().unwrap();
    let memory = MemoryQueue::default();
    let mut sqlite = open(directory.path()).await;
    let mut given = Vec::new();
    for step in steps {
        if matches!(step, Step::Reopen) {
            drop(sqlite);
            sqlite = open(directory.path()).await;
            for Given { memory: token, task, .. } in &given {
                memory.retry(*token, task.due).await.unwrap();
            }
        } else {
            both(step, &memory, &sqlite, &mut given).await;
        }
    }
}

async fn both(step: &Step, memory: &dyn Queue, sqlite: &dyn Queue, given: &mut Vec<Given>) {
    match *step {
        Step::Push { name, topic, due } => {
            let name = format!("task {name}");
            let task = Task { name, topic: word(topic), body: json!([due]), due: at(due) };
            let pushed = memory.push(task.clone()).await.unwrap();
            assert_eq!(pushed, sqlite.push(task).await.unwrap(), "{step:?}");
        }
        Step::Lease { topic, now, seconds } => {
            let time = std::time::Duration::from_secs(seconds);
            let expected = memory.lease(&word(topic), at(now), time).await.unwrap();
            let found = sqlite.lease(&word(topic), at(now), time).await.unwrap();
            let (memory, sqlite) = match (expected, found) {
                (Some(expected), Some(found)) => (expected, found),
                (expected, found) => return assert_eq!(expected, found, "{step:?}"),
            };
            assert_eq!((&memory.task, memory.attempt), (&sqlite.task, sqlite.attempt), "{step:?}");
            given.push(Given { memory: memory.token, sqlite: sqlite.token, task: memory.task });
        }
        Step::Done(lease) => {
            let Some(lease) = given.get(lease) else { return };
            let done = memory.done(lease.memory).await.unwrap();
            assert_eq!(done, sqlite.done(lease.sqlite).await.unwrap(), "{step:?}");
        }
        Step::Retry(lease, due) => {
            let Some(lease) = given.get(lease) else { return };
            let returned = memory.retry(lease.memory, at(due)).await.unwrap();
            assert_eq!(returned, sqlite.retry(lease.sqlite, at(due)).await.unwrap(), "{step:?}");
        }
        Step::NextDue(topic) => {
            let next = memory.next_due(&word(topic)).await.unwrap();
            assert_eq!(next, sqlite.next_due(&word(topic)).await.unwrap(), "{step:?}");
        }
        Step::Reopen => unreachable!("handled above"),
    }
}

fn word(topic: usize) -> String {
    ["builds", "timers"][topic].to_owned()
}
