//! Watches: every change is told, in order, at least once, and nothing answers to itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use folio_core::logs::Logs;
use folio_core::ports::runtime::{
    BuildError, BuildLog, BuildOrder, Built, Call, CallError, Plan, RuntimeStatus,
};
use folio_core::ports::{Body, Runtime};
use folio_core::request::{Caller, Cascade, Onto};
use folio_core::trigger::{TriggerFields, WatchFields};
use folio_core::watch::Looked;
use folio_core::{Folio, Limits, Settings};
use folio_model::Target;
use folio_store::{MemoryIndex, MemoryLedger, MemoryQueue, PackOptions, PackStore};
use folio_testkit::clock::TestClock;
use http_body_util::BodyExt as _;
use serde_json::Value;

use crate::runtime::reference;
use crate::world::{World, app, function, id};

/// Notes what it is told.
#[derive(Default)]
struct Listener {
    heard: Mutex<Vec<String>>,
    /// Which versions it was told as.
    called: Mutex<Vec<String>>,
    /// Calls that fail before one is heard.
    fails: AtomicUsize,
    /// Whether calls never end.
    hangs: std::sync::atomic::AtomicBool,
}

#[async_trait]
impl Runtime for Listener {
    async fn call(&self, plan: &Arc<Plan>, call: Call) -> Result<http::Response<Body>, CallError> {
        let (head, body) = call.request.into_parts();
        let header = |name: &str| head.headers[name].to_str().unwrap().to_owned();
        let (what, of) = (header("x-kubernetes-event-type"), header("x-kubernetes-object-type"));
        let body = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let (name, message) = (&body["object"]["name"], &body["message"]);
        let heard =
            format!("{what} {of} {}: {}", name.as_str().unwrap(), message.as_str().unwrap());
        let failing =
            self.fails.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if failing.is_ok() {
            return Err(CallError::Failed);
        }
        self.heard.lock().unwrap().push(heard);
        self.called.lock().unwrap().push(plan.at.to_string());
        if self.hangs.load(Ordering::SeqCst) {
            return std::future::pending().await;
        }
        Ok(http::Response::new(Body::Empty))
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

struct Watching {
    world: World,
    listener: Arc<Listener>,
}

async fn watching(object_type: &str, object: Option<&str>) -> Watching {
    let clock = Arc::new(TestClock::new(1));
    let index = MemoryIndex::default();
    let options = PackOptions { grace: Duration::ZERO };
    let blobs = PackStore::in_memory(index.clone(), clock.clone(), options).await.unwrap();
    let limits = Limits { watch_fires_per_second_max: 1_000_000, ..Limits::default() };
    let settings = Settings { limits, grace: Duration::ZERO, ..Settings::default() };
    let ledger = Arc::new(MemoryLedger::new(index));
    let folio = Folio::new(ledger, Arc::new(blobs), clock.clone(), settings);
    let listener = Arc::new(Listener::default());
    let (queue, logs) = (Arc::new(MemoryQueue::default()), Arc::new(Logs::new(1024)));
    let folio = folio.with_runtime(listener.clone(), queue, logs);
    let token = folio.draw_token();
    folio.admit(&"admin".parse().unwrap(), &token).await.unwrap();
    let world = World { folio, clock, caller: Caller::new("ada".parse().unwrap()) };
    world.version(&function("notify"), "n", "n1").await;
    let fields = TriggerFields::Watch(WatchFields {
        object_type: Some(object_type.to_owned()),
        object_name: object.map(|name| name.parse().unwrap()),
        targets: Some(vec![Target::only(reference("notify"))]),
    });
    let name = "audit".parse().unwrap();
    let at = (&app(), Some(&name));
    world.folio.set_trigger(&world.caller, at, fields, (Onto::Nothing, None)).await.unwrap();
    Watching { world, listener }
}

impl Watching {
    async fn tell(&self, looked: &mut Looked) -> Vec<String> {
        self.world.folio.tell_watches(looked).await.unwrap();
        std::mem::take(&mut *self.listener.heard.lock().unwrap())
    }
}

#[tokio::test]
async fn every_change_is_told_in_order() {
    let watching = watching("function", None).await;
    let (world, mut looked) = (&watching.world, Looked::default());
    assert!(watching.tell(&mut looked).await.is_empty(), "what was there before is no news");
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    world.point("hello", "prod", "v1").await;
    let expected = [
        "ADDED Function hello: publish function hello as v1",
        "MODIFIED Function hello: publish function hello as v2",
        "MODIFIED Function hello: point hello@prod to v1",
    ];
    let heard = watching.tell(&mut looked).await;
    let short = |text: &String| text.split(':').next().unwrap().to_owned();
    assert_eq!(heard.iter().map(short).collect::<Vec<_>>(), expected.map(|e| short(&e.to_owned())));
    // A name is known even of what is gone by the time it is told.
    world.version(&function("hello"), "three", "v3").await;
    world.folio.delete(&world.caller, &function("hello"), Cascade::Yes, None).await.unwrap();
    world.folio.undo(&world.caller, &app(), None).await.unwrap();
    let heard = watching.tell(&mut looked).await;
    let heard: Vec<_> = heard.iter().map(short).collect();
    let expected = ["MODIFIED Function hello", "DELETED Function hello", "ADDED Function hello"];
    assert_eq!(heard, expected);
    assert!(watching.tell(&mut Looked::default()).await.is_empty(), "another server goes on there");
}

#[tokio::test]
async fn a_watch_calls_the_version_that_it_names() {
    let watching = watching("function", Some("hello")).await;
    let (world, mut looked) = (&watching.world, Looked::default());
    world.point("notify", "prod", "n1").await;
    world.version(&function("notify"), "n", "n2").await;
    watching.tell(&mut looked).await;
    for (at, expected) in
        [("notify@1", "n1"), ("notify@n2", "n2"), ("notify@prod", "n1"), ("notify@latest", "n2")]
    {
        let targets = Some(vec![Target::only(reference(at))]);
        let fields = TriggerFields::Watch(WatchFields { targets, ..WatchFields::default() });
        let name = "audit".parse().unwrap();
        let watch = (&app(), Some(&name));
        world
            .folio
            .set_trigger(&world.caller, watch, fields, (Onto::Existing, None))
            .await
            .unwrap();
        world.version(&function("hello"), at, &format!("to-{expected}{}", at.len())).await;
        watching.tell(&mut looked).await;
        let called = std::mem::take(&mut *watching.listener.called.lock().unwrap());
        assert_eq!(called, [expected], "{at}");
    }
}

#[tokio::test]
async fn only_the_object_that_is_named_counts() {
    let watching = watching("function", Some("hello")).await;
    let (world, mut looked) = (&watching.world, Looked::default());
    watching.tell(&mut looked).await;
    world.version(&function("other"), "one", "v1").await;
    world.version(&function("hello"), "one", "v1").await;
    let tag = id("both");
    world.folio.tag(&world.caller, (&app(), &tag), vec![reference("hello")], None).await.unwrap();
    let heard = watching.tell(&mut looked).await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].starts_with("ADDED Function hello"), "{heard:?}");
}

