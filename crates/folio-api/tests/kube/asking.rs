//! What clients may ask for in more than one way: how strictly a body is read, in which form it comes, and what answers look
//! like.

use super::access::{message, protobuf};
use super::*;

fn coloured(name: &str) -> Value {
    let mut object = function(name, "code");
    object["spec"]["colour"] = "red".into();
    object
}

#[tokio::test]
async fn an_unknown_field_is_refused_told_or_ignored_as_asked() {
    let world = World::memory().await;
    hello(&world).await;
    let unknown = "unknown field \\\"spec.colour\\\"";
    for (query, name, told) in [
        ("?fieldValidation=Warn", "warned", true),
        ("", "by-default", true),
        ("?fieldValidation=Ignore", "ignored", false),
    ] {
        let path = format!("{FISSION}/functions{query}");
        let answer = ask(&world, "POST", &path, coloured(name)).await;
        let warnings = answer.warnings.clone();
        answer.ok();
        let is_told =
            warnings.iter().any(|text| text.starts_with("299 - ") && text.contains(unknown));
        assert_eq!(is_told, told, "{query}: {warnings:?}");
    }
    let entries = world.entries();
    let strict = format!("{FISSION}/functions?fieldValidation=Strict");
    let refused = ask(&world, "POST", &strict, coloured("strict")).await;
    let refused = refused.refused(400, "BadRequest");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("unknown field \"spec.colour\""), "{message}");
    let other = format!("{FISSION}/functions?fieldValidation=Sometimes");
    ask(&world, "POST", &other, coloured("other")).await.refused(422, "Invalid");
    assert_eq!(world.entries(), entries);
}

async fn post(world: &World, path: &str, body: Vec<u8>) -> Answer {
    let media = "application/vnd.kubernetes.protobuf";
    let mut asked = request(world, "POST", path, media, String::new());
    *asked.body_mut() = Body::from(body);
    send(world, asked).await
}

#[tokio::test]
async fn namespaces_configs_and_secrets_come_in_protocol_buffers() {
    let world = World::memory().await;
    let named = |name: &str| message(&[(1, name.as_bytes()), (3, b"")]);
    let space = protobuf("v1", "Namespace", &message(&[(1, &named("shop")), (2, b""), (3, b"")]));
    let made = post(&world, "/api/v1/namespaces", space.clone()).await.ok();
    assert_eq!((&made["kind"], &made["metadata"]["name"]), (&json!("Namespace"), &json!("shop")));
    post(&world, "/api/v1/namespaces", space).await.refused(409, "AlreadyExists");
    let entry = |key: &str, value: &[u8]| message(&[(1, key.as_bytes()), (2, value)]);
    // A value that is no text: secrets are bytes.
    let (user, password) = (entry("user", b"ada"), entry("password", &[0, 159, 146, 150]));
    let content = message(&[(1, &named("key")), (2, &user), (2, &password), (3, b"Opaque")]);
    let secret = protobuf("v1", "Secret", &content);
    let made = post(&world, "/api/v1/namespaces/shop/secrets", secret).await.ok();
    let data = made["data"].as_object().unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["password", "user"]);
    assert_eq!(made["type"], "Opaque");
    let encoded = base64::engine::general_purpose::STANDARD.encode("ada");
    assert!(data.values().all(|value| *value != encoded), "values are never shown");
    let own = world.get("/folio/v1/apps/shop/secrets/key").await.ok();
    assert!(own.to_string().contains("password"), "{own:#}");
    let content = message(&[(1, &named("settings")), (2, &entry("colour", b"red"))]);
    let map = protobuf("v1", "ConfigMap", &content);
    let made = post(&world, "/api/v1/namespaces/shop/configmaps", map).await.ok();
    assert_eq!(made["data"], json!({"colour": "red"}));
    let entries = world.entries();
    for (kind, content) in [
        ("Secret", b"\x0a\xff".to_vec()),
        ("Secret", message(&[(1, b"\x0a\x7f")])),
        ("Function", named("x")),
        ("Namespace", Vec::new()),
    ] {
        let body = protobuf("v1", kind, &content);
        let answer = post(&world, "/api/v1/namespaces/shop/secrets", body).await;
        assert!((400..=422).contains(&answer.status), "{kind}: {:#}", answer.body);
        assert_eq!(answer.body["kind"], "Status");
    }
    assert_eq!(world.entries(), entries);
}

