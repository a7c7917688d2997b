//! What every record of executions must do, beside the queue it belongs to. Each fact uses a function of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use folio_core::ports::{ExecutionFilter, Executions, Queue, Task, TaskOf};
use folio_model::{
    Actor, AppName, Execution, ExecutionAsked, ExecutionEnd, ExecutionId, ExecutionMode,
    ExecutionOrigin, ExecutionStatus, Number, Timestamp, UnitUid,
};
use serde_json::json;
use uuid::Uuid;

/// A queue with its record.
pub trait Recording: Queue + Executions {}
impl<T: Queue + Executions> Recording for T {}

/// Runs every fact.
pub async fn all(store: &dyn Recording) {
    an_execution_is_kept_as_it_was_asked_for(store).await;
    an_execution_ends_once(store).await;
    what_was_begun_is_counted_until_the_end(store).await;
    whoever_lost_the_lease_cannot_end_it(store).await;
    whoever_adds_it_may_hold_it(store).await;
    what_has_ended_is_added_whole_and_once(store).await;
    pages_go_from_the_newest_to_the_oldest(store).await;
    what_runs_is_found_by_version(store).await;
    every_version_is_counted_also_after_removal(store).await;
    what_is_removed_leaves_no_task(store).await;
    what_ended_long_ago_is_forgotten(store).await;
}

const LEASE: Duration = Duration::from_secs(30);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("within range")
}

/// An execution of a function, and the task that runs it.
fn execution(unit: UnitUid, number: Option<u64>) -> (Execution, Task) {
    let id = ExecutionId(Uuid::new_v4());
    let asked = ExecutionAsked {
        function: "hello".parse().expect("a name"),
        version: number.map(|_| "v1".parse().expect("an id")),
        pinned: number.is_some(),
        alias: Some("prod".parse().expect("an id")),
        release: number.map(|_| "r1".parse().expect("an id")),
        mode: ExecutionMode::Async,
        origin: ExecutionOrigin::Webhook(Uuid::new_v4()),
        slot: None,
        by: "ada".parse::<Actor>().expect("an actor"),
        description: "why not".to_owned(),
    };
    let execution = Execution {
        id,
        seq: 0,
        app: AppName::default_app(),
        unit,
        number: number.and_then(Number::new),
        asked,
        input: Some("{\"n\": 1}".to_owned()),
        status: ExecutionStatus::Running,
        output: None,
        created_at: at(10),
        ended_at: None,
        duration_ms: None,
    };
    let topic = format!("executions of {unit}");
    let task = Task { name: format!("run {id}"), topic, body: json!({ "id": id }), due: at(10) };
    (execution, task)
}

fn function() -> UnitUid {
    UnitUid(Uuid::new_v4())
}

fn end(status: ExecutionStatus, second: i64) -> ExecutionEnd {
    ExecutionEnd {
        status,
        output: Some(json!({ "answer": 42 })),
        log: "a line\n".to_owned(),
        at: at(second),
        duration_ms: Some(7),
    }
}

async fn begin(store: &dyn Recording, unit: UnitUid, number: Option<u64>) -> (Execution, Task) {
    let (execution, task) = execution(unit, number);
    let begun = store.begin(execution.clone(), task.clone(), None).await.expect("beginning works");
    assert_eq!(begun.lease, None);
    (Execution { seq: begun.seq, ..execution }, task)
}

async fn show(store: &dyn Recording, id: ExecutionId) -> Option<Execution> {
    store.execution(id).await.expect("reading works")
}

async fn list(store: &dyn Recording, filter: ExecutionFilter, limit: usize) -> Vec<u64> {
    let found = store.executions(filter, limit).await.expect("listing works");
    found.into_iter().map(|execution| execution.seq).collect()
}

fn of(unit: UnitUid) -> ExecutionFilter {
    ExecutionFilter { unit: Some(unit), ..ExecutionFilter::default() }
}

/// What is read back is what was written, before and after the end.
pub async fn an_execution_is_kept_as_it_was_asked_for(store: &dyn Recording) {
    let (asked, task) = begin(store, function(), Some(3)).await;
    assert_eq!(show(store, asked.id).await.as_ref(), Some(&asked));
    assert_eq!(store.execution_log(asked.id).await.expect("it reads"), Some(String::new()));
    let done = end(ExecutionStatus::Success, 20);
    assert!(store.end(asked.id, done, TaskOf::Name(task.name)).await.expect("ending works"));
    let ended = Execution {
        status: ExecutionStatus::Success,
        output: Some(json!({ "answer": 42 })),
        ended_at: Some(at(20)),
        duration_ms: Some(7),
        ..asked.clone()
    };
    assert_eq!(show(store, asked.id).await, Some(ended));
    assert_eq!(store.execution_log(asked.id).await.expect("it reads"), Some("a line\n".into()));
    let nobody = ExecutionId(Uuid::new_v4());
    assert_eq!(show(store, nobody).await, None);
    assert_eq!(store.execution_log(nobody).await.expect("it reads"), None);
}

