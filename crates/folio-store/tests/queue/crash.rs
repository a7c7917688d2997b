//! A process that works on a queue dies at every durable step. What it was told is done is done; the step it died
//! in is done whole or not at all.

use std::path::Path;
use std::process::{Command, Stdio};

use folio_core::crash;
use folio_core::ports::{Lease, Queue};
use folio_store::MemoryQueue;

use super::{at, lease, open, task};

/// Where the child works.
const DIRECTORY: &str = "FOLIO_QUEUE_CRASH_DIRECTORY";
/// Where the child dies: `name:nth`.
const POINT: &str = "FOLIO_QUEUE_CRASH_POINT";

/// What the queue passes, and what the writer below it does.
const POINTS: &[&str] = &[
    "queue.pushed",
    "queue.leased",
    "queue.done",
    "queue.returned",
    "ledger.begun",
    "ledger.committed",
    "ledger.acknowledged",
];

#[derive(Debug, Clone, Copy)]
enum Step {
    Push(&'static str, i64),
    Lease,
    /// The last lease.
    Done,
    Retry(i64),
}

/// Every step at least twice.
const STORY: &[Step] = &[
    Step::Push("one", 10),
    Step::Push("two", 20),
    Step::Lease,
    Step::Retry(15),
    Step::Lease,
    Step::Done,
    Step::Push("three", 5),
    Step::Lease,
    Step::Retry(30),
    Step::Lease,
    Step::Done,
];

async fn take(queue: &dyn Queue, step: Step, last: &mut Option<Lease>) {
    match (step, last.as_ref()) {
        (Step::Push(name, due), _) => assert!(queue.push(task(name, due)).await.unwrap()),
        (Step::Lease, _) => *last = Some(lease(queue, 50).await.unwrap()),
        (Step::Done, Some(held)) => assert!(queue.done(held.token).await.unwrap()),
        (Step::Retry(due), Some(held)) => {
            assert!(queue.retry(held.token, at(due)).await.unwrap());
        }
        (Step::Done | Step::Retry(_), None) => unreachable!("the story leases first"),
    }
}

#[tokio::test]
async fn whatever_step_it_dies_at_no_task_is_lost_or_done_twice() {
    let own = crash::POINTS.iter().filter(|point| point.starts_with("queue."));
    assert!({ own }.all(|point| POINTS.contains(point)), "a point of the queue is not tried");
    for point in POINTS {
        for nth in 1..=2 {
            let directory = tempfile::tempdir().unwrap();
            let acknowledged = die(directory.path(), &format!("{point}:{nth}"));
            let queue = open(directory.path()).await;
            let found = rest(&queue).await;
            let before = rest(&told(acknowledged).await).await;
            let after = rest(&told(acknowledged + 1).await).await;
            assert!(found == before || found == after, "{point}:{nth} left {found:?}");
            // The queue's own points lie inside the transaction.
            assert!(!point.starts_with("queue.") || found == before, "{point}:{nth} half done");
        }
    }
}

/// Runs the story in a process that dies at a point, and says how many steps it saw acknowledged.
#[expect(clippy::disallowed_methods, reason = "a process that dies must be another one")]
fn die(directory: &Path, point: &str) -> usize {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "queue::crash::tells_the_story", "--nocapture"]);
    command.env(DIRECTORY, directory).env(POINT, point);
    let child = command.stderr(Stdio::null()).output().unwrap();
    assert!(!child.status.success(), "nothing passes {point}");
    String::from_utf8_lossy(&child.stdout).matches("acknowledged\n").count()
}

/// A queue that took the first steps of the story.
async fn told(steps: usize) -> MemoryQueue {
    let queue = MemoryQueue::default();
    let mut last = None;
    for step in STORY.iter().take(steps) {
        take(&queue, *step, &mut last).await;
    }
    queue
}

/// What there is left to do, long after every lease ended.
async fn rest(queue: &dyn Queue) -> Vec<(String, u32, i64)> {
    let mut rest = Vec::new();
    while let Some(held) = lease(queue, 100_000).await {
        rest.push((held.task.name, held.attempt, held.task.due.as_second()));
        assert!(queue.done(held.token).await.unwrap());
    }
    rest
}

/// The child of the test above; on its own it does nothing.
#[expect(clippy::disallowed_methods, reason = "how a test tells its child what to do")]
#[tokio::test]
async fn tells_the_story() {
    let (Ok(directory), Ok(point)) = (std::env::var(DIRECTORY), std::env::var(POINT)) else {
        return;
    };
    let queue = open(Path::new(&directory)).await;
    let (point, nth) = point.split_once(':').unwrap();
    crash::arm(point, nth.parse().unwrap());
    let mut last = None;
    for step in STORY {
        take(&queue, *step, &mut last).await;
        println!("acknowledged");
    }
}
