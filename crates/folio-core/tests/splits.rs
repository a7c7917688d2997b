//! Releases that share what is live, rollouts from one to another, work that no request asks for, and what keeps
//! releases.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use folio_core::Explain as _;
use folio_core::canary::{CanaryView, NewRollout, PlanFields, RolloutMove};
use folio_core::release::{
    Deletion, Error, Keeping, LiveSplit, LiveView, PolicyChange, PolicyPart, ReleaseRef,
};
use folio_core::request::{Caller, Fields, Onto, Releasing};
use folio_core::serving::Site;
use folio_core::trigger::{TimerFields, TriggerFields};
use folio_model::{
    CanaryGuards, CanaryPhase, CanaryStage, LiveMode, Name, OnBreach, ReleaseState, Retention,
    Skew, Sticky, Target,
};
use folio_testkit::sample;

use crate::runtime::{Running, before_and_after, reference, running, running_on_disk};
use crate::world::{World, app, function, refused, request};

fn at(text: &str) -> ReleaseRef {
    text.parse().unwrap()
}

impl World {
    /// Publishes versions and returns the releases they make.
    async fn made(&self, versions: &[&str]) -> Vec<String> {
        let mut made = Vec::new();
        for version in versions {
            self.version(&function("hello"), version, version).await;
            made.push(self.newest().await);
        }
        made
    }

    async fn newest(&self) -> String {
        let view = self.folio.show_release(&app(), &ReleaseRef::Latest).await.unwrap();
        view.label.id.to_string()
    }

    async fn room(&self, releases: u32) {
        let change = folio_core::app::PlanChange { releases: Some(releases), tagged: None };
        self.folio.set_plan(&self.caller, &app(), change).await.unwrap();
    }

    async fn split(&self, shares: &[(&str, u32)]) -> Result<LiveView, Error> {
        let shares = shares.iter().map(|(release, weight)| (at(release), *weight)).collect();
        let split = LiveSplit { shares, sticky: Some(Sticky::Address) };
        Ok(self.folio.split_live(&self.caller, &app(), split).await?.result)
    }

    /// What is live, as `r1 9000, r2 1000`, and whether it follows.
    async fn shown_live(&self) -> (String, LiveMode) {
        let view = self.folio.show_live(&app()).await.unwrap();
        let shares = view.shares.iter().map(|at| format!("{} {}", at.release, at.weight));
        (shares.collect::<Vec<_>>().join(", "), view.mode)
    }

    async fn state_of(&self, release: &str) -> ReleaseState {
        self.folio.show_release(&app(), &at(release)).await.unwrap().label.state
    }

    async fn set_live(&self, release: &str) -> Result<(), Error> {
        self.folio.set_live(&self.caller, &app(), &at(release)).await.map(|_| ())
    }
}

#[tokio::test]
async fn releases_share_what_is_live_until_one_is_set_live() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        let made = world.made(&["v1", "v2", "v3"]).await;
        let view = world.split(&[(&made[0], 9_000), (&made[1], 1_000)]).await.unwrap();
        assert_eq!((view.mode, view.sticky), (LiveMode::Pinned, Some(Sticky::Address)));
        world.made(&["v4"]).await;
        let expected = format!("{} 9000, {} 1000", made[0], made[1]);
        assert_eq!(
            world.shown_live().await,
            (expected, LiveMode::Pinned),
            "a deploy changes nothing"
        );
        assert_eq!(world.state_of(&made[2]).await, ReleaseState::Expired, "it was free");
        world.set_live(&made[1]).await.unwrap();
        assert_eq!(world.shown_live().await.0, format!("{} 10000", made[1]));
        assert_eq!(world.folio.show_live(&app()).await.unwrap().sticky, None);
    }
}

