//! Builds: done once, by the system's own entry, and only then callable.

use std::sync::Arc;

use folio_core::Limits;
use folio_core::request::{AliasTarget, Cascade, Expect, Fields, IfSame, Onto, Publish, Which};
use folio_core::view::Published;
use folio_model::{Build, FULL_WEIGHT, Layout, Snapshot};
use folio_testkit::sample;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::runtime::{Running, Script, running, running_on_disk, running_with};
use crate::world::{app, function, id, package, refused, request};

async fn source(running: &Running, text: &str) -> Fields {
    let files = [("main.py", text), ("build.sh", "make")];
    let source = Some(sample::directory(&running.world.folio, &files).await);
    let environment = Some("python".parse().unwrap());
    let build_command = Some("./build.sh".to_owned());
    Fields { environment, source, build_command, ..Fields::default() }
}

pub(crate) async fn publish(running: &Running, text: &str, at: &str) -> Published {
    let request = Publish { id: Some(id(at)), ..request(source(running, text).await) };
    running.world.publish(&function("hello"), request).await.unwrap().result
}

/// The loop that builds, until it is dropped.
pub(crate) struct Builders {
    _tasks: JoinSet<()>,
    _stop: oneshot::Sender<()>,
}

pub(crate) fn builders(running: &Running) -> Builders {
    let (stop, stopped) = oneshot::channel::<()>();
    let folio = running.world.folio.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        folio.run_builds(async { drop(stopped.await) }).await.unwrap();
    });
    Builders { _tasks: tasks, _stop: stop }
}

async fn build_of(running: &Running, at: &str) -> Build {
    let at = at.parse().unwrap();
    running.world.folio.version(&function("hello"), &at).await.unwrap().build
}

pub(crate) async fn await_build(running: &Running, at: &str) -> Build {
    let at = at.parse().unwrap();
    running.world.folio.await_build(&function("hello"), &at).await.unwrap()
}

const MADE: fn() -> Script = || Script::Make(vec![("main.py", "built"), ("lib/a.py", "x")]);

#[tokio::test]
async fn a_version_is_callable_and_latest_once_it_is_built() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        world.version(&function("hello"), "deployed", "v0").await;
        let published = publish(&running, "one", "v1").await;
        assert_eq!((published.version.build, published.version.latest), (Build::Pending, false));
        assert_eq!(published.package.unwrap().build, Build::Pending);
        assert_eq!(running.answers("hello").await.unwrap(), "hello@v0");
        assert_eq!(refused(running.answers("hello@v1").await).0, "build_pending");
        running.stub.then(Script::Hold(vec![("main.py", "built")]));
        let _builders = builders(&running);
        running.stub.await_event("build", 1).await;
        assert_eq!(build_of(&running, "v1").await, Build::Running);
        assert_eq!(world.folio.status().builds_running, 1);
        running.stub.gate.notify_one();
        assert_eq!(await_build(&running, "v1").await, Build::Succeeded);
        assert_eq!(running.answers("hello@v1").await.unwrap(), "hello@v1");
        assert_eq!(running.answers("hello").await.unwrap(), "hello@v1");
        let log = world.folio.log(&app(), None, 1).await.unwrap().remove(0).entry;
        assert_eq!(log.by.as_str(), "system");
        assert_eq!(log.message, "build of hello-pkg@v1 succeeded");
        assert!(log.app_version.is_some(), "latest moved, so the app changed");
        let shown = world.folio.version(&function("hello"), &"v1".parse().unwrap()).await.unwrap();
        assert!(shown.latest);
        assert_eq!(world.folio.check().await.unwrap(), []);
    }
}

