//! What passes between a client and a function, and what does not.

use folio_core::request::Expect;

use crate::world::{World, exact};

#[tokio::test]
async fn no_form_of_spoofed_header_reaches_a_function() {
    let world = World::new().await;
    world.route(exact("/x"), "echo").await;
    let mut client = world.client().await;
    for name in [
        "Folio-Version",
        "folio_version",
        "X-Folio-App",
        "x_folio-app",
        "X-Fission-Function-Name",
        "X_FISSION_PARAMS_ID",
        "Forwarded",
        "X-Real-IP",
        "x_real_ip",
        "X-Forwarded-Port",
        "X_Forwarded_For",
        "Proxy",
        "TE",
        "Keep-Alive",
        "Proxy-Connection",
        "Upgrade",
    ] {
        let answer = client
            .ask(format!("GET /x HTTP/1.1\r\nHost: localhost\r\n{name}: spoofed\r\n\r\n"))
            .await;
        assert!(!answer.told("headers").to_string().contains("spoofed"), "{name}");
    }
    let listed =
        "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: X-Secret\r\nX-Secret: spoofed\r\n\r\n";
    assert!(!client.ask(listed).await.told("headers").to_string().contains("spoofed"));
}

#[tokio::test]
async fn the_gateways_own_words_take_the_place_of_spoofed_ones() {
    let world = World::new().await;
    world.route(exact("/x"), "echo").await;
    let request = "GET /x HTTP/1.1\r\nHost: localhost:99\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n\
                   X-Forwarded-Host: evil.test\r\nX-Request-Id: mine\r\ntraceparent: 00-aa-bb-01\r\n\r\n";
    let headers = world.client().await.ask(request).await.told("headers");
    assert_eq!(headers["x-forwarded-for"], "127.0.0.1");
    assert_eq!(headers["x-forwarded-proto"], "http");
    assert_eq!(headers["x-forwarded-host"], "localhost:99");
    assert_eq!(headers["x-request-id"], "mine");
    assert_eq!(headers["traceparent"], "00-aa-bb-01");
}

#[tokio::test]
async fn trailers_are_dropped() {
    let world = World::new().await;
    world.route(exact("/x"), "echo").await;
    let request = "POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTrailer: X-Fission-Name\r\n\r\n\
                   3\r\nabc\r\n0\r\nX-Fission-Name: spoofed\r\n\r\n";
    let mut client = world.client().await;
    let answer = client.ask(request).await;
    assert_eq!(answer.told("body"), "abc");
    assert!(!answer.told("headers").to_string().contains("spoofed"));
    assert_eq!(client.get("/x").await.status, 200);
}

#[tokio::test]
async fn a_function_cannot_speak_for_folio() {
    let world = World::new().await;
    world.publish("liar", "v1").await;
    world.route(exact("/x"), "liar").await;
    let mut client = world.client().await;
    for _ in 0..2 {
        let answer = client.get("/x").await;
        assert_eq!(answer.body, b"hello");
        assert_eq!(answer.header("folio-version"), Some("liar@v1"));
        assert_eq!(answer.header("folio_request_id"), None);
        assert_eq!(answer.header("x-hop"), None);
        assert_eq!(answer.header("transfer-encoding"), None);
        assert_eq!(answer.header("content-length"), Some("5"));
        assert_eq!(answer.header("x-kept"), Some("1"));
    }
}

#[tokio::test]
async fn every_request_has_an_id_of_its_own() {
    let world = World::new().await;
    world.route(exact("/x"), "echo").await;
    let mut client = world.client().await;
    let (one, two) = (client.get("/x").await, client.get("/none").await);
    assert_ne!(one.header("folio-request-id"), two.header("folio-request-id"));
}

#[tokio::test]
async fn a_moved_alias_is_seen_by_the_next_request() {
    let world = World::new().await;
    world.publish("echo", "v2").await;
    world.point("echo", "prod", &[("v1", 10_000)], Expect::Absent).await;
    world.route(exact("/x"), "echo@prod").await;
    let mut client = world.client().await;
    for round in 0..50 {
        let version = if round % 2 == 0 { "v2" } else { "v1" };
        world.point("echo", "prod", &[(version, 10_000)], Expect::Present).await;
        let answer = client.get("/x").await;
        assert_eq!(answer.header("folio-version"), Some(&*format!("echo@{version}")));
    }
}