#[tokio::test]
async fn shares_that_make_no_whole_and_releases_that_are_gone_are_refused() {
    let world = running().await.world;
    let made = world.made(&["v1", "v2", "v3", "v4"]).await;
    let before = world.shown_live().await;
    for (shares, code) in [
        (vec![(made[2].as_str(), 9_000), (made[3].as_str(), 999)], "bad_weights"),
        (vec![(made[3].as_str(), 5_000), ("latest", 5_000)], "bad_weights"),
        (vec![], "bad_weights"),
        (vec![(made[0].as_str(), 5_000), (made[3].as_str(), 5_000)], "release_expired"),
        (vec![("nobody", 5_000), (made[3].as_str(), 5_000)], "release_not_found"),
    ] {
        assert_eq!(refused(world.split(&shares).await).0, code, "{shares:?}");
    }
    let error = world.split(&[(&made[2], 5_100), (&made[3], 5_000)]).await.unwrap_err();
    assert!(error.hint().unwrap().starts_with("that is 101 %, not 100 %"), "{:?}", error.hint());
    let shares = vec![(at(&made[3]), 10_000)];
    let split = LiveSplit { shares, sticky: Some(Sticky::Cookie("a b".to_owned())) };
    assert_eq!(
        refused(world.folio.split_live(&world.caller, &app(), split).await).0,
        "bad_request"
    );
    assert_eq!(world.shown_live().await, before);
}

#[tokio::test]
async fn a_release_that_shares_what_is_live_neither_expires_nor_is_deleted() {
    let world = running().await.world;
    let made = world.made(&["v1", "v2"]).await;
    world.split(&[(&made[0], 0), (&made[1], 10_000)]).await.unwrap();
    world.made(&["v3", "v4", "v5"]).await;
    assert_eq!(world.state_of(&made[0]).await, ReleaseState::Accessible, "kept ready");
    let which = (&app(), &at(&made[0]));
    let delete = |deletion| world.folio.delete_release(&world.caller, which, deletion);
    let error = delete(Deletion::default()).await.unwrap_err();
    let referrers = error.referrers();
    assert_eq!(error.code().0, "in_use");
    assert_eq!((referrers[0].kind.as_str(), referrers[0].name.as_str()), ("split", "default"));
    let other = Deletion { replace_with: Some(at("latest")), untag: false };
    delete(other).await.unwrap();
    assert_eq!(
        world.shown_live().await.0,
        format!("{} 10000, {} 0", made[1], world.newest().await)
    );
}

#[tokio::test]
async fn a_rollback_goes_to_the_release_that_had_everything_and_ends_the_split() {
    let world = running().await.world;
    let made = world.made(&["v1", "v2", "v3"]).await;
    world.split(&[(&made[2], 5_000), (&made[1], 5_000)]).await.unwrap();
    world.split(&[(&made[1], 9_999), (&made[0], 1)]).await.unwrap();
    let of = app();
    let back = || world.folio.roll_back_live(&world.caller, &of, None);
    assert_eq!(back().await.unwrap().result.label.id.as_str(), made[2], "it had everything last");
    assert_eq!(back().await.unwrap().result.label.id.as_str(), made[1]);
}

/// What hosts were told last.
type Told = Arc<Mutex<Vec<Arc<Site>>>>;

impl Running {
    async fn told(&self) -> Told {
        let told = Told::default();
        let hear = Arc::clone(&told);
        let follower = move |sites: Arc<Vec<_>>| *hear.lock().unwrap() = sites.to_vec();
        self.world.folio.follow_sites(Arc::new(follower)).await.unwrap();
        told
    }

    async fn roll_out(&self, release: &str, fields: PlanFields) -> CanaryView {
        let new = NewRollout { release: at(release), sticky: None, fields };
        let done = self.world.folio.start_rollout(&self.world.caller, &app(), new).await;
        let view = done.unwrap().result;
        self.step().await;
        view
    }

    /// Looks at the rollout, as the server does all the time.
    async fn step(&self) {
        self.world.folio.step_canaries().await.unwrap();
    }

    async fn say(&self, to: RolloutMove) -> Result<CanaryView, folio_core::canary::Error> {
        let done = self.world.folio.move_rollout(&self.world.caller, &app(), to).await?;
        Ok(done.result)
    }

