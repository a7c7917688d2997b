//! Which object it is: the revision that was seen, the identity that tells it from one that had its name, and its age.

use folio_core::Limits;

use super::*;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"k": "v"}})
}

fn secret() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"k": "v"}})
}

fn alias() -> Value {
    json!({
        "apiVersion": "folio.dev/v1", "kind": "Alias", "metadata": {"name": "hello-prod"},
        "spec": {"function": "hello", "weights": [{"number": 1, "weight": 10000}]},
    })
}

fn tag() -> Value {
    json!({
        "apiVersion": "folio.dev/v1", "kind": "Tag", "metadata": {"name": "spring"},
        "spec": {"members": [{"function": "hello", "number": 1}]},
    })
}

fn job() -> Value {
    json!({
        "apiVersion": "folio.dev/v1", "kind": "Job", "metadata": {"name": "tick"},
        "spec": {"function": "hello", "pattern": "0 6 * * *"},
    })
}

#[tokio::test]
async fn a_revision_that_is_still_to_come_was_not_seen() {
    let world = World::memory().await;
    hello(&world).await;
    ask(&world, "POST", MAPS, map()).await.ok();
    ask(&world, "POST", &format!("{FOLIO}/aliases"), alias()).await.ok();
    let releases = get(&world, &format!("{FOLIO}/releases")).await.ok();
    let release = releases["items"][0]["metadata"]["name"].as_str().unwrap();
    let entries = world.entries();
    for path in [
        format!("{MAPS}/settings"),
        format!("{FISSION}/functions/hello"),
        format!("{FOLIO}/aliases/hello-prod"),
        format!("{FOLIO}/releases/{release}"),
    ] {
        let object = get(&world, &path).await.ok();
        let own = object["metadata"]["resourceVersion"].as_str().unwrap();
        let next = (own.parse::<u64>().unwrap() + 1).to_string();
        for (value, code) in [
            (json!(next), 409),
            (json!("99999"), 409),
            (json!("0"), 409),
            (json!("+7"), 422),
            (json!(7), 400),
            (json!(true), 400),
        ] {
            let labels = json!({"moved": "yes"});
            let patch = json!({"metadata": {"resourceVersion": value, "labels": labels}});
            let mut whole = object.clone();
            whole["metadata"]["resourceVersion"] = value.clone();
            whole["metadata"]["labels"] = labels;
            let step = json!([
                {"op": "add", "path": "/metadata/labels", "value": {}},
                {"op": "replace", "path": "/metadata/resourceVersion", "value": value},
            ]);
            let steps =
                request(&world, "PATCH", &path, "application/json-patch+json", step.to_string());
            let answers = [
                ask(&world, "PATCH", &path, patch).await,
                ask(&world, "PUT", &path, whole).await,
                send(&world, steps).await,
            ];
            for answer in answers {
                assert_eq!(answer.status, code, "{path} {value}: {:#}", answer.body);
            }
        }
        ask(&world, "PUT", &format!("{path}?dryRun=All"), object).await.ok();
        assert_eq!(world.entries(), entries, "{path}");
    }
}

#[tokio::test]
async fn what_is_made_anew_is_another_object() {
    let world = World::memory().await;
    hello(&world).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    for (kinds, object) in [
        (MAPS.to_owned(), map()),
        (secrets.to_owned(), secret()),
        (format!("{FOLIO}/aliases"), alias()),
        (format!("{FOLIO}/tags"), tag()),
        (format!("{FOLIO}/jobs"), job()),
    ] {
        let one = format!("{kinds}/{}", object["metadata"]["name"].as_str().unwrap());
        let uid = |object: Value| object["metadata"]["uid"].as_str().unwrap().to_owned();
        let first = uid(ask(&world, "POST", &kinds, object.clone()).await.ok());
        let labels = json!({"metadata": {"labels": {"a": "b"}}});
        let labelled = ask(&world, "PATCH", &one, labels).await.ok();
        assert_eq!(uid(labelled.clone()), first, "it stays what it is");
        ask(&world, "DELETE", &one, json!({"preconditions": {"uid": first}})).await.ok();
        let second = uid(ask(&world, "POST", &kinds, object).await.ok());
        assert_ne!(first, second, "{one}");
        assert_eq!(uid(get(&world, &one).await.ok()), second);
        let stale = json!({"preconditions": {"uid": first}});
        ask(&world, "DELETE", &one, stale).await.refused(409, "Conflict");
        let mut stale = labelled;
        stale["metadata"]["resourceVersion"] = Value::Null;
        ask(&world, "PUT", &one, stale).await.refused(409, "Conflict");
    }
}