#[tokio::test]
async fn what_was_built_is_what_runs() {
    let running = running().await;
    let folio = &running.world.folio;
    running.stub.then(MADE());
    let _builders = builders(&running);
    publish(&running, "one", "v1").await;
    await_build(&running, "v1").await;
    let slot = folio.slot(&app(), &"hello".parse().unwrap()).await.unwrap();
    let folio_core::serving::Meaning::Versions(split) = &**slot.load() else { panic!("callable") };
    let code = split.sole().unwrap().code;
    assert_eq!(code.layout, Layout::Directory);
    let files = folio_core::content::list_files(folio.blobs().as_ref(), code.tree).await.unwrap();
    let paths: Vec<_> = files.iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(paths, ["lib/a.py", "main.py"]);
    folio.sweep().await.unwrap();
    assert!(folio.blobs().about(code.tree).await.unwrap().is_some(), "what runs is never swept");
}

#[tokio::test]
async fn wasm_that_was_built_is_compiled_before_anybody_calls_it() {
    let running = running().await;
    running.stub.then(MADE());
    let _builders = builders(&running);
    let wasm = Some("wasm".parse().unwrap());
    let fields = Fields { environment: wasm, ..source(&running, "one").await };
    let request = Publish { id: Some(id("v1")), ..request(fields) };
    running.world.publish(&function("hello"), request).await.unwrap();
    assert_eq!(running.stub.happened("prepare hello@v1"), 0);
    await_build(&running, "v1").await;
    running.stub.await_event("prepare hello@v1", 1).await;
}

#[tokio::test]
async fn the_same_source_is_built_once() {
    let running = running().await;
    running.stub.then(MADE());
    let _builders = builders(&running);
    publish(&running, "one", "v1").await;
    await_build(&running, "v1").await;
    let again = publish(&running, "one", "v2").await;
    assert_eq!((again.version.build, again.version.latest), (Build::Succeeded, true));
    assert_eq!(running.stub.happened("build"), 1);
}

#[tokio::test]
async fn a_failed_build_keeps_its_log_and_never_becomes_latest() {
    let running = running().await;
    let world = &running.world;
    world.version(&function("hello"), "deployed", "v0").await;
    running.stub.then(Script::Fail("the command ended with status 3"));
    let _builders = builders(&running);
    publish(&running, "one", "v1").await;
    assert_eq!(await_build(&running, "v1").await, Build::Failed);
    assert_eq!(running.answers("hello").await.unwrap(), "hello@v0");
    let (code, message) = refused(running.answers("hello@v1").await);
    assert_eq!(code, "build_failed");
    assert_eq!(message, "version `v1` of function `hello` cannot be called: its build failed");
    let at = "v1".parse().unwrap();
    let log = world.folio.build_log(&function("hello"), &at, 0).await.unwrap();
    assert_eq!((log.build, &log.text[..]), (Build::Failed, &b"building in Python\n"[..]));
    let log = world.folio.build_log(&package("hello-pkg"), &at, 9).await.unwrap();
    assert_eq!(&log.text[..], b"in Python\n");
    let fields = Fields { package: Some("hello-pkg".parse().unwrap()), ..Fields::default() };
    let using = Publish { id: Some(id("v1")), ..request(fields) };
    assert_eq!(refused(world.publish(&function("other"), using).await).0, "build_failed");
    let target = AliasTarget { version: "v1".parse().unwrap(), weight: FULL_WEIGHT };
    let key = function("hello");
    let alias = id("p");
    let point = world.folio.point(&world.caller, (&key, &alias), vec![target], Expect::Absent);
    assert_eq!(refused(point.await).0, "build_failed");
}

#[tokio::test]
async fn publishing_what_failed_tries_again_and_readies_both() {
    let running = running().await;
    running.stub.then(Script::Fail("no"));
    running.stub.then(MADE());
    let _builders = builders(&running);
    publish(&running, "one", "v1").await;
    assert_eq!(await_build(&running, "v1").await, Build::Failed);
    let keep = IfSame::Keep;
    let fields = source(&running, "one").await;
    let again = Publish { id: Some(id("v2")), if_same: keep, ..request(fields) };
    running.world.publish(&function("hello"), again).await.unwrap();
    assert_eq!(await_build(&running, "v2").await, Build::Succeeded);
    assert_eq!(build_of(&running, "v1").await, Build::Succeeded);
    assert_eq!(running.answers("hello").await.unwrap(), "hello@v2");
}

