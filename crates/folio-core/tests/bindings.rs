//! Jobs and webhooks: every slot is run once, one that is broken is only its own trouble, and what they lead to stays.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use folio_core::Explain as _;
use folio_core::binding::{
    BindingFields, BindingKind, BindingView, JobFields, NewBinding, NewJob, NewTerms, WebhookCall,
};
use folio_core::execution::Listing;
use folio_core::logs::Logs;
use folio_core::ports::{Plaintext, StoreError};
use folio_core::request::{Cascade, Onto, Which};
use folio_core::secret::SecretFields;
use folio_model::{
    BindingTerms, BoundTo, Build, Execution, ExecutionOrigin, JobStatus, Kind, Misfire, Signing,
    Timestamp, UnitKey, Webhook,
};
use folio_store::MemoryQueue;
use folio_testkit::vault::TestVault;
use jiff::SignedDuration;

use crate::builds::{await_build, builders, publish};
use crate::runtime::{Running, Script, reference, running, running_on_disk};
use crate::timers::Slow;
use crate::world::{World, app, function, id, refused};

impl Running {
    async fn bound(&self, function: &str, terms: NewTerms) -> BindingView {
        let to = self
            .world
            .folio
            .bound_to(&self.world.caller, &app(), &reference(function))
            .await
            .unwrap();
        self.bound_to(to, terms).await
    }

    async fn bound_to(&self, to: BoundTo, terms: NewTerms) -> BindingView {
        let new = NewBinding { to, name: None, description: None, terms };
        self.world.folio.bind(&self.world.caller, &app(), new).await.unwrap().result
    }

    async fn job(&self, function: &str, pattern: &str, count: Option<u64>) -> BindingView {
        let pattern = Some(pattern.to_owned());
        let job = NewJob { pattern, count, ..NewJob::default() };
        self.bound(function, NewTerms::Job(job)).await
    }

    async fn started_by(&self, binding: &BindingView) -> Vec<Execution> {
        let listing = Listing { limit: 1000, ..Listing::default() };
        let all = self.world.folio.executions(&app(), listing).await.unwrap().into_iter();
        let origins = [ExecutionOrigin::Job(binding.id), ExecutionOrigin::Webhook(binding.id)];
        all.filter(|execution| origins.contains(&execution.asked.origin)).collect()
    }

    async fn status(&self, job: &BindingView) -> (JobStatus, Option<u64>) {
        let at = (&app(), job.id);
        let seen = self.world.folio.show_binding(at, BindingKind::Job).await.unwrap();
        let BindingTerms::Job(job) = seen.binding.terms else { panic!("it is a job") };
        (job.status, seen.left)
    }

    async fn look_at_the_clock(&self, seconds: i64) -> Result<(), StoreError> {
        self.world.clock.jump(seconds);
        self.world.folio.take_jobs().await.map(|_| ())
    }
}

/// The slots that were run, oldest first.
fn slots(mut started: Vec<Execution>) -> Vec<Timestamp> {
    started.reverse();
    started.into_iter().map(|one| one.asked.slot.expect("it is the run of a slot")).collect()
}

async fn published(running: Running) -> Running {
    running.world.version(&function("hello"), "one", "v1").await;
    running.world.version(&function("hello"), "two", "v2").await;
    running.world.point("hello", "prod", "v1").await;
    running
}

async fn a_job_runs_as_often_as_it_shall(running: Running) {
    let running = published(running).await;
    let job = running.job("hello", "* * * * *", Some(2)).await;
    running.look_at_the_clock(0).await.unwrap();
    assert_eq!(running.started_by(&job).await.len(), 0, "not before its time");
    running.look_at_the_clock(60).await.unwrap();
    running.look_at_the_clock(0).await.unwrap();
    assert_eq!(running.started_by(&job).await.len(), 1, "however often somebody looks");
    assert_eq!(running.status(&job).await, (JobStatus::Running, Some(1)));
    running.look_at_the_clock(60).await.unwrap();
    running.look_at_the_clock(600).await.unwrap();
    assert_eq!(running.started_by(&job).await.len(), 2);
    assert_eq!(running.status(&job).await.0, JobStatus::Done);
    let said = format!("Created by Job {}", job.id);
    let started = running.started_by(&job).await;
    assert!(started.iter().all(|one| one.asked.description == said));
    let minute = SignedDuration::from_secs(60);
    let first = job.next.unwrap();
    assert_eq!(slots(started), [first, first + minute]);
}

#[tokio::test]
async fn a_job_runs_as_often_as_it_shall_in_memory() {
    a_job_runs_as_often_as_it_shall(running().await).await;
}

