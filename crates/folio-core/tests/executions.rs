//! Executions: every one that was accepted comes to exactly one end, and is kept with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use folio_core::execution::{Error, Listing, NewExecution};
use folio_core::logs::{Logs, Printer, Stream};
use folio_core::ports::runtime::{CallError, RequestId};
use folio_core::release::{Deletion, ReleaseRef};
use folio_core::request::{Caller, Releasing, Repeat, Which};
use folio_core::{Explain as _, Limits};
use folio_model::{
    Digest, Execution, ExecutionId, ExecutionMode, ExecutionOrigin, ExecutionStatus, Timestamp,
};
use folio_store::MemoryQueue;
use serde_json::{Value, json};

use crate::runtime::{Running, call, reference, running, running_on_disk, running_with};
use crate::world::{app, function, refused};

fn new(function: &str, mode: ExecutionMode) -> NewExecution {
    NewExecution {
        function: reference(function),
        input: Some("{}".to_owned()),
        mode,
        description: "by hand".to_owned(),
        origin: ExecutionOrigin::Request,
    }
}

impl Running {
    async fn begun(&self, function: &str, mode: ExecutionMode) -> Execution {
        self.try_start(&self.world.caller, new(function, mode)).await.unwrap()
    }

    async fn try_start(&self, caller: &Caller, new: NewExecution) -> Result<Execution, Error> {
        self.world.folio.start_execution(caller, &app(), new).await
    }

    async fn shown(&self, id: ExecutionId) -> Execution {
        self.world.folio.show_execution(&app(), id).await.unwrap()
    }

