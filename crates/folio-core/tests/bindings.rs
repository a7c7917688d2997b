//! Jobs and webhooks: every slot is run once, one that is broken is only its own trouble, and what they lead to stays.

use std::sync::Arc;

use folio_core::Explain as _;
use folio_core::binding::{
    BindingFields, BindingKind, BindingView, JobFields, NewBinding, NewJob, NewTerms, WebhookCall,
};
use folio_core::execution::Listing;
use folio_core::ports::{Plaintext, StoreError};
use folio_core::request::{Cascade, Onto, Which};
use folio_core::secret::SecretFields;
use folio_model::{
    BindingTerms, BoundTo, Build, Execution, ExecutionOrigin, JobStatus, Kind, Signing, UnitKey,
    Webhook,
};
use folio_testkit::vault::TestVault;

use crate::builds::{await_build, builders, publish};
use crate::runtime::{Running, Script, reference, running, running_on_disk};
use crate::world::{World, app, function, id, refused};

impl Running {
    async fn bound(&self, function: &str, terms: NewTerms) -> BindingView {
        let to = self.world.folio.bound_to(&app(), &reference(function)).await.unwrap();
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
    assert!(running.started_by(&job).await.iter().all(|one| one.asked.description == said));
}

#[tokio::test]
async fn a_job_runs_as_often_as_it_shall_in_memory() {
    a_job_runs_as_often_as_it_shall(running().await).await;
}

#[tokio::test]
async fn a_job_runs_as_often_as_it_shall_on_disk() {
    a_job_runs_as_often_as_it_shall(running_on_disk().await).await;
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
    let to = world.folio.bound_to(&app(), &reference("hello")).await.unwrap();
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
