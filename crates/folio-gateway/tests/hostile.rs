//! Requests that mean harm, byte by byte.

use std::sync::atomic::Ordering;
use std::time::Duration;

use folio_gateway::{GatewayLimits, Settings};

use crate::world::{World, exact, prefix, settings};

async fn world(limits: GatewayLimits) -> World {
    let world = World::with(Settings { limits, ..settings() }).await;
    world.route(prefix("/"), "echo").await;
    world
}

fn short() -> GatewayLimits {
    GatewayLimits {
        header_timeout: Duration::from_millis(200),
        idle_timeout: Duration::from_millis(300),
        body_rate_min: 1_000_000,
        ..settings().limits
    }
}

/// Sends bytes and expects a refusal, the end of the connection, and no call.
async fn refused(world: &World, bytes: &str, status: u16, code: &str) {
    let before = world.runtime.began.load(Ordering::SeqCst);
    let mut client = world.client().await;
    let answer = client.ask(bytes).await;
    assert_eq!((answer.status, answer.code().as_str()), (status, code), "{bytes:?}");
    assert!(client.is_closed().await, "{bytes:?}");
    assert_eq!(world.runtime.began.load(Ordering::SeqCst), before, "{bytes:?}");
}

#[tokio::test]
async fn nothing_hides_behind_a_second_length() {
    let world = world(settings().limits).await;
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for framing in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "transfer-encoding: CHUNKED\r\ncontent-length: 0",
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: +5",
        "Content-Length: 5, 5",
        "Content-Length : 5",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding:\r\n chunked",
        "X: y\nTransfer-Encoding: chunked",
        "X: a\rTransfer-Encoding: chunked",
    ] {
        let bytes =
            format!("POST / HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n0\r\n\r\n{smuggled}");
        refused(&world, &bytes, 400, "bad_request").await;
    }
    refused(
        &world,
        "POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
        400,
        "bad_request",
    )
    .await;
    refused(&world, "GET / HTTP/1.1\nHost: localhost\n\n", 400, "bad_request").await;
    refused(&world, "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n", 400, "bad_request")
        .await;
    refused(&world, "\0\0\0\0 nonsense\r\n\r\n", 400, "bad_request").await;
    refused(&world, "GET / HTTP/9.9\r\n\r\n", 400, "bad_request").await;
}

#[tokio::test]
async fn a_bad_request_does_not_take_the_answer_of_a_good_one() {
    let world = world(settings().limits).await;
    let mut client = world.client().await;
    let good = "GET /good HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let bad = "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(format!("{good}{good}{bad}{good}")).await;
    for _ in 0..2 {
        assert_eq!(client.answer().await.unwrap().told("uri"), "/good");
    }
    assert_eq!(client.answer().await.unwrap().code(), "bad_request");
    assert!(client.is_closed().await);
    assert_eq!(world.runtime.began.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_bad_request_waits_for_a_slow_answer_before_it() {
    let world = World::new().await;
    world.publish("wait", "v1").await;
    world.route(exact("/wait"), "wait").await;
    let mut client = world.client().await;
    client.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    world.runtime.waiting.notified().await;
    client.send("nonsense\r\n\r\n").await;
    world.runtime.go.notify_one();
    assert_eq!(client.answer().await.unwrap().status, 200);
    assert_eq!(client.answer().await.unwrap().code(), "bad_request");
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn paths_that_climb_or_hide_a_slash_are_refused() {
    let world = world(settings().limits).await;
    let mut client = world.client().await;
    for path in [
        "/..",
        "/a/../b",
        "/a/%2e%2e/b",
        "/.%2E/",
        "/./a",
        "/a%2Fb",
        "/a%2fb",
        "/a%5Cb",
        "/a\\b",
        "/%00",
        "/%",
        "/%zz",
        "/%ff",
    ] {
        let answer = client.get(path).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "bad_request"), "{path}");
    }
    assert_eq!(world.runtime.began.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn large_heads_are_refused() {
    let limits = GatewayLimits { header_bytes_max: 2000, headers_max: 10, ..settings().limits };
    let world = world(limits).await;
    let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nA: {}\r\n\r\n", "a".repeat(2000));
    refused(&world, &long, 431, "header_too_large").await;
    let path = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(3000));
    refused(&world, &path, 431, "header_too_large").await;
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "A: b\r\n".repeat(10));
    refused(&world, &many, 431, "header_too_large").await;
    let endless = format!("GET / HTTP/1.1\r\nHost: localhost\r\nA: {}", "a".repeat(1_000_000));
    refused(&world, &endless, 431, "header_too_large").await;
    let fits = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "A: b\r\n".repeat(9));
    assert_eq!(world.client().await.ask(fits).await.status, 200);
}