    async fn rollout(&self) -> CanaryView {
        self.world.folio.show_rollout(&app()).await.unwrap()
    }
}

/// Has a release answer as the gateway would count it.
fn answers(told: &Told, release: &str, times: usize, status: u16) {
    answers_within(told, release, (times, status), Duration::from_millis(5));
}

fn answers_within(told: &Told, release: &str, (times, status): (usize, u16), time: Duration) {
    let sites = told.lock().unwrap();
    let shown = sites[0].release(release).expect("it can be reached");
    (0..times).for_each(|_| shown.meter.record(status, time));
}

/// Five percent, then a half once somebody said so, each decided by ten requests in a minute.
fn careful() -> PlanFields {
    let stage = |weight, approval| CanaryStage { weight, hold_ms: Some(60_000), approval };
    let guards = CanaryGuards { errors_percent_over: Some(5), ..CanaryGuards::default() };
    PlanFields {
        stages: Some(vec![stage(500, true), stage(5_000, false)]),
        threshold_percent: Some(50),
        requests_min: Some(10),
        interval_ms: Some(60_000),
        guards: Some(guards),
        ..PlanFields::default()
    }
}

#[tokio::test]
async fn a_rollout_goes_through_its_shares_and_waits_for_approval() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        let made = world.made(&["v1"]).await;
        let told = running.told().await;
        world.set_live(&made[0]).await.unwrap();
        let new = world.made(&["v2"]).await.remove(0);
        let view = running.roll_out("latest", careful()).await;
        assert_eq!((view.old.as_str(), view.new.as_str(), view.weight), (&*made[0], &*new, 500));
        assert_eq!(world.shown_live().await.0, format!("{} 9500, {new} 500", made[0]));
        answers(&told, &new, 10, 200);
        world.clock.jump(61);
        running.step().await;
        assert_eq!(running.rollout().await.phase, CanaryPhase::Running, "nothing to compare with");
        answers(&told, &made[0], 10, 200);
        running.step().await;
        assert_eq!(running.rollout().await.phase, CanaryPhase::Waiting);
        world.clock.jump(6_000);
        running.step().await;
        assert_eq!(running.rollout().await.weight, 500, "nobody said so");
        assert_eq!(running.say(RolloutMove::Approve).await.unwrap().weight, 5_000);
        for expected in [10_000, 10_000] {
            running.step().await;
            answers(&told, &new, 10, 200);
            answers(&told, &made[0], 10, 200);
            world.clock.jump(61);
            running.step().await;
            assert_eq!(running.rollout().await.weight, expected);
        }
        assert_eq!(running.rollout().await.phase, CanaryPhase::Succeeded);
        assert_eq!(world.shown_live().await, (format!("{new} 10000"), LiveMode::Pinned));
        let back = world.folio.roll_back_live(&world.caller, &app(), None).await.unwrap();
        assert_eq!(back.result.label.id.as_str(), made[0]);
    }
}

#[tokio::test]
async fn a_rollout_that_answers_worse_than_the_current_release_gives_everything_back() {
    let running = running().await;
    let world = &running.world;
    let made = world.made(&["v1", "v2"]).await;
    let told = running.told().await;
    world.set_live(&made[0]).await.unwrap();
    running.roll_out(&made[1], careful()).await;
    answers(&told, &made[0], 99, 200);
    answers(&told, &made[0], 1, 500);
    answers(&told, &made[1], 18, 200);
    answers(&told, &made[1], 2, 503);
    running.step().await;
    let why = "2 of 20 requests failed, and 1 of 100 before it".to_owned();
    assert_eq!(running.rollout().await.phase, CanaryPhase::Failed { why: why.clone() });
    let view = world.folio.show_live(&app()).await.unwrap();
    assert_eq!(world.shown_live().await.0, format!("{} 10000", made[0]));
    assert!(view.reason.unwrap().contains(&why));
}

