//! The values of secrets: whatever way they come, nobody sees them and nothing keeps them, and what is applied again or
//! rehearsed is told the same as what is there.

use folio_core::Caller;
use folio_core::object::identity::identity;
use folio_core::request::Marking;
use folio_model::{Actor, Labels, Role};

use super::access::seen_by;
use super::*;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const KEY: &str = "/api/v1/namespaces/default/secrets/key";
const NOTE: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A value, and how `data` has it.
const VALUE: &str = "open-sesame-hush";

fn encoded(value: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(value)
}

fn secret(parts: Value) -> Value {
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "default"}});
    secret.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
    secret
}

/// A manifest as kubectl sends it: with a note of itself.
fn noted(mut manifest: Value) -> Value {
    let note = format!("{manifest}\n");
    manifest["metadata"]["annotations"] = json!({ NOTE: note });
    manifest
}

async fn steps(world: &World, path: &str, steps: Value) -> Answer {
    send(world, request(world, "PATCH", path, "application/json-patch+json", steps.to_string()))
        .await
}

/// Every way in which values come in, one after the other; returns what was answered.
async fn written_in_every_way(world: &World) -> Vec<Value> {
    let texts = secret(json!({"stringData": {"p": VALUE}}));
    let bytes = secret(json!({"data": {"p": encoded(VALUE), "q": encoded(VALUE)}}));
    let mut answers = vec![
        ask(world, "POST", &format!("{SECRETS}?dryRun=All"), noted(texts.clone())).await.ok(),
        ask(world, "POST", SECRETS, noted(texts.clone())).await.ok(),
        ask(world, "PATCH", &format!("{KEY}?dryRun=All"), noted(bytes.clone())).await.ok(),
        ask(world, "PATCH", KEY, noted(bytes.clone())).await.ok(),
        ask(world, "PUT", KEY, noted(texts.clone())).await.ok(),
        apply(world, KEY, "one", &bytes).await.ok(),
        apply(world, KEY, "one", &noted(texts.clone())).await.ok(),
    ];
    let puts = json!([
        {"op": "add", "path": "/data/r", "value": encoded(VALUE)},
        {"op": "add", "path": "/stringData", "value": {"s": VALUE}},
    ]);
    answers.push(steps(world, KEY, puts).await.ok());
    // What is misspelt, or no manifest at all, may hold a value as well.
    let odd = secret(
        json!({"spec": {"p": VALUE}, "stringdata": {"p": VALUE}, "stringData": {"p": VALUE}}),
    );
    answers.push(ask(world, "PATCH", KEY, noted(odd.clone())).await.ok());
    answers.push(ask(world, "PUT", KEY, noted(odd)).await.ok());
    for note in [VALUE.to_owned(), json!([VALUE]).to_string(), json!({"data": VALUE}).to_string()] {
        let patch = json!({"metadata": {"annotations": {NOTE: note}}});
        answers.push(ask(world, "PATCH", KEY, patch).await.ok());
    }
    answers
}

fn has_value(text: &str) -> bool {
    text.contains(VALUE) || text.contains(&encoded(VALUE))
}

#[tokio::test]
async fn nobody_is_shown_a_value_whatever_way_it_came() {
    let world = World::memory().await;
    for answer in written_in_every_way(&world).await {
        assert!(!has_value(&answer.to_string()), "{answer:#}");
    }
    ask(&world, "PATCH", KEY, noted(secret(json!({"stringData": {"p": VALUE}})))).await.ok();
    let world = seen_by(world, Role::Viewer, Some("default")).await;
    for path in [KEY, SECRETS] {
        let seen = get(&world, path).await.ok().to_string();
        assert!(!has_value(&seen) && seen.contains(NOTE), "{seen}");
    }
    let table = request(&world, "GET", SECRETS, "application/json", String::new());
    let mut table = table;
    let accepted = "application/json;as=Table;v=v1;g=meta.k8s.io".parse().unwrap();
    table.headers_mut().insert("accept", accepted);
    assert!(!has_value(&send(&world, table).await.ok().to_string()));
}