#[tokio::test]
async fn what_is_being_built_is_not_published_twice_if_unchanged() {
    let running = running().await;
    publish(&running, "one", "v1").await;
    let fields = source(&running, "one").await;
    let again = Publish { if_same: IfSame::Keep, ..request(fields) };
    let done = running.world.publish(&function("hello"), again).await.unwrap();
    assert!(!done.changed);
    assert_eq!(done.result.version.id, id("v1"));
}

#[tokio::test]
async fn a_build_that_cannot_run_is_tried_again_but_not_for_ever() {
    let limits = Limits { build_attempts_max: 2, ..Limits::default() };
    let running = running_with(limits, Arc::new).await;
    running.stub.then(Script::Unavailable);
    running.stub.then(Script::Unavailable);
    let _builders = builders(&running);
    publish(&running, "one", "v1").await;
    // Time passes while the build waits.
    while running.stub.happened("build") < 2 {
        running.world.clock.jump(1);
        tokio::task::yield_now().await;
    }
    assert_eq!(await_build(&running, "v1").await, Build::Failed);
    let at = "v1".parse().unwrap();
    let log = running.world.folio.build_log(&function("hello"), &at, 0).await.unwrap();
    assert_eq!(log.build, Build::Failed);
}

#[tokio::test]
async fn what_waited_when_the_server_stopped_is_built_at_the_next_start() {
    let running = running_on_disk().await;
    publish(&running, "one", "v1").await;
    // The first loop is gone before it built anything; its task is still leased.
    running.stub.then(Script::Hold(vec![]));
    let first = builders(&running);
    running.stub.await_event("build", 1).await;
    drop(first);
    running.world.clock.jump(3600);
    running.stub.then(MADE());
    let _second = builders(&running);
    assert_eq!(await_build(&running, "v1").await, Build::Succeeded);
}

#[tokio::test]
async fn a_draft_is_built_too() {
    let running = running().await;
    let world = &running.world;
    running.stub.then(MADE());
    let fields = source(&running, "one").await;
    let key = function("hello");
    let slot = world.folio.slot(&app(), &"hello@draft".parse().unwrap()).await.unwrap();
    let drafted = world.folio.set_draft(&world.caller, &key, fields, (Onto::Nothing, None)).await;
    assert_eq!(drafted.unwrap().result.draft.unwrap().build, Build::Pending);
    assert_eq!(refused(running.answers("hello@draft").await).0, "build_pending");
    let mut head = world.folio.head();
    let _builders = builders(&running);
    head.borrow_and_update();
    while !matches!(&**slot.load(), folio_core::serving::Meaning::Versions(_)) {
        head.changed().await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(running.answers("hello").await.unwrap(), "hello@draft");
    world
        .publish(&key, Publish { id: Some(id("v1")), ..request(Fields::default()) })
        .await
        .unwrap();
    assert_eq!(running.answers("hello").await.unwrap(), "hello@v1");
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_is_not_built() {
    let running = running().await;
    let world = &running.world;
    publish(&running, "one", "v1").await;
    let key = package("hello-pkg");
    world.folio.delete_versions(&world.caller, &key, Which::All, None).await.unwrap();
    running.stub.then(MADE());
    let _builders = builders(&running);
    publish(&running, "two", "v2").await;
    assert_eq!(await_build(&running, "v2").await, Build::Succeeded);
    assert_eq!(running.stub.happened("build"), 1);
}

#[tokio::test]
async fn what_was_built_and_swept_is_built_again() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        running.stub.then(MADE());
        running.stub.then(MADE());
        let _builders = builders(&running);
        world.one_release().await;
        publish(&running, "one", "v1").await;
        await_build(&running, "v1").await;
        let (key, cascade) = (function("hello"), Cascade::Yes);
        world.folio.delete(&world.caller, &key, cascade, None).await.unwrap();
        let key = package("hello-pkg");
        world.folio.delete(&world.caller, &key, cascade, None).await.unwrap();
        world.clock.jump(1);
        assert!(world.folio.sweep().await.unwrap().removed_nodes > 0);
        let published = publish(&running, "one", "v2").await;
        assert_eq!(published.version.build, Build::Pending);
        assert_eq!(await_build(&running, "v2").await, Build::Succeeded);
        assert_eq!(running.answers("hello").await.unwrap(), "hello@v2");
        assert_eq!(running.stub.happened("build"), 2);
        assert_eq!(world.folio.check().await.unwrap(), []);
    }
}