#[tokio::test]
async fn a_rollout_that_answers_too_slowly_gives_everything_back() {
    let over = CanaryGuards { latency_percent_over: Some(50), ..CanaryGuards::default() };
    let most = CanaryGuards { latency_ms_max: Some(30), ..CanaryGuards::default() };
    for guards in [over, most] {
        let running = running().await;
        let world = &running.world;
        let made = world.made(&["v1", "v2"]).await;
        let told = running.told().await;
        world.set_live(&made[0]).await.unwrap();
        running.roll_out(&made[1], PlanFields { guards: Some(guards), ..careful() }).await;
        answers(&told, &made[0], 20, 200);
        answers(&told, &made[1], 20, 200);
        running.step().await;
        assert_eq!(running.rollout().await.phase, CanaryPhase::Running, "it is as fast");
        answers_within(&told, &made[1], (20, 200), Duration::from_millis(100));
        running.step().await;
        let CanaryPhase::Failed { why } = running.rollout().await.phase else { panic!("too slow") };
        assert!(why.contains("ms"), "{why}");
        let view = world.folio.show_live(&app()).await.unwrap();
        assert_eq!(world.shown_live().await.0, format!("{} 10000", made[0]));
        assert!(view.reason.unwrap().contains(&why));
    }
}

#[tokio::test]
async fn a_rollout_pauses_where_it_is_and_goes_on_when_told() {
    let running = running().await;
    let world = &running.world;
    let made = world.made(&["v1", "v2"]).await;
    let told = running.told().await;
    world.set_live(&made[0]).await.unwrap();
    let guards = CanaryGuards { on_breach: OnBreach::Pause, ..CanaryGuards::default() };
    running.roll_out(&made[1], PlanFields { guards: Some(guards), ..careful() }).await;
    answers(&told, &made[1], 20, 500);
    running.step().await;
    assert!(matches!(running.rollout().await.phase, CanaryPhase::Paused { .. }));
    assert_eq!(world.shown_live().await.0, format!("{} 9500, {} 500", made[0], made[1]));
    assert_eq!(refused(running.say(RolloutMove::Approve).await).0, "rollout_not_now");
    assert_eq!(running.say(RolloutMove::Resume).await.unwrap().phase, CanaryPhase::Running);
    assert_eq!(refused(running.say(RolloutMove::Resume).await).0, "rollout_not_now");
    running.step().await;
    running.step().await;
    assert_eq!(running.rollout().await.phase, CanaryPhase::Running, "it is measured anew");
    assert!(matches!(
        running.say(RolloutMove::Pause).await.unwrap().phase,
        CanaryPhase::Paused { .. }
    ));
    running.say(RolloutMove::Abort).await.unwrap();
    assert_eq!(world.shown_live().await.0, format!("{} 10000", made[0]));
    assert_eq!(refused(running.say(RolloutMove::Abort).await).0, "canary_not_found");
}

#[tokio::test]
async fn while_a_rollout_runs_only_a_rollback_moves_live_and_it_ends_the_rollout() {
    let running = running().await;
    let world = &running.world;
    let made = world.made(&["v1", "v2", "v3"]).await;
    world.set_live(&made[1]).await.unwrap();
    running.roll_out(&made[2], careful()).await;
    let before = world.shown_live().await;
    assert_eq!(refused(world.set_live(&made[0]).await).0, "canary_running");
    assert_eq!(refused(world.split(&[(&made[0], 10_000)]).await).0, "canary_running");
    let follow = world.folio.follow_live(&world.caller, &app()).await;
    assert_eq!(refused(follow).0, "canary_running");
    let caller = Caller { releasing: Releasing::Promote, ..world.caller.clone() };
    let request = crate::world::request(world.code("v4").await);
    let promoted = world.folio.publish(&caller, &function("hello"), request).await;
    assert_eq!(refused(promoted).0, "canary_running");
    let which = (&app(), &at(&made[2]));
    let other = Deletion { replace_with: Some(at(&made[0])), untag: false };
    let deleted = world.folio.delete_release(&world.caller, which, other).await;
    assert_eq!(refused(deleted).0, "canary_running");
    assert_eq!(world.shown_live().await, before);
    let again = NewRollout { release: at(&made[0]), sticky: None, fields: careful() };
    let again = world.folio.start_rollout(&world.caller, &app(), again).await;
    assert_eq!(refused(again).0, "canary_running");
    world.folio.roll_back_live(&world.caller, &app(), None).await.unwrap();
    let why = "live was rolled back".to_owned();
    assert_eq!(running.rollout().await.phase, CanaryPhase::Aborted { why });
    assert_eq!(world.shown_live().await.0, format!("{} 10000", made[1]));
    running.step().await;
    assert_eq!(world.shown_live().await.0, format!("{} 10000", made[1]));
}

