//! How fast executions are accepted for good, and how much a page costs however many there are.
//!
//! `cargo bench --package folio-store --bench executions`, or `cargo xtask bench executions`. Prints each figure beside
//! its goal; nothing fails because something is slow.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark measures and prints"
)]

use std::time::{Duration, Instant};

use folio_core::ports::{ExecutionFilter, Executions as _, Task};
use folio_model::{
    AppName, Execution, ExecutionAsked, ExecutionId, ExecutionMode, ExecutionOrigin,
    ExecutionStatus, Timestamp, UnitUid,
};
use folio_store::{Db, Options, SqliteQueue};
use futures::future::join_all;
use uuid::Uuid;

const CLIENTS: usize = 32;
const ACCEPTED: usize = 20_000;
const FEW: usize = 1_000;
const MANY: usize = 1_000_000;
const PAGE: usize = 100;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(async {
        let rate = accept_rate().await;
        println!("accepted durably by {CLIENTS} clients: {rate:.0}/s (goal: at least 2000/s)");
        let [few, many] = pages().await;
        let ratio = many.as_secs_f64() / few.as_secs_f64();
        println!(
            "a page of {PAGE} from {MANY} beside one from {FEW}: {ratio:.2} x (goal: at most 2 x)"
        );
        println!("  {:.0} us and {:.0} us", many.as_secs_f64() * 1e6, few.as_secs_f64() * 1e6);
    });
}

async fn open(directory: &std::path::Path) -> SqliteQueue {
    let db = Db::open(directory, Options::default()).expect("a new directory opens");
    SqliteQueue::open(db).await.expect("its queue opens")
}

async fn accept_rate() -> f64 {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory is made");
    let queue = open(directory.path()).await;
    let unit = UnitUid(Uuid::new_v4());
    let begun = Instant::now();
    fill(&queue, unit, ACCEPTED, CLIENTS).await;
    #[expect(clippy::cast_precision_loss, reason = "a count of thousands")]
    let rate = ACCEPTED as f64 / begun.elapsed().as_secs_f64();
    rate
}

/// The time a page takes, of few and of many executions.
async fn pages() -> [Duration; 2] {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory is made");
    let queue = open(directory.path()).await;
    let unit = UnitUid(Uuid::new_v4());
    fill(&queue, unit, FEW, 256).await;
    let few = page_time(&queue).await;
    fill(&queue, unit, MANY - FEW, 256).await;
    [few, page_time(&queue).await]
}

async fn fill(queue: &SqliteQueue, unit: UnitUid, count: usize, clients: usize) {
    let each = count.div_ceil(clients);
    let client = |_| async move {
        for _ in 0..each {
            let (execution, task) = execution(unit);
            queue.begin(execution, task, None).await.expect("it is accepted");
        }
    };
    join_all((0..clients).map(client)).await;
}

/// The median of many pages.
async fn page_time(queue: &SqliteQueue) -> Duration {
    let filter =
        ExecutionFilter { app: Some(AppName::default_app()), ..ExecutionFilter::default() };
    let mut times = Vec::new();
    for _ in 0..201 {
        let begun = Instant::now();
        let page = queue.executions(filter.clone(), PAGE).await.expect("it is listed");
        assert_eq!(page.len(), PAGE);
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

fn execution(unit: UnitUid) -> (Execution, Task) {
    let id = ExecutionId(Uuid::new_v4());
    let asked = ExecutionAsked {
        function: "hello".parse().expect("a name"),
        version: None,
        pinned: false,
        alias: None,
        release: None,
        mode: ExecutionMode::Async,
        origin: ExecutionOrigin::Request,
        slot: None,
        by: "bench".parse().expect("an actor"),
        description: String::new(),
    };
    let execution = Execution {
        id,
        seq: 0,
        app: AppName::default_app(),
        unit,
        number: None,
        asked,
        input: Some("{\"name\": \"ada\"}".to_owned()),
        status: ExecutionStatus::Running,
        output: None,
        created_at: Timestamp::UNIX_EPOCH,
        ended_at: None,
        duration_ms: None,
    };
    let body = serde_json::json!({ "id": id });
    let due = Timestamp::UNIX_EPOCH;
    (execution, Task { name: format!("execution/{id}"), topic: "execution".to_owned(), body, due })
}
