//! Requests that were right until somebody changed something about them: whatever that was, the answer is no failure of
//! the server's, and what is refused changes nothing.

use axum::body::Bytes;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// A request to be spoilt.
#[derive(Clone)]
struct Sample {
    method: &'static str,
    path: String,
    media: &'static str,
    body: Vec<u8>,
}

impl std::fmt::Debug for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { method, path, media, body } = self;
        write!(f, "{method} {path} {media} {}", String::from_utf8_lossy(body))
    }
}

/// What is done to it.
#[derive(Debug, Clone)]
enum Change {
    /// A byte of the body is another.
    Byte(Index, u8),
    /// The body ends early.
    Cut(Index),
    /// A value somewhere in the body is another.
    Value(Index, Value),
    /// Something in the body is gone.
    Without(Index),
    /// The body is said to be of another type.
    Media(&'static str),
    /// It is asked in another way.
    Method(&'static str),
    /// A part of the path is another.
    Path(Index, &'static str),
    /// A parameter is added.
    Query(&'static str, &'static str),
}

const MEDIA: [&str; 9] = [
    "",
    "text/plain",
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
];

const PARAMETERS: [&str; 15] = [
    "labelSelector",
    "fieldSelector",
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "allowWatchBookmarks",
    "dryRun",
    "fieldManager",
    "fieldValidation",
    "force",
    "propagationPolicy",
    "includeObject",
    "watch",
];

const VALUES: [&str; 20] = [
    "",
    "0",
    "1",
    "-1",
    "true",
    "All",
    "Strict",
    "Exact",
    "NotOlderThan",
    "Foreground",
    "x",
    "%ff",
    "%00",
    "a%3Db",
    "a%20in%20(b%2C",
    "metadata.name%3Dhello",
    "18446744073709551615",
    "99999999999999999999999",
    "eyJyZXZpc2lvbiI6MSwiYXBwIjoiZGVmYXVsdCIsIm5hbWUiOiJhIn0",
    "eyJyZXZpc2lvbiI6OTk5OSwiYXBwIjoiZGVmYXVsdCIsIm5hbWUiOiJhIn0",
];

const PARTS: [&str; 12] = [
    "",
    "x",
    "Hello",
    "hello",
    "status",
    "namespaces",
    "default",
    "%ff",
    "%2e%2e",
    "a%2Fb",
    "v1",
    "functions",
];

#[expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]
fn samples() -> Vec<Sample> {
    let sample = |method, path: String, media, body: Value| {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        Sample { method, path, media, body }
    };
    let functions = format!("{FISSION}/functions");
    let hello = format!("{functions}/hello");
    let merge = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "functionTimeout": 9 } });
    let steps = json!([
        { "op": "test", "path": "/metadata/name", "value": "hello" },
        { "op": "add", "path": "/metadata/labels/x", "value": "y" },
    ]);
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": { "verb": "get", "resource": "functions", "namespace": "x" } },
    });
    let map = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "k": "v" } });
    let mut secret = map("secret");
    secret["kind"] = "Secret".into();
    secret["data"]["k"] = "dg==".into();
    let namespace = "/api/v1/namespaces/default";
    let convert = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {
            "uid": "1", "desiredAPIVersion": "folio.dev/v1beta1", "objects": [{
                "apiVersion": "folio.dev/v1", "kind": "Function", "metadata": { "name": "a" },
                "spec": { "environment": "nodejs", "package": { "name": "code" } },
            }],
        },
    });
    let json = "application/json";
    let applied = "application/apply-patch+yaml";
    let of_folio = |kind: &str, name: &str, spec: Value| json!({ "apiVersion": "folio.dev/v1", "kind": kind, "metadata": { "name": name }, "spec": spec });
    let times = json!({
        "function": "hello", "pattern": "0 6 * * *", "first": "2126-01-01T00:00:00Z", "count": 3,
        "input": { "n": 1 }, "misfire": "all", "state": "running", "description": "x",
    });
    let called = json!({
        "function": "hello", "callsPerMinuteMax": 5, "signing": { "secret": "s", "key": "k" },
    });
    vec![
        sample("POST", format!("{FOLIO}/jobs"), json, of_folio("Job", "tick", times.clone())),
        sample(
            "PATCH",
            format!("{FOLIO}/jobs/tick?fieldManager=x"),
            applied,
            of_folio("Job", "tick", times),
        ),
        sample("POST", format!("{FOLIO}/webhooks"), json, of_folio("Webhook", "hook", called)),
        sample(
            "POST",
            format!("{FOLIO}/domains"),
            json,
            of_folio("Domain", "a.example.com", json!({ "host": "a.example.com" })),
        ),
        sample(
            "DELETE",
            format!("{FOLIO}/functionversions/hello-x"),
            json,
            json!({ "dryRun": ["All"] }),
        ),
        sample("POST", functions.clone(), json, function("new", "code")),
        sample("POST", format!("{FISSION}/packages"), json, package("more", "x")),
        sample("PUT", hello.clone(), json, function("hello", "code")),
        sample("PATCH", hello.clone(), "application/merge-patch+json", merge.clone()),
        sample("PATCH", format!("{hello}/status"), "application/merge-patch+json", merge),
        sample("PATCH", hello.clone(), "application/json-patch+json", steps),
        sample("PATCH", format!("{hello}?fieldManager=x"), applied, function("hello", "code")),
        sample(
            "PATCH",
            format!("{functions}/fresh?fieldManager=x"),
            applied,
            function("fresh", "code"),
        ),
        sample("DELETE", hello.clone(), json, json!({ "dryRun": ["All"] })),
        sample("GET", functions.clone(), json, Value::Null),
        sample("GET", hello, json, Value::Null),
        sample("GET", format!("{FOLIO}/functionversions"), json, Value::Null),
        sample("POST", format!("{namespace}/configmaps"), json, map("map")),
        sample(
            "PATCH",
            format!("{namespace}/configmaps/map"),
            "application/merge-patch+json",
            json!({ "data": { "k": "w" } }),
        ),
        sample("POST", format!("{namespace}/secrets"), json, secret),
        sample(
            "POST",
            "/api/v1/namespaces".to_owned(),
            json,
            json!({ "metadata": { "name": "more" } }),
        ),
        sample("GET", "/apis".to_owned(), json, Value::Null),
        sample(
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".to_owned(),
            json,
            review,
        ),
        sample("POST", "/convert".to_owned(), json, convert),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let odd = vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(1.5e300),
        json!(""),
        json!("x"),
        json!("x".repeat(5_000)),
        json!("\u{0}\u{feff}ä"),
        json!([]),
        json!({}),
        json!([[[{}]]]),
        json!({ "a": { "b": null } }),
    ];
    select(odd)
}

