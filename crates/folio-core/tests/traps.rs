//! Traps that other systems fell into, as facts about releases.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use folio_core::Caller;
use folio_core::apply::{Applied, Apply, Document, Form, Others, Rest, Run};
use folio_core::config::ConfigFields;
use folio_core::environment::EnvironmentFields;
use folio_core::ports::Plaintext;
use folio_core::ports::runtime::Plan;
use folio_core::release::{Deletion, Late, ReleaseRef};
use folio_core::request::{Fields, Mounting, Onto, Releasing};
use folio_core::route::RouteFields;
use folio_core::secret::SecretFields;
use folio_core::serving::{Meaning, Site};
use folio_core::static_item::StaticFields;
use folio_core::view::Done;
use folio_model::{Kind, LiveMode, Owner, Qualifier, RoutePath, RuntimeKind, Target, UnitKey};
use folio_testkit::sample;
use folio_testkit::vault::TestVault;
use serde_json::Value;

use crate::runtime::{Running, before_and_after, reference, running};
use crate::world::{World, app, function, package, request};

/// What hosts were told last.
type Told = Arc<Mutex<Vec<Arc<Site>>>>;

async fn follow(world: &World) -> Told {
    let told = Told::default();
    let hear = Arc::clone(&told);
    let follower = move |sites: Arc<Vec<_>>| *hear.lock().unwrap() = sites.to_vec();
    world.folio.follow_sites(Arc::new(follower)).await.unwrap();
    told
}

/// The plan that the only route of a release leads to.
fn plan(told: &Told, release: &str) -> Arc<Plan> {
    let sites = told.lock().unwrap();
    let route = &sites[0].release(release).expect("it can be reached").routes[0];
    match &**route.targets[0].0.load() {
        Meaning::Versions(split) => Arc::clone(split.sole().unwrap()),
        Meaning::Nothing(unresolved) => panic!("{unresolved}"),
    }
}

async fn route(world: &World) {
    let fields = RouteFields {
        path: Some(RoutePath::Exact("/hello".to_owned())),
        targets: Some(vec![Target::only(reference("hello"))]),
        ..RouteFields::default()
    };
    let name = "hello".parse().unwrap();
    let place = (&app(), Some(&name));
    world.folio.set_route(&world.caller, place, fields, (Onto::Nothing, None)).await.unwrap();
}

fn key(kind: Kind, name: &str) -> UnitKey {
    UnitKey { app: app(), kind, name: name.parse().unwrap() }
}

fn named(name: &str) -> Option<Vec<Mounting>> {
    Some(vec![Mounting { name: name.parse().unwrap(), mount_path: None }])
}

async fn configure(world: &World, value: &str) {
    let set = [("greeting".parse().unwrap(), value.into())].into();
    let fields = ConfigFields { set, ..ConfigFields::default() };
    let config = key(Kind::Config, "shop");
    world.folio.set_config(&world.caller, &config, fields, None).await.unwrap();
}

async fn environment(world: &World, command: &str, onto: Onto) {
    let fields = EnvironmentFields {
        runtime: Some(RuntimeKind::Command),
        command: Some(command.to_owned()),
        ..EnvironmentFields::default()
    };
    let environment = key(Kind::Environment, "own");
    world.folio.set_environment(&world.caller, &environment, fields, (onto, None)).await.unwrap();
}

async fn newest(world: &World) -> String {
    let view = world.folio.show_release(&app(), &ReleaseRef::Latest).await.unwrap();
    view.label.id.to_string()
}

fn document(at: &str, text: &str) -> Document {
    let manifest: Value = serde_json::from_str(text).unwrap();
    Document { at: at.to_owned(), manifest, source: None, deployment: None }
}

async fn apply(world: &World, function: &str, code: &str) -> Done<Applied> {
    apply_as(world, (Releasing::Release, Run::Real), (function, code)).await
}