#[tokio::test]
async fn no_value_lies_in_the_store() {
    let world = World::directory().await;
    written_in_every_way(&world).await;
    let mut files = vec![world.place().to_owned()];
    let mut read = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        read += bytes.len();
        for value in [VALUE.to_owned(), encoded(VALUE)] {
            let found = bytes.windows(value.len()).any(|part| part == value.as_bytes());
            assert!(!found, "{} has a value", path.display());
        }
    }
    assert!(read > 1000, "the store was read");
}

/// What was kept before values were taken out of it.
#[tokio::test]
async fn a_value_that_was_kept_once_is_not_shown() {
    let world = World::memory().await;
    ask(&world, "POST", SECRETS, secret(json!({"stringData": {"p": VALUE}}))).await.ok();
    let note = secret(json!({"stringData": {"p": VALUE, "gone": VALUE}})).to_string();
    let annotations = Labels::from([(NOTE.to_owned(), note)]);
    let marking = Marking {
        object: identity(&["Secret", "default", "key"]),
        name: "secret key".to_owned(),
        said: Some((Labels::new(), annotations, Vec::new())),
        is_new: false,
    };
    let caller = Caller { marking: Some(marking), ..Caller::new("ada".parse::<Actor>().unwrap()) };
    world.folio.mark(&caller, &"default".parse().unwrap()).await.unwrap();
    for path in [KEY, SECRETS] {
        let seen = get(&world, path).await.ok().to_string();
        assert!(!has_value(&seen) && seen.contains("gone"), "{seen}");
    }
}

#[tokio::test]
async fn what_kubectl_applies_again_changes_nothing() {
    let world = World::memory().await;
    for (at, parts) in [
        json!({"stringData": {"p": VALUE}}),
        json!({"data": {"p": encoded(VALUE)}}),
        json!({"data": {"p": encoded(VALUE)}, "type": "kubernetes.io/basic-auth"}),
    ]
    .into_iter()
    .enumerate()
    {
        let mut manifest = secret(parts);
        let name = format!("key-{at}");
        manifest["metadata"]["name"] = name.as_str().into();
        let manifest = noted(manifest);
        let path = format!("{SECRETS}/{name}");
        let made = ask(&world, "POST", SECRETS, manifest.clone()).await.ok();
        let note: Value =
            serde_json::from_str(made["metadata"]["annotations"][NOTE].as_str().unwrap()).unwrap();
        let part = if manifest["data"].is_null() { "stringData" } else { "data" };
        assert_eq!(note[part]["p"], made["data"]["p"], "the key stays, for three-way merges");
        let entries = world.entries();
        // What kubectl makes of a note that is not what it would write: all of it, again.
        let mut patch = json!({"metadata": {"annotations": manifest["metadata"]["annotations"]}});
        patch[part] = manifest[part].clone();
        for query in ["?dryRun=All", ""] {
            let answer = ask(&world, "PATCH", &format!("{path}{query}"), patch.clone()).await.ok();
            assert_eq!(answer, made, "{query}");
        }
        assert_eq!(get(&world, &path).await.ok(), made);
        assert_eq!(world.entries(), entries);
    }
}

#[tokio::test]
async fn a_rehearsal_shows_what_would_be_shown() {
    let world = World::memory().await;
    let manifest = secret(json!({"stringData": {"p": VALUE}, "immutable": false}));
    apply(&world, KEY, "one", &manifest).await.ok();
    let media = "application/apply-patch+yaml";
    let path = format!("{KEY}?fieldManager=one&dryRun=All");
    let rehearsed =
        send(&world, request(&world, "PATCH", &path, media, manifest.to_string())).await;
    assert_eq!(rehearsed.ok(), get(&world, KEY).await.ok());
    let other = json!({"stringData": {"p": "another"}});
    let rehearsed = ask(&world, "PATCH", &format!("{KEY}?dryRun=All"), other.clone()).await.ok();
    let done = ask(&world, "PATCH", KEY, other).await.ok();
    assert_eq!(rehearsed["data"], done["data"]);
    assert!(rehearsed["stringData"].is_null() && done["stringData"].is_null());
}

