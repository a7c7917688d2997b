//! Several releases on one host: each request sees one of them to its end, and a client stays where it is.

use std::collections::{BTreeMap, BTreeSet};

use folio_core::app::PlanChange;
use folio_core::history::Moment;
use folio_core::release::{Deletion, Keeping, LiveSplit, PolicyChange, ReleaseRef};
use folio_core::request::{IfSame, Onto};
use folio_core::route::RouteFields;
use folio_core::static_item::StaticFields;
use folio_model::{AppName, Skew, Sticky, Target};
use folio_testkit::sample;

use crate::client::Answer;
use crate::world::{World, caller, exact};

impl World {
    async fn release(&self) -> String {
        let app = AppName::default_app();
        let view = self.folio.show_release(&app, &ReleaseRef::Latest).await.unwrap();
        view.label.id.to_string()
    }

    async fn share(&self, shares: &[(&str, u32)], sticky: Option<Sticky>) {
        let shares = shares.iter().map(|(id, weight)| (id.parse().unwrap(), *weight)).collect();
        let split = LiveSplit { shares, sticky };
        self.folio.split_live(&caller(), &AppName::default_app(), split).await.unwrap();
    }

    async fn page(&self, text: &str) {
        let app_js = format!("/* {text} */");
        let files = [("index.html", text), ("app.js", app_js.as_str())];
        let fields = StaticFields {
            path: "/".to_owned(),
            content: sample::directory(&self.folio, &files).await,
            index: None,
            fallback: None,
            error_page: None,
            headers: BTreeMap::new(),
            expires: None,
        };
        let name = "site".parse().unwrap();
        let at = (&AppName::default_app(), &name);
        self.folio.set_static(&caller(), at, fields, None).await.unwrap();
    }

    async fn hears(&self, path: &str, more: &str) -> Answer {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n");
        self.client().await.ask(request).await
    }

    async fn skew(&self, oldest: Option<&str>) {
        let oldest = oldest.map(|id| id.parse().unwrap());
        let skew = Some(Skew { max_age_s: 600, oldest });
        let change = PolicyChange { skew, ..PolicyChange::default() };
        self.folio.set_policy(&caller(), &AppName::default_app(), change).await.unwrap();
    }
}

/// Two releases of `echo` behind `/hello`, the older first.
async fn two(world: &World) -> (String, String) {
    world.route(exact("/hello"), "echo").await;
    let before = world.release().await;
    world.publish("echo", "v2").await;
    (before, world.release().await)
}

#[tokio::test]
async fn both_releases_get_their_share_and_each_answer_is_of_one() {
    let world = World::new().await;
    let (one, two) = two(&world).await;
    world.share(&[(&one, 9_000), (&two, 1_000)], None).await;
    let mut client = world.client().await;
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..4_000 {
        let answer = client.get("/hello").await;
        let release = answer.header("folio-release").unwrap().to_owned();
        let version = if release == one { "echo@v1" } else { "echo@v2" };
        assert_eq!(answer.told("version"), version, "a mixed answer");
        assert_eq!(answer.header("x-robots-tag"), None);
        *seen.entry(release).or_default() += 1;
    }
    // Five standard deviations: one run in two million falls outside by chance.
    assert!((305..=495).contains(&seen[&two]), "{seen:?}");
}

#[tokio::test]
async fn a_client_stays_with_its_release_and_more_weight_only_moves_clients_towards_it() {
    let world = World::new().await;
    let (one, two) = two(&world).await;
    let by_header = || Some(Sticky::Header("X-User".to_owned()));
    let mut moved_to: BTreeSet<usize> = BTreeSet::new();
    let mut client = world.client().await;
    for weight in [0, 500, 2_000, 6_000, 10_000] {
        world.share(&[(&one, 10_000 - weight), (&two, weight)], by_header()).await;
        let mut on_two = BTreeSet::new();
        for user in 0..200 {
            let ask = format!("GET /hello HTTP/1.1\r\nHost: localhost\r\nX-User: u{user}\r\n\r\n");
            let first = client.ask(&ask).await.header("folio-release").unwrap().to_owned();
            let second = client.ask(&ask).await.header("folio-release").unwrap().to_owned();
            assert_eq!(first, second, "user {user}");
            if first == two {
                on_two.insert(user);
            }
        }
        assert!(moved_to.is_subset(&on_two), "at {weight} somebody went back");
        moved_to = on_two;
    }
    assert_eq!(moved_to.len(), 200);
}

