//! Everything that a body can name, in every face and kind: what is in another app is refused as if the other app had
//! nothing, nothing of it is run, and nothing is changed.

use serde_json::{Value, json};

use super::others::{bare, fill};
use super::*;

/// A request whose body names a function.
struct Row {
    method: &'static str,
    path: String,
    body: Value,
    /// What those are told who may make such things in their own app.
    status: u16,
}

/// The word that stands for the function that is named.
const NAMED: &str = "NAMED";

fn row(method: &'static str, path: impl Into<String>, body: Value, status: u16) -> Row {
    Row { method, path: path.into(), body, status }
}

fn object(version: &str, kind: &str, name: &str, spec: &Value) -> Value {
    let metadata = json!({ "name": name });
    json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec })
}

/// An object that is made, rehearsed and applied.
fn made(version: &str, kind: &str, name: &str, spec: &Value, status: u16) -> Vec<Row> {
    let plural = match kind {
        "Alias" => "aliases".to_owned(),
        "FunctionAlias" => "functionaliases".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    let (all, body) =
        (format!("/apis/{version}/namespaces/{OWN}/{plural}"), object(version, kind, name, spec));
    vec![
        row("POST", &all, body.clone(), status),
        row("POST", format!("{all}?dryRun=All"), body.clone(), status),
        row("PATCH", format!("{all}/{name}?fieldManager=me"), body.clone(), status),
        row("PATCH", format!("{all}/{name}?fieldManager=me&dryRun=All"), body, status),
    ]
}

/// What runs functions, which takes whole references.
fn runs() -> Vec<Row> {
    let executions = format!("/apis/folio.dev/v1/namespaces/{OWN}/executions");
    let run = json!({
        "apiVersion": "folio.dev/v1", "kind": "Execution", "metadata": { "generateName": "run-" },
        "spec": { "function": NAMED, "mode": "sync" },
    });
    let applied = object("folio.dev/v1", "Execution", "mine", &json!({ "function": NAMED }));
    let job = json!({ "function": NAMED, "pattern": "0 6 * * *" });
    let moved = json!({ "spec": { "function": NAMED } });
    let mut rows = vec![
        row("POST", &executions, run.clone(), 403),
        row("POST", format!("{executions}?dryRun=All"), run, 403),
        // folio names each, so nothing else about it is looked at.
        row("POST", &executions, applied.clone(), 422),
        row("PATCH", format!("{executions}/mine?fieldManager=me"), applied, 422),
        row("PATCH", format!("/apis/folio.dev/v1/namespaces/{OWN}/jobs/tick"), moved, 403),
    ];
    rows.extend(made("folio.dev/v1", "Job", "mine", &job, 403));
    rows.extend(made("folio.dev/v1", "Webhook", "mine", &json!({ "function": NAMED }), 403));
    let app = format!("/folio/v1/apps/{OWN}");
    let canary = |alias: &str, old: &str, new: &str| {
        let canary = json!({ "alias": alias, "old": old, "new": new });
        row("POST", format!("{app}/canaries"), json!({ "name": "mine", "canary": canary }), 403)
    };
    rows.extend([
        row("POST", format!("{app}/executions"), json!({ "function": NAMED }), 403),
        row("POST", format!("{app}/jobs"), job, 403),
        row("POST", format!("{app}/webhooks"), json!({ "function": NAMED }), 403),
        row("POST", format!("{app}/tags/mine/members"), json!({ "functions": [NAMED] }), 403),
        row("POST", format!("{app}/invoke?function={NAMED}"), Value::Null, 403),
        row("GET", format!("{app}/resolve?kind=function&ref={NAMED}"), Value::Null, 403),
        row("GET", format!("{app}/diff?kind=function&from={NAMED}&to=mine"), Value::Null, 403),
        row("GET", format!("{app}/diff?kind=function&from=mine&to={NAMED}"), Value::Null, 403),
        canary(NAMED, "mine@1", "mine@2"),
        canary("mine@qa", NAMED, "mine@2"),
        canary("mine@qa", "mine@1", NAMED),
    ]);
    rows
}

/// What leads to functions, which takes those of its own app only.
fn leads() -> Vec<Row> {
    let reference = json!({ "type": "name", "name": NAMED });
    let fission = [
        ("HTTPTrigger", json!({ "relativeurl": "/x", "functionref": reference })),
        ("TimeTrigger", json!({ "cron": "@hourly", "functionref": reference })),
        (
            "MessageQueueTrigger",
            json!({ "messageQueueType": "nats", "topic": "x", "functionref": reference }),
        ),
        (
            "KubernetesWatchTrigger",
            json!({ "namespace": OWN, "type": "POD", "functionref": reference }),
        ),
        (
            "CanaryConfig",
            json!({
                "trigger": "none", "newfunction": NAMED, "oldfunction": "mine",
                "weightincrement": 10, "duration": "1m", "failurethreshold": 5,
            }),
        ),
        ("FunctionAlias", json!({ "functionName": NAMED, "version": "1" })),
        ("FunctionAlias", json!({ "functionName": "mine", "version": NAMED })),
    ];
    let folio = [
        ("Alias", json!({ "function": NAMED, "weights": [{ "number": 1 }] })),
        ("Alias", json!({ "function": "mine", "weights": [{ "version": NAMED }] })),
        ("Tag", json!({ "members": [{ "function": NAMED, "number": 1 }] })),
        ("Tag", json!({ "members": [{ "function": "mine", "version": NAMED }] })),
        ("CanaryConfig", json!({ "route": "none", "new": NAMED, "old": "mine" })),
        ("CanaryConfig", json!({ "route": "none", "new": "mine", "old": NAMED })),
    ];
    let of = |(kind, spec): &(&str, Value), version| made(version, kind, "mine-x", spec, 422);
    let mut rows: Vec<_> = fission.iter().flat_map(|each| of(each, "fission.io/v1")).collect();
    rows.extend(folio.iter().flat_map(|each| of(each, "folio.dev/v1")));
    let app = format!("/folio/v1/apps/{OWN}");
    let targets = json!([{ "function": NAMED, "weight": 10_000 }]);
    let route = json!({ "fields": { "path": "/x", "targets": targets } });
    let timer = json!({ "fields": { "trigger": "timer", "cron": "@hourly", "targets": targets } });
    rows.push(row("POST", format!("{app}/routes"), route, 422));
    rows.push(row("POST", format!("{app}/triggers"), timer, 422));
    let manifests = fission.iter().map(|each| ("fission.io/v1", each));
    for (version, (kind, spec)) in manifests.chain(folio.iter().map(|each| ("folio.dev/v1", each)))
    {
        let manifest = object(version, kind, "mine-x", spec);
        let document = json!({ "at": "a.yaml", "manifest": manifest });
        let body = json!({ "deployment": { "uid": "1", "name": "x" }, "documents": [document] });
        rows.push(row("POST", format!("{app}/deployments"), body, 422));
    }
    rows
}

/// What a row is told when it names something, without what it named.
async fn told(visitor: &Visitor, row: &Row, named: &str) -> (u16, String) {
    let path = row.path.replace(NAMED, named);
    let body = row.body.to_string().replace(NAMED, named);
    let body = if row.body.is_null() { "" } else { &body };
    let said = bare(visitor.ask(row.method, &path, body).await, "");
    let words = ["sesame", "nothing", MISSING];
    (said.status, words.iter().fold(said.text, |text, word| text.replace(word, "_")))
}

#[tokio::test]
async fn what_a_body_names_in_another_app_is_refused_the_same_whatever_is_there() {
    let world = World::memory().await;
    fill(&world).await;
    let own = json!({ "fields": world.code("mine").await, "id": "v1" });
    world.post(&format!("/folio/v1/apps/{OWN}/functions/mine/versions"), own).await.made();
    let job = json!({ "function": "mine", "name": "tick", "pattern": "0 6 * * *" });
    world.post(&format!("/folio/v1/apps/{OWN}/jobs"), job).await.made();
    let ran = async || {
        let all = world.get("/folio/v1/apps/sesame/executions").await.ok();
        all["items"].as_array().unwrap().len()
    };
    let before = ran().await;
    for grant in grants().into_iter().flatten().filter(|grant| grant.app.is_some()) {
        let visitor = Visitor::new(&world, Some(&grant)).await;
        let entries = world.entries();
        for row in runs().iter().chain(&leads()) {
            let context = format!("{}: {} {} {}", grant.role, row.method, row.path, row.body);
            let there = told(&visitor, row, "sesame/sesame").await;
            for nowhere in ["sesame/nothing", "missing/nothing"] {
                assert_eq!(there, told(&visitor, row, nowhere).await, "{context}");
            }
            let expected = if grant.role.has(Right::Deploy) { row.status } else { 403 };
            // What cannot be read at all is found before it is asked who may name it.
            let is_said = there.0 == expected || there.0 == 400 && row.status == 422;
            let is_open = grant.role == Role::Invoker && row.method == "POST" && there.0 == 422;
            assert!(is_said || is_open, "{context}: {there:?}");
        }
        assert_eq!(world.entries(), entries, "{grant:?} changed something");
        assert_eq!(ran().await, before, "{grant:?} ran something");
    }
}

#[tokio::test]
async fn an_execution_of_another_app_is_made_there_by_those_who_may() {
    let world = World::memory().await;
    fill(&world).await;
    let visitor = Visitor::new(&world, Some(&Grant { role: Role::Invoker, app: None })).await;
    let run = json!({
        "apiVersion": "folio.dev/v1", "kind": "Execution", "metadata": { "generateName": "run-" },
        "spec": { "function": "sesame/sesame" },
    });
    let path = |app: &str| format!("/apis/folio.dev/v1/namespaces/{app}/executions");
    let said = visitor.ask("POST", &path(OWN), &run.to_string()).await;
    assert_eq!(said.status, 422, "{}", said.text);
    assert!(said.text.contains("-n sesame"), "{}", said.text);
    let said = visitor.ask("POST", &path("sesame"), &run.to_string()).await;
    assert_eq!(said.status, 201, "{}", said.text);
}
