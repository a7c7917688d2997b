//! Whoever watches is told of their own app and of no other: neither what there is, nor what happens.

use std::time::Duration;

use axum::body::BodyDataStream;
use futures::StreamExt as _;
use serde_json::{Value, json};

use super::*;

/// Every list of the Kubernetes-style face, in an app.
fn lists() -> Vec<String> {
    let all = endpoints().into_iter().filter(|endpoint| {
        let Endpoint { face, method, path } = endpoint;
        *face == Face::Kubernetes
            && method == "GET"
            && path.contains("/namespaces/{namespace}/")
            && !path.contains("{name}")
    });
    all.map(|endpoint| endpoint.path).collect()
}

async fn watch(visitor: &Visitor, path: &str) -> axum::response::Response {
    let token = visitor.token.as_deref().unwrap_or_default();
    let request = Request::builder().uri(path).header("authorization", format!("Bearer {token}"));
    visitor.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

/// Makes one of everything that can be made, with a word in all their names.
async fn fill(world: &World, app: &str, word: &str) {
    let app = format!("/folio/v1/apps/{app}");
    let fields = world.code(word).await;
    let post = |path: &str, body: Value| {
        let path = format!("{app}{path}");
        async move { world.post(&path, body).await.made() }
    };
    let version = json!({ "fields": fields, "id": format!("{word}-v1") });
    post(&format!("/functions/{word}/versions"), version).await;
    let targets = json!([{ "version": "1", "weight": 10_000 }]);
    let alias = json!({ "name": format!("{word}-qa"), "targets": targets });
    post(&format!("/functions/{word}/aliases"), alias).await;
    let job = json!({ "function": word, "name": word, "pattern": "0 0 * * *" });
    post("/jobs", job).await;
    post("/secrets", json!({ "name": word, "fields": { "set": { "key": "value" } } })).await;
}

#[tokio::test]
async fn a_watch_needs_the_right_to_see_the_app() {
    let world = World::memory().await;
    for app in [OWN, "sesame"] {
        world.post("/folio/v1/apps", json!({ "name": app })).await.made();
    }
    fill(&world, "sesame", "sesame").await;
    for grant in grants() {
        let visitor = Visitor::new(&world, grant.as_ref()).await;
        let sees = |app: &str| {
            let app: AppName = app.parse().unwrap();
            grant.as_ref().is_some_and(|grant| grant.allows(Right::View, Some(&app)))
        };
        for list in lists() {
            let ask = async |app: &str| {
                let path = list.replace("{namespace}", app) + "?watch=true&timeoutSeconds=0";
                let said = visitor.ask("GET", &path, "").await;
                (said.status, said.text.replace(app, "_"))
            };
            let refusal = if grant.is_some() { 403 } else { 401 };
            let (own, other, missing) = (ask(OWN).await, ask("sesame").await, ask(MISSING).await);
            let context = format!("{grant:?}: {list}");
            assert_eq!(own.0 == refusal, !sees(OWN), "{context}: {own:?}");
            assert_eq!(other.0 == refusal, !sees("sesame"), "{context}: {other:?}");
            if other.0 == refusal {
                assert_eq!(bare(other), bare(missing), "{context}");
            }
            assert!(!own.1.contains("sesame"), "{context}: {own:?}");
            let all = list.replace("/namespaces/{namespace}", "");
            let said = visitor.ask("GET", &format!("{all}?watch=true&timeoutSeconds=0"), "").await;
            let everywhere = grant.as_ref().is_some_and(|grant| grant.allows(Right::View, None));
            assert_eq!(said.status == refusal, !everywhere, "{context}: {said:?}");
        }
    }
}

/// An answer without what no two of them share.
fn bare((status, text): (u16, String)) -> (u16, Value) {
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// Everything a watch tells until something holds a word.
async fn told_until(mut lines: BodyDataStream, word: &str) -> String {
    let mut told = String::new();
    while !told.contains(word) {
        let line = tokio::time::timeout(Duration::from_secs(30), lines.next()).await;
        let line = line.unwrap_or_else(|_| panic!("`{word}` was never told of: {told}"));
        told.push_str(&String::from_utf8_lossy(&line.expect("the watch lasts").unwrap()));
    }
    told
}

#[tokio::test]
async fn what_happens_in_another_app_is_not_told_to_whoever_watches_their_own() {
    let world = World::memory().await;
    for app in [OWN, "sesame"] {
        world.post("/folio/v1/apps", json!({ "name": app })).await.made();
    }
    let grant = Grant { role: Role::Viewer, app: Some(OWN.parse().unwrap()) };
    let visitor = Visitor::new(&world, Some(&grant)).await;
    let mut watches = Vec::new();
    for plural in ["functions", "packages", "functionversions", "aliases", "releases", "jobs"] {
        let path = format!("/apis/folio.dev/v1/namespaces/{OWN}/{plural}?watch=true");
        watches.push((plural, watch(&visitor, &path).await));
    }
    for plural in ["secrets", "events"] {
        let path = format!("/api/v1/namespaces/{OWN}/{plural}?watch=true");
        watches.push((plural, watch(&visitor, &path).await));
    }
    // What is told of one's own app comes after what would have been told of the other.
    fill(&world, "sesame", "sesame").await;
    fill(&world, OWN, "parsley").await;
    for (plural, response) in watches {
        assert_eq!(response.status(), 200, "{plural}");
        // A release has an id of its own; its app's name is what it is known by.
        let word = if plural == "releases" { OWN } else { "parsley" };
        let told = told_until(response.into_body().into_data_stream(), word).await;
        assert!(!told.contains("sesame"), "{plural}: {told}");
    }
}
