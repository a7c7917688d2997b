//! Canaries: what is measured decides, nothing else does, and what is not measured is not decided.

use std::sync::{Arc, Mutex};

use folio_core::canary::{CanaryView, Error, NewCanary, PlanFields};
use folio_core::ports::runtime::CallError;
use folio_core::request::Onto;
use folio_core::route::RouteFields;
use folio_core::serving::Site;
use folio_model::{CanaryPhase, Name, RoutePath, Target};

use crate::runtime::{Running, before_and_after, reference, running, running_on_disk};
use crate::world::{app, function, refused};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// Half of the calls every minute, decided by four requests.
fn quick() -> PlanFields {
    PlanFields {
        step: Some(5_000),
        interval_ms: Some(60_000),
        requests_min: Some(4),
        ..PlanFields::default()
    }
}

fn over_alias(new: &str) -> NewCanary {
    NewCanary {
        trigger: None,
        alias: Some(reference("hello@prod")),
        old: None,
        new: reference(new),
        fields: quick(),
    }
}

fn over_route(old: Option<&str>, new: &str) -> NewCanary {
    let old = old.map(reference);
    NewCanary { trigger: Some(name("r")), alias: None, old, new: reference(new), fields: quick() }
}

impl Running {
    async fn hello(&self) {
        self.world.version(&function("hello"), "one", "v1").await;
        self.world.version(&function("hello"), "two", "v2").await;
        self.world.point("hello", "prod", "v1").await;
    }

    async fn start(&self, canary: NewCanary) -> Result<CanaryView, Error> {
        let at = (&app(), &name("rollout"));
        let done = self.world.folio.start_canary(&self.world.caller, at, canary).await?;
        self.look().await;
        Ok(done.result)
    }

    /// Looks at all canaries, as the server does all the time.
    async fn look(&self) {
        self.world.folio.step_canaries().await.unwrap();
    }

    async fn calls(&self, to: &str, times: usize) {
        for _ in 0..times {
            drop(self.answers(to).await);
        }
    }

    fn failing(&self, fails: bool) {
        *self.stub.failure.lock().unwrap() = fails.then_some(CallError::Failed);
    }

    async fn canary(&self) -> CanaryView {
        self.world.folio.show_canary(&app(), &name("rollout")).await.unwrap()
    }

    /// The shares of the alias, by version.
    async fn shares(&self) -> Vec<(u64, u32)> {
        let aliases = self.world.folio.aliases(&function("hello")).await.unwrap();
        aliases[0].targets.iter().map(|at| (at.number.get(), at.weight)).collect()
    }

    async fn route(&self, targets: &[(&str, u32)], onto: Onto) {
        let target = |&(at, weight): &(&str, u32)| Target { function: reference(at), weight };
        let fields = RouteFields {
            path: Some(RoutePath::Exact("/r".to_owned())),
            targets: Some(targets.iter().map(target).collect()),
            ..RouteFields::default()
        };
        let (caller, r) = (&self.world.caller, name("r"));
        let at = (&app(), Some(&r));
        self.world.folio.set_route(caller, at, fields, (onto, None)).await.unwrap();
    }

    async fn route_shares(&self) -> Vec<u32> {
        let route = self.world.folio.show_route(&app(), &name("r")).await.unwrap();
        route.spec.targets.iter().map(|target| target.weight).collect()
    }
}

#[tokio::test]
async fn one_that_answers_well_gets_everything_step_by_step() {
    for running in [running().await, running_on_disk().await] {
        running.hello().await;
        let started = running.start(over_alias("hello@v2")).await.unwrap();
        assert_eq!((started.old.as_str(), started.new.as_str()), ("hello@v1", "hello@v2"));
        assert_eq!(running.shares().await, [(1, 5_000), (2, 5_000)]);
        running.calls("hello@v2", 4).await;
        running.look().await;
        assert_eq!(running.canary().await.window.unwrap().new.requests, 4);
        assert_eq!(running.shares().await, [(1, 5_000), (2, 5_000)], "its time is not over");
        running.world.clock.jump(60);
        running.look().await;
        assert_eq!(running.shares().await, [(1, 0), (2, 10_000)], "the old version is kept");
        running.look().await;
        running.world.clock.jump(60);
        running.look().await;
        assert_eq!(running.canary().await.phase, CanaryPhase::Running, "nothing was measured");
        running.calls("hello@v2", 4).await;
        running.look().await;
        let ended = running.canary().await;
        assert_eq!(ended.phase, CanaryPhase::Succeeded);
        let steps: Vec<_> = ended.steps.iter().map(|step| step.message.as_str()).collect();
        let expected = [
            "start canary rollout with 50 %",
            "step canary rollout to 100 %",
            "complete canary rollout",
        ];
        assert_eq!(steps, expected);
        assert_eq!(running.shares().await, [(2, 10_000)]);
    }
}