#[tokio::test]
async fn a_job_runs_as_often_as_it_shall_on_disk() {
    a_job_runs_as_often_as_it_shall(running_on_disk().await).await;
}

/// A server ends at any step of a slot, and another finds what it left after further slots have passed.
#[tokio::test]
async fn a_job_is_counted_whoever_dies_meanwhile() {
    let mut is_abandoned = true;
    let mut steps = 0;
    while std::mem::take(&mut is_abandoned) {
        let slow = Arc::new(Slow(MemoryQueue::default()));
        let running = running().await.with_queue(slow, Arc::new(Logs::new(1024)));
        let running = published(running).await;
        let job = running.job("hello", "* * * * *", Some(2)).await;
        running.world.clock.jump(60);
        {
            let mut take = pin!(running.world.folio.take_jobs());
            let mut context = Context::from_waker(Waker::noop());
            is_abandoned |= (0..=steps).all(|_| take.as_mut().poll(&mut context).is_pending());
        }
        for _ in 0..4 {
            running.look_at_the_clock(180).await.unwrap();
        }
        let slots = slots(running.started_by(&job).await);
        assert_eq!(slots.len(), 2, "left after {steps} steps: {slots:?}");
        assert!(slots.is_sorted() && slots[0] != slots[1], "{slots:?}");
        assert_eq!(running.status(&job).await.0, JobStatus::Done);
        steps += 1;
    }
    assert!(steps > 6, "it was left before and after each of its steps: {steps}");
}

#[tokio::test]
async fn a_job_of_an_alias_follows_it() {
    let running = published(running().await).await;
    let job = running.job("hello@prod", "* * * * *", None).await;
    running.look_at_the_clock(60).await.unwrap();
    running.world.point("hello", "prod", "v2").await;
    running.look_at_the_clock(60).await.unwrap();
    let versions: Vec<_> =
        running.started_by(&job).await.into_iter().map(|one| one.number).collect();
    let versions: Vec<_> = versions.into_iter().flatten().map(folio_model::Number::get).collect();
    assert_eq!(versions, [2, 1], "newest first");
}

#[tokio::test]
async fn a_broken_job_starves_nobody() {
    let running = published(running().await).await;
    running.stub.then(Script::Fail("no"));
    let _builders = builders(&running);
    publish(&running, "one", "v3").await;
    assert_eq!(await_build(&running, "v3").await, Build::Failed);
    // What it leads to can be named and not be run. The original stopped all jobs when one could not be started.
    let broken = running.bound("hello@v3", job_terms()).await;
    let healthy = running.job("hello", "* * * * *", None).await;
    for _ in 0..3 {
        running.look_at_the_clock(60).await.unwrap();
    }
    assert_eq!(running.started_by(&healthy).await.len(), 3);
    assert_eq!(running.started_by(&broken).await.len(), 0);
    assert_eq!(running.status(&broken).await.0, JobStatus::Running, "it may be mended");
}

#[tokio::test]
async fn an_alias_that_a_job_follows_is_kept() {
    let running = published(running().await).await;
    running.bound_to(BoundTo::Alias(id("prod")), job_terms()).await;
    let key = function("hello");
    let leaving = (&key, &id("prod"));
    let expect = folio_core::request::Expect::Present;
    let deleted = running.world.folio.delete_alias(&running.world.caller, leaving, expect).await;
    assert_eq!(refused(deleted).0, "in_use");
}

#[tokio::test]
async fn a_webhook_can_ask_for_a_signature() {
    let running = published(running().await).await;
    let world = World {
        folio: running.world.folio.clone().with_vault(Arc::new(TestVault)),
        ..running.world
    };
    let signing: Signing = "till/key".parse().unwrap();
    let terms = NewTerms::Webhook(Webhook { signing: Some(signing), ..Webhook::default() });
    let to = world.folio.bound_to(&world.caller, &app(), &reference("hello")).await.unwrap();
    let new = NewBinding { to, name: None, description: None, terms };
    let made = world.folio.bind(&world.caller, &app(), new.clone()).await;
    assert_eq!(refused(made).0, "webhook_secret_missing");
    let key = UnitKey { app: app(), kind: Kind::Secret, name: "till".parse().unwrap() };
    let value = Plaintext::new(b"It's a Secret to Everybody".to_vec());
    let fields =
        SecretFields { set: [("key".parse().unwrap(), value)].into(), ..SecretFields::default() };
    world.folio.set_secret(&world.caller, &key, fields, (Onto::Nothing, None)).await.unwrap();
    let hook = world.folio.bind(&world.caller, &app(), new).await.unwrap().result;
    let body = b"Hello, World!";
    let call = |signature| WebhookCall { body, signature, ..WebhookCall::default() };
    let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    for wrong in [None, Some("sha256=00"), Some(&right[7..])] {
        let called = world.folio.call_webhook(hook.id, call(wrong)).await;
        assert_eq!(refused(called).0, "webhook_not_signed");
    }
    world.folio.call_webhook(hook.id, call(Some(right))).await.unwrap();
    world.folio.delete_secret(&world.caller, &key, None).await.unwrap();
    let called = world.folio.call_webhook(hook.id, call(Some(right))).await;
    assert_eq!(refused(called).0, "webhook_not_signed", "without its secret nobody is let in");
}

