//! Routes: what they need, what they keep from being deleted, and how the gateway hears of them.

use std::sync::{Arc, Mutex};

use folio_core::request::{Cascade, Expect, Onto, Which};
use folio_core::route::{Error, RouteFields};
use folio_core::serving::{Meaning, Route, Site};
use folio_core::{Explain, Referrer};
use folio_model::{RoutePath, Sticky, Target};

use crate::runtime::{reference, running, running_on_disk};
use crate::world::{World, app, function, id, refused, world};

/// What a follower is told of what is live.
type Told = Vec<Arc<Route>>;

fn live(sites: &[Arc<Site>]) -> Told {
    sites.iter().flat_map(|site| site.routes()).cloned().collect()
}

fn to(path: &str, function: &str) -> RouteFields {
    RouteFields {
        path: Some(RoutePath::Exact(path.to_owned())),
        targets: Some(vec![Target::only(reference(function))]),
        ..RouteFields::default()
    }
}

async fn create(world: &World, name: &str, fields: RouteFields) -> Result<String, Error> {
    let name = name.parse().unwrap();
    let at = (&app(), Some(&name));
    let done = world.folio.set_route(&world.caller, at, fields, (Onto::Nothing, None)).await?;
    Ok(done.result.spec.targets[0].function.to_string())
}

async fn hello(world: &World) {
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    world.point("hello", "prod", "v1").await;
}

fn names(referrers: &[Referrer]) -> Vec<String> {
    referrers.iter().map(|referrer| format!("{} {}", referrer.kind, referrer.name)).collect()
}

async fn delete_version(world: &World, at: &str) -> Result<(), folio_core::delete::Error> {
    let which = Which::One(at.parse().unwrap());
    let key = function("hello");
    world.folio.delete_versions(&world.caller, &key, which, None).await.map(|_| ())
}

#[tokio::test]
async fn a_route_leads_only_to_what_is_there() {
    let world = world().await;
    hello(&world).await;
    let refuse = |path: &'static str, target: &'static str| {
        let world = &world;
        async move { refused(create(world, "r", to(path, target)).await).0 }
    };
    assert_eq!(refuse("/a", "nobody").await, "unit_not_found");
    assert_eq!(refuse("/a", "hello@v9").await, "version_not_found");
    assert_eq!(refuse("/a", "other/hello").await, "bad_spec");
    assert_eq!(refuse("a", "hello").await, "bad_spec");
    assert_eq!(refuse("/{id", "hello").await, "bad_spec");
    assert_eq!(refuse("/{id:[}", "hello").await, "bad_spec");
    assert_eq!(
        create(&world, "r", to("/a/{id:[0-9]+}", "hello_prod")).await.unwrap(),
        "hello@prod"
    );
    assert_eq!(create(&world, "s", to("/b", "default/hello@2")).await.unwrap(), "hello@2");
    let nothing = create(&world, "t", RouteFields::default()).await;
    assert_eq!(refused(nothing).0, "route_incomplete");
}

#[tokio::test]
async fn a_route_that_no_request_can_reach_is_refused() {
    let world = world().await;
    hello(&world).await;
    for path in ["/a?b=c", "/a#b", "/a/{id}?x", "a"] {
        for kind in [
            RoutePath::Exact(path.to_owned()),
            RoutePath::Prefix { path: path.to_owned(), keep: false },
        ] {
            let fields = RouteFields { path: Some(kind), ..to("/", "hello") };
            let (code, why) = refused(create(&world, "r", fields).await);
            assert_eq!(code, "bad_spec", "{path}");
            assert!(why.starts_with(&format!("the path `{path}` ")), "{why}");
        }
    }
    for host in [
        "a b.com",
        "shop.com:80",
        "https://shop.com",
        "shop.com/x",
        "a@b.com",
        "127.0.0.1",
        "[::1]",
        "*.shop.com",
        "-a.com",
        "a..com",
        "b\u{fc}cher.example",
    ] {
        let fields = RouteFields { host: Some(host.to_owned()), ..to("/", "hello") };
        let (code, why) = refused(create(&world, "r", fields).await);
        assert_eq!(code, "bad_spec", "{host}");
        assert!(why.starts_with(&format!("the host `{host}` ")), "{why}");
    }
    for (name, host) in
        [("a", "localhost"), ("b", "Shop.Example.com"), ("c", "xn--bcher-kva.example")]
    {
        let path = format!("/{name}/{{id:[a-z]?}}");
        let fields = RouteFields { host: Some(host.to_owned()), ..to(&path, "hello") };
        create(&world, name, fields).await.unwrap();
    }
}

