//! Sending a request again, and sending it on a condition.

use serde_json::{Value, json};

use crate::client::{APP, FUNCTIONS, Reply, World};

async fn with_key(world: &World, key: &str, path: &str, body: &Value) -> Reply {
    world.call("POST", path).header("idempotency-key", key).json(body).send().await
}

#[tokio::test]
async fn the_same_key_gives_the_same_answer_and_no_second_entry() {
    for world in [World::memory().await, World::directory().await] {
        let path = format!("{FUNCTIONS}/hello/versions");
        let body = json!({ "fields": world.code("one").await });
        let first = with_key(&world, "k1", &path, &body).await;
        let entries = world.entries();
        let again = with_key(&world, "k1", &path, &body).await;
        assert_eq!(first.made(), again.made());
        assert_eq!(first.header("etag"), again.header("etag"));
        assert_eq!(world.entries(), entries);
        let other = with_key(&world, "k2", &path, &body).await.made();
        assert_ne!(other["version"]["number"], first.json()["version"]["number"]);
    }
}

#[tokio::test]
async fn a_repeated_draft_is_made_once() {
    for world in [World::memory().await, World::directory().await] {
        let body = json!({ "name": "hello", "fields": world.code("one").await });
        let first = with_key(&world, "k1", FUNCTIONS, &body).await;
        let entries = world.entries();
        let again = with_key(&world, "k1", FUNCTIONS, &body).await;
        assert_eq!(first.made(), again.made());
        assert_eq!(world.entries(), entries);
    }
}

#[tokio::test]
async fn a_repeated_deletion_is_answered_though_nothing_is_left_to_delete() {
    for world in [World::memory().await, World::directory().await] {
        let path = format!("{FUNCTIONS}/hello/versions");
        world.post(&path, json!({ "fields": world.code("one").await })).await.made();
        let delete = async || {
            let call = world.call("DELETE", &format!("{path}/1"));
            call.header("idempotency-key", "k1").send().await.ok()
        };
        let first = delete().await;
        assert_eq!(delete().await, first);
    }
}

#[tokio::test]
async fn a_key_stands_for_one_request() {
    let world = World::memory().await;
    let body = json!({ "fields": world.code("one").await });
    let path = format!("{FUNCTIONS}/hello/versions");
    with_key(&world, "k", &path, &body).await.made();
    let entries = world.entries();
    let other_body = json!({ "fields": world.code("two").await });
    let code = "idempotency_key_reused";
    with_key(&world, "k", &path, &other_body).await.refused(409, code);
    let other_path = format!("{FUNCTIONS}/other/versions");
    with_key(&world, "k", &other_path, &body).await.refused(409, code);
    let call = world.call("POST", &path).header("idempotency-key", "k").json(&body);
    call.header("if-match", "\"1\"").send().await.refused(409, code);
    assert_eq!(world.entries(), entries);
}

#[tokio::test]
async fn a_key_of_someone_else_gives_nothing_away() {
    let mut world = World::memory().await;
    let body = json!({ "fields": world.code("one").await });
    let path = format!("{FUNCTIONS}/hello/versions");
    with_key(&world, "k", &path, &body).await.made();
    let token = world.folio.draw_token();
    world.folio.admit(&"bob".parse().unwrap(), &token).await.unwrap();
    world.token = token.reveal();
    with_key(&world, "k", &path, &body).await.refused(409, "idempotency_key_reused");
}

#[tokio::test]
async fn a_refusal_is_not_remembered() {
    let world = World::memory().await;
    let path = format!("{FUNCTIONS}/hello/versions");
    let body = json!({ "start": "latest", "description": "again" });
    with_key(&world, "k", &path, &body).await.refused(404, "unit_not_found");
    world.publish("hello", "v1", "one").await;
    with_key(&world, "k", &path, &body).await.made();
}

#[tokio::test]
async fn odd_keys_are_refused() {
    let world = World::memory().await;
    let long = "k".repeat(201);
    for key in ["", &long] {
        with_key(&world, key, &format!("{APP}/undo"), &json!({})).await.refused(400, "bad_request");
    }
    let call = world.call("POST", &format!("{APP}/undo")).header("idempotency-key", "a");
    call.header("idempotency-key", "b").send().await.refused(400, "bad_request");
}