#[tokio::test]
async fn a_webhook_that_was_called_too_often_lets_in_again_in_the_next_minute() {
    let running = published(running().await).await;
    let limited = Webhook { calls_per_minute_max: Some(2), ..Webhook::default() };
    let hook = running.bound("hello", NewTerms::Webhook(limited)).await;
    let other = running.bound("hello", NewTerms::Webhook(Webhook::default())).await;
    let call = async |hook: &BindingView| {
        running.world.folio.call_webhook(hook.id, WebhookCall::default()).await
    };
    for minute in 1..=3 {
        for _ in 0..2 {
            call(&hook).await.unwrap();
        }
        for seconds in [0, 59] {
            running.world.clock.jump(seconds);
            assert_eq!(refused(call(&hook).await).0, "webhook_too_often");
            call(&other).await.expect("it has no limit");
        }
        assert_eq!(running.started_by(&hook).await.len(), 2 * minute, "what is refused is not run");
        running.world.clock.jump(1);
    }
}

fn job_terms() -> NewTerms {
    NewTerms::Job(NewJob { pattern: Some("* * * * *".to_owned()), ..NewJob::default() })
}

#[tokio::test]
async fn slots_that_were_missed_are_not_made_up_for_one_by_one() {
    let running = published(running().await).await;
    let job = running.job("hello", "* * * * *", Some(100)).await;
    running.look_at_the_clock(30 * 60).await.unwrap();
    assert_eq!(running.started_by(&job).await.len(), 1, "the newest is run");
    running.look_at_the_clock(60).await.unwrap();
    assert_eq!(running.started_by(&job).await.len(), 2);
}

#[tokio::test]
async fn slots_that_were_missed_are_made_up_for_where_that_is_asked_for() {
    let running = published(running().await).await;
    let misfire = Misfire::All;
    let pattern = Some("* * * * *".to_owned());
    let new = NewJob { pattern: pattern.clone(), count: Some(4), misfire, ..NewJob::default() };
    let counted = running.bound("hello", NewTerms::Job(new)).await;
    let new = NewJob { pattern, misfire, ..NewJob::default() };
    let endless = running.bound("hello", NewTerms::Job(new)).await;
    let first = counted.next.unwrap();
    running.look_at_the_clock(3 * 60).await.unwrap();
    let minutes = |from: i64, to: i64| {
        let at = |minute| first + SignedDuration::from_mins(minute);
        (from..to).map(at).collect::<Vec<_>>()
    };
    assert_eq!(slots(running.started_by(&endless).await), minutes(0, 3), "in their order");
    // However long nobody was there, only so many are made up for, the newest.
    let max = i64::try_from(running.world.folio.limits().timer_catch_up_max).unwrap();
    running.look_at_the_clock((max + 50) * 60).await.unwrap();
    let made_up = [minutes(0, 3), minutes(53, 53 + max)].concat();
    assert_eq!(slots(running.started_by(&endless).await), made_up);
    assert_eq!(running.started_by(&counted).await.len(), 4, "never more than are counted");
    assert_eq!(running.status(&counted).await.0, JobStatus::Done);
    let job = JobFields { misfire: Some(Misfire::Skip), ..JobFields::default() };
    let fields = BindingFields { job, ..BindingFields::default() };
    let (folio, at) = (&running.world.folio, (&app(), endless.id));
    folio.rebind(&running.world.caller, at, BindingKind::Job, fields).await.unwrap();
    let before = running.started_by(&endless).await.len();
    running.look_at_the_clock(30 * 60).await.unwrap();
    assert_eq!(running.started_by(&endless).await.len(), before + 1);
}

