//! Which route a request means, and what its function sees.

use std::collections::BTreeSet;

use folio_core::request::Onto;
use folio_core::route::RouteFields;
use folio_model::{Cors, RoutePath, Target};

use crate::world::{World, exact, prefix};

fn methods(names: &[&str]) -> RouteFields {
    let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    RouteFields { methods: Some(names), ..RouteFields::default() }
}

#[tokio::test]
async fn a_route_leads_to_its_function() {
    let world = World::new().await;
    world.route(exact("/hello"), "echo@v1").await;
    let answer = world.client().await.get("/hello?a=b").await;
    assert_eq!(answer.header("folio-version"), Some("echo@v1"));
    assert_eq!(answer.told("version"), "echo@v1");
    assert_eq!(answer.told("uri"), "/?a=b");
    assert_eq!(answer.told("original"), "/hello?a=b");
    assert_eq!(answer.told("id").as_str(), answer.header("folio-request-id"));
}

#[tokio::test]
async fn a_path_without_a_route_is_not_found() {
    let world = World::new().await;
    world.route(exact("/hello"), "echo").await;
    let mut client = world.client().await;
    for path in ["/", "/hello/", "/hellox", "/HELLO", "/_folio/x"] {
        let answer = client.get(path).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "route_not_found"), "{path}");
        assert_eq!(answer.header("folio-version"), None);
    }
    assert_eq!(world.totals.read().refused, 5);
}