#[tokio::test]
async fn what_counts_as_a_failure_is_said_by_the_canary() {
    for (failure_status, fails) in [(None, true), (Some(400), true), (Some(500), false)] {
        let running = running().await;
        running.hello().await;
        let mut canary = over_alias("hello@v2");
        canary.fields.failure_status = failure_status;
        running.start(canary).await.unwrap();
        *running.stub.status.lock().unwrap() = Some(404);
        running.calls("hello@v2", 4).await;
        running.look().await;
        running.world.clock.jump(60);
        running.look().await;
        let phase = running.canary().await.phase;
        let failed = matches!(phase, CanaryPhase::Failed { .. });
        assert_eq!((failed, phase == CanaryPhase::Running), (fails, !fails), "{failure_status:?}");
    }
}

#[tokio::test]
async fn one_that_fails_gives_everything_back_at_once() {
    let running = running().await;
    running.hello().await;
    running.start(over_alias("hello@v2")).await.unwrap();
    running.failing(true);
    running.calls("hello@v2", 3).await;
    running.look().await;
    assert_eq!(running.canary().await.phase, CanaryPhase::Running, "three requests are too few");
    running.calls("hello@v2", 1).await;
    running.look().await;
    let why = "4 of 4 requests failed".to_owned();
    assert_eq!(running.canary().await.phase, CanaryPhase::Failed { why });
    assert_eq!(running.shares().await, [(1, 10_000)]);
    running.failing(false);
    running.world.clock.jump(600);
    running.calls("hello@v2", 50).await;
    running.look().await;
    assert_eq!(running.shares().await, [(1, 10_000)], "what ended is not looked at again");
}

#[tokio::test]
async fn failures_of_the_old_code_do_not_count() {
    let running = running().await;
    running.hello().await;
    running.start(over_alias("hello@v2")).await.unwrap();
    running.failing(true);
    running.calls("hello@v1", 50).await;
    running.failing(false);
    running.calls("hello@v2", 4).await;
    running.world.clock.jump(60);
    running.look().await;
    assert_eq!(running.canary().await.weight, 10_000);
}

#[tokio::test]
async fn one_without_traffic_waits() {
    let running = running().await;
    running.hello().await;
    running.start(over_alias("hello@v2")).await.unwrap();
    for _ in 0..10 {
        running.world.clock.jump(600);
        running.look().await;
    }
    let canary = running.canary().await;
    assert_eq!((canary.phase, canary.weight), (CanaryPhase::Running, 5_000));
}

#[tokio::test]
async fn a_step_of_everything_is_measured_too() {
    let running = running().await;
    running.hello().await;
    let mut canary = over_alias("hello@v2");
    canary.fields.step = Some(10_000);
    running.start(canary).await.unwrap();
    running.failing(true);
    running.calls("hello@v2", 4).await;
    running.look().await;
    assert_eq!(running.shares().await, [(1, 10_000)]);
}

#[tokio::test]
async fn a_server_that_starts_anew_measures_anew() {
    let (before, after) = before_and_after().await;
    before.hello().await;
    before.start(over_alias("hello@v2")).await.unwrap();
    before.calls("hello@v2", 4).await;
    before.look().await;
    drop(before);
    after.world.clock.jump(600);
    after.look().await;
    after.look().await;
    assert_eq!(after.canary().await.weight, 5_000, "this server has measured nothing");
    after.calls("hello@v2", 4).await;
    after.look().await;
    assert_eq!(after.canary().await.weight, 5_000, "not for the whole interval");
    after.world.clock.jump(60);
    after.look().await;
    assert_eq!(after.canary().await.weight, 10_000);
}

#[tokio::test]
async fn whoever_moves_the_shares_ends_the_canary() {
    let running = running().await;
    running.hello().await;
    running.start(over_alias("hello@v2")).await.unwrap();
    running.world.point("hello", "prod", "v1").await;
    running.look().await;
    let why = "alias hello@prod was moved".to_owned();
    assert_eq!(running.canary().await.phase, CanaryPhase::Aborted { why });
    assert_eq!(running.shares().await, [(1, 10_000)]);
    // The name is free for another try, and an undo of that takes everything back.
    running.start(over_alias("hello@v2")).await.unwrap();
    assert_eq!(running.shares().await, [(1, 5_000), (2, 5_000)]);
    running.world.folio.undo(&running.world.caller, &app(), None).await.unwrap();
    assert_eq!(running.shares().await, [(1, 10_000)]);
    assert!(matches!(running.canary().await.phase, CanaryPhase::Aborted { .. }));
}