#[tokio::test]
async fn a_collection_is_deleted_as_far_as_it_is_selected() {
    let world = World::memory().await;
    hello(&world).await;
    let functions = format!("{FISSION}/functions");
    for (name, tier) in [("one", "db"), ("two", "db"), ("three", "web")] {
        let mut object = function(name, "code");
        object["metadata"]["labels"]["tier"] = tier.into();
        ask(&world, "POST", &functions, object).await.ok();
    }
    let selected = format!("{functions}?labelSelector=tier%3Ddb");
    let entries = world.entries();
    ask(&world, "DELETE", &selected, json!({"dryRun": ["All"]})).await.ok();
    assert_eq!(world.entries(), entries, "a rehearsal deletes nothing");
    let gone = ask(&world, "DELETE", &selected, Value::Null).await.ok();
    assert_eq!(gone["items"].as_array().unwrap().len(), 2);
    let names = async |path: &str| {
        let list = get(&world, path).await.ok();
        let items = list["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["metadata"]["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&functions).await, ["hello", "three"]);
    let alias = |name: &str| {
        json!({
            "apiVersion": "folio.dev/v1", "kind": "Alias", "metadata": {"name": name},
            "spec": {"function": "hello", "weights": [{"number": 1}]},
        })
    };
    let aliases = format!("{FOLIO}/aliases");
    for name in ["hello-a", "hello-b"] {
        ask(&world, "POST", &aliases, alias(name)).await.ok();
    }
    ask(&world, "DELETE", &aliases, Value::Null).await.ok();
    assert_eq!(names(&aliases).await, Vec::<Value>::new());
    assert_eq!(names(&functions).await, ["hello", "three"], "nothing else goes");
    let route = json!({
        "apiVersion": "fission.io/v1", "kind": "HTTPTrigger", "metadata": {"name": "route"},
        "spec": {
            "relativeurl": "/route", "methods": ["GET"],
            "functionref": {"type": "name", "name": "hello"},
        },
    });
    ask(&world, "POST", &format!("{FISSION}/httptriggers"), route).await.ok();
    ask(&world, "POST", &functions, function("a-first", "code")).await.ok();
    let entries = world.entries();
    ask(&world, "DELETE", &functions, Value::Null).await.refused(409, "Conflict");
    assert_eq!(world.entries(), entries, "one that is in use keeps all");
}

#[tokio::test]
async fn older_clients_ask_for_discovery_by_its_older_name() {
    let world = World::memory().await;
    for path in ["/api", "/apis"] {
        let mut asked = request(&world, "GET", path, "", String::new());
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
        asked.headers_mut().insert("accept", accept.parse().unwrap());
        let response = world.router.clone().oneshot(asked).await.unwrap();
        let media = response.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!(
            media, "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
            "by which clients know it"
        );
        let found = answered(response).await.ok();
        assert_eq!(found["apiVersion"], "apidiscovery.k8s.io/v2beta1");
        assert_eq!(found["kind"], "APIGroupDiscoveryList");
        assert!(!found["items"].as_array().unwrap().is_empty());
    }
}

#[tokio::test]
async fn the_second_document_is_of_the_only_type_that_is_taken_for_one() {
    let world = World::memory().await;
    let asked = request(&world, "GET", "/openapi/v2", "", String::new());
    let response = world.router.clone().oneshot(asked).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.headers()["content-type"],
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    );
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let holds = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    assert!(
        holds(b"/apis/fission.io/v1/namespaces/{namespace}/functions"),
        "{} bytes",
        bytes.len()
    );
    ask(&world, "POST", "/openapi/v2", json!({})).await.refused(405, "MethodNotAllowed");
}

#[tokio::test]
async fn a_log_that_makes_no_sense_is_refused_before_it_is_looked_for() {
    let world = World::memory().await;
    let log = "/api/v1/namespaces/default/pods/none/log";
    get(&world, log).await.refused(404, "NotFound");
    for wrong in [
        "tailLines=many",
        "tailLines=-1",
        "sinceSeconds=x",
        "sinceSeconds=-1",
        "sinceTime=yesterday",
        "limitBytes=x",
    ] {
        let answer = get(&world, &format!("{log}?{wrong}")).await;
        assert!(matches!(answer.status, 400 | 422), "{wrong}: {} {:#}", answer.status, answer.body);
        assert_eq!(answer.body["kind"], "Status", "{wrong}");
    }
    ask(&world, "POST", log, json!({})).await.refused(405, "MethodNotAllowed");
}