#[tokio::test]
async fn large_bodies_are_refused_before_or_cut_while_they_come() {
    let world = world(GatewayLimits { body_bytes_max: 10, ..settings().limits }).await;
    let declared = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n\r\n";
    let mut client = world.client().await;
    let answer = client.ask(declared).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"));
    assert!(client.is_closed().await);
    assert_eq!(world.runtime.began.load(Ordering::SeqCst), 0);

    let mut client = world.client().await;
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n12345678\r\n").await;
    let answer = client.ask("8\r\n12345678\r\n").await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"));
    assert!(client.is_closed().await);

    let fits = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n1234567890";
    assert_eq!(world.client().await.ask(fits).await.told("body"), "1234567890");
}

#[tokio::test]
async fn broken_chunks_end_the_body() {
    let world = world(settings().limits).await;
    let mut client = world.client().await;
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer = client.ask(format!("{head}3\r\nabcGET /smuggled HTTP/1.1\r\n\r\n")).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "request_body_broken"));
    assert!(client.is_closed().await);
    assert_eq!(world.runtime.began.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_head_that_never_ends_is_given_up() {
    let world = world(short()).await;
    let mut client = world.client().await;
    client.send("GET / HTTP/1.1\r\nHost: localhost\r\n").await;
    let answer = client.answer().await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (408, "request_timeout"));
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn one_byte_at_a_time_is_no_way_around_the_limit() {
    let world = world(short()).await;
    let mut client = world.client().await;
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    let mut endless =
        b"GET / HTTP/1.1\r\nHost: localhost\r\nA: ".iter().chain(std::iter::repeat(&b'a'));
    let answer = loop {
        tokio::select! {
            answer = client.answer() => break answer.unwrap(),
            _ = ticks.tick() => {}
        }
        client.send([*endless.next().unwrap()]).await;
    };
    assert_eq!((answer.status, answer.code().as_str()), (408, "request_timeout"));
}

#[tokio::test]
async fn a_body_that_trickles_is_given_up() {
    let world = world(short()).await;
    let mut client = world.client().await;
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n").await;
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    let answer = loop {
        tokio::select! {
            answer = client.answer() => break answer.unwrap(),
            _ = ticks.tick() => {}
        }
        client.send("a").await;
    };
    assert_eq!((answer.status, answer.code().as_str()), (408, "request_timeout"));
}

#[tokio::test]
async fn a_silent_connection_is_closed_and_a_waiting_one_is_not() {
    let world = World::with(Settings { limits: short(), ..settings() }).await;
    world.publish("wait", "v1").await;
    world.route(exact("/wait"), "wait").await;
    let (mut silent, mut waiting) = (world.client().await, world.client().await);
    waiting.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    world.runtime.waiting.notified().await;
    assert_eq!(silent.get("/none").await.status, 404);
    assert!(silent.is_closed().await);
    assert!(world.client().await.is_closed().await);
    world.runtime.go.notify_one();
    assert_eq!(waiting.answer().await.unwrap().status, 200);
    assert!(waiting.is_closed().await);
}

#[tokio::test]
async fn connections_past_the_limit_wait_their_turn() {
    let world = world(GatewayLimits { connections_max: 1, ..settings().limits }).await;
    let mut first = world.client().await;
    assert_eq!(first.get("/").await.status, 200);
    let mut second = world.client().await;
    second.send("GET /second HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(first.get("/").await.status, 200);
    assert_eq!(world.runtime.began.load(Ordering::SeqCst), 2);
    drop(first);
    assert_eq!(second.answer().await.unwrap().status, 200);
}

#[tokio::test]
async fn whoever_takes_nothing_of_an_answer_is_given_up() {
    let world = world(GatewayLimits { connections_max: 1, ..short() }).await;
    world.publish("large", "v1").await;
    world.route(exact("/large"), "large").await;
    let mut stalled = world.client().await;
    stalled.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    // There is room for one connection, so this is answered when the other is cut.
    assert_eq!(world.client().await.get("/").await.status, 200);
    assert_eq!(world.runtime.began.load(Ordering::SeqCst), 2);
}