#[tokio::test]
async fn a_cookie_is_given_once_and_keeps_the_client() {
    let world = World::new().await;
    let (one, two) = two(&world).await;
    let cookie = Some(Sticky::Cookie("split".to_owned()));
    world.share(&[(&one, 5_000), (&two, 5_000)], cookie).await;
    for _ in 0..20 {
        let first = world.hears("/hello", "").await;
        let given = first.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        assert!(given.starts_with("split="));
        let release = first.header("folio-release").unwrap();
        for _ in 0..3 {
            let again = world.hears("/hello", &format!("Cookie: {given}\r\n")).await;
            assert_eq!(again.header("folio-release"), Some(release));
            assert_eq!(again.header("set-cookie"), None);
        }
    }
}

#[tokio::test]
async fn each_release_has_its_own_routes_hosts_and_files_while_they_share() {
    let world = World::new().await;
    world.page("one").await;
    world.route(exact("/old"), "echo").await;
    let one = world.release().await;
    let kept = (&AppName::default_app(), &one.parse().unwrap());
    world.folio.keep_release(&caller(), kept, Keeping::Keep).await.unwrap();
    world.page("two").await;
    let targets = Some(vec![Target::only("echo".parse().unwrap())]);
    let fields = RouteFields {
        path: Some(exact("/api")),
        host: Some("api.example.com".to_owned()),
        targets,
        ..RouteFields::default()
    };
    world.set_route(Some("api"), fields, Onto::Nothing).await;
    world.route(exact("/new"), "echo").await;
    let two = world.release().await;
    let by_header = Some(Sticky::Header("X-User".to_owned()));
    world.share(&[(&one, 5_000), (&two, 5_000)], by_header).await;
    let mut seen = BTreeSet::new();
    for user in 0..40 {
        let who = format!("X-User: {user}\r\n");
        let page = world.hears("/", &who).await;
        let on_two = page.header("folio-release") == Some(&two);
        seen.insert(on_two);
        assert_eq!(page.text(), if on_two { "two" } else { "one" });
        assert_eq!(page.header("cache-control"), Some("private, no-cache"));
        let script = world.hears("/app.js", &who).await;
        assert_eq!(script.text(), if on_two { "/* two */" } else { "/* one */" });
        assert_eq!(world.hears("/new", &who).await.status, if on_two { 200 } else { 404 });
        assert_eq!(world.hears("/old", &who).await.status, 200);
        let ask = format!("GET /api HTTP/1.1\r\nHost: api.example.com\r\n{who}\r\n");
        let status = world.client().await.ask(ask).await.status;
        assert_eq!(status, if on_two { 200 } else { 404 }, "a host that only one names");
    }
    assert_eq!(seen.len(), 2, "both were seen");
    let forced = world.hears("/", &format!("Folio-Release: {two}\r\n")).await;
    assert_eq!((forced.text().as_str(), forced.header("x-robots-tag")), ("two", Some("noindex")));
}

#[tokio::test]
async fn answers_are_counted_for_the_release_that_gave_them_unless_asked_for_by_name() {
    let world = World::new().await;
    let (one, two) = two(&world).await;
    world.share(&[(&one, 0), (&two, 10_000)], None).await;
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    for _ in 0..3 {
        world.hears("/hello", "").await;
        world.hears("/hello", &format!("Folio-Release: {one}\r\n")).await;
    }
    world.hears("/nowhere", "").await;
    let hear = std::sync::Arc::clone(&told);
    let follower = move |sites: std::sync::Arc<Vec<_>>| *hear.lock().unwrap() = sites.to_vec();
    world.folio.follow_sites(std::sync::Arc::new(follower)).await.unwrap();
    let sites: Vec<std::sync::Arc<folio_core::serving::Site>> = told.lock().unwrap().clone();
    let count = |release: &str| sites[0].release(release).unwrap().meter.read();
    assert_eq!((count(&one).requests, count(&two).requests), (0, 4));
    assert_eq!(count(&two).client_errors, 1);
}

#[tokio::test]
async fn a_client_stays_with_the_release_it_began_with_while_that_can_be_reached() {
    let world = World::new().await;
    let (_, began) = two(&world).await;
    assert_eq!(world.hears("/hello", "").await.header("set-cookie"), None, "only where wanted");
    world.skew(None).await;
    let first = world.hears("/hello", "").await;
    let given = first.header("set-cookie").unwrap().to_owned();
    assert!(given.starts_with(&format!("folio-pin={began};")), "{given}");
    assert!(given.contains("Max-Age=600"), "{given}");
    world.publish("echo", "v3").await;
    for pin in [format!("Cookie: a=b; folio-pin={began}\r\n"), format!("Folio-Pin: {began}\r\n")] {
        let stays = world.hears("/hello", &pin).await;
        assert_eq!(stays.told("version"), "echo@v2", "{pin}");
        assert_eq!((stays.header("set-cookie"), stays.header("x-robots-tag")), (None, None));
    }
    let others = world.hears("/hello", "").await;
    assert_eq!(others.told("version"), "echo@v3");
    // A header decides before a cookie.
    let newest = world.release().await;
    let both = format!("Folio-Pin: {newest}\r\nCookie: folio-pin={began}\r\n");
    assert_eq!(world.hears("/hello", &both).await.told("version"), "echo@v3");
}