async fn apply_as(
    world: &World,
    (releasing, run): (Releasing, Run),
    (function, code): (&str, &str),
) -> Done<Applied> {
    let package =
        r#"{"kind":"Package","metadata":{"name":"p"},"spec":{"environment":{"name":"nodejs"}}}"#;
    let content = sample::file(&world.folio, "main.js", code).await;
    let package = Document { deployment: Some(content), ..document("p", package) };
    let documents = vec![document("f", function), package];
    let deployment = Owner { uid: "d".to_owned(), name: "d".to_owned() };
    let (form, rest, others) = (Form::Versions, Rest::Delete, Others::Refuse);
    let (known, unread) = (Vec::new(), Vec::new());
    let apply = Apply { deployment, documents, known, unread, base: None, form, rest, others };
    let caller = Caller { releasing, ..world.caller.clone() };
    world.folio.apply(&caller, &app(), apply, run).await.unwrap()
}

const PLAIN: &str = r#"{"kind":"Function","metadata":{"name":"f","labels":{"a":"1","b":"2"}},
    "spec":{"environment":{"name":"nodejs"},"package":{"packageref":{"name":"p"}}}}"#;

#[tokio::test]
async fn another_order_and_what_a_server_adds_make_no_version_and_no_release() {
    let world = running().await.world;
    apply(&world, PLAIN, "one").await;
    let before = newest(&world).await;
    let turned = r#"{"spec":{"package":{"packageref":{"name":"p"}},"environment":{"name":"nodejs"}},
        "metadata":{"labels":{"b":"2","a":"1"},"name":"f","creationTimestamp":null,
        "managedFields":[{"manager":"kubectl","operation":"Apply"}],"resourceVersion":"77"},
        "kind":"Function"}"#;
    for text in [PLAIN, turned, PLAIN, turned] {
        assert!(!apply(&world, text, "one").await.changed, "{text}");
    }
    assert_eq!(newest(&world).await, before);
}

#[tokio::test]
async fn a_rollback_brings_back_the_runtime_and_the_config_of_then() {
    let world = running().await.world;
    let room = folio_core::app::PlanChange { releases: Some(20), tagged: None };
    world.folio.set_plan(&world.caller, &app(), room).await.unwrap();
    environment(&world, "server-1", Onto::Nothing).await;
    configure(&world, "hi").await;
    let own = Some("own".parse().unwrap());
    let fields = || async {
        Fields { configs: named("shop"), environment: own.clone(), ..world.code("x").await }
    };
    world.publish(&function("hello"), request(fields().await)).await.unwrap();
    route(&world).await;
    let told = follow(&world).await;
    let (before, release) = (plan(&told, "live"), newest(&world).await);
    environment(&world, "server-2", Onto::Existing).await;
    configure(&world, "bye").await;
    world.publish(&function("hello"), request(fields().await)).await.unwrap();
    let after = plan(&told, "live");
    assert_ne!((&after.spec, after.digest), (&before.spec, before.digest));
    let to: ReleaseRef = release.parse().unwrap();
    world.folio.roll_back_live(&world.caller, &app(), Some(&to)).await.unwrap();
    let live = plan(&told, "live");
    assert_eq!(live.spec, before.spec);
    let files = |plan: &Plan| {
        let text = plan.files.iter().map(|file| file.bytes.expose().to_vec());
        text.collect::<Vec<_>>()
    };
    assert_eq!((live.digest, files(&live)), (before.digest, files(&before)));
    assert_eq!(files(&live), [b"hi".to_vec()]);
}

