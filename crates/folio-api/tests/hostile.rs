//! Random requests: whatever is sent, the answer is one the document knows, and never a failure of ours.

use axum::body::Body;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::client::World;

/// A segment: a piece of the real paths, or anything a path can carry.
fn segment() -> impl Strategy<Value = String> {
    let words = [
        "folio",
        "v1",
        "apps",
        "default",
        "functions",
        "packages",
        "hello",
        "versions",
        "aliases",
        "latest",
        "qa",
        "download",
        "history",
        "rollback",
        "tags",
        "members",
        "resolve",
        "diff",
        "at",
        "compare",
        "log",
        "undo",
        "storage",
        "sweep",
        "check",
        "blobs",
        "missing",
        "1",
        "all",
    ];
    prop_oneof![
        8 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => "[A-Za-z0-9._~@:-]{0,20}",
        1 => "(%[0-9a-f]{2}){1,6}",
    ]
}

fn path() -> impl Strategy<Value = String> {
    let tail = proptest::collection::vec(segment(), 0..6).prop_map(|parts| parts.join("/"));
    let query = prop_oneof![
        3 => Just(String::new()),
        1 => "\\?(limit|after|below|ref|from|to|kind|time|part|cascade)=[a-z0-9@%&=.]{0,12}",
    ];
    let query = query.prop_map(|query| query.replace('%', "%25"));
    (prop_oneof![Just("/folio/v1/apps/default/"), Just("/folio/v1/"), Just("/")], tail, query)
        .prop_map(|(start, tail, query)| format!("{start}{tail}{query}"))
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let json = [
        "{}",
        "[]",
        "null",
        "{\"name\":\"hello\",\"fields\":{}}",
        "{\"targets\":[]}",
        "{\"functions\":[\"hello\"]}",
        "{\"entry\":3}",
        "{\"description\":\"\"}",
        "{\"digests\":[]}",
        "{\"start\":\"latest\"}",
        "{\"targets\":[{\"version\":\"1\",\"weight\":4294967295},{\"version\":\"1\",\"weight\":1}]}",
    ];
    prop_oneof![
        2 => proptest::sample::select(json.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..80),
        1 => Just(Vec::new()),
    ]
}

fn header() -> impl Strategy<Value = (&'static str, String)> {
    let names = ["if-match", "idempotency-key", "folio-reason", "folio-git", "range", "expect"];
    (proptest::sample::select(names.to_vec()), "[ -~]{0,30}")
}

#[test]
fn garbage_never_breaks_the_server() {
    let methods = proptest::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]);
    let types = proptest::sample::select(vec!["application/json", folio_api::NODES_MEDIA_TYPE]);
    let headers = proptest::collection::vec(header(), 0..2);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = runtime.block_on(async {
        let world = World::memory().await;
        world.publish("hello", "v1", "one").await;
        world
    });
    let config = Config { cases: 500, failure_persistence: None, ..Config::default() };
    let requests = (methods, path(), types, headers, body());
    let run = TestRunner::new(config).run(&requests, |(method, path, kind, headers, body)| {
        let mut call =
            world.call(method, &path).header("content-type", kind).body(Body::from(body));
        for (name, value) in &headers {
            call = call.header(name, value);
        }
        let reply = runtime.block_on(call.send());
        prop_assert!(!reply.status.is_server_error(), "{}: {:?}", reply.status, reply.bytes);
        Ok(())
    });
    run.unwrap();
}