#[tokio::test]
async fn a_paused_job_waits_and_a_cancelled_one_is_over() {
    let running = published(running().await).await;
    let job = running.job("hello", "* * * * *", None).await;
    let set = async |status: JobStatus| {
        let job_fields = JobFields { status: Some(status), ..JobFields::default() };
        let fields = BindingFields { job: job_fields, ..BindingFields::default() };
        running
            .world
            .folio
            .rebind(&running.world.caller, (&app(), job.id), BindingKind::Job, fields)
            .await
    };
    set(JobStatus::Paused).await.unwrap();
    running.look_at_the_clock(300).await.unwrap();
    assert_eq!(running.started_by(&job).await.len(), 0);
    set(JobStatus::Running).await.unwrap();
    running.look_at_the_clock(0).await.unwrap();
    assert_eq!(running.started_by(&job).await.len(), 0, "what passed meanwhile has passed");
    running.look_at_the_clock(60).await.unwrap();
    assert_eq!(running.started_by(&job).await.len(), 1);
    set(JobStatus::Cancelled).await.unwrap();
    running.look_at_the_clock(300).await.unwrap();
    assert_eq!(running.started_by(&job).await.len(), 1);
    assert_eq!(refused(set(JobStatus::Running).await).0, "job_over");
}

#[tokio::test]
async fn a_job_that_is_renamed_or_paused_is_counted_on() {
    let running = published(running().await).await;
    let job = running.job("hello", "* * * * *", Some(4)).await;
    let change = async |fields: BindingFields| {
        let (folio, at) = (&running.world.folio, (&app(), job.id));
        folio.rebind(&running.world.caller, at, BindingKind::Job, fields).await.unwrap();
        running.look_at_the_clock(0).await.unwrap();
    };
    let set = async |status: JobStatus| {
        let job = JobFields { status: Some(status), ..JobFields::default() };
        change(BindingFields { job, ..BindingFields::default() }).await;
    };
    for _ in 0..2 {
        running.look_at_the_clock(60).await.unwrap();
    }
    let left = async || running.status(&job).await.1;
    change(BindingFields { name: Some("other".to_owned()), ..BindingFields::default() }).await;
    assert_eq!((running.started_by(&job).await.len(), left().await), (2, Some(2)));
    set(JobStatus::Paused).await;
    for _ in 0..3 {
        running.look_at_the_clock(60 * 60).await.unwrap();
        assert_eq!(left().await, Some(2), "whatever passes meanwhile");
    }
    set(JobStatus::Running).await;
    for _ in 0..6 {
        running.look_at_the_clock(60).await.unwrap();
    }
    assert_eq!(running.started_by(&job).await.len(), 4);
    assert_eq!(running.status(&job).await.0, JobStatus::Done);
}

#[tokio::test]
async fn what_a_job_or_webhook_leads_to_is_not_deleted() {
    let running = published(running().await).await;
    let (folio, caller, key) = (&running.world.folio, &running.world.caller, function("hello"));
    let hook = running.bound("hello@2", NewTerms::Webhook(Webhook::default())).await;
    let version = || folio.delete_versions(caller, &key, Which::One("2".parse().unwrap()), None);
    let error = version().await.unwrap_err();
    assert_eq!((error.code().0, &*error.referrers()[0].kind), ("in_use", "webhook"));
    let unit = || folio.delete(caller, &key, Cascade::No, None);
    assert_eq!(unit().await.unwrap_err().referrers()[0].kind, "webhook");
    let wrong = folio.unbind(caller, (&app(), hook.id), BindingKind::Job).await;
    assert_eq!(refused(wrong).0, "binding_not_found", "a webhook is no job");
    folio.unbind(caller, (&app(), hook.id), BindingKind::Webhook).await.unwrap();
    version().await.unwrap();
    let job = running.job("hello", "* * * * *", Some(1)).await;
    assert_eq!(unit().await.unwrap_err().referrers()[0].kind, "job");
    running.look_at_the_clock(60).await.unwrap();
    running.look_at_the_clock(0).await.unwrap();
    assert_eq!(running.status(&job).await.0, JobStatus::Done);
    unit().await.expect("a job that is done stands in nobody's way");
}

#[tokio::test]
async fn every_change_is_an_entry_and_can_be_undone() {
    let running = published(running().await).await;
    let hook = running.bound("hello", NewTerms::Webhook(Webhook::default())).await;
    let folio = &running.world.folio;
    let log = folio.log(&app(), None, 1).await.unwrap();
    assert_eq!(log[0].entry.message, format!("create webhook {}", hook.id));
    assert_eq!(log[0].entry.app_version, None, "no version is made");
    folio.undo(&running.world.caller, &app(), None).await.unwrap();
    assert_eq!(
        refused(folio.call_webhook(hook.id, WebhookCall::default()).await).0,
        "binding_not_found"
    );
    let key = UnitKey { kind: Kind::Function, ..function("hello") };
    folio.delete(&running.world.caller, &key, Cascade::No, None).await.unwrap();
}