#[tokio::test]
async fn clients_are_told_apart_by_what_a_header_or_cookie_can_be_called() {
    let world = world().await;
    hello(&world).await;
    for odd in [Sticky::Header("two words".to_owned()), Sticky::Cookie(String::new())] {
        let fields = RouteFields { sticky: Some(odd), ..to("/a", "hello@prod") };
        let (_, why) = refused(create(&world, "r", fields).await);
        assert!(why.ends_with("is not the name of a header or cookie"), "{why}");
    }
    let plain = Some(Sticky::Header("X-User".to_owned()));
    let fields = RouteFields { sticky: plain, ..to("/a", "hello@prod") };
    create(&world, "r", fields).await.unwrap();
}

#[tokio::test]
async fn two_routes_never_take_the_same_requests() {
    let world = world().await;
    hello(&world).await;
    create(&world, "one", to("/a/{id}", "hello")).await.unwrap();
    let get = RouteFields { methods: Some(["get".to_owned()].into()), ..to("/a/{name}", "hello") };
    let error = create(&world, "two", get.clone()).await.unwrap_err();
    assert_eq!(error.code().0, "route_taken");
    assert_eq!(error.to_string(), "GET /a/{name} is taken by route `one`");
    assert_eq!(names(&error.referrers()), ["trigger one"]);
    let elsewhere = RouteFields { host: Some("Example.com".to_owned()), ..get };
    create(&world, "two", elsewhere).await.unwrap();
    let shown = world.folio.show_route(&app(), &"two".parse().unwrap()).await.unwrap();
    assert_eq!(shown.spec.host.as_deref(), Some("example.com"));
    assert!(shown.spec.methods.contains("GET"));
}