#[tokio::test]
async fn a_rollout_survives_its_server_and_measures_anew() {
    let (before, after) = before_and_after().await;
    let made = before.world.made(&["v1", "v2"]).await;
    let told = before.told().await;
    before.world.set_live(&made[0]).await.unwrap();
    before.roll_out(&made[1], careful()).await;
    answers(&told, &made[1], 20, 500);
    let told = after.told().await;
    after.step().await;
    after.step().await;
    assert_eq!(after.rollout().await.phase, CanaryPhase::Running, "nothing was measured here");
    answers(&told, &made[1], 20, 500);
    after.step().await;
    assert!(matches!(after.rollout().await.phase, CanaryPhase::Failed { .. }));
    assert_eq!(after.world.shown_live().await.0, format!("{} 10000", made[0]));
}

impl Running {
    async fn timer(&self, caller: &Caller) {
        let name: Name = "tick".parse().unwrap();
        let fields = TimerFields {
            cron: Some("*/5 * * * *".to_owned()),
            targets: Some(vec![Target::only(reference("hello"))]),
            ..TimerFields::default()
        };
        let (place, fields) = ((&app(), Some(&name)), TriggerFields::Timer(fields));
        self.world.folio.set_trigger(caller, place, fields, (Onto::Nothing, None)).await.unwrap();
    }

    /// What a server does every five minutes. Says which versions were called.
    async fn slot(&self) -> Vec<String> {
        self.world.clock.jump(5 * 60);
        let before = self.called();
        self.world.folio.wind_up(None).await.unwrap();
        self.world.folio.schedule_timers().await.unwrap();
        while self.world.folio.take_fire().await.unwrap() {}
        let after = self.called();
        let new = after.iter().filter(|called| !before.contains(called));
        new.map(|(version, _)| version.clone()).collect()
    }

    fn called(&self) -> Vec<(String, u64)> {
        let measured =
            self.world.folio.measured(&folio_core::Caller::new("ada".parse().unwrap())).into_iter();
        measured.map(|found| (found.version, found.measured.requests)).collect()
    }
}

#[tokio::test]
async fn a_timer_is_that_of_the_live_release_and_calls_what_that_holds() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        world.room(9).await;
        let made = world.made(&["v1"]).await;
        let held = Caller { releasing: Releasing::Hold, ..world.caller.clone() };
        running.timer(&held).await;
        assert_eq!(running.slot().await, [""; 0], "it is not released");
        let of = folio_core::history::Moment::Now;
        let same = folio_core::request::IfSame::Keep;
        world.folio.create_release(&world.caller, &app(), of, same).await.unwrap();
        assert_eq!(running.slot().await, ["v1"]);
        let with = world.newest().await;
        world.made(&["v2"]).await;
        assert_eq!(running.slot().await, ["v2"]);
        world.set_live(&with).await.unwrap();
        assert_eq!(running.slot().await, ["v1"], "the live release holds v1, the tracker v2");
        world.set_live(&made[0]).await.unwrap();
        assert_eq!(running.slot().await, [""; 0], "the live release has no timer");
        assert_eq!(running.slot().await, [""; 0]);
        world.folio.follow_live(&world.caller, &app()).await.unwrap();
        assert_eq!(running.slot().await, ["v2"], "and the slots that passed are not made up for");
    }
}

