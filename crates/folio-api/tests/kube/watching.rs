//! What those see who watch.

use std::time::Duration;

use axum::body::BodyDataStream;
use futures::StreamExt as _;

use super::*;

struct Watcher(BodyDataStream);

impl Watcher {
    async fn start(world: &World, path: &str) -> Self {
        let request = request(world, "GET", path, "", String::new());
        let response = world.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        Self(response.into_body().into_data_stream())
    }

    /// The type of the next event, and its object.
    async fn next(&mut self) -> (String, Value) {
        let waited = tokio::time::timeout(Duration::from_secs(30), self.0.next()).await;
        let line = waited.expect("something happens").expect("the watch lasts").unwrap();
        let event: Value = serde_json::from_slice(&line).unwrap();
        (event["type"].as_str().unwrap().to_owned(), event["object"].clone())
    }

    #[track_caller]
    fn is((event, object): (String, Value), expected: &str, name: &str) {
        assert_eq!(
            (event.as_str(), object["metadata"]["name"].as_str()),
            (expected, Some(name)),
            "{object:#}"
        );
    }
}

#[tokio::test]
async fn every_change_is_told_in_order() {
    let world = World::memory().await;
    hello(&world).await;
    let mut watcher = Watcher::start(&world, &format!("{FISSION}/functions?watch=true")).await;
    Watcher::is(watcher.next().await, "ADDED", "hello");
    let path = format!("{FISSION}/functions/hello");
    ask(&world, "PATCH", &path, json!({"spec": {"functionTimeout": 3}})).await.ok();
    let (event, object) = watcher.next().await;
    assert_eq!(object["spec"]["functionTimeout"], 3);
    let now = get(&world, &path).await.ok();
    assert_eq!(object["metadata"]["resourceVersion"], now["metadata"]["resourceVersion"]);
    Watcher::is((event, object), "MODIFIED", "hello");
    ask(&world, "DELETE", &path, Value::Null).await.ok();
    Watcher::is(watcher.next().await, "DELETED", "hello");
    ask(&world, "POST", &format!("{FISSION}/functions"), function("again", "code")).await.ok();
    Watcher::is(watcher.next().await, "ADDED", "again");
}

#[tokio::test]
async fn what_enters_and_leaves_a_selection_comes_and_goes() {
    let world = World::memory().await;
    hello(&world).await;
    let list = get(&world, &format!("{FISSION}/functions?labelSelector=tier%3Dweb")).await.ok();
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap();
    let path = format!(
        "{FISSION}/functions?watch=true&labelSelector=tier%3Dweb&resourceVersion={revision}"
    );
    let mut watcher = Watcher::start(&world, &path).await;
    let path = format!("{FISSION}/functions/hello");
    for (tier, expected) in [("db", "DELETED"), ("web", "ADDED")] {
        ask(&world, "PATCH", &path, json!({"metadata": {"labels": {"tier": tier}}})).await.ok();
        Watcher::is(watcher.next().await, expected, "hello");
    }
}

#[tokio::test]
async fn what_there_was_ends_with_a_bookmark_for_those_who_ask() {
    let world = World::memory().await;
    hello(&world).await;
    let path = format!(
        "{FISSION}/functions?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let mut watcher = Watcher::start(&world, &path).await;
    Watcher::is(watcher.next().await, "ADDED", "hello");
    let (event, object) = watcher.next().await;
    assert_eq!(event, "BOOKMARK");
    assert_eq!(object["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(object["metadata"]["resourceVersion"], world.entries().to_string());
}

#[tokio::test]
async fn what_are_no_units_can_be_watched_too() {
    let world = World::memory().await;
    let mut watcher = Watcher::start(&world, "/api/v1/namespaces?watch=true").await;
    Watcher::is(watcher.next().await, "ADDED", "default");
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    ask(&world, "POST", "/api/v1/namespaces", space).await.ok();
    loop {
        let (event, object) = watcher.next().await;
        if object["metadata"]["name"] == "shop" {
            assert_eq!(event, "ADDED");
            break;
        }
    }
}

#[tokio::test]
async fn a_watch_ends_when_its_time_is_up() {
    let world = World::memory().await;
    let path = format!("{FISSION}/functions?watch=true&timeoutSeconds=0");
    let mut watcher = Watcher::start(&world, &path).await;
    assert!(watcher.0.next().await.is_none());
}