    /// Runs what waits until an execution has ended.
    async fn ended(&self, id: ExecutionId) -> Execution {
        let over = async {
            loop {
                let found = self.shown(id).await;
                if found.status != ExecutionStatus::Running {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            found = over => found,
            stopped = self.world.folio.run_executions(std::future::pending()) => {
                panic!("it stopped: {stopped:?}")
            }
        }
    }

    /// Begins to run what waits and is gone when something happened.
    async fn interrupted(&self, event: &str, times: usize) {
        tokio::select! {
            () = self.stub.await_event(event, times) => {}
            stopped = self.world.folio.run_executions(std::future::pending()) => {
                panic!("it stopped: {stopped:?}")
            }
        }
    }
}

async fn published() -> Running {
    let running = running().await;
    running.world.version(&function("hello"), "one", "v1").await;
    running.world.version(&function("hello"), "two", "v2").await;
    running.world.point("hello", "prod", "v1").await;
    running
}

fn result(execution: &Execution) -> (ExecutionStatus, Value) {
    (execution.status, execution.output.clone().unwrap_or_default())
}

#[tokio::test]
async fn a_sync_execution_is_answered_with_its_end_and_kept() {
    let running = published().await;
    let done = running.begun("hello", ExecutionMode::Sync).await;
    assert_eq!(result(&done), (ExecutionStatus::Success, json!("hello@v2")));
    assert_eq!(done.asked.by.as_str(), "ada");
    assert!(!done.asked.pinned);
    assert_eq!(running.shown(done.id).await, done);
    let log = running.world.folio.execution_log(&app(), done.id).await.unwrap();
    let lines = format!("Start execution: {0}\nFinished execution: {0}\n", done.id);
    assert_eq!(log, lines);
}

/// Runs a function that takes its time for somebody who waits, and something else once it is seen to run.
async fn beside_a_slow_one<T>(running: &Running, then: impl AsyncFnOnce(Execution) -> T) -> T {
    running.stub.holds.store(true, Ordering::SeqCst);
    let (_, done) = tokio::join!(running.begun("hello", ExecutionMode::Sync), async {
        running.stub.await_event("call hello@v2", 1).await;
        let status = Some(ExecutionStatus::Running);
        let listing = Listing { status, limit: 1, ..Listing::default() };
        let newest = loop {
            let mut found = running.world.folio.executions(&app(), listing.clone()).await.unwrap();
            if let Some(newest) = found.pop() {
                break newest;
            }
            // The clock stands still unless somebody moves it.
            tokio::time::advance(Duration::from_millis(1)).await;
        };
        let done = then(newest).await;
        running.stub.gate.notify_one();
        done
    });
    done
}

#[tokio::test(start_paused = true)]
async fn what_takes_longer_is_seen_by_others_and_guards_its_version_while_it_runs() {
    let running = published().await;
    let error = beside_a_slow_one(&running, async |seen| {
        assert_eq!(seen.asked.mode, ExecutionMode::Sync);
        let which = Which::One("2".parse().unwrap());
        let caller = &running.world.caller;
        running.world.folio.delete_versions(caller, &function("hello"), which, None).await
    });
    let error = error.await.unwrap_err();
    assert_eq!((error.code().0, error.referrers()[0].kind.as_str()), ("in_use", "execution"));
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_goes_on() {
    let running = published().await;
    running.stub.holds.store(true, Ordering::SeqCst);
    tokio::select! {
        ended = running.begun("hello", ExecutionMode::Sync) => panic!("{ended:?} before it was let"),
        () = running.stub.await_event("call hello@v2", 1) => {}
    }
    running.stub.gate.notify_one();
    let listing = Listing { limit: 1, ..Listing::default() };
    let kept = loop {
        let mut found = running.world.folio.executions(&app(), listing.clone()).await.unwrap();
        match found.pop() {
            Some(kept) if kept.status != ExecutionStatus::Running => break kept,
            _ => tokio::task::yield_now().await,
        }
    };
    assert_eq!(result(&kept), (ExecutionStatus::Success, json!("hello@v2")));
}

#[tokio::test]
async fn an_async_execution_is_accepted_first_and_run_later() {
    let running = published().await;
    let accepted = running.begun("hello@prod", ExecutionMode::Async).await;
    assert_eq!(accepted.status, ExecutionStatus::Running);
    assert_eq!(accepted.asked.alias.as_ref().map(|alias| alias.as_str()), Some("prod"));
    assert_eq!(running.stub.happened("call hello@v1"), 0);
    // What was accepted for a version is run on it, wherever the alias points by then.
    running.world.point("hello", "prod", "v2").await;
    let done = running.ended(accepted.id).await;
    assert_eq!(result(&done), (ExecutionStatus::Success, json!("hello@v1")));
    assert_eq!(running.stub.happened("call hello@v1"), 1);
}

#[tokio::test]
async fn on_disk_it_is_the_same() {
    let running = running_on_disk().await;
    running.world.version(&function("hello"), "one", "v1").await;
    let accepted = running.begun("hello@1", ExecutionMode::Async).await;
    let done = running.ended(accepted.id).await;
    assert_eq!(result(&done), (ExecutionStatus::Success, json!("hello@v1")));
    let sync = running.begun("hello", ExecutionMode::Sync).await;
    let listing = Listing { limit: 10, ..Listing::default() };
    let listed = running.world.folio.executions(&app(), listing).await.unwrap();
    assert_eq!(listed, [sync, done]);
}

#[tokio::test]
async fn the_same_request_with_the_same_key_is_one_execution() {
    let running = published().await;
    let repeat = Repeat { key: "k".to_owned(), request: Digest::of(b"a") };
    let caller = Caller { repeat: Some(repeat), ..running.world.caller.clone() };
    let first = running.try_start(&caller, new("hello", ExecutionMode::Sync)).await.unwrap();
    let again = running.try_start(&caller, new("hello", ExecutionMode::Sync)).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(running.stub.happened("call hello@v2"), 1);
}

#[tokio::test]
async fn a_function_that_fails_ends_the_execution_in_words() {
    let running = published().await;
    let consumed = "Function execution failed because of too much resource consumption";
    let cases = [
        (CallError::Timeout(Duration::from_secs(5)), "Function execution timeout."),
        (CallError::Crashed("killed".to_owned()), consumed),
        (CallError::Load("No module named 'b'".to_owned()), "No module named 'b'"),
        (CallError::Failed, "Function invocation error"),
    ];
    for (failure, words) in cases {
        *running.stub.failure.lock().unwrap() = Some(failure);
        let done = running.begun("hello", ExecutionMode::Sync).await;
        assert_eq!(result(&done), (ExecutionStatus::Failed, json!(words)));
    }
    *running.stub.failure.lock().unwrap() = Some(CallError::Busy);
    let done = running.begun("hello", ExecutionMode::Sync).await;
    assert_eq!(done.status, ExecutionStatus::Error, "nobody ran it");
}

#[tokio::test]
async fn what_found_no_room_is_tried_again_as_often_as_it_takes() {
    let running = published().await;
    *running.stub.failure.lock().unwrap() = Some(CallError::Busy);
    let accepted = running.begun("hello", ExecutionMode::Async).await;
    for times in 1..=5 {
        running.interrupted("call hello@v2", times).await;
        // The clock of a test stands still unless it is moved.
        running.world.clock.jump(60 * 60);
    }
    *running.stub.failure.lock().unwrap() = None;
    let done = running.ended(accepted.id).await;
    assert_eq!(done.status, ExecutionStatus::Success);
}

#[tokio::test]
async fn what_was_cut_off_is_begun_again_but_not_for_ever() {
    let limits = Limits { execution_attempts_max: 2, ..Limits::default() };
    let running = running_with(limits, Arc::new).await;
    running.world.version(&function("hello"), "one", "v1").await;
    running.stub.holds.store(true, Ordering::SeqCst);
    let accepted = running.begun("hello", ExecutionMode::Async).await;
    for times in 1..=2 {
        running.interrupted("call hello@v1", times).await;
        running.world.clock.jump(60 * 60);
    }
    let done = running.ended(accepted.id).await;
    let words = json!("Its server ended while it ran.");
    assert_eq!(result(&done), (ExecutionStatus::Error, words));
    assert_eq!(running.stub.happened("call hello@v1"), 2);
}

#[tokio::test]
async fn a_cancelled_execution_stays_cancelled() {
    let running = published().await;
    let waiting = running.begun("hello", ExecutionMode::Async).await;
    let cancelled = running.world.folio.cancel_execution(&app(), waiting.id).await.unwrap();
    assert_eq!(cancelled.status, ExecutionStatus::Cancelled);
    let again = running.world.folio.cancel_execution(&app(), waiting.id).await;
    assert_eq!(refused(again).0, "execution_ended");
    running.stub.holds.store(true, Ordering::SeqCst);
    let (sync, ()) = tokio::join!(running.begun("hello", ExecutionMode::Sync), async {
        running.stub.await_event("call hello@v2", 1).await;
        loop {
            let listing = Listing { limit: 1, ..Listing::default() };
            let newest = running.world.folio.executions(&app(), listing).await.unwrap();
            if newest[0].id != waiting.id {
                running.world.folio.cancel_execution(&app(), newest[0].id).await.unwrap();
                break;
            }
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(sync.status, ExecutionStatus::Cancelled, "whoever waits is told at once");
    assert_eq!(running.stub.happened("call hello@v2"), 1, "what waited was never run");
}

#[tokio::test]
async fn a_version_that_something_runs_on_is_not_deleted() {
    let running = published().await;
    running.world.point("hello", "prod", "v2").await;
    let waiting = running.begun("hello@1", ExecutionMode::Async).await;
    let key = function("hello");
    let delete = || {
        let which = Which::One("1".parse().unwrap());
        running.world.folio.delete_versions(&running.world.caller, &key, which, None)
    };
    let error = delete().await.unwrap_err();
    assert_eq!(error.code().0, "in_use");
    let referrers = error.referrers();
    let named = (referrers[0].kind.as_str(), referrers[0].name.clone());
    assert_eq!(named, ("execution", waiting.id.to_string()));
    running.ended(waiting.id).await;
    delete().await.unwrap();
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_anything_is_kept() {
    let limits = Limits { execution_input_bytes_max: 4, ..Limits::default() };
    let running = running_with(limits, Arc::new).await;
    running.world.version(&function("hello"), "one", "v1").await;
    let large =
        NewExecution { input: Some("12345".to_owned()), ..new("hello", ExecutionMode::Async) };
    let caller = running.world.caller.clone();
    assert_eq!(refused(running.try_start(&caller, large).await).0, "execution_input_too_large");
    let nobody = running.try_start(&caller, new("nobody", ExecutionMode::Async)).await;
    assert_eq!(refused(nobody).0, "unit_not_found");
    let listing = Listing { limit: 10, ..Listing::default() };
    assert_eq!(running.world.folio.executions(&app(), listing).await.unwrap(), []);
}

#[tokio::test]
async fn what_is_printed_beyond_the_limit_is_left_out_and_that_is_said() {
    let limits = Limits { execution_log_bytes_max: 12, ..Limits::default() };
    let running = running_with(limits, Arc::new).await;
    running.world.version(&function("hello"), "one", "v1").await;
    running.stub.holds.store(true, Ordering::SeqCst);
    let logs = Arc::new(Logs::new(1024));
    let queue = Arc::new(MemoryQueue::default());
    let mut running = running.with_queue(queue.clone(), Arc::clone(&logs));
    running.world.folio = running.world.folio.with_executions(queue);
    let (plan, _) = {
        running.stub.gate.notify_one();
        running
            .world
            .folio
            .invoke(&running.world.caller, (&app(), &reference("hello")), call(0))
            .await
            .unwrap()
    };
    let long = running.begun("hello", ExecutionMode::Async).await;
    let print = async {
        running.stub.await_event("call hello@v1", 2).await;
        let printer = Printer { request: Some(RequestId(long.id.0.as_u128())), worker: None };
        for line in ["one", "two", "three", "four"] {
            logs.add(&plan, Timestamp::UNIX_EPOCH, Stream::Stdout, printer, line);
        }
        running.stub.gate.notify_one();
    };
    let (done, ()) = tokio::join!(running.ended(long.id), print);
    let log = running.world.folio.execution_log(&app(), done.id).await.unwrap();
    let id = done.id;
    let expected = format!(
        "Start execution: {id}\none\ntwo\nthr\n(more was printed than is kept)\nFinished execution: {id}\n"
    );
    assert_eq!(log, expected);
}

#[tokio::test]
async fn executions_are_forgotten_when_their_time_is_over() {
    let limits = Limits { execution_retention_ms: 60_000, ..Limits::default() };
    let running = running_with(limits, Arc::new).await;
    running.world.version(&function("hello"), "one", "v1").await;
    let old = running.begun("hello", ExecutionMode::Sync).await;
    // What waited for an hour is kept for a minute from its end on.
    let waits = running.begun("hello", ExecutionMode::Async).await;
    running.world.clock.jump(60 * 60);
    let done = running.ended(waits.id).await;
    let forgotten = async {
        while running.world.folio.show_execution(&app(), old.id).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = forgotten => {}
        stopped = running.world.folio.run_executions(std::future::pending()) => {
            panic!("it stopped: {stopped:?}")
        }
    }
    assert_eq!(running.shown(done.id).await, done);
    let log = running.world.folio.execution_log(&app(), old.id).await;
    assert_eq!(refused(log).0, "execution_not_found");
}

#[tokio::test]
async fn what_a_function_calls_is_of_the_release_in_which_its_execution_was_accepted() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        let nested = |version: &str| running.stub.happened(&format!("call hello@{version}"));
        world.version(&function("hello"), "one", "v1").await;
        world.version(&function("outer"), "outer", "o1").await;
        *running.stub.inner.lock().unwrap() = Some(world.folio.calls_between_functions());
        let live = || async {
            let live = world.folio.show_release(&app(), &ReleaseRef::Live).await.unwrap();
            Some(live.label.id)
        };
        let waiting = running.begun("outer", ExecutionMode::Async).await;
        let accepted_in = live().await;
        assert_eq!(waiting.asked.release, accepted_in);

        world.version(&function("hello"), "two", "v2").await;
        let now = running.begun("outer", ExecutionMode::Sync).await;
        assert_eq!((now.asked.release, nested("v2")), (live().await, 1));
        let ended = running.ended(waiting.id).await;
        assert_eq!(ended.status, ExecutionStatus::Success);
        assert_eq!((ended.asked.release, nested("v1"), nested("v2")), (accepted_in, 1, 1));

        // A version that was asked for is that version, whatever is live.
        let pinned = running.begun("hello@v1", ExecutionMode::Sync).await;
        assert_eq!(result(&pinned).1, json!("hello@v1"));

        // Once the release is gone, what is live takes its place.
        let waiting = running.begun("outer", ExecutionMode::Async).await;
        let gone = ReleaseRef::Named(waiting.asked.release.clone().unwrap());
        world.version(&function("hello"), "three", "v3").await;
        let deletion = Deletion::default();
        world.folio.delete_release(&world.caller, (&app(), &gone), deletion).await.unwrap();
        running.ended(waiting.id).await;
        assert_eq!((nested("v2"), nested("v3")), (1, 1));
    }
}

#[tokio::test]
async fn without_a_release_nothing_is_noted_and_the_newest_is_called() {
    let running = running().await;
    let world = &running.world;
    let held = Caller { releasing: Releasing::Hold, ..world.caller.clone() };
    for name in ["hello", "outer"] {
        let request = crate::world::request(world.code(name).await);
        world.folio.publish(&held, &function(name), request).await.unwrap();
    }
    *running.stub.inner.lock().unwrap() = Some(world.folio.calls_between_functions());
    let done = running.begun("outer", ExecutionMode::Sync).await;
    assert_eq!((done.asked.release, done.status), (None, ExecutionStatus::Success));
}
