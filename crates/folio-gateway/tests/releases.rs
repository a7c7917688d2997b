//! Releases by their hosts: one request sees one release, and what cannot be reached says why.

use folio_core::release::{Deletion, ReleaseRef};
use folio_model::{AppName, ReleaseId};

use crate::client::Answer;
use crate::world::{World, caller, exact};

fn at(text: &str) -> ReleaseRef {
    text.parse().unwrap()
}

fn hint(answer: &Answer) -> String {
    answer.json()["error"]["hint"].as_str().unwrap_or_default().to_owned()
}

impl World {
    async fn live(&self) -> String {
        let app = AppName::default_app();
        let view = self.folio.show_release(&app, &ReleaseRef::Live).await.unwrap();
        view.label.id.to_string()
    }

    async fn tag(&self, tag: &str, on: &str) {
        let tag: ReleaseId = tag.parse().unwrap();
        let at_tag = (&AppName::default_app(), &tag);
        self.folio.tag_release(&caller(), at_tag, &at(on), None).await.unwrap();
    }

    async fn ask(&self, host: &str, more: &str) -> Answer {
        let request = format!("GET /hello HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
        self.client().await.ask(request).await
    }
}

/// Two releases of a function behind a route; returns the older one.
async fn two(world: &World) -> String {
    world.route(exact("/hello"), "echo").await;
    let before = world.live().await;
    world.publish("echo", "v2").await;
    before
}

#[tokio::test]
async fn a_release_is_reached_by_either_host_by_id_and_by_tag() {
    let world = World::new().await;
    let before = two(&world).await;
    world.tag("beta", &before).await;
    let live = world.live().await;
    for (host, version) in [
        ("default.d.test".to_owned(), "echo@v2"),
        ("localhost".to_owned(), "echo@v2"),
        (format!("default.{before}.d.test"), "echo@v1"),
        (format!("{before}--default.d.test"), "echo@v1"),
        (format!("DEFAULT.{}.D.test.:80", before.to_uppercase()), "echo@v1"),
        ("default.beta.d.test".to_owned(), "echo@v1"),
        ("beta--default.d.test".to_owned(), "echo@v1"),
        ("default.latest.d.test".to_owned(), "echo@v2"),
        (format!("{live}--default.d.test"), "echo@v2"),
    ] {
        let answer = world.ask(&host, "").await;
        assert_eq!(answer.told("version"), version, "{host}");
        let named = !matches!(host.as_str(), "default.d.test" | "localhost");
        let release = if version == "echo@v1" { &before } else { &live };
        assert_eq!(answer.header("folio-release"), Some(release.as_str()), "{host}");
        assert!(answer.header("folio-app-version").is_some(), "{host}");
        assert_eq!(answer.header("x-robots-tag").is_some(), named, "{host}");
    }
}

#[tokio::test]
async fn a_header_names_any_release_and_a_wrong_one_is_an_error() {
    let world = World::new().await;
    let before = two(&world).await;
    for host in ["localhost", "default.d.test", "default.latest.d.test"] {
        let answer = world.ask(host, &format!("Folio-Release: {before}\r\n")).await;
        assert_eq!(answer.told("version"), "echo@v1", "{host}");
    }
    for (name, status) in [("nobody", 404), ("No Body", 404), ("live--x", 404), ("", 404)] {
        let answer = world.ask("localhost", &format!("Folio-Release: {name}\r\n")).await;
        assert_eq!(answer.status, status, "{name}");
        assert_eq!(answer.code(), "release_not_found", "{name}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{name}");
        assert_eq!(hint(&answer), "`folio release list` shows what exists", "{name}");
    }
    // What is like it is told to who may see the app, not to who calls it.
    let near = format!("{before}x");
    let answer = world.ask("localhost", &format!("Folio-Release: {near}\r\n")).await;
    assert_eq!(hint(&answer), "`folio release list` shows what exists", "{near}");
    let twice = format!("Folio-Release: {before}\r\nFolio-Release: live\r\n");
    assert_eq!(world.ask("localhost", &twice).await.status, 400);
}

#[tokio::test]
async fn what_is_gone_is_410_with_the_way_to_live_and_an_app_version_is_no_release() {
    let world = World::new().await;
    let before = two(&world).await;
    let app = AppName::default_app();
    let which = at(&before);
    let view = world.folio.show_release(&app, &which).await.unwrap();
    let host = format!("{}--default.d.test", view.shows);
    let answer = world.ask(&host, "").await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "not_released"));
    assert!(hint(&answer).starts_with("release it with `folio release create"), "{answer:?}");
    for version in ["v3", "v4"] {
        world.publish("echo", version).await;
    }
    let host = format!("default.{before}.d.test:81");
    let answer = world.ask(&host, "").await;
    assert_eq!((answer.status, answer.code().as_str()), (410, "release_expired"));
    assert!(hint(&answer).starts_with("release its app version again with"), "{answer:?}");
    let link = "<http://default.d.test:81/>; rel=\"latest-version\"";
    assert_eq!(answer.header("link"), Some(link));
    let page = world.ask(&host, "Accept: text/html\r\n").await;
    assert_eq!(page.status, 410);
    assert!(String::from_utf8_lossy(&page.body).starts_with("<!doctype html>"));
    world.folio.set_live(&caller(), &app, &at("latest")).await.unwrap();
    world.publish("echo", "v5").await;
    let which = (&app, &at("latest"));
    let deleted = world.folio.delete_release(&caller(), which, Deletion::default()).await.unwrap();
    let deleted = deleted.result.label.id;
    let answer = world.ask(&format!("{deleted}--default.d.test"), "").await;
    assert_eq!((answer.status, answer.code().as_str()), (410, "release_deleted"));
    assert!(hint(&answer).starts_with("release its app version again with"), "{answer:?}");
    assert_eq!(world.ask("nobody.v1.d.test", "").await.code(), "host_not_found");
}

#[tokio::test]
async fn a_rollback_is_seen_by_the_next_request_and_by_no_request_in_hand() {
    let world = World::new().await;
    two(&world).await;
    let app = AppName::default_app();
    let mut client = world.client().await;
    for round in 0..20 {
        let expected = if round % 2 == 0 { "echo@v1" } else { "echo@v2" };
        if round % 2 == 0 {
            world.folio.roll_back_live(&caller(), &app, None).await.unwrap();
        } else {
            world.folio.follow_live(&caller(), &app).await.unwrap();
        }
        assert_eq!(client.get("/hello").await.told("version"), expected);
    }
}

#[tokio::test]
async fn an_app_without_a_release_says_so() {
    let world = World::new().await;
    let shop: AppName = "shop".parse().unwrap();
    assert_eq!(world.ask("shop.d.test", "").await.code(), "host_not_found");
    world.folio.create_app(&caller(), &shop).await.unwrap();
    let answer = world.ask("shop.d.test", "").await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "no_live_release"));
    assert!(!hint(&answer).is_empty(), "{answer:?}");
}