#[tokio::test]
async fn a_fire_runs_in_the_release_it_was_made_in_and_in_live_once_that_is_gone() {
    let running = running().await;
    let world = &running.world;
    world.room(9).await;
    world.made(&["v1"]).await;
    running.timer(&world.caller).await;
    let fire = |release: Option<String>| {
        let (folio, clock) = (world.folio.clone(), world.clock.clone());
        let running = &running;
        async move {
            folio.wind_up(None).await.unwrap();
            clock.jump(5 * 60);
            folio.schedule_timers().await.unwrap();
            let made = running.world.newest().await;
            running.world.made(&[if release.is_some() { "v3" } else { "v2" }]).await;
            if release.is_some() {
                let which = (&app(), &at(&made));
                let caller = &running.world.caller;
                folio.delete_release(caller, which, Deletion::default()).await.unwrap();
            }
            let before = running.called();
            while folio.take_fire().await.unwrap() {}
            let after = running.called();
            let new = after.into_iter().find(|called| !before.contains(called));
            new.map(|(version, _)| version)
        }
    };
    assert_eq!(fire(None).await.as_deref(), Some("v1"), "although v2 went live meanwhile");
    assert_eq!(fire(Some(String::new())).await.as_deref(), Some("v3"));
}

#[tokio::test]
async fn a_dry_run_says_what_a_run_does_and_why() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        world.room(20).await;
        let made = world.made(&["v1", "v2", "v3", "v4", "v5"]).await;
        let keep = (&app(), &at(&made[0]));
        world.folio.keep_release(&world.caller, keep, Keeping::Keep).await.unwrap();
        world.split(&[(&made[1], 5_000), (&made[4], 5_000)]).await.unwrap();
        let retention = Retention { newest: Some(2), ..Retention::default() };
        let change = PolicyChange { retention: Some(retention), ..PolicyChange::default() };
        world.folio.set_policy(&world.caller, &app(), change).await.unwrap();
        let would = world.folio.would_expire(&app()).await.unwrap();
        let did = world.folio.expire_releases(&world.caller, &app()).await.unwrap().result;
        assert_eq!(would, did);
        let gone: Vec<_> = did.expired.iter().map(|gone| gone.id.as_str()).collect();
        assert_eq!(gone, [&made[2]]);
        assert_eq!(did.expired[0].why, "no rule of the app keeps it");
        let kept: Vec<_> =
            did.kept.iter().map(|kept| (kept.id.as_str(), kept.by.join(","))).collect();
        let expected = [
            (made[4].as_str(), "live 50 %,latest,newest".to_owned()),
            (made[3].as_str(), "newest".to_owned()),
            (made[1].as_str(), "live 50 %".to_owned()),
            (made[0].as_str(), "kept".to_owned()),
        ];
        assert_eq!(kept, expected);
        world.folio.keep_release(&world.caller, keep, Keeping::LetGo).await.unwrap();
        let next = world.folio.would_expire(&app()).await.unwrap();
        assert_eq!(next.expired[0].id.as_str(), made[0]);
    }
}

#[tokio::test]
async fn a_budget_of_bytes_counts_what_releases_share_once() {
    let world = running().await.world;
    world.room(20).await;
    let made = world.made(&["first", "other", "third"]).await;
    let policy = |bytes| {
        let retention = Some(Retention { bytes: Some(bytes), ..Retention::default() });
        PolicyChange { retention, ..PolicyChange::default() }
    };
    let would = |bytes| {
        let world = &world;
        async move {
            world.folio.set_policy(&world.caller, &app(), policy(bytes)).await.unwrap();
            let found = world.folio.would_expire(&app()).await.unwrap().expired;
            found.into_iter().map(|gone| gone.id.to_string()).collect::<Vec<_>>()
        }
    };
    assert_eq!(would(15).await, [""; 0], "each holds five bytes");
    assert_eq!(would(14).await, made[..1]);
    assert_eq!(would(0).await, made[..2], "never the newest, nor what is live");
}