#[tokio::test]
async fn events_of_an_object_name_the_identity_that_it_shows() {
    let world = World::memory().await;
    hello(&world).await;
    ask(&world, "POST", MAPS, map()).await.ok();
    ask(&world, "POST", &format!("{FOLIO}/tags"), tag()).await.ok();
    for one in [format!("{MAPS}/settings"), format!("{FOLIO}/tags/spring")] {
        let uid = get(&world, &one).await.ok()["metadata"]["uid"].as_str().unwrap().to_owned();
        let path =
            format!("/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid={uid}");
        let events = get(&world, &path).await.ok();
        assert_eq!(events["items"].as_array().unwrap().len(), 1, "{one}: {events:#}");
    }
}

#[tokio::test]
async fn what_was_said_of_another_of_its_name_does_not_hold() {
    let world = World::memory().await;
    hello(&world).await;
    let mut labelled = map();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    ask(&world, "POST", MAPS, labelled).await.ok();
    let key = folio_model::UnitKey {
        app: "default".parse().unwrap(),
        kind: folio_model::Kind::Config,
        name: "settings".parse().unwrap(),
    };
    let caller = folio_core::Caller::new("ada".parse().unwrap());
    world.folio.delete_config(&caller, &key, None).await.unwrap();
    let made = ask(&world, "POST", MAPS, map()).await.ok();
    assert_eq!(made["metadata"]["labels"], Value::Null, "{made:#}");
}

#[tokio::test]
async fn an_object_is_as_old_as_it_was_before_anything_was_said_of_it() {
    let (world, clock) = World::timed(Limits::default()).await;
    hello(&world).await;
    let releases = get(&world, &format!("{FOLIO}/releases")).await.ok();
    let release = releases["items"][0]["metadata"]["name"].as_str().unwrap();
    ask(&world, "POST", MAPS, map()).await.ok();
    for (path, patch) in [
        (format!("{FOLIO}/releases/{release}"), json!({"metadata": {"labels": {"a": "b"}}})),
        (format!("{MAPS}/settings"), json!({"data": {"k": "w"}})),
    ] {
        let age = |object: Value| object["metadata"]["creationTimestamp"].clone();
        let before = age(get(&world, &path).await.ok());
        assert!(before.is_string(), "{path}");
        clock.jump(3600);
        assert_eq!(age(ask(&world, "PATCH", &path, patch).await.ok()), before, "{path}");
        assert_eq!(age(get(&world, &path).await.ok()), before, "{path}");
    }
}

#[tokio::test]
async fn a_config_is_as_old_as_its_first_version_whoever_changes_it() {
    let (world, clock) = World::timed(Limits::default()).await;
    hello(&world).await;
    let set = async |value: &str| {
        let body = json!({"fields": {"set": {"k": value}}});
        world
            .call("PATCH", "/folio/v1/apps/default/configs/settings")
            .json(&body)
            .send()
            .await
            .ok();
    };
    set("v").await;
    let path = format!("{MAPS}/settings");
    let made = get(&world, &path).await.ok();
    clock.jump(3600);
    set("w").await;
    let changed = get(&world, &path).await.ok();
    for key in ["uid", "creationTimestamp"] {
        assert_eq!(changed["metadata"][key], made["metadata"][key], "{key}");
    }
}