#[tokio::test]
async fn a_stale_condition_changes_nothing() {
    let world = World::memory().await;
    world.publish("hello", "v1", "one").await;
    let unit = format!("{FUNCTIONS}/hello");
    let shown = world.get(&unit).await;
    let (seen, revision) = (shown.header("etag").to_owned(), shown.ok()["revision"].clone());
    assert_eq!(seen, format!("\"{revision}\""));
    let body = json!({ "start": "latest", "description": "more" });
    let versions = format!("{unit}/versions");
    let publish = |condition: &str| {
        world.call("POST", &versions).header("if-match", condition).json(&body).send()
    };
    publish(&seen).await.made();
    let entries = world.entries();
    publish(&seen).await.refused(412, "stale");
    world.call("DELETE", &unit).header("if-match", &seen).send().await.refused(412, "stale");
    let patch = world.call("PATCH", &unit).header("if-match", &seen);
    let fields = json!({ "fields": { "entrypoint": "main" } });
    patch.json(&fields).send().await.refused(412, "stale");
    assert_eq!(world.entries(), entries);
    publish("*").await.refused(400, "bad_request");
    publish("7").await.refused(400, "bad_request");
}

#[tokio::test]
async fn an_alias_moves_on_a_condition() {
    let world = World::memory().await;
    world.publish("hello", "v1", "one").await;
    world.publish("hello", "v2", "two").await;
    let aliases = format!("{FUNCTIONS}/hello/aliases");
    let to = |version: &str| json!({ "targets": [{ "version": version, "weight": 10_000 }] });
    let body = json!({ "name": "qa", "targets": [{ "version": "v1", "weight": 10_000 }] });
    let made = world.post(&aliases, body.clone()).await;
    let seen = made.header("etag").to_owned();
    made.made();
    world.post(&aliases, body).await.refused(409, "alias_exists");
    let alias = format!("{aliases}/qa");
    let put = |condition: &str, version: &str| {
        world.call("PUT", &alias).header("if-match", condition).json(&to(version)).send()
    };
    put("*", "v2").await.ok();
    put(&seen, "v1").await.refused(412, "stale");
    world.call("DELETE", &alias).header("if-match", &seen).send().await.refused(412, "stale");
    let other = format!("{aliases}/prod");
    let absent = world.call("PUT", &other).header("if-match", "*").json(&to("v1"));
    absent.send().await.refused(404, "alias_not_found");
}

#[tokio::test]
async fn a_condition_that_would_not_be_looked_at_is_refused() {
    let world = World::memory().await;
    world.publish("hello", "v1", "one").await;
    let undo = world.call("POST", &format!("{APP}/undo")).header("if-match", "\"1\"");
    undo.send().await.refused(400, "bad_request");
    let path = format!("{FUNCTIONS}/hello/versions/v1");
    let describe = world.call("PATCH", &path).header("if-match", "\"1\"");
    describe.json(&json!({ "description": "x" })).send().await.refused(400, "bad_request");
}

#[tokio::test]
async fn reason_and_git_reach_the_log() {
    let world = World::memory().await;
    let body = json!({ "fields": world.code("one").await });
    let call = world.call("POST", &format!("{FUNCTIONS}/hello/versions")).json(&body);
    let git = "%7B%22commit%22%3A%22abc%22%2C%22branch%22%3A%22main%22%2C%22clean%22%3Atrue%7D";
    call.header("folio-reason", "f%C3%BCr%20Anna").header("folio-git", git).send().await.made();
    let log = world.get(&format!("{APP}/log?limit=1")).await.ok();
    assert_eq!(log["items"][0]["reason"], "für Anna");
    assert_eq!(log["items"][0]["git"], json!({ "commit": "abc", "branch": "main", "clean": true }));
    assert_eq!(log["items"][0]["by"], "ada");
    for (name, value) in [
        ("folio-reason", "%ff"),
        ("folio-git", "abc"),
        ("folio-git", "%7B%7D"),
        (
            "folio-git",
            "%7B%22commit%22%3A%22%5Cu001b%22%2C%22branch%22%3A%22%22%2C%22clean%22%3Atrue%7D",
        ),
    ] {
        let call = world.call("POST", &format!("{APP}/undo")).header(name, value);
        call.send().await.refused(400, "bad_request");
    }
}