#[tokio::test]
async fn a_prefix_takes_whole_segments_and_gives_the_rest() {
    let world = World::new().await;
    world.route(prefix("/api"), "echo").await;
    world.route(prefix("/dir/"), "echo").await;
    world.route(RoutePath::Prefix { path: "/keep".to_owned(), keep: true }, "echo").await;
    let mut client = world.client().await;
    for (path, seen) in [
        ("/api", "/"),
        ("/api/", "/"),
        ("/api/a%20b/c?d", "/a%20b/c?d"),
        ("/dir/", "/"),
        ("/dir/x", "/x"),
        ("/keep/x?y", "/keep/x?y"),
    ] {
        assert_eq!(client.get(path).await.told("uri"), seen, "{path}");
    }
    for path in ["/apix", "/dir", "/keepx"] {
        assert_eq!(client.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_most_specific_route_answers() {
    let world = World::new().await;
    for name in ["whole", "number", "any", "long", "least"] {
        world.publish(name, "v1").await;
    }
    world.route(prefix("/"), "least").await;
    world.route(prefix("/a/b"), "long").await;
    world.route(exact("/a/{id}"), "any").await;
    world.route(exact("/a/{id:[0-9]+}"), "number").await;
    world.route(exact("/a/b"), "whole").await;
    let mut client = world.client().await;
    for (path, function) in [
        ("/a/b", "whole"),
        ("/a/7", "number"),
        ("/a/x", "any"),
        ("/a/b/c", "long"),
        ("/a/x/c", "least"),
        ("/", "least"),
    ] {
        assert_eq!(client.get(path).await.told("version"), format!("{function}@v1"), "{path}");
    }
}

#[tokio::test]
async fn placeholders_reach_the_function_both_ways() {
    let world = World::new().await;
    world.route(exact("/u/{id}/{Name:[a-z]+}"), "echo").await;
    let answer = world.client().await.get("/u/a%20b/xyz").await;
    assert_eq!(answer.told("parameters"), serde_json::json!([["id", "a b"], ["Name", "xyz"]]));
    assert_eq!(answer.told("headers")["x-fission-params-id"], "a b");
    assert_eq!(answer.told("headers")["x-fission-params-name"], "xyz");
    let odd = world.client().await.get("/u/a%0D%0Ab/xyz").await;
    assert_eq!(odd.told("headers")["x-fission-params-id"], "a%0D%0Ab");
}

#[tokio::test]
async fn methods_are_told_apart() {
    let world = World::new().await;
    world.publish("writes", "v1").await;
    world.route_with(exact("/x"), "echo", methods(&["GET"])).await;
    world.route_with(exact("/x"), "writes", methods(&["POST", "PUT"])).await;
    let mut client = world.client().await;
    let ask = |method: &str| format!("{method} /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(client.ask(ask("GET")).await.told("version"), "echo@v1");
    assert_eq!(client.ask(ask("PUT")).await.told("version"), "writes@v1");
    let refused = client.ask(ask("DELETE")).await;
    assert_eq!((refused.status, refused.code().as_str()), (405, "method_not_allowed"));
    assert_eq!(refused.header("allow"), Some("GET, HEAD, POST, PUT"));
    client.send(ask("HEAD")).await;
    client.send(ask("GET")).await;
    // A HEAD has a length and no body, so the next bytes are the next answer.
    let mut room = [httparse::EMPTY_HEADER; 64];
    let bytes = client.take(17).await;
    assert_eq!(bytes, b"HTTP/1.1 200 OK\r\n");
    let mut head = bytes;
    while !head.ends_with(b"\r\n\r\n") {
        head.extend(client.take(1).await);
    }
    let mut response = httparse::Response::new(&mut room);
    response.parse(&head).unwrap();
    assert!(
        response
            .headers
            .iter()
            .any(|header| header.name == "content-length" && header.value != b"0")
    );
    assert_eq!(client.answer().await.unwrap().told("method"), "GET");
}

#[tokio::test]
async fn a_changed_route_is_seen_by_the_next_request() {
    let world = World::new().await;
    world.publish("other", "v1").await;
    world.route(exact("/kept"), "echo").await;
    let to = |function: &str, path: &str| RouteFields {
        path: Some(exact(path)),
        targets: Some(vec![Target::only(function.parse().unwrap())]),
        ..RouteFields::default()
    };
    let mut client = world.client().await;
    world.set_route(Some("r"), to("echo", "/r"), Onto::Nothing).await;
    for round in 0..20 {
        let (function, path) = if round % 2 == 0 { ("other", "/s") } else { ("echo", "/r") };
        world.set_route(Some("r"), to(function, path), Onto::Existing).await;
        assert_eq!(client.get(path).await.told("version"), format!("{function}@v1"));
        assert_eq!(client.get(if round % 2 == 0 { "/r" } else { "/s" }).await.status, 404);
        assert_eq!(client.get("/kept").await.status, 200);
    }
}

#[tokio::test]
async fn a_version_that_is_still_built_or_could_not_be_says_so() {
    let world = World::new().await;
    world.publish_source("built", "v1").await;
    world.route(exact("/x"), "built@v1").await;
    let answer = world.client().await.get("/x").await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "build_pending"));
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(answer.header("folio-version"), None);
    let mut client = world.client().await;
    let failed = async {
        loop {
            let answer = client.get("/x").await;
            match answer.code().as_str() {
                "build_pending" => {}
                code => break (answer.status, code.to_owned()),
            }
        }
    };
    let told = tokio::select! {
        told = failed => told,
        ended = world.folio.run_builds(std::future::pending()) => panic!("{ended:?}"),
    };
    assert_eq!(told, (502, "build_failed".to_owned()));
}

fn cors(origins: &[&str]) -> RouteFields {
    let cors = Cors {
        allow_origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
        allow_headers: ["x-mine".to_owned()].into(),
        expose_headers: ["x-told".to_owned()].into(),
        allow_credentials: true,
        max_age_seconds: 60,
        ..Cors::default()
    };
    RouteFields { cors: Some(cors), ..methods(&["GET", "POST"]) }
}

#[tokio::test]
async fn a_browser_is_given_leave_where_the_route_says_so() {
    let world = World::new().await;
    world.route_with(exact("/x"), "echo", cors(&["https://a.test"])).await;
    world.route_with(exact("/plain"), "echo", methods(&["GET"])).await;
    let mut client = world.client().await;
    let preflight = |path: &str, origin: &str| {
        format!(
            "OPTIONS {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\r\n"
        )
    };
    let allowed = client.ask(preflight("/x", "https://a.test")).await;
    assert_eq!(allowed.status, 204);
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://a.test"));
    assert_eq!(allowed.header("access-control-allow-methods"), Some("GET, POST"));
    assert_eq!(allowed.header("access-control-allow-headers"), Some("x-mine"));
    assert_eq!(allowed.header("access-control-allow-credentials"), Some("true"));
    assert_eq!(allowed.header("access-control-max-age"), Some("60"));
    let foreign = client.ask(preflight("/x", "https://b.test")).await;
    assert_eq!((foreign.status, foreign.header("access-control-allow-origin")), (204, None));
    assert_eq!(client.ask(preflight("/plain", "https://a.test")).await.status, 405);
    let get = "GET /x HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.test\r\n\r\n";
    let answer = client.ask(get).await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://a.test"));
    assert_eq!(answer.header("access-control-expose-headers"), Some("x-told"));
    assert_eq!(answer.header("vary"), Some("origin"));
}

#[tokio::test]
async fn every_origin_never_comes_with_its_cookies() {
    let world = World::new().await;
    world.route_with(exact("/x"), "echo", cors(&["*"])).await;
    let get = "GET /x HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.test\r\n\r\n";
    let answer = world.client().await.ask(get).await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
}