fn changes() -> impl Strategy<Value = Change> {
    prop_oneof![
        2 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        1 => any::<Index>().prop_map(Change::Cut),
        6 => (any::<Index>(), values()).prop_map(|(at, value)| Change::Value(at, value)),
        3 => any::<Index>().prop_map(Change::Without),
        1 => select(&MEDIA[..]).prop_map(Change::Media),
        1 => select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]).prop_map(Change::Method),
        2 => (any::<Index>(), select(&PARTS[..])).prop_map(|(at, part)| Change::Path(at, part)),
        3 => (select(&PARAMETERS[..]), select(&VALUES[..])).prop_map(|(key, value)| Change::Query(key, value)),
    ]
}

/// Every place in a value, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(entries) => {
            entries
                .iter()
                .for_each(|(key, value)| places(value, &format!("{at}/{}", escape(key)), found));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| places(item, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

impl Sample {
    fn spoil(&mut self, change: &Change) {
        match change {
            Change::Byte(at, byte) if !self.body.is_empty() => {
                let at = at.index(self.body.len());
                self.body[at] = *byte;
            }
            Change::Cut(at) if !self.body.is_empty() => {
                self.body.truncate(at.index(self.body.len()));
            }
            Change::Value(at, value) => self.edit(at, Some(value)),
            Change::Without(at) => self.edit(at, None),
            Change::Media(media) => self.media = media,
            Change::Method(method) => self.method = method,
            Change::Path(at, part) => {
                let (path, query) = self.path.split_once('?').unwrap_or((&self.path, ""));
                let mut parts: Vec<_> = path.split('/').collect();
                let at = 1 + at.index(parts.len() - 1);
                parts[at] = part;
                self.path = format!("{}?{query}", parts.join("/"));
            }
            Change::Query(key, value) => {
                let mark = if self.path.contains('?') { '&' } else { '?' };
                self.path = format!("{}{mark}{key}={value}", self.path);
            }
            Change::Byte(..) | Change::Cut(_) => {}
        }
    }

    /// Puts something else, or nothing, somewhere in the body.
    fn edit(&mut self, at: &Index, new: Option<&Value>) {
        let Ok(mut value) = serde_json::from_slice::<Value>(&self.body) else { return };
        let mut all = Vec::new();
        places(&value, "", &mut all);
        let place = &all[at.index(all.len())];
        match new {
            Some(new) => *value.pointer_mut(place).unwrap() = new.clone(),
            None => {
                let Some((parent, name)) = place.rsplit_once('/') else { return };
                match value.pointer_mut(parent).unwrap() {
                    Value::Object(entries) => drop(entries.remove(&name.replace("~1", "/"))),
                    Value::Array(items) => drop(items.remove(name.parse().unwrap())),
                    _ => {}
                }
            }
        }
        self.body = value.to_string().into_bytes();
    }

    /// The request. A watch that is asked for ends at once.
    fn request(&self, world: &World) -> Option<Request<Body>> {
        let mark = if self.path.contains('?') { '&' } else { '?' };
        Request::builder()
            .method(self.method)
            .uri(format!("{}{mark}timeoutSeconds=0", self.path))
            .header("authorization", format!("Bearer {}", world.token))
            .header("content-type", self.media)
            .body(Body::from(Bytes::from(self.body.clone())))
            .ok()
    }
}

#[test]
fn whatever_is_changed_about_a_request_it_is_answered_and_a_refusal_changes_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = runtime.block_on(async {
        let world = World::memory().await;
        hello(&world).await;
        world
    });
    let strategy = (select(samples()), prop::collection::vec(changes(), 1..4));
    let config = Config {
        cases: Config::default().cases.max(1_500),
        failure_persistence: None,
        ..Config::default()
    };
    let tried = TestRunner::new(config).run(&strategy, |(mut sample, changes)| {
        changes.iter().for_each(|change| sample.spoil(change));
        let Some(request) = sample.request(&world) else { return Ok(()) };
        let before = world.entries();
        let answer = runtime.block_on(send(&world, request));
        let after = world.entries();
        // A client that is ahead of the server is told to come again.
        let is_ahead = answer.status == 504 && answer.body["reason"] == "Timeout";
        prop_assert!(answer.status < 500 || is_ahead, "{}: {:#}", answer.status, answer.body);
        if answer.status >= 400 {
            prop_assert_eq!(before, after, "{}: {:#}", answer.status, answer.body);
            let is_status = answer.body["kind"] == "Status" && answer.body["code"] == answer.status;
            // Another path may be one of another face.
            let is_elsewhere =
                answer.body["error"]["code"].is_string() || answer.body["faultstring"].is_string();
            prop_assert!(is_status || is_elsewhere, "{}: {:#}", answer.status, answer.body);
        }
        Ok(())
    });
    if let Err(error) = tried {
        panic!("{error}");
    }
}
