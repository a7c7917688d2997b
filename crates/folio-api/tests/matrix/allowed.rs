//! Whoever has a right can use it: requests that are right in every way do what they say for those who may, and nothing for
//! those who may not.

use serde_json::{Value, json};

use super::*;

/// A request that makes sense, the right it needs, and the status it has.
struct Row {
    method: &'static str,
    path: &'static str,
    body: Value,
    right: Right,
    status: u16,
    effect: Effect,
}

/// What a request leaves in the ledger.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Entry,
    Nothing,
}

fn row(
    (method, path): (&'static str, &'static str),
    body: Value,
    right: Right,
    status: u16,
) -> Row {
    let runs = path.ends_with("executions") || path.contains("invoke");
    let effect = if method == "GET" || runs { Effect::Nothing } else { Effect::Entry };
    Row { method, path, body, right, status, effect }
}

/// Every row in turn works for an admin: what a row needs, a row before it made.
fn rows(fields: &Value) -> Vec<Row> {
    let (view, invoke, deploy) = (Right::View, Right::Invoke, Right::Deploy);
    let none = Value::Null;
    let object = |version: &str, kind: &str, name: &str, spec: Value| {
        let metadata = json!({ "name": name });
        json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec })
    };
    let package = json!({
        "environment": { "name": "nodejs" },
        "deployment": { "type": "literal", "literal": "b25l" },
    });
    let package = object("fission.io/v1", "Package", "code", package);
    let job = json!({ "function": "hello", "pattern": "0 6 * * *" });
    let job = object("folio.dev/v1", "Job", "tick", job);
    let run = json!({
        "apiVersion": "folio.dev/v1", "kind": "Execution", "metadata": { "generateName": "run-" },
        "spec": { "function": "hello" },
    });
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    let set = json!({ "fields": { "set": { "colour": "red" } } });
    let version = json!({ "fields": fields, "id": "v2" });
    vec![
        row(("GET", "/folio/v1/apps/shop"), none.clone(), view, 200),
        row(("GET", "/folio/v1/apps/shop/functions/hello"), none.clone(), view, 200),
        row(("POST", "/folio/v1/apps/shop/functions/hello/versions"), version, deploy, 201),
        row(("PATCH", "/folio/v1/apps/shop/configs/settings"), set, deploy, 200),
        row(("POST", "/folio/v1/apps/shop/invoke?function=hello"), none.clone(), invoke, 200),
        row(
            ("POST", "/folio/v1/apps/shop/executions"),
            json!({ "function": "hello" }),
            invoke,
            201,
        ),
        row(("GET", "/apis/fission.io/v1/namespaces/shop/functions"), none.clone(), view, 200),
        row(("GET", "/api/v1/namespaces/shop"), none.clone(), view, 200),
        row(("GET", "/api/v1/namespaces/shop/events"), none.clone(), view, 200),
        row(("POST", "/apis/fission.io/v1/namespaces/shop/packages"), package, deploy, 201),
        row(("PATCH", "/apis/fission.io/v1/namespaces/shop/functions/hello"), labels, deploy, 200),
        row(("POST", "/apis/folio.dev/v1/namespaces/shop/executions"), run, invoke, 201),
        row(("POST", "/apis/folio.dev/v1/namespaces/shop/jobs"), job, deploy, 201),
        row(("DELETE", "/apis/folio.dev/v1/namespaces/shop/jobs/tick"), none.clone(), deploy, 200),
        row(("DELETE", "/folio/v1/apps/shop/functions/hello"), none.clone(), deploy, 200),
        row(("DELETE", "/api/v1/namespaces/shop"), none, Right::Administer, 200),
    ]
}

#[tokio::test]
async fn whoever_may_is_served_and_whoever_may_not_changes_nothing() {
    for grant in grants() {
        let world = World::memory().await;
        world.post("/folio/v1/apps", json!({ "name": OWN })).await.made();
        let fields = world.code("one").await;
        let first = json!({ "fields": fields, "id": "v1" });
        world.post(&format!("/folio/v1/apps/{OWN}/functions/hello/versions"), first).await.made();
        let visitor = Visitor::new(&world, grant.as_ref()).await;
        let admin = Visitor { router: visitor.router.clone(), token: Some(world.token.clone()) };
        for Row { method, path, body, right, status, effect } in rows(&world.code("two").await) {
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let own: AppName = OWN.parse().unwrap();
            let may = grant.as_ref().is_some_and(|grant| grant.allows(right, Some(&own)));
            let before = world.entries();
            let said = visitor.ask(method, path, &body).await;
            let context = format!("{grant:?}: {method} {path}: {said:?}");
            let refusal = if grant.is_some() { 403 } else { 401 };
            assert_eq!(said.status, if may { status } else { refusal }, "{context}");
            let leaves = may && effect == Effect::Entry;
            assert_eq!(world.entries() > before, leaves, "{context}");
            if !may {
                // What the next rows stand on is made by somebody who may.
                let said = admin.ask(method, path, &body).await;
                assert_eq!(said.status, status, "{method} {path}: {said:?}");
            }
        }
    }
}