#[tokio::test]
async fn a_change_of_a_secret_alone_keeps_the_assets() {
    let running = running().await;
    let Running { world, .. } = &running;
    let world = &World {
        folio: world.folio.clone().with_vault(Arc::new(TestVault)),
        clock: world.clock.clone(),
        caller: world.caller.clone(),
    };
    let told = follow(world).await;
    let fields = StaticFields {
        path: "/".to_owned(),
        content: sample::directory(&world.folio, &[("index.html", "page")]).await,
        index: None,
        fallback: None,
        error_page: None,
        headers: BTreeMap::new(),
        expires: None,
    };
    let site = "site".parse().unwrap();
    world.folio.set_static(&world.caller, (&app(), &site), fields, None).await.unwrap();
    let shown = || {
        let sites = told.lock().unwrap();
        let live = sites[0].release("live").unwrap().clone();
        (live.id.clone(), live.assets.iter().map(|asset| asset.spec.content).collect::<Vec<_>>())
    };
    let (before, assets) = shown();
    assert_eq!(assets.len(), 1);
    for (value, onto) in [("one", Onto::Nothing), ("two", Onto::Existing)] {
        let value = Plaintext::new(value.as_bytes().to_vec());
        let set = [("password".parse().unwrap(), value)].into();
        let fields = SecretFields { set, ..SecretFields::default() };
        let secret = key(Kind::Secret, "db");
        world.folio.set_secret(&world.caller, &secret, fields, (onto, None)).await.unwrap();
        let (after, same) = shown();
        assert_ne!(after, before, "it is a release of its own");
        assert_eq!(same, assets);
    }
}

#[tokio::test]
async fn a_rollback_is_not_undone_by_applying_again() {
    let world = running().await.world;
    apply(&world, PLAIN, "one").await;
    let good = newest(&world).await;
    apply(&world, PLAIN, "two").await;
    world.folio.roll_back_live(&world.caller, &app(), None).await.unwrap();
    for code in ["two", "two", "three", "three"] {
        apply(&world, PLAIN, code).await;
        let live = world.folio.show_live(&app()).await.unwrap();
        assert_eq!(live.shares[0].release.as_str(), good, "{code}");
        assert_eq!(live.mode, LiveMode::Pinned);
    }
}

#[tokio::test]
async fn a_release_means_the_same_code_after_its_package_moved_on_and_a_restart() {
    let (before, after) = before_and_after().await;
    let world = &before.world;
    let code = |text: &'static str| async move { world.code(text).await };
    world.publish(&package("shared"), request(code("one").await)).await.unwrap();
    let of = Fields { package: Some("shared".parse().unwrap()), ..Fields::default() };
    world.publish(&function("hello"), request(of)).await.unwrap();
    route(world).await;
    let release = newest(world).await;
    let told = follow(world).await;
    let then = plan(&told, &release);
    world.publish(&package("shared"), request(code("two").await)).await.unwrap();
    let told = follow(&after.world).await;
    for now in [plan(&told, &release), plan(&follow(world).await, &release)] {
        assert_eq!((now.digest, now.code.tree), (then.digest, then.code.tree));
    }
}