/// The first end stands, and takes the task with it.
pub async fn an_execution_ends_once(store: &dyn Recording) {
    let (asked, task) = begin(store, function(), None).await;
    let lease = store.lease(&task.topic, at(10), LEASE).await.expect("leasing works");
    let lease = lease.expect("it is due");
    let by_name = TaskOf::Name(task.name.clone());
    let cancelled = end(ExecutionStatus::Cancelled, 20);
    assert!(store.end(asked.id, cancelled, by_name.clone()).await.expect("ending works"));
    let late = end(ExecutionStatus::Success, 30);
    let by_lease = TaskOf::Lease(lease.token);
    assert!(!store.end(asked.id, late.clone(), by_lease).await.expect("asking works"));
    assert!(!store.end(asked.id, late, by_name).await.expect("asking works"));
    let found = show(store, asked.id).await.expect("it is kept");
    assert_eq!((found.status, found.ended_at), (ExecutionStatus::Cancelled, Some(at(20))));
    assert_eq!(store.next_due(&task.topic).await.expect("asking works"), None);
}

/// A worker whose lease passed to another records nothing.
pub async fn what_was_begun_is_counted_until_the_end(store: &dyn Recording) {
    let (execution, task) = execution(function(), None);
    let (id, name) = (execution.id, TaskOf::Name(task.name.clone()));
    store.begin(execution, task, None).await.expect("it is added");
    let start = || async { store.start(id).await.expect("it is noted") };
    assert_eq!((start().await, start().await), (Some(1), Some(2)));
    store.take_back_start(id).await.expect("it is taken back");
    assert_eq!(start().await, Some(2));
    store.end(id, end(ExecutionStatus::Success, 20), name).await.expect("it ends");
    assert_eq!(start().await, None, "what has ended is not begun");
    assert_eq!(store.start(ExecutionId(Uuid::new_v4())).await.expect("nothing is noted"), None);
}

async fn whoever_lost_the_lease_cannot_end_it(store: &dyn Recording) {
    let (asked, task) = begin(store, function(), None).await;
    let first = store.lease(&task.topic, at(10), LEASE).await.expect("it works").expect("due");
    let second = store.lease(&task.topic, at(50), LEASE).await.expect("it works").expect("ended");
    let done = || end(ExecutionStatus::Success, 60);
    let ended = store.end(asked.id, done(), TaskOf::Lease(first.token)).await;
    assert!(!ended.expect("asking works"));
    assert_eq!(show(store, asked.id).await, Some(asked.clone()));
    let ended = store.end(asked.id, done(), TaskOf::Lease(second.token)).await;
    assert!(ended.expect("ending works"));
}

/// A task that is held from the beginning is nobody else's until the lease ends.
pub async fn whoever_adds_it_may_hold_it(store: &dyn Recording) {
    let (asked, task) = execution(function(), None);
    let begun = store.begin(asked.clone(), task.clone(), Some(at(40))).await.expect("it works");
    let token = begun.lease.expect("it is held");
    let seen = show(store, asked.id).await.expect("everyone sees it");
    assert_eq!((seen.status, seen.seq), (ExecutionStatus::Running, begun.seq));
    assert_eq!(store.running(asked.unit, None).await.expect("it reads"), [asked.id]);
    assert_eq!(store.lease(&task.topic, at(39), LEASE).await.expect("it works"), None);
    let done = end(ExecutionStatus::Success, 20);
    assert!(store.end(asked.id, done, TaskOf::Lease(token)).await.expect("ending works"));
    assert_eq!(store.lease(&task.topic, at(90), LEASE).await.expect("it works"), None);
}

/// What has ended before it is recorded never runs, and is not recorded again.
pub async fn what_has_ended_is_added_whole_and_once(store: &dyn Recording) {
    let (asked, task) = execution(function(), Some(2));
    let done = end(ExecutionStatus::Failed, 20);
    let added = store.add_ended(asked.clone(), done.clone()).await.expect("adding works");
    let ended = Execution {
        seq: added.expect("it is new"),
        status: ExecutionStatus::Failed,
        output: done.output.clone(),
        ended_at: Some(at(20)),
        duration_ms: Some(7),
        ..asked.clone()
    };
    assert_eq!(show(store, asked.id).await, Some(ended.clone()));
    assert_eq!(store.execution_log(asked.id).await.expect("it reads"), Some("a line\n".into()));
    let other = end(ExecutionStatus::Success, 30);
    assert_eq!(store.add_ended(asked.clone(), other).await.expect("asking works"), None);
    assert_eq!(show(store, asked.id).await, Some(ended.clone()));
    assert_eq!(list(store, of(asked.unit), 10).await, [ended.seq]);
    assert_eq!(store.running(asked.unit, None).await.expect("it reads"), []);
    let counts = store.counts(asked.unit).await.expect("counting works");
    assert_eq!(counts, BTreeMap::from([(2, 1)]));
    assert_eq!(store.lease(&task.topic, at(90), LEASE).await.expect("it works"), None);
}