#[tokio::test]
async fn a_route_is_moved_without_a_version_and_heard_of_at_once() {
    for running in [running().await, running_on_disk().await] {
        running.world.version(&function("old"), "one", "v1").await;
        running.world.version(&function("new"), "two", "v1").await;
        let (old, new) = ("old", "new");
        running.route(&[(old, 10_000), (new, 0)], Onto::Nothing).await;
        let told: Arc<Mutex<Vec<u32>>> = Arc::default();
        let hear = Arc::clone(&told);
        let follower = move |sites: Arc<Vec<Arc<Site>>>| {
            let routes = sites.iter().flat_map(|site| site.routes());
            let targets = routes.flat_map(|route| &route.targets);
            *hear.lock().unwrap() = targets.map(|(_, weight)| *weight).collect();
        };
        running.world.folio.follow_sites(Arc::new(follower)).await.unwrap();
        running.start(over_route(None, new)).await.unwrap();
        assert_eq!(*told.lock().unwrap(), [5_000, 5_000]);
        let route = running.world.folio.show_route(&app(), &name("r")).await.unwrap();
        assert_eq!(route.version.number.get(), 1);
        running.calls(new, 4).await;
        running.world.clock.jump(60);
        running.look().await;
        assert_eq!(*told.lock().unwrap(), [0, 10_000]);
        running.failing(true);
        running.look().await;
        running.calls(new, 4).await;
        running.look().await;
        assert_eq!(*told.lock().unwrap(), [10_000, 0]);
        assert_eq!(running.route_shares().await, [10_000, 0]);
        running.failing(false);
        // A change of the route means what it says, and ends a canary.
        running.start(over_route(Some(old), new)).await.unwrap();
        running.route(&[(old, 3_000), (new, 7_000)], Onto::Existing).await;
        assert_eq!(*told.lock().unwrap(), [3_000, 7_000]);
        running.look().await;
        let why = "route r was changed".to_owned();
        assert_eq!(running.canary().await.phase, CanaryPhase::Aborted { why });
        assert_eq!(running.route_shares().await, [3_000, 7_000]);
        // Also where that is what the route said before the canary.
        running.start(over_route(Some(old), new)).await.unwrap();
        running.route(&[(old, 3_000), (new, 7_000)], Onto::Existing).await;
        assert_eq!(*told.lock().unwrap(), [3_000, 7_000]);
        running.look().await;
        assert!(matches!(running.canary().await.phase, CanaryPhase::Aborted { .. }));
        running.start(over_route(Some(old), new)).await.unwrap();
        let at = (&app(), &name("r"));
        running.world.folio.delete_route(&running.world.caller, at, None).await.unwrap();
        running.look().await;
        let why = "route r was deleted".to_owned();
        assert_eq!(running.canary().await.phase, CanaryPhase::Aborted { why });
    }
}

#[tokio::test]
async fn what_cannot_be_moved_is_refused() {
    let running = running().await;
    running.hello().await;
    running.route(&[("hello@v1", 10_000)], Onto::Nothing).await;
    let code = |canary: NewCanary| {
        let running = &running;
        async move { refused(running.start(canary).await).0 }
    };
    assert_eq!(code(over_route(None, "hello@v2")).await, "canary_misplaced");
    assert_eq!(code(over_route(None, "hello@v1")).await, "canary_misplaced");
    assert_eq!(code(over_alias("hello@v1")).await, "canary_misplaced");
    assert_eq!(code(over_alias("hello@v9")).await, "version_not_found");
    assert_eq!(code(over_alias("hello@prod")).await, "canary_misplaced");
    let neither = NewCanary { alias: None, ..over_alias("hello@v2") };
    assert_eq!(code(neither).await, "canary_misplaced");
    let mut never = over_alias("hello@v2");
    never.fields.step = Some(0);
    assert_eq!(code(never).await, "bad_canary");
    running.start(over_alias("hello@v2")).await.unwrap();
    assert_eq!(code(over_alias("hello@v2")).await, "canary_running");
    let at = (&app(), &name("another"));
    let other = running.world.folio.start_canary(&running.world.caller, at, over_alias("hello@v2"));
    assert_eq!(refused(other.await).0, "canary_running");
    // Both versions stay as long as it runs.
    let which = folio_core::request::Which::One("v1".parse().unwrap());
    let (caller, hello) = (&running.world.caller, function("hello"));
    let deleted = running.world.folio.delete_versions(caller, &hello, which, None).await;
    assert_eq!(refused(deleted).0, "in_use");
}

#[tokio::test]
async fn a_plan_can_change_on_the_way_and_a_canary_be_forgotten() {
    let running = running().await;
    running.hello().await;
    let started = running.start(over_alias("hello@v2")).await.unwrap();
    let (folio, caller) = (&running.world.folio, &running.world.caller);
    let at = (&app(), &name("rollout"));
    let slower = PlanFields { step: Some(1_000), ..PlanFields::default() };
    let stale = folio.change_canary(caller, at, slower.clone(), Some(1)).await;
    assert_eq!(refused(stale).0, "stale");
    let changed = folio.change_canary(caller, at, slower, Some(started.revision)).await.unwrap();
    assert_eq!((changed.result.plan.step, changed.result.weight), (1_000, 5_000));
    running.look().await;
    running.calls("hello@v2", 4).await;
    running.world.clock.jump(60);
    running.look().await;
    assert_eq!(running.shares().await, [(1, 4_000), (2, 6_000)]);
    folio.delete_canary(caller, at, None).await.unwrap();
    assert_eq!(running.shares().await, [(1, 4_000), (2, 6_000)]);
    assert_eq!(refused(folio.show_canary(&app(), at.1).await).0, "canary_not_found");
}
