//! Paths, queries and bodies that mean nothing.

use serde_json::json;

use crate::client::{APP, FUNCTIONS, World};

#[tokio::test]
async fn nothing_is_served_elsewhere() {
    let world = World::memory().await;
    let paths = ["/folio", "/folio/v1/", "/folio/v2", "//", "/folio/v1/nowhere", "/%2e%2e"];
    for path in paths {
        world.get(path).await.refused(404, "no_such_path");
    }
    for path in ["packages/hello/aliases", "functions/hello/versions/v1/more"] {
        world.get(&format!("{APP}/{path}")).await.refused(404, "no_such_path");
    }
}

#[tokio::test]
async fn another_method_is_refused_with_those_that_work() {
    let world = World::memory().await;
    let reply = world.call("PUT", FUNCTIONS).send().await;
    reply.refused(405, "method_not_allowed");
    assert_eq!(reply.header("allow"), "GET,HEAD,POST");
    world.call("OPTIONS", "/folio/v1").send().await.refused(405, "method_not_allowed");
    world.call("BREW", "/healthz").send().await.refused(405, "method_not_allowed");
}

#[tokio::test]
async fn a_name_that_is_none_is_refused_with_its_reason() {
    let world = World::memory().await;
    let check = async |path: &str, expected: &str| {
        let error = world.get(path).await.refused(400, "bad_request");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(expected), "{path}: {message}");
        assert!(error["hint"].is_string());
    };
    check("/folio/v1/apps/Default/log", "upper-case").await;
    check("/folio/v1/apps/a%2Fb/log", "inner dashes").await;
    check("/folio/v1/apps/%00/log", "inner dashes").await;
    check("/folio/v1/apps/%ff/log", "not UTF-8").await;
    check("/folio/v1/apps/../log", "inner dashes").await;
    check(&format!("/folio/v1/apps/{}/log", "a".repeat(64)), "longer than 63").await;
    check(&format!("{APP}/gadgets"), "neither `functions` nor `packages`").await;
    check(&format!("{APP}/function"), "neither `functions` nor `packages`").await;
    check(&format!("{FUNCTIONS}/..%2f..%2fetc"), "inner dashes").await;
    check(&format!("{FUNCTIONS}/%E2%80%AE"), "inner dashes").await;
    check(&format!("{FUNCTIONS}/a@b"), "inner dashes").await;
    check(&format!("{FUNCTIONS}//versions"), "cannot be empty").await;
    check(&format!("{FUNCTIONS}/hello/versions/0"), "numbers start at 1").await;
    check(&format!("{FUNCTIONS}/hello/versions/99999999999999999999"), "not a version number")
        .await;
    check(&format!("{FUNCTIONS}/hello/versions/all"), "reserved").await;
    check(&format!("{FUNCTIONS}/hello/versions/%20"), "may hold only").await;
    check(&format!("{FUNCTIONS}/hello/aliases/latest/history"), "reserved").await;
    check(&format!("{APP}/tags/12"), "looks like a version number").await;
    check(&format!("{APP}/versions/draft"), "no draft").await;
}

#[tokio::test]
async fn a_percent_encoded_name_is_that_name() {
    let world = World::memory().await;
    world.publish("hello", "v1.0.0", "one").await;
    let shown = world.get(&format!("{FUNCTIONS}/h%65llo/versions/v1%2E0%2e0")).await.ok();
    assert_eq!(shown["id"], "v1.0.0");
}

#[tokio::test]
async fn a_query_is_read_strictly() {
    let world = World::memory().await;
    world.publish("hello", "v1", "one").await;
    for query in [
        "limit=0",
        "limit=-1",
        "limit=x",
        "limit=",
        "limit=99999999999999999999",
        "limit=1&limit=2",
        "below=0",
        "below=9223372036854775808",
        "lmit=1",
        "limit=%ff",
    ] {
        world.get(&format!("{APP}/log?{query}")).await.refused(400, "bad_request");
    }
    for query in
        ["", "kind=function", "ref=", "ref=a%20b", "ref=hello&kind=thing", "ref=@", "ref=a/b/c"]
    {
        world.get(&format!("{APP}/resolve?{query}")).await.refused(400, "bad_request");
    }
    for query in ["", "time=yesterday", "time=2026-01-01", "time=99999-01-01T00:00:00Z"] {
        world.get(&format!("{APP}/at?{query}")).await.refused(400, "bad_request");
    }
    world.delete(&format!("{FUNCTIONS}/hello?cascade=perhaps")).await.refused(400, "bad_request");
    world.get(&format!("{FUNCTIONS}?cascade=true")).await.refused(400, "bad_request");
    world.get("/folio/v1/openapi.json?x").await.refused(400, "bad_request");
}

#[tokio::test]
async fn a_page_is_never_longer_than_allowed() {
    let limits = folio_core::Limits { page_items_max: 2, ..folio_core::Limits::default() };
    let world = World::limited(limits).await;
    for id in ["v1", "v2", "v3"] {
        world.publish("hello", id, id).await;
    }
    let versions = format!("{FUNCTIONS}/hello/versions");
    for query in ["", "?limit=100"] {
        let page = world.get(&format!("{versions}{query}")).await.ok();
        assert_eq!((page["items"].as_array().unwrap().len(), &page["next"]), (2, &json!(2)));
    }
    let rest = world.get(&format!("{versions}?after=2")).await.ok();
    assert_eq!((rest["items"].as_array().unwrap().len(), rest.get("next")), (1, None));
}

