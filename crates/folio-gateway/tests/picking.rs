//! Which of several versions answers.

use std::collections::HashMap;

use folio_core::request::{Expect, Onto};
use folio_core::route::RouteFields;
use folio_model::{Sticky, Target};

use crate::client::Client;
use crate::world::{World, exact};

const CLIENTS: usize = 200;

async fn world() -> World {
    let world = World::new().await;
    world.publish("echo", "v2").await;
    world
}

fn sticky(sticky: Sticky) -> RouteFields {
    RouteFields { sticky: Some(sticky), ..RouteFields::default() }
}

/// Which version each of many clients gets, told apart by a header.
async fn versions(client: &mut Client) -> Vec<String> {
    let mut versions = Vec::new();
    for at in 0..CLIENTS {
        let ask = format!("GET /x HTTP/1.1\r\nHost: localhost\r\nX-User: user-{at}\r\n\r\n");
        let answer = client.ask(ask).await;
        versions.push(answer.header("folio-version").unwrap().to_owned());
    }
    versions
}

#[tokio::test]
async fn draws_follow_the_weights() {
    let world = world().await;
    world.point("echo", "prod", &[("v1", 9_000), ("v2", 1_000)], Expect::Absent).await;
    world.route(exact("/x"), "echo@prod").await;
    let mut client = world.client().await;
    let mut seen: HashMap<String, u32> = HashMap::new();
    for _ in 0..4_000 {
        let answer = client.get("/x").await;
        *seen.entry(answer.header("folio-version").unwrap().to_owned()).or_default() += 1;
    }
    // Five standard deviations: one run in two million falls outside by chance.
    assert!((305..=495).contains(&seen["echo@v2"]), "{seen:?}");
    assert_eq!(seen.values().sum::<u32>(), 4_000);
}

#[tokio::test]
async fn a_route_splits_among_functions() {
    let world = world().await;
    world.publish("other", "v1").await;
    let target = |function: &str, weight| Target { function: function.parse().unwrap(), weight };
    let targets = vec![target("echo@v1", 5_000), target("other", 5_000), target("echo@v2", 0)];
    let fields =
        RouteFields { path: Some(exact("/x")), targets: Some(targets), ..RouteFields::default() };
    world.set_route(Some("r"), fields, Onto::Nothing).await;
    let mut client = world.client().await;
    let mut seen: HashMap<String, u32> = HashMap::new();
    for _ in 0..1_000 {
        let answer = client.get("/x").await;
        *seen.entry(answer.header("folio-version").unwrap().to_owned()).or_default() += 1;
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!((420..=580).contains(&seen["other@v1"]), "{seen:?}");
}

#[tokio::test]
async fn raising_a_weight_moves_clients_only_towards_it() {
    let world = world().await;
    world.point("echo", "prod", &[("v1", 10_000), ("v2", 0)], Expect::Absent).await;
    world.route_with(exact("/x"), "echo@prod", sticky(Sticky::Header("x-user".to_owned()))).await;
    let mut client = world.client().await;
    let mut before = versions(&mut client).await;
    assert!(before.iter().all(|version| version == "echo@v1"));
    for weight in [500, 2_000, 5_000, 9_000, 10_000] {
        let targets = [("v1", 10_000 - weight), ("v2", weight)];
        world.point("echo", "prod", &targets, Expect::Present).await;
        let after = versions(&mut client).await;
        assert_eq!(after, versions(&mut client).await, "a client keeps its version");
        for (was, is) in before.iter().zip(&after) {
            assert!(was == is || is == "echo@v2", "{was} became {is} at {weight}");
        }
        let moved = after.iter().filter(|version| *version == "echo@v2").count();
        let expected = CLIENTS * weight as usize / 10_000;
        assert!(moved.abs_diff(expected) <= 40, "{moved} clients at {weight}");
        before = after;
    }
}

#[tokio::test]
async fn a_client_without_the_cookie_is_given_one_and_stays() {
    let world = world().await;
    world.point("echo", "prod", &[("v1", 5_000), ("v2", 5_000)], Expect::Absent).await;
    world.route_with(exact("/x"), "echo@prod", sticky(Sticky::Cookie("who".to_owned()))).await;
    let mut client = world.client().await;
    let mut both = HashMap::new();
    for _ in 0..20 {
        let first = client.get("/x").await;
        let given = first.header("set-cookie").unwrap();
        assert!(
            given.starts_with("who=") && given.ends_with("; Path=/; HttpOnly; SameSite=Lax"),
            "{given}"
        );
        let pair = given.split(';').next().unwrap();
        let version = first.header("folio-version").unwrap().to_owned();
        for _ in 0..3 {
            let ask =
                format!("GET /x HTTP/1.1\r\nHost: localhost\r\nCookie: a=b; {pair}; c=d\r\n\r\n");
            let again = client.ask(ask).await;
            assert_eq!(again.header("folio-version"), Some(&*version));
            assert_eq!(again.header("set-cookie"), None);
        }
        *both.entry(version).or_insert(0) += 1;
    }
    assert_eq!(both.len(), 2, "twenty clients do not all draw the same: {both:?}");
}

#[tokio::test]
async fn an_address_keeps_its_version() {
    let world = world().await;
    world.point("echo", "prod", &[("v1", 5_000), ("v2", 5_000)], Expect::Absent).await;
    world.route_with(exact("/x"), "echo@prod", sticky(Sticky::Address)).await;
    let first = world.client().await.get("/x").await;
    for _ in 0..20 {
        let again = world.client().await.get("/x").await;
        assert_eq!(again.header("folio-version"), first.header("folio-version"));
    }
}