#[tokio::test]
async fn going_back_to_older_content_is_a_change_and_goes_live() {
    let world = running().await.world;
    let mut seen = Vec::new();
    for code in ["one", "two", "one"] {
        let done = apply(&world, PLAIN, code).await;
        assert!(done.changed, "{code}");
        let live = world.folio.show_live(&app()).await.unwrap().shares[0].release.to_string();
        assert_eq!(live, newest(&world).await);
        let version = world.folio.version(&function("f"), &Qualifier::Latest).await.unwrap();
        seen.push((version.number.get(), version.digest));
    }
    assert_eq!(seen.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(seen[0].1 == seen[2].1 && seen[0].1 != seen[1].1, "{seen:?}");
}

#[tokio::test]
async fn after_a_rollback_no_number_and_no_id_is_given_again() {
    let world = running().await.world;
    let mut given = std::collections::BTreeSet::new();
    for code in ["one", "two", "three"] {
        apply(&world, PLAIN, code).await;
        world.folio.roll_back_live(&world.caller, &app(), None).await.ok();
        let version = world.folio.version(&function("f"), &Qualifier::Latest).await.unwrap();
        assert!(given.insert(version.number.to_string()), "{code}");
        assert!(given.insert(version.id.to_string()), "{code}");
        assert!(given.insert(newest(&world).await), "{code}");
    }
    let first = folio_core::history::Moment::Number(folio_model::Number::FIRST);
    world.folio.roll_back_group(&world.caller, &app(), first, Run::Real).await.unwrap();
    let version = world.folio.version(&function("f"), &Qualifier::Latest).await.unwrap();
    assert_eq!(version.number.get(), 4);
    assert!(given.insert(version.id.to_string()) && given.insert(newest(&world).await));
}

#[tokio::test]
async fn no_deploy_moves_a_tag() {
    let world = running().await.world;
    apply(&world, PLAIN, "one").await;
    let (first, tag) = (newest(&world).await, "beta".parse().unwrap());
    world
        .folio
        .tag_release(&world.caller, (&app(), &tag), &ReleaseRef::Latest, None)
        .await
        .unwrap();
    for code in ["two", "three", "four", "five"] {
        apply(&world, PLAIN, code).await;
        let at = ReleaseRef::Named(tag.clone());
        let tagged = world.folio.reach_release(&app(), &at).await.unwrap();
        assert_eq!(tagged.label.id.as_str(), first, "{code}");
    }
}

#[tokio::test]
async fn what_was_tried_out_is_released_by_deploying_it() {
    let world = running().await.world;
    apply(&world, PLAIN, "one").await;
    let first = newest(&world).await;
    let deploy = async |releasing: Releasing, run| {
        let done = apply_as(&world, (releasing, run), (PLAIN, "two")).await;
        (done.changed, done.result.late.is_some(), newest(&world).await != first)
    };
    let aside = || Releasing::Aside("dev-ada".parse().unwrap());
    assert_eq!(deploy(aside(), Run::Real).await, (true, false, false));
    assert_eq!(deploy(aside(), Run::Real).await, (false, false, false));
    assert_eq!(deploy(Releasing::Hold, Run::Real).await, (false, false, false));
    assert_eq!(deploy(Releasing::Release, Run::Dry).await, (false, true, false));
    assert_eq!(deploy(Releasing::Release, Run::Real).await, (true, true, true));
    assert_eq!(deploy(Releasing::Release, Run::Real).await, (false, false, true));
}

#[tokio::test]
async fn deploying_again_does_not_release_what_others_keep_back() {
    let world = running().await.world;
    apply(&world, PLAIN, "one").await;
    let first = newest(&world).await;
    let held = Caller { releasing: Releasing::Hold, ..world.caller.clone() };
    let theirs = request(world.code("theirs").await);
    world.folio.publish(&held, &function("g"), theirs).await.unwrap();
    let deploy = async |releasing, code| {
        let done = apply_as(&world, (releasing, Run::Real), (PLAIN, code)).await;
        done.result.late.is_some()
    };
    assert!(!deploy(Releasing::Release, "one").await);
    assert_eq!(newest(&world).await, first);
    assert!(!deploy(Releasing::Hold, "two").await);
    assert!(deploy(Releasing::Release, "two").await, "now something of its own is kept back");
    assert_ne!(newest(&world).await, first);
}

#[tokio::test]
async fn deploying_again_brings_back_what_was_deleted_only_if_it_promotes() {
    let world = running().await.world;
    apply(&world, PLAIN, "one").await;
    let first = newest(&world).await;
    apply(&world, PLAIN, "two").await;
    let second = newest(&world).await;
    let deploy = async |releasing| {
        apply_as(&world, (releasing, Run::Real), (PLAIN, "two")).await.result.late
    };
    let live = async || {
        let view = world.folio.show_release(&app(), &ReleaseRef::Live).await.unwrap();
        view.label.id.to_string()
    };
    let (app, caller) = (app(), &world.caller);
    world.folio.roll_back_live(caller, &app, None).await.unwrap();
    assert_eq!(deploy(Releasing::Release).await, None, "live stays where it was put");
    assert_eq!(live().await, first);
    assert_eq!(deploy(Releasing::Promote).await, Some(Late::Live(second.parse().unwrap())));
    assert_eq!((live().await, deploy(Releasing::Promote).await), (second.clone(), None));

    world.folio.roll_back_live(caller, &app, None).await.unwrap();
    let deletion = Deletion::default();
    let gone = second.parse().unwrap();
    world.folio.delete_release(caller, (&app, &gone), deletion).await.unwrap();
    assert_eq!(deploy(Releasing::Release).await, None);
    assert!(matches!(deploy(Releasing::Promote).await, Some(Late::Released(_))));
    assert_eq!(live().await, newest(&world).await);
    assert_ne!(live().await, first);
}