#[tokio::test]
async fn large_numbers_are_only_large() {
    for world in [World::memory().await, World::directory().await] {
        world.publish("hello", "v1", "one").await;
        let max = u64::MAX;
        let largest = i64::MAX;
        world.get(&format!("{APP}/log?limit={max}&below={largest}")).await.ok();
        world.get(&format!("{APP}/versions?limit={max}&below={largest}")).await.ok();
        let versions = format!("{FUNCTIONS}/hello/versions");
        let page = world.get(&format!("{versions}?after={max}&limit={max}")).await.ok();
        assert_eq!(page, json!({ "items": [] }));
        world.get(&format!("{versions}/{largest}")).await.refused(404, "version_not_found");
        world.get(&format!("{APP}/versions/{largest}")).await.refused(404, "app_version_not_found");
        let undo = world.post(&format!("{APP}/undo"), json!({ "entry": max })).await;
        undo.refused(404, "entry_not_found");
        let time = "time=9999-12-30T22:00:00.999999999Z";
        world.get(&format!("{APP}/at?{time}")).await.ok();
        let time = "time=-009999-01-02T01:59:59Z";
        world.get(&format!("{APP}/at?{time}")).await.refused(404, "no_app_version_yet");
        let revision = format!("\"{max}\"");
        let call =
            world.call("DELETE", &format!("{FUNCTIONS}/hello")).header("if-match", &revision);
        call.send().await.refused(412, "stale");
    }
}

#[tokio::test]
async fn a_body_is_read_strictly_and_says_where_it_is_wrong() {
    let world = World::memory().await;
    let check = async |body: &str, expected: &str| {
        let call = world.call("POST", &format!("{FUNCTIONS}/hello/versions"));
        let call = call.header("content-type", "application/json").body(body.to_owned());
        let error = call.send().await.refused(400, "bad_request");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(expected), "{body}: {message}");
    };
    check("", "EOF").await;
    check("{", "EOF").await;
    check("{} {}", "trailing").await;
    check("[]", "is a list").await;
    check("null", "expected struct").await;
    check("\u{feff}{}", "expected value").await;
    check(r#"{"startt": "fresh"}"#, "startt").await;
    check(r#"{"start": "nowhere"}"#, "start: unknown variant `nowhere`").await;
    check(r#"{"fields": {"env": "nodejs"}}"#, "fields.env: unknown field `env`").await;
    check(r#"{"fields": {"environment": "a b"}}"#, "fields.environment: name `a b`").await;
    check(r#"{"fields": {"deployment": {"tree": "x", "layout": "file"}}}"#, "fields.deployment")
        .await;
    check(r#"{"id": "12"}"#, "looks like a version number").await;
    check(r#"{"id": "v1", "id": "v2"}"#, "duplicate field").await;
    check(&format!(r#"{{"description": {}"#, "[".repeat(100_000)), "description").await;
}

#[tokio::test]
async fn a_body_says_what_it_is() {
    let world = World::memory().await;
    let path = format!("{FUNCTIONS}/hello/versions");
    for kind in ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"] {
        let call = world.call("POST", &path).header("content-type", kind).body("{}");
        call.send().await.refused(400, "bad_request");
    }
    let call = world.call("POST", &path).header("content-type", "Application/JSON; charset=utf-8");
    call.body("{}").send().await.refused(400, "nothing_to_publish");
    world
        .call("DELETE", &path.replace("/versions", ""))
        .body("{}")
        .send()
        .await
        .refused(400, "bad_request");
    world.call("GET", FUNCTIONS).body("x").send().await.refused(400, "bad_request");
}

#[tokio::test]
async fn texts_have_limits() {
    let world = World::memory().await;
    world.publish("hello", "v1", "one").await;
    let path = format!("{FUNCTIONS}/hello/versions/v1");
    let call = world.call("PATCH", &path).json(&json!({ "description": "x".repeat(5000) }));
    call.send().await.refused(413, "text_too_long");
    let call = world.call("POST", &format!("{APP}/undo")).header("folio-reason", &"x".repeat(5000));
    call.send().await.refused(413, "text_too_long");
}

#[tokio::test]
async fn an_app_that_is_not_there_is_said_so() {
    let world = World::memory().await;
    for path in ["functions", "functions/hello", "log", "versions", "versions/latest", "tags"] {
        let reply = world.get(&format!("/folio/v1/apps/nowhere/{path}")).await;
        reply.refused(404, "app_not_found");
    }
}

#[tokio::test]
async fn what_stands_in_the_way_is_named() {
    let world = World::memory().await;
    world.publish("hello", "v1", "one").await;
    let aliases = format!("{FUNCTIONS}/hello/aliases");
    let targets = json!([{ "version": "v1", "weight": 10_000 }]);
    world.post(&aliases, json!({ "name": "qa", "targets": targets })).await.made();
    let error =
        world.delete(&format!("{FUNCTIONS}/hello/versions/v1")).await.refused(409, "in_use");
    assert_eq!(error["referrers"][0]["kind"], "alias");
    assert!(error["hint"].is_string(), "{error}");
}