/// A page begins below a place; filters leave out what does not fit.
pub async fn pages_go_from_the_newest_to_the_oldest(store: &dyn Recording) {
    let (mine, other) = (function(), function());
    let mut seqs = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..5 {
        let (execution, task) = begin(store, mine, None).await;
        begin(store, other, None).await;
        seqs.insert(0, execution.seq);
        ids.insert(0, (execution.id, task.name));
    }
    assert_eq!(list(store, of(mine), 100).await, seqs);
    assert_eq!(list(store, of(mine), 2).await, seqs[..2]);
    let next = ExecutionFilter { below: Some(seqs[1]), ..of(mine) };
    assert_eq!(list(store, next, 2).await, seqs[2..4]);
    let (id, task) = ids.swap_remove(2);
    let failed = end(ExecutionStatus::Failed, 20);
    assert!(store.end(id, failed, TaskOf::Name(task)).await.expect("ending works"));
    let wanted = ExecutionFilter { status: Some(ExecutionStatus::Failed), ..of(mine) };
    assert_eq!(list(store, wanted, 100).await, [seqs[2]]);
    let elsewhere = ExecutionFilter { app: Some("shop".parse().expect("a name")), ..of(mine) };
    assert!(list(store, elsewhere, 100).await.is_empty());
    let here = ExecutionFilter { app: Some(AppName::default_app()), ..of(mine) };
    assert_eq!(list(store, here, 100).await, seqs);
}

/// What runs keeps its version from being deleted, so it is found by it.
pub async fn what_runs_is_found_by_version(store: &dyn Recording) {
    let unit = function();
    let (first, _) = begin(store, unit, Some(1)).await;
    let (second, task) = begin(store, unit, Some(2)).await;
    let (draft, _) = begin(store, unit, None).await;
    let running = async |number: Option<u64>| {
        store.running(unit, number.and_then(Number::new)).await.expect("asking works")
    };
    assert_eq!(running(Some(1)).await, [first.id]);
    assert_eq!(running(None).await, [first.id, second.id, draft.id]);
    let done = end(ExecutionStatus::Success, 20);
    assert!(store.end(second.id, done, TaskOf::Name(task.name)).await.expect("it works"));
    assert_eq!(running(Some(2)).await, []);
}

/// Counts go up and never down; what was not asked for by version is counted under 0.
pub async fn every_version_is_counted_also_after_removal(store: &dyn Recording) {
    let unit = function();
    for number in [None, Some(1), Some(1), None, Some(12)] {
        let (execution, task) = begin(store, unit, number).await;
        assert!(store.remove(execution.id, &task.name).await.expect("removing works"));
    }
    let counts = store.counts(unit).await.expect("counting works");
    assert_eq!(counts, BTreeMap::from([(0, 2), (1, 2), (12, 1)]));
    assert_eq!(store.counts(function()).await.expect("counting works"), BTreeMap::new());
}

/// A removed execution is not run.
pub async fn what_is_removed_leaves_no_task(store: &dyn Recording) {
    let (asked, task) = begin(store, function(), None).await;
    assert!(store.remove(asked.id, &task.name).await.expect("removing works"));
    assert!(!store.remove(asked.id, &task.name).await.expect("asking works"));
    assert_eq!(show(store, asked.id).await, None);
    assert_eq!(store.lease(&task.topic, at(90), LEASE).await.expect("it works"), None);
}

/// Only what ended, and the oldest first.
pub async fn what_ended_long_ago_is_forgotten(store: &dyn Recording) {
    let unit = function();
    let mut made = Vec::new();
    for second in [-300, -200, -100] {
        let (execution, task) = begin(store, unit, None).await;
        let done = end(ExecutionStatus::Success, second);
        assert!(store.end(execution.id, done, TaskOf::Name(task.name)).await.expect("it works"));
        made.push(execution.seq);
    }
    let (running, _) = begin(store, unit, None).await;
    assert_eq!(store.remove_ended(at(-150), 1).await.expect("it works"), 1);
    assert_eq!(list(store, of(unit), 10).await, [running.seq, made[2], made[1]]);
    assert_eq!(store.remove_ended(at(-150), 10).await.expect("it works"), 1);
    assert_eq!(list(store, of(unit), 10).await, [running.seq, made[2]]);
}