#[tokio::test]
async fn a_call_that_fails_is_repeated_and_one_that_fails_on_is_given_up() {
    let watching = watching("function", None).await;
    let (world, mut looked) = (&watching.world, Looked::default());
    watching.tell(&mut looked).await;
    world.version(&function("a"), "one", "v1").await;
    watching.listener.fails.store(2, Ordering::SeqCst);
    assert_eq!(watching.tell(&mut looked).await.len(), 1);
    world.version(&function("b"), "one", "v1").await;
    world.version(&function("c"), "one", "v1").await;
    watching.listener.fails.store(3, Ordering::SeqCst);
    let heard = watching.tell(&mut looked).await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].starts_with("ADDED Function c"), "{heard:?}");
}

#[tokio::test]
async fn what_was_being_told_when_the_server_died_is_told_again() {
    let watching = watching("function", None).await;
    let (world, mut looked) = (&watching.world, Looked::default());
    watching.tell(&mut looked).await;
    world.version(&function("hello"), "one", "v1").await;
    watching.listener.hangs.store(true, Ordering::SeqCst);
    let mut dying = Box::pin(world.folio.tell_watches(&mut looked));
    while watching.listener.heard.lock().unwrap().is_empty() {
        assert!(futures::poll!(&mut dying).is_pending());
    }
    drop(dying);
    watching.listener.hangs.store(false, Ordering::SeqCst);
    watching.listener.heard.lock().unwrap().clear();
    assert!(watching.tell(&mut Looked::default()).await.is_empty(), "its lease still holds");
    world.clock.jump(10 * 60);
    assert_eq!(watching.tell(&mut Looked::default()).await.len(), 1);
}