#[tokio::test]
async fn an_update_changes_what_is_given() {
    let world = world().await;
    hello(&world).await;
    create(&world, "one", to("/a", "hello")).await.unwrap();
    let name = "one".parse().unwrap();
    let target = Some(vec![Target::only(reference("hello@prod"))]);
    let fields = RouteFields { targets: target, ..RouteFields::default() };
    let update = |fields: RouteFields| {
        let (world, name) = (&world, &name);
        async move {
            let onto = (Onto::Existing, None);
            world.folio.set_route(&world.caller, (&app(), Some(name)), fields, onto).await.unwrap()
        }
    };
    let done = update(fields.clone()).await;
    assert_eq!((done.result.spec.path.as_str(), done.result.version.number.get()), ("/a", 2));
    assert!(!update(fields).await.changed);
    let nameless = world
        .folio
        .set_route(&world.caller, (&app(), None), to("/b", "hello"), (Onto::Nothing, None))
        .await
        .unwrap();
    assert!(nameless.result.name.as_str().starts_with("hello-"));
    assert_eq!(world.folio.routes_of(&app()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn what_a_route_names_stays() {
    let world = world().await;
    hello(&world).await;
    create(&world, "pinned", to("/a", "hello@v2")).await.unwrap();
    create(&world, "moving", to("/b", "hello@prod")).await.unwrap();
    let error = delete_version(&world, "v2").await.unwrap_err();
    assert_eq!(names(&error.referrers()), ["trigger pinned"]);
    assert_eq!(error.hint().unwrap(), "delete it first with `folio route delete pinned`");
    let key = function("hello");
    let alias = world.folio.delete_alias(&world.caller, (&key, &id("prod")), Expect::Present).await;
    let error = alias.unwrap_err();
    assert_eq!(error.code().0, "in_use");
    assert_eq!(names(&error.referrers()), ["trigger moving"]);
    let error = world.folio.delete(&world.caller, &key, Cascade::No, None).await.unwrap_err();
    assert_eq!(names(&error.referrers()), ["trigger moving", "trigger pinned"]);
    let pinned = "pinned".parse().unwrap();
    world.folio.delete_route(&world.caller, (&app(), &pinned), None).await.unwrap();
    delete_version(&world, "v2").await.unwrap();
    // Undoing the alias's creation would take it from under the route as well.
    let log = world.folio.log(&app(), None, 100).await.unwrap();
    let made = log.iter().find(|line| line.entry.message == "create alias prod of hello").unwrap();
    let undone = world.folio.undo(&world.caller, &app(), Some(made.entry.seq)).await;
    assert_eq!(refused(undone).0, "in_use");
}

#[tokio::test]
async fn a_route_to_latest_keeps_only_the_last_version() {
    let world = world().await;
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    create(&world, "any", to("/a", "hello")).await.unwrap();
    delete_version(&world, "v2").await.unwrap();
    let error = delete_version(&world, "v1").await.unwrap_err();
    assert_eq!(names(&error.referrers()), ["trigger any"]);
}

#[tokio::test]
async fn a_cascade_takes_routes_along_and_an_undo_brings_them_back() {
    let world = world().await;
    hello(&world).await;
    create(&world, "one", to("/a", "hello@prod")).await.unwrap();
    let key = function("hello");
    let done = world.folio.delete(&world.caller, &key, Cascade::Yes, None).await.unwrap();
    assert_eq!(done.result.units.len(), 2);
    assert!(world.folio.routes_of(&app()).await.unwrap().is_empty());
    world.folio.undo(&world.caller, &app(), None).await.unwrap();
    assert_eq!(world.folio.routes_of(&app()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_undo_brings_back_no_route_that_leads_nowhere() {
    let world = world().await;
    hello(&world).await;
    create(&world, "one", to("/a", "hello@v2")).await.unwrap();
    let name = "one".parse().unwrap();
    let deleted = world.folio.delete_route(&world.caller, (&app(), &name), None).await.unwrap();
    delete_version(&world, "v2").await.unwrap();
    let undone = world.folio.undo(&world.caller, &app(), deleted.entry).await;
    assert_eq!(refused(undone).0, "undo_conflict");
    create(&world, "two", to("/b", "hello@v1")).await.unwrap();
    let name = "two".parse().unwrap();
    let deleted = world.folio.delete_route(&world.caller, (&app(), &name), None).await.unwrap();
    create(&world, "three", to("/b", "hello@v1")).await.unwrap();
    let undone = world.folio.undo(&world.caller, &app(), deleted.entry).await;
    assert_eq!(refused(undone).0, "undo_conflict");
}

#[tokio::test]
async fn whoever_follows_routes_hears_of_each_change_before_it_returns() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        hello(world).await;
        create(world, "one", to("/a", "hello@prod")).await.unwrap();
        let heard: Arc<Mutex<Vec<Told>>> = Arc::default();
        let ears = Arc::clone(&heard);
        let follower = Arc::new(move |sites: Arc<Vec<Arc<Site>>>| {
            ears.lock().unwrap().push(live(&sites));
        });
        world.folio.follow_sites(follower).await.unwrap();
        let now = || heard.lock().unwrap().last().unwrap().clone();
        let paths =
            || now().iter().map(|route| route.spec.path.as_str().to_owned()).collect::<Vec<_>>();
        assert_eq!(paths(), ["/a"]);
        create(world, "two", to("/b", "hello")).await.unwrap();
        assert_eq!(paths(), ["/a", "/b"]);
        // What a route leads to changes without a new list.
        let told = heard.lock().unwrap().len();
        let target = Arc::clone(&now()[0].targets[0].0);
        let means = || match &**target.load() {
            Meaning::Versions(split) => split.sole().unwrap().at.to_string(),
            Meaning::Nothing(unresolved) => unresolved.code.0.to_owned(),
        };
        assert_eq!(means(), "v1");
        world.point("hello", "prod", "v2").await;
        assert_eq!((means().as_str(), heard.lock().unwrap().len()), ("v2", told));
        let name = "one".parse().unwrap();
        world.folio.delete_route(&world.caller, (&app(), &name), None).await.unwrap();
        assert_eq!(paths(), ["/b"]);
        world.folio.undo(&world.caller, &app(), None).await.unwrap();
        assert_eq!(paths(), ["/a", "/b"]);
    }
}

#[tokio::test]
async fn a_route_never_means_the_draft_unless_it_says_so() {
    let running = running().await;
    let world = &running.world;
    hello(world).await;
    let code = world.code("drafted").await;
    let key = function("hello");
    world.folio.set_draft(&world.caller, &key, code, (Onto::Existing, None)).await.unwrap();
    create(world, "one", to("/a", "hello")).await.unwrap();
    let heard: Arc<Mutex<Vec<Arc<Route>>>> = Arc::default();
    let ears = Arc::clone(&heard);
    let follower = Arc::new(move |sites: Arc<Vec<_>>| *ears.lock().unwrap() = live(&sites));
    world.folio.follow_sites(follower).await.unwrap();
    let route = Arc::clone(&heard.lock().unwrap()[0]);
    let Meaning::Versions(split) = &**route.targets[0].0.load() else { panic!("callable") };
    assert_eq!(split.sole().unwrap().at.to_string(), "v2");
}