#[tokio::test]
async fn who_applies_the_same_value_is_in_nobodys_way() {
    let world = World::memory().await;
    for parts in [json!({"stringData": {"p": VALUE}}), json!({"data": {"p": encoded(VALUE)}})] {
        let manifest = secret(parts);
        apply(&world, KEY, "one", &manifest).await.ok();
        apply(&world, KEY, "two", &manifest).await.ok();
        let other = secret(json!({"stringData": {"p": "another"}}));
        let refused = apply(&world, KEY, "three", &other).await.refused(409, "Conflict");
        assert_eq!(refused["details"]["causes"][0]["field"], ".data.p", "{refused:#}");
        assert!(!refused.to_string().contains("another"), "{refused:#}");
    }
}

#[tokio::test]
async fn a_value_goes_when_nobody_applies_it_any_more() {
    let world = World::memory().await;
    let both = secret(json!({"stringData": {"p": VALUE, "q": VALUE}}));
    apply(&world, KEY, "one", &both).await.ok();
    let one = secret(json!({"stringData": {"p": VALUE}}));
    let left = apply(&world, KEY, "one", &one).await.ok();
    assert_eq!(left["data"].as_object().unwrap().len(), 1, "{left:#}");
    ask(&world, "PATCH", KEY, json!({"stringData": {"q": VALUE}})).await.ok();
    let left = ask(&world, "PATCH", KEY, json!({"stringData": {"q": null}})).await.ok();
    assert_eq!(left["data"].as_object().unwrap().len(), 1, "{left:#}");
    let moved = json!({"data": null, "stringData": {"r": VALUE}});
    let left = ask(&world, "PATCH", KEY, moved).await.ok();
    assert_eq!(left["data"].as_object().unwrap().keys().collect::<Vec<_>>(), ["r"]);
}

#[tokio::test]
async fn a_secret_keeps_its_type() {
    let world = World::memory().await;
    let kind = "kubernetes.io/basic-auth";
    let manifest = secret(json!({"stringData": {"password": VALUE}, "type": kind}));
    let made = ask(&world, "POST", SECRETS, manifest).await.ok();
    assert_eq!(made["type"], kind);
    assert!(made["metadata"]["annotations"].is_null(), "{made:#}");
    let patched = ask(&world, "PATCH", KEY, json!({"metadata": {"labels": {"a": "b"}}})).await.ok();
    assert_eq!(patched["type"], kind);
    let put = secret(json!({"stringData": {"password": VALUE}}));
    assert_eq!(ask(&world, "PUT", KEY, put).await.ok()["type"], kind, "one that says none");
    assert_eq!(get(&world, SECRETS).await.ok()["items"][0]["type"], kind);
    ask(&world, "PATCH", KEY, json!({"type": 5})).await.refused(422, "Invalid");
    let mut empty = secret(json!({"stringData": {"p": VALUE}, "type": ""}));
    empty["metadata"]["name"] = "plain".into();
    assert_eq!(ask(&world, "POST", SECRETS, empty).await.ok()["type"], "Opaque");
}

#[tokio::test]
async fn a_drawn_name_is_the_one_a_value_is_sealed_for() {
    let world = World::memory().await;
    let mut manifest = secret(json!({"stringData": {"p": VALUE}}));
    manifest["metadata"] = json!({"generateName": "key-"});
    let made = ask(&world, "POST", SECRETS, manifest).await.ok();
    let name = made["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("key-"), "{made:#}");
    assert_eq!(get(&world, &format!("{SECRETS}/{name}")).await.ok()["data"], made["data"]);
}

#[tokio::test]
async fn what_is_no_value_is_refused_without_repeating_it() {
    let world = World::memory().await;
    for parts in [
        json!({"data": {"p": format!("{VALUE}!")}}),
        json!({"data": {"p": {"x": VALUE}}}),
        json!({"stringData": {"p": [VALUE]}}),
        json!({"stringData": [VALUE]}),
        json!({"data": VALUE}),
        json!({"stringData": {"a b": VALUE}}),
    ] {
        let refused = ask(&world, "POST", SECRETS, secret(parts)).await.refused(422, "Invalid");
        assert!(!has_value(&refused.to_string()), "{refused:#}");
    }
}
