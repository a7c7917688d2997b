//! A process that works on a queue and its record of executions dies at every durable step. What it was told is done
//! is done; the step it died in is done whole or not at all.

use std::path::Path;
use std::process::{Command, Stdio};

use folio_core::crash;
use folio_core::ports::{ExecutionFilter, Lease, TaskOf};
use folio_model::{
    AppName, Execution, ExecutionAsked, ExecutionEnd, ExecutionId, ExecutionMode, ExecutionOrigin,
    ExecutionStatus, UnitUid,
};
use folio_store::MemoryQueue;
use folio_testkit::conformance::executions::Recording;
use serde_json::json;
use uuid::Uuid;

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
    /// Begins an execution somebody waits for; its task is the last lease.
    Begin(u128),
    End(u128),
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
    Step::Begin(1),
    Step::End(1),
    Step::Begin(2),
    Step::Lease,
    Step::Done,
];

/// Whoever tells the story.
#[derive(Default)]
struct Teller {
    last: Option<Lease>,
    held: Option<Uuid>,
}

async fn take(queue: &dyn Recording, step: Step, teller: &mut Teller) {
    let Teller { last, held } = teller;
    match (step, last.as_ref()) {
        (Step::Push(name, due), _) => assert!(queue.push(task(name, due)).await.unwrap()),
        (Step::Lease, _) => *last = Some(lease(queue, 50).await.unwrap()),
        (Step::Done, Some(held)) => assert!(queue.done(held.token).await.unwrap()),
        (Step::Retry(due), Some(held)) => {
            assert!(queue.retry(held.token, at(due)).await.unwrap());
        }
        (Step::Begin(id), _) => {
            let (execution, task) = (execution(id), task(&format!("run {id}"), 40));
            let begun = queue.begin(execution, task, Some(at(90))).await.unwrap();
            *held = begun.lease;
        }
        (Step::End(id), _) => {
            let task = TaskOf::Lease(held.take().unwrap());
            assert!(queue.end(ExecutionId(Uuid::from_u128(id)), end(), task).await.unwrap());
        }
        (Step::Done | Step::Retry(_), None) => unreachable!("the story leases first"),
    }
}

#[tokio::test]
async fn whatever_step_it_dies_at_no_task_is_lost_or_done_twice() {
    let own = crash::POINTS.iter().filter(|point| point.starts_with("queue."));
    assert!({ own }.all(|point| POINTS.contains(point)), "a point of the queue is not tried");
    for point in POINTS {
        for nth in 1.. {
            let directory = tempfile::tempdir().unwrap();
            let Some(acknowledged) = die(directory.path(), &format!("{point}:{nth}")) else {
                assert!(nth > 2, "nothing passes {point} twice");
                break;
            };
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

/// Runs the story in a process that dies at a point, and says how many steps it saw acknowledged. None if it never
/// passed the point so often.
#[expect(clippy::disallowed_methods, reason = "a process that dies must be another one")]
fn die(directory: &Path, point: &str) -> Option<usize> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "queue::crash::tells_the_story", "--nocapture"]);
    command.env(DIRECTORY, directory).env(POINT, point);
    let child = command.stderr(Stdio::null()).output().unwrap();
    let acknowledged = String::from_utf8_lossy(&child.stdout).matches("acknowledged\n").count();
    (!child.status.success()).then_some(acknowledged)
}

/// A queue that took the first steps of the story.
async fn told(steps: usize) -> MemoryQueue {
    let queue = MemoryQueue::default();
    let mut teller = Teller::default();
    for step in STORY.iter().take(steps) {
        take(&queue, *step, &mut teller).await;
    }
    queue
}

/// The executions there are, and what there is left to do, long after every lease ended.
async fn rest(queue: &dyn Recording) -> (Vec<Execution>, Vec<(String, u32, i64)>) {
    let executions = queue.executions(ExecutionFilter::default(), 10).await.unwrap();
    let mut rest = Vec::new();
    while let Some(held) = lease(queue, 100_000).await {
        rest.push((held.task.name, held.attempt, held.task.due.as_second()));
        assert!(queue.done(held.token).await.unwrap());
    }
    (executions, rest)
}

fn execution(id: u128) -> Execution {
    let asked = ExecutionAsked {
        function: "hello".parse().unwrap(),
        version: None,
        pinned: false,
        alias: None,
        release: None,
        mode: ExecutionMode::Sync,
        origin: ExecutionOrigin::Request,
        slot: None,
        by: "ada".parse().unwrap(),
        description: String::new(),
    };
    Execution {
        id: ExecutionId(Uuid::from_u128(id)),
        seq: 0,
        app: AppName::default_app(),
        unit: UnitUid(Uuid::from_u128(7)),
        number: None,
        asked,
        input: None,
        status: ExecutionStatus::Running,
        output: None,
        created_at: at(40),
        ended_at: None,
        duration_ms: None,
    }
}

fn end() -> ExecutionEnd {
    let (status, output) = (ExecutionStatus::Success, Some(json!("well")));
    ExecutionEnd { status, output, log: "a line\n".to_owned(), at: at(41), duration_ms: Some(1) }
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
    let mut teller = Teller::default();
    for step in STORY {
        take(&queue, *step, &mut teller).await;
        println!("acknowledged");
    }
}