#[tokio::test]
async fn files_that_several_releases_hold_count_once() {
    let world = running().await.world;
    world.room(20).await;
    for own in ["first", "other", "third"] {
        let files = [("shared", "0123456789"), ("own", own)];
        let deployment = Some(sample::directory(&world.folio, &files).await);
        let fields = Fields { deployment, ..world.code("").await };
        world.publish(&function("hello"), request(fields)).await.unwrap();
    }
    let would = async |bytes| {
        let retention = Some(Retention { bytes: Some(bytes), ..Retention::default() });
        let change = PolicyChange { retention, ..PolicyChange::default() };
        world.folio.set_policy(&world.caller, &app(), change).await.unwrap();
        world.folio.would_expire(&app()).await.unwrap().expired.len()
    };
    assert_eq!([would(25).await, would(24).await, would(15).await], [0, 1, 2]);
}

#[tokio::test]
async fn where_clients_stay_a_release_that_was_live_lately_stays_too() {
    let world = running().await.world;
    let made = world.made(&["v1", "v2"]).await;
    let skew = Skew { max_age_s: 3_600, oldest: None };
    let change = PolicyChange { skew: Some(skew), ..PolicyChange::default() };
    world.folio.set_policy(&world.caller, &app(), change.clone()).await.unwrap();
    world.made(&["v3", "v4"]).await;
    for release in &made {
        assert_eq!(world.state_of(release).await, ReleaseState::Accessible, "{release}");
    }
    world.clock.jump(3_600);
    world.made(&["v5"]).await;
    assert_eq!(world.state_of(&made[0]).await, ReleaseState::Expired);
    let never = Skew { max_age_s: 0, oldest: None };
    let never = PolicyChange { skew: Some(never), ..PolicyChange::default() };
    assert_eq!(
        refused(world.folio.set_policy(&world.caller, &app(), never).await).0,
        "bad_request"
    );
    let unset = [PolicyPart::Skew].into();
    let off = PolicyChange { unset, ..PolicyChange::default() };
    let policy = world.folio.set_policy(&world.caller, &app(), off).await.unwrap().result;
    assert_eq!(policy.skew, None);
}

#[tokio::test]
async fn where_clients_stay_a_release_that_was_rolled_back_from_stays_too() {
    let world = running().await.world;
    let skew = Skew { max_age_s: 3_600, oldest: None };
    let change = PolicyChange { skew: Some(skew), ..PolicyChange::default() };
    world.folio.set_policy(&world.caller, &app(), change).await.unwrap();
    let made = world.made(&["v1", "v2", "v3"]).await;
    for _ in 0..2 {
        world.folio.roll_back_live(&world.caller, &app(), None).await.unwrap();
    }
    world.room(1).await;
    world.made(&["v4", "v5"]).await;
    for release in &made {
        assert_eq!(world.state_of(release).await, ReleaseState::Accessible, "{release}");
    }
    world.clock.jump(3_601);
    world.made(&["v6"]).await;
    let states = [&made[1], &made[2]].map(|release| world.state_of(release));
    for state in states {
        assert_eq!(state.await, ReleaseState::Expired);
    }
}

#[tokio::test]
async fn where_clients_stay_a_release_that_shared_what_is_live_stays_too() {
    let world = running().await.world;
    let skew = Skew { max_age_s: 3_600, oldest: None };
    let change = PolicyChange { skew: Some(skew), ..PolicyChange::default() };
    world.folio.set_policy(&world.caller, &app(), change).await.unwrap();
    let made = world.made(&["v1", "v2"]).await;
    let (old, new) = (made[0].as_str(), made[1].as_str());
    // Step by step from one to the other: the old one has traffic until the last step.
    for share in [9_000, 5_000] {
        world.split(&[(old, share), (new, 10_000 - share)]).await.unwrap();
        world.clock.jump(3_000);
    }
    world.set_live(new).await.unwrap();
    world.room(1).await;
    world.clock.jump(3_000);
    world.made(&["v3"]).await;
    assert_eq!(world.state_of(old).await, ReleaseState::Accessible);
    world.clock.jump(3_601);
    world.made(&["v4"]).await;
    assert_eq!(world.state_of(old).await, ReleaseState::Expired);
}