#[tokio::test]
async fn a_client_whose_release_is_gone_or_cut_off_is_served_by_live_and_told() {
    let world = World::new().await;
    let (old, began) = two(&world).await;
    world.skew(Some(&began)).await;
    for (pin, why) in [(old.as_str(), "too-old"), ("nobody", "unknown"), ("No!", "unknown")] {
        let answer = world.hears("/hello", &format!("Cookie: folio-pin={pin}\r\n")).await;
        assert_eq!(answer.told("version"), "echo@v2", "{pin}");
        assert_eq!(answer.header("folio-release-fallback"), Some(why), "{pin}");
        let given = answer.header("set-cookie").unwrap();
        assert!(given.starts_with(&format!("folio-pin={began}")), "{given}");
    }
}

#[tokio::test]
async fn a_client_can_name_its_release_by_a_tag_and_is_told_what_became_of_it() {
    let world = World::new().await;
    let (old, began) = two(&world).await;
    let app = AppName::default_app();
    let tag = "beta".parse().unwrap();
    world.folio.tag_release(&caller(), (&app, &tag), &old.parse().unwrap(), None).await.unwrap();
    // What is too old is said by a tag as well; it stays with the release that the tag was on.
    world.skew(Some("beta")).await;
    let policy = world.folio.show_policy(&app).await.unwrap();
    assert_eq!(policy.skew.unwrap().oldest.unwrap().as_str(), old);
    let beta = "Folio-Pin: beta\r\n";
    assert_eq!(world.hears("/hello", beta).await.told("version"), "echo@v1");
    world.skew(Some(&began)).await;
    let fallback = async |pin: &str| {
        let answer = world.hears("/hello", &format!("Folio-Pin: {pin}\r\n")).await;
        assert_eq!(answer.told("version"), "echo@v2", "{pin}");
        answer.header("folio-release-fallback").map(str::to_owned)
    };
    assert_eq!(fallback("beta").await.as_deref(), Some("too-old"));
    let untag = Deletion { untag: true, ..Deletion::default() };
    world.folio.delete_release(&caller(), (&app, &old.parse().unwrap()), untag).await.unwrap();
    assert_eq!(fallback(&old).await.as_deref(), Some("deleted"));
    assert_eq!(fallback("beta").await.as_deref(), Some("unknown"));
    let plan = PlanChange { releases: Some(1), tagged: None };
    world.publish("echo", "v3").await;
    world.folio.set_live(&caller(), &app, &began.parse().unwrap()).await.unwrap();
    world.skew(None).await;
    world.folio.set_plan(&caller(), &app, plan).await.unwrap();
    assert_eq!(fallback("nobody").await.as_deref(), Some("unknown"));
}

#[tokio::test]
async fn a_new_release_of_an_old_app_version_is_a_new_release() {
    let world = World::new().await;
    let (old, began) = two(&world).await;
    world.skew(Some(&began)).await;
    let app = AppName::default_app();
    let shows = world.folio.show_release(&app, &old.parse().unwrap()).await.unwrap().shows;
    let again = world
        .folio
        .create_release(&caller(), &app, Moment::Id(shows), IfSame::Publish)
        .await
        .unwrap()
        .result;
    let pin = format!("Folio-Pin: {}\r\n", again.label.id);
    world.folio.set_live(&caller(), &app, &began.parse().unwrap()).await.unwrap();
    let stays = world.hears("/hello", &pin).await;
    assert_eq!(
        (stays.header("folio-release-fallback"), stays.told("version")),
        (None, "echo@v1".into())
    );
}

#[tokio::test]
async fn switching_live_and_expiring_a_release_end_no_request_that_runs_on_it() {
    let world = World::new().await;
    world.publish("wait", "v1").await;
    world.route(exact("/wait"), "wait").await;
    let old = world.release().await;
    let mut client = world.client().await;
    let path = "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n";
    client.send(path).await;
    world.runtime.waiting.notified().await;
    for version in ["v2", "v3", "v4"] {
        world.publish("wait", version).await;
    }
    let gone = world.folio.show_release(&AppName::default_app(), &old.parse().unwrap()).await;
    assert_eq!(gone.unwrap().label.state, folio_model::ReleaseState::Expired);
    world.runtime.go.notify_one();
    let answer = client.answer().await.unwrap();
    assert_eq!(answer.told("version"), "wait@v1");
    assert_eq!(answer.header("folio-release"), Some(old.as_str()));
}
