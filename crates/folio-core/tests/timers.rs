//! Timers: every slot runs once, whoever looks at the clock, whatever it shows, and whoever dies meanwhile.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use folio_core::logs::Logs;
use folio_core::ports::runtime::{
    BuildError, BuildLog, BuildOrder, Built, Call, CallError, Plan, RuntimeStatus,
};
use folio_core::ports::{Body, Lease, Queue, Runtime, StoreError, Task};
use folio_core::request::{Caller, Onto};
use folio_core::timer::{FireOutcome, FireReport, Schedule};
use folio_core::trigger::{TimerFields, TriggerFields};
use folio_core::{Folio, Settings};
use folio_model::{Misfire, Name, Target, Timestamp};
use folio_store::{MemoryIndex, MemoryLedger, MemoryQueue, PackOptions, PackStore};
use folio_testkit::clock::TestClock;
use proptest::prelude::*;
use tokio::sync::watch;
use uuid::Uuid;

use crate::runtime::reference;
use crate::world::{World, app, function, id};

/// Comes back once, so that whoever waits can be dropped there.
async fn pause() {
    let mut waited = false;
    std::future::poll_fn(|context: &mut Context<'_>| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A queue that can be abandoned before and after every step.
pub(crate) struct Slow(pub(crate) MemoryQueue);

#[async_trait]
impl Queue for Slow {
    async fn push(&self, task: Task) -> Result<bool, StoreError> {
        pause().await;
        let pushed = self.0.push(task).await;
        pause().await;
        pushed
    }

    async fn lease(
        &self,
        topic: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        pause().await;
        let lease = self.0.lease(topic, now, time).await;
        pause().await;
        lease
    }

    async fn claim(
        &self,
        name: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        pause().await;
        let lease = self.0.claim(name, now, time).await;
        pause().await;
        lease
    }

    async fn replace(&self, token: Uuid, tasks: Vec<Task>) -> Result<bool, StoreError> {
        pause().await;
        let replaced = self.0.replace(token, tasks).await;
        pause().await;
        replaced
    }

    async fn done(&self, token: Uuid) -> Result<bool, StoreError> {
        pause().await;
        let done = self.0.done(token).await;
        pause().await;
        done
    }

    async fn retry(&self, token: Uuid, due: Timestamp) -> Result<bool, StoreError> {
        pause().await;
        let given_back = self.0.retry(token, due).await;
        pause().await;
        given_back
    }

    async fn next_due(&self, topic: &str) -> Result<Option<Timestamp>, StoreError> {
        self.0.next_due(topic).await
    }

    async fn peek(&self, name: &str) -> Result<Option<Task>, StoreError> {
        self.0.peek(name).await
    }

    fn pushed(&self) -> watch::Receiver<u64> {
        self.0.pushed()
    }
}

/// Notes which slots were run, of which function.
#[derive(Default)]
struct Recorder {
    ran: Mutex<Vec<(String, Timestamp)>>,
    calls: Mutex<Vec<String>>,
}

#[async_trait]
impl Runtime for Recorder {
    async fn call(&self, plan: &Arc<Plan>, call: Call) -> Result<http::Response<Body>, CallError> {
        pause().await;
        let (head, _) = call.request.into_parts();
        let header = |name: &str| head.headers[name].to_str().unwrap().to_owned();
        let slot = header("folio-slot").parse().unwrap();
        let (method, path) = (&head.method, head.uri.path());
        let timer = header("x-fission-timer-name");
        let said = format!("{method} {path} of {timer} to {}@{}", plan.function, plan.at);
        self.calls.lock().unwrap().push(said);
        self.ran.lock().unwrap().push((plan.function.to_string(), slot));
        pause().await;
        Ok(http::Response::new(Body::Full(Bytes::from_static(b"done"))))
    }

    async fn prepare(&self, _: &Arc<Plan>) -> Result<(), CallError> {
        Ok(())
    }

    fn retire(&self, _: &Arc<Plan>) {}

    async fn build(&self, _: BuildOrder, _: BuildLog) -> Result<Built, BuildError> {
        panic!("nothing is built here")
    }

    fn status(&self) -> RuntimeStatus {
        RuntimeStatus::default()
    }

    async fn stop(&self, _: Duration) {}
}

/// Several platforms on one store, one queue and one clock.
struct Nodes {
    nodes: Vec<World>,
    recorder: Arc<Recorder>,
    clock: Arc<TestClock>,
}

async fn nodes(count: usize) -> Nodes {
    let clock = Arc::new(TestClock::new(1));
    let index = MemoryIndex::default();
    let options = PackOptions { grace: Duration::ZERO };
    let blobs = PackStore::in_memory(index.clone(), clock.clone(), options).await.unwrap();
    let (ledger, blobs) = (Arc::new(MemoryLedger::new(index)), Arc::new(blobs));
    let queue = Arc::new(Slow(MemoryQueue::default()));
    let recorder = Arc::new(Recorder::default());
    let node = || {
        let settings = Settings { grace: Duration::ZERO, ..Settings::default() };
        let folio = Folio::new(ledger.clone(), blobs.clone(), clock.clone(), settings);
        let logs = Arc::new(Logs::new(1024));
        let folio = folio.with_runtime(recorder.clone(), queue.clone(), logs);
        World { folio, clock: clock.clone(), caller: Caller::new("ada".parse().unwrap()) }
    };
    let nodes: Vec<_> = (0..count).map(|_| node()).collect();
    let token = nodes[0].folio.draw_token();
    nodes[0].folio.admit(&"admin".parse().unwrap(), &token).await.unwrap();
    nodes[0].version(&function("hello"), "one", "v1").await;
    Nodes { nodes, recorder, clock }
}

fn tick() -> Name {
    "tick".parse().unwrap()
}

fn every(cron: &str) -> TimerFields {
    TimerFields {
        cron: Some(cron.to_owned()),
        targets: Some(vec![Target::only(reference("hello"))]),
        ..TimerFields::default()
    }
}

async fn set(world: &World, onto: Onto, fields: TimerFields) {
    let at = (&app(), Some(&tick()));
    let fields = TriggerFields::Timer(fields);
    world.folio.set_trigger(&world.caller, at, fields, (onto, None)).await.unwrap();
}

async fn fires(world: &World) -> Vec<FireReport> {
    world.folio.show_trigger(&app(), &tick()).await.unwrap().fires
}

/// Everything one server does between two looks at the clock.
async fn turn(folio: Folio) {
    folio.wind_up(None).await.unwrap();
    folio.schedule_timers().await.unwrap();
    while folio.take_fire().await.unwrap() {}
}

impl Nodes {
    async fn turn(&self) {
        turn(self.nodes[0].folio.clone()).await;
    }

    fn ran(&self) -> Vec<String> {
        let ran = self.recorder.ran.lock().unwrap();
        ran.iter().map(|(_, slot)| slot.to_string()[11..19].to_owned()).collect()
    }
}

#[tokio::test]
async fn a_slot_runs_once_and_not_before_its_time() {
    let nodes = nodes(2).await;
    set(&nodes.nodes[0], Onto::Nothing, every("*/5 * * * *")).await;
    nodes.turn().await;
    assert!(nodes.ran().is_empty());
    nodes.clock.jump(5 * 60);
    nodes.turn().await;
    turn(nodes.nodes[1].folio.clone()).await;
    assert_eq!(nodes.ran(), ["00:05:00"]);
    assert_eq!(nodes.recorder.calls.lock().unwrap()[..], ["POST / of tick to hello@v1"]);
    // A clock that goes back runs nothing again, and one that comes forward again only what is new.
    nodes.clock.jump(-4 * 60);
    nodes.turn().await;
    nodes.clock.jump(4 * 60);
    nodes.turn().await;
    assert_eq!(nodes.ran(), ["00:05:00"]);
    nodes.clock.jump(5 * 60);
    nodes.turn().await;
    assert_eq!(nodes.ran(), ["00:05:00", "00:10:00"]);
}

#[tokio::test]
async fn a_timer_calls_the_version_that_it_names() {
    let nodes = nodes(1).await;
    let world = &nodes.nodes[0];
    world.point("hello", "prod", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    for (at, expected) in
        [("hello@1", "v1"), ("hello@v2", "v2"), ("hello@prod", "v1"), ("hello@latest", "v2")]
    {
        let targets = Some(vec![Target::only(reference(at))]);
        let fields = TimerFields { targets, ..every("*/5 * * * *") };
        let onto = if expected == "v1" && at == "hello@1" { Onto::Nothing } else { Onto::Existing };
        set(world, onto, fields).await;
        nodes.turn().await;
        nodes.clock.jump(5 * 60);
        nodes.turn().await;
        let called = std::mem::take(&mut *nodes.recorder.calls.lock().unwrap());
        assert_eq!(called, [format!("POST / of tick to hello@{expected}")], "{at}");
    }
    world.version(&function("hello"), "three", "v3").await;
    nodes.clock.jump(5 * 60);
    nodes.turn().await;
    assert_eq!(nodes.recorder.calls.lock().unwrap()[..], ["POST / of tick to hello@v3"]);
}

#[tokio::test]
async fn missed_slots_are_skipped_and_said_or_made_up_for() {
    let nodes = nodes(1).await;
    let world = &nodes.nodes[0];
    set(world, Onto::Nothing, every("*/5 * * * *")).await;
    nodes.turn().await;
    nodes.clock.jump(22 * 60);
    nodes.turn().await;
    assert_eq!(nodes.ran(), ["00:20:00"]);
    let said = fires(world).await;
    let skipped = said.iter().find(|report| report.outcome == FireOutcome::Skipped).unwrap();
    assert_eq!(skipped.slot.to_string(), "2026-01-01T00:05:00Z");
    assert_eq!(skipped.last.unwrap().to_string(), "2026-01-01T00:15:00Z");
    assert_eq!(skipped.count, 3);

    let all = TimerFields { misfire: Some(Misfire::All), ..TimerFields::default() };
    set(world, Onto::Existing, all).await;
    nodes.turn().await;
    nodes.clock.jump(15 * 60);
    nodes.turn().await;
    assert_eq!(nodes.ran(), ["00:20:00", "00:25:00", "00:30:00", "00:35:00"]);
}

#[tokio::test]
async fn a_slot_too_long_ago_is_skipped() {
    let nodes = nodes(1).await;
    let world = &nodes.nodes[0];
    set(world, Onto::Nothing, every("0 6 * * *")).await;
    nodes.turn().await;
    nodes.clock.jump(8 * 60 * 60);
    nodes.turn().await;
    assert!(nodes.ran().is_empty());
    assert_eq!(fires(world).await[0].outcome, FireOutcome::Skipped);
}

#[tokio::test]
async fn a_change_counts_from_its_own_moment() {
    let nodes = nodes(2).await;
    let world = &nodes.nodes[0];
    set(world, Onto::Nothing, every("0 6 * * *")).await;
    nodes.turn().await;
    nodes.clock.jump(90);
    set(world, Onto::Existing, every("* * * * *")).await;
    nodes.turn().await;
    assert!(nodes.ran().is_empty(), "slots before the change are none");
    nodes.clock.jump(30);
    nodes.turn().await;
    assert_eq!(nodes.ran(), ["00:02:00"]);
    // What came before the change and nobody saw belongs to the timer as it was.
    nodes.clock.jump(90);
    set(world, Onto::Existing, every("0 6 * * *")).await;
    nodes.turn().await;
    assert_eq!(nodes.ran(), ["00:02:00", "00:03:00"]);
    nodes.clock.jump(60);
    world.folio.delete_trigger(&world.caller, (&app(), &tick()), None).await.unwrap();
    nodes.clock.jump(12 * 60 * 60);
    nodes.turn().await;
    assert_eq!(nodes.ran(), ["00:02:00", "00:03:00"]);
}

#[tokio::test]
async fn an_undone_delete_does_not_run_old_slots_again() {
    let nodes = nodes(1).await;
    let world = &nodes.nodes[0];
    set(world, Onto::Nothing, every("* * * * *")).await;
    nodes.turn().await;
    nodes.clock.jump(60);
    nodes.turn().await;
    world.folio.delete_trigger(&world.caller, (&app(), &tick()), None).await.unwrap();
    nodes.clock.jump(120);
    nodes.turn().await;
    world.folio.undo(&world.caller, &app(), None).await.unwrap();
    nodes.turn().await;
    assert_eq!(nodes.ran(), ["00:01:00"]);
    nodes.clock.jump(60);
    nodes.turn().await;
    assert_eq!(nodes.ran(), ["00:01:00", "00:04:00"]);
}

#[tokio::test]
async fn a_tag_runs_its_whole_group() {
    let nodes = nodes(1).await;
    let world = &nodes.nodes[0];
    world.version(&function("other"), "one", "v7").await;
    world.version(&function("hello"), "two", "v2").await;
    let members = vec![reference("hello@v1"), reference("other")];
    let tag = id("nightly");
    world.folio.tag(&world.caller, (&app(), &tag), members, None).await.unwrap();
    let fields = TimerFields { targets: None, tag: Some(tag), ..every("* * * * *") };
    set(world, Onto::Nothing, fields).await;
    nodes.turn().await;
    nodes.clock.jump(60);
    nodes.turn().await;
    let mut calls = nodes.recorder.calls.lock().unwrap().clone();
    calls.sort();
    assert_eq!(calls, ["POST / of tick to hello@v1", "POST / of tick to other@v7"]);
    assert_eq!(fires(world).await[0].detail, "hello@1 answered 200, other@1 answered 200");
}

#[tokio::test]
async fn a_cut_off_slot_is_said_and_run_again_only_if_the_timer_wants_it() {
    for retry in [false, true] {
        let nodes = nodes(1).await;
        let world = &nodes.nodes[0];
        set(world, Onto::Nothing, TimerFields { retry: Some(retry), ..every("* * * * *") }).await;
        nodes.turn().await;
        nodes.clock.jump(60);
        world.folio.schedule_timers().await.unwrap();
        // Dropped while the function runs.
        let mut fire = Box::pin(world.folio.take_fire());
        while nodes.ran().is_empty() {
            assert!(futures::poll!(&mut fire).is_pending());
        }
        drop(fire);
        nodes.turn().await;
        assert_eq!(fires(world).await, [], "its lease still holds");
        nodes.clock.jump(30);
        while world.folio.take_fire().await.unwrap() {}
        nodes.clock.jump(20 * 60);
        while world.folio.take_fire().await.unwrap() {}
        let expected = if retry { FireOutcome::Ran } else { FireOutcome::Interrupted };
        assert_eq!(
            fires(world).await.iter().map(|fire| fire.outcome).collect::<Vec<_>>(),
            [expected]
        );
        assert_eq!(nodes.ran().len(), if retry { 2 } else { 1 });
    }
}

/// What happens to three servers.
#[derive(Debug, Clone)]
enum Event {
    /// The clock is set by seconds.
    Jump(i64),
    /// A server goes on for some steps; it is started if it does not run.
    Run { node: usize, steps: usize },
    /// A server is killed where it stands.
    Kill { node: usize },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (-400_i64..900).prop_map(Event::Jump),
        1 => (-90_000_i64..90_000).prop_map(Event::Jump),
        8 => (0..3_usize, 1..60_usize).prop_map(|(node, steps)| Event::Run { node, steps }),
        2 => (0..3_usize).prop_map(|node| Event::Kill { node }),
    ]
}

type Turn = Pin<Box<dyn Future<Output = ()>>>;

/// What became of slots: those that ran, and what was said of the others.
struct Account {
    said: Vec<FireReport>,
}

impl Account {
    async fn hear(&mut self, nodes: &Nodes) {
        for world in &nodes.nodes {
            for report in fires(world).await {
                if !self.said.contains(&report) {
                    self.said.push(report);
                }
            }
        }
    }

    fn told(&self, slot: Timestamp, outcome: FireOutcome) -> bool {
        self.said.iter().any(|report| {
            let range = report.slot..=report.last.unwrap_or(report.slot);
            report.outcome == outcome && range.contains(&slot)
        })
    }

    /// Checks every slot between two moments.
    fn check(&self, nodes: &Nodes, (from, to): (Timestamp, Timestamp)) {
        let ran = nodes.recorder.ran.lock().unwrap();
        let schedule = Schedule::parse("* * * * *", None).unwrap();
        let mut at = from;
        while let Some(slot) = schedule.next(at).filter(|slot| *slot <= to) {
            let times = ran.iter().filter(|(_, ran)| *ran == slot).count();
            let skipped = self.told(slot, FireOutcome::Skipped);
            let interrupted = self.told(slot, FireOutcome::Interrupted);
            assert!(times <= 1, "{slot} ran {times} times");
            assert!(times == 1 || skipped || interrupted, "nothing was said of {slot}");
            assert!(!(times == 1 && skipped), "{slot} ran, and was said to be skipped");
            at = slot;
        }
    }
}

async fn survives(events: Vec<Event>, misfire: Misfire) {
    let nodes = nodes(3).await;
    let fields = TimerFields { misfire: Some(misfire), ..every("* * * * *") };
    set(&nodes.nodes[0], Onto::Nothing, fields).await;
    let from = folio_core::ports::Clock::now(nodes.clock.as_ref());
    let mut turns: [Option<Turn>; 3] = [None, None, None];
    let mut account = Account { said: Vec::new() };
    let (mut now, mut latest) = (0, 0);
    for event in events {
        match event {
            // Days of a clock gone wrong, not years: every slot is looked at in the end.
            Event::Jump(by) => {
                let by = by.clamp(-now, 300_000 - now);
                nodes.clock.jump(by);
                now += by;
                latest = latest.max(now);
            }
            Event::Run { node, steps } => {
                let fresh = || Box::pin(turn(nodes.nodes[node].folio.clone())) as Turn;
                let mut running = turns[node].take().unwrap_or_else(fresh);
                let mut goes_on = true;
                for _ in 0..steps {
                    goes_on = goes_on && futures::poll!(&mut running).is_pending();
                }
                turns[node] = goes_on.then_some(running);
            }
            Event::Kill { node } => turns[node] = None,
        }
        account.hear(&nodes).await;
    }
    drop(turns);
    nodes.clock.jump(latest - now);
    for _ in 0..3 {
        nodes.clock.jump(30 * 60);
        let folio = &nodes.nodes[0].folio;
        folio.wind_up(None).await.unwrap();
        folio.schedule_timers().await.unwrap();
        // A server remembers only so many reports, so each is heard when it is made.
        while folio.take_fire().await.unwrap() {
            account.hear(&nodes).await;
        }
    }
    account.check(&nodes, (from, folio_core::ports::Clock::now(nodes.clock.as_ref())));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn three_servers_run_every_slot_once_or_say_what_became_of_it(
        events in proptest::collection::vec(event(), 1..60),
        all in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let misfire = if all { Misfire::All } else { Misfire::Skip };
        runtime.block_on(survives(events, misfire));
    }
}