#[tokio::test]
async fn an_undo_takes_back_the_publish_and_not_the_build() {
    let running = running().await;
    let world = &running.world;
    running.stub.then(MADE());
    let _builders = builders(&running);
    publish(&running, "one", "v1").await;
    await_build(&running, "v1").await;
    let undone = world.folio.undo(&world.caller, &app(), None).await.unwrap();
    assert_eq!(undone.result.message, "publish function hello as v1");
    // And back: the version returns as callable as it was.
    world.folio.undo(&world.caller, &app(), undone.entry).await.unwrap();
    assert_eq!(running.answers("hello").await.unwrap(), "hello@v1");
}

#[tokio::test]
async fn a_version_that_returns_hears_of_the_build_it_missed() {
    let running = running().await;
    let world = &running.world;
    publish(&running, "one", "v1").await;
    let (key, cascade) = (package("hello-pkg"), Cascade::No);
    let deleted = world.folio.delete(&world.caller, &key, cascade, None).await.unwrap();
    running.stub.then(MADE());
    let _builders = builders(&running);
    let fields = source(&running, "one").await;
    world
        .publish(&package("other"), Publish { id: Some(id("o1")), ..request(fields) })
        .await
        .unwrap();
    let at = "o1".parse().unwrap();
    assert_eq!(world.folio.await_build(&package("other"), &at).await.unwrap(), Build::Succeeded);
    world.folio.undo(&world.caller, &app(), deleted.entry).await.unwrap();
    assert_eq!(await_build(&running, "v1").await, Build::Succeeded);
    let mut head = world.folio.head();
    while world.folio.show(&function("hello")).await.unwrap().latest.is_none() {
        head.changed().await.unwrap();
    }
    assert_eq!(running.answers("hello").await.unwrap(), "hello@v1");
}

#[tokio::test]
async fn a_result_that_is_no_tree_fails_the_build() {
    let running = running().await;
    running.stub.then(Script::Make(vec![]));
    let _builders = builders(&running);
    publish(&running, "one", "v1").await;
    assert_eq!(await_build(&running, "v1").await, Build::Failed);
}

#[tokio::test]
async fn a_log_can_be_followed_while_it_grows() {
    let running = running().await;
    let world = &running.world;
    running.stub.then(Script::Hold(vec![("main.py", "built")]));
    let _builders = builders(&running);
    publish(&running, "one", "v1").await;
    let (key, at) = (function("hello"), "v1".parse().unwrap());
    let mut part = world.folio.build_log(&key, &at, 0).await.unwrap();
    while part.text.is_empty() {
        let mut more = part.more.unwrap();
        more.changed().await.unwrap();
        part = world.folio.build_log(&key, &at, 0).await.unwrap();
    }
    assert_eq!((part.build, &part.text[..]), (Build::Running, &b"building in Python\n"[..]));
    let mut more = part.more.unwrap();
    running.stub.gate.notify_one();
    while more.changed().await.is_ok() {}
    await_build(&running, "v1").await;
    let whole = world.folio.build_log(&key, &at, 0).await.unwrap();
    assert!(whole.more.is_none());
    assert_eq!(&whole.text[..], b"building in Python\n");
    let version = world.folio.version(&key, &at).await.unwrap();
    assert!(matches!(version.spec, Snapshot::Function(_)));
}
