//! `POST /convert`, as a cluster that stores folio's kinds asks it: several objects at once, all or none.

use super::*;

fn review(wanted: &str, objects: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": { "uid": "7f0b", "desiredAPIVersion": wanted, "objects": objects },
    })
}

/// Asks without a token: a cluster has none to show.
async fn convert(world: &World, body: Value) -> Answer {
    let mut asked = request(world, "POST", "/convert", "application/json", body.to_string());
    asked.headers_mut().remove("authorization");
    send(world, asked).await
}

fn of(version: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": version, "kind": "Function",
        "metadata": { "name": name, "uid": "u", "resourceVersion": "5", "labels": { "a": "b" } },
        "spec": spec,
    })
}

#[tokio::test]
async fn several_objects_are_converted_in_their_order_and_keep_their_metadata() {
    let world = World::memory().await;
    let entries = world.entries();
    let spec = json!({
        "environment": "nodejs", "package": { "name": "code" }, "run": { "timeoutMs": 5_000 },
    });
    let objects = json!([of("folio.dev/v1", "one", spec.clone()), of("folio.dev/v1", "two", spec)]);
    let there = convert(&world, review("folio.dev/v1beta1", objects.clone())).await.ok();
    assert_eq!(there["kind"], "ConversionReview");
    assert_eq!(there["apiVersion"], "apiextensions.k8s.io/v1");
    let response = &there["response"];
    assert_eq!(
        (&response["uid"], &response["result"]["status"]),
        (&json!("7f0b"), &json!("Success"))
    );
    let converted = response["convertedObjects"].as_array().unwrap();
    assert_eq!(converted.len(), 2);
    for (converted, given) in converted.iter().zip(objects.as_array().unwrap()) {
        assert_eq!(converted["apiVersion"], "folio.dev/v1beta1");
        assert_eq!(converted["metadata"], given["metadata"]);
    }
    let back = convert(&world, review("folio.dev/v1", json!(converted))).await.ok();
    let back = back["response"]["convertedObjects"].clone();
    assert_eq!(back, objects, "nothing is lost on the way there and back");
    assert_eq!(world.entries(), entries);
}

#[tokio::test]
async fn no_objects_are_no_problem_and_the_same_version_changes_nothing() {
    let world = World::memory().await;
    let none = convert(&world, review("folio.dev/v1", json!([]))).await.ok();
    assert_eq!(none["response"]["convertedObjects"], json!([]));
    let same = json!([of(
        "folio.dev/v1",
        "one",
        json!({ "environment": "nodejs", "package": { "name": "code" } })
    )]);
    let said = convert(&world, review("folio.dev/v1", same.clone())).await.ok();
    assert_eq!(said["response"]["convertedObjects"], same);
}

#[tokio::test]
async fn what_cannot_be_converted_fails_all_and_is_named() {
    let world = World::memory().await;
    let good = of(
        "folio.dev/v1",
        "good",
        json!({ "environment": "nodejs", "package": { "name": "code" } }),
    );
    for (wanted, bad, told) in [
        ("folio.dev/v9", good.clone(), "folio.dev/v9"),
        ("folio.dev/v1beta1", of("folio.dev/v7", "bad", json!({})), "folio.dev/v7"),
        (
            "folio.dev/v1beta1",
            json!({ "apiVersion": "folio.dev/v1", "kind": "Nothing" }),
            "Nothing",
        ),
        ("folio.dev/v1beta1", json!("text"), ""),
        ("folio.dev/v1beta1", of("folio.dev/v1", "bad", json!({ "package": "x" })), "package"),
    ] {
        let said = convert(&world, review(wanted, json!([good, bad]))).await.ok();
        let response = &said["response"];
        assert_eq!(response["uid"], "7f0b");
        assert_eq!(response["result"]["status"], "Failed", "{bad}: {response:#}");
        assert!(response.get("convertedObjects").is_none(), "{response:#}");
        let message = response["result"]["message"].as_str().unwrap();
        assert!(message.contains(told), "{message}");
    }
}

#[tokio::test]
async fn what_is_no_review_is_refused() {
    let world = World::memory().await;
    let without = |key: &str| {
        let mut review = review("folio.dev/v1", json!([]));
        review["request"].as_object_mut().unwrap().remove(key);
        review
    };
    let mut other_version = review("folio.dev/v1", json!([]));
    other_version["apiVersion"] = "apiextensions.k8s.io/v1beta1".into();
    let mut other_kind = review("folio.dev/v1", json!([]));
    other_kind["kind"] = "AdmissionReview".into();
    for body in [
        json!({}),
        json!([]),
        without("uid"),
        without("desiredAPIVersion"),
        without("objects"),
        review("folio.dev/v1", json!({})),
        other_version,
        other_kind,
    ] {
        convert(&world, body).await.refused(400, "BadRequest");
    }
    let asked = request(&world, "GET", "/convert", "", String::new());
    send(&world, asked).await.refused(405, "MethodNotAllowed");
    let asked = request(&world, "POST", "/convert", "text/plain", "x".to_owned());
    send(&world, asked).await.refused(415, "UnsupportedMediaType");
    let asked = request(&world, "POST", "/convert", "application/json", "{".to_owned());
    send(&world, asked).await.refused(400, "BadRequest");
}

#[tokio::test]
async fn what_is_no_object_was_not_kept_by_anybody() {
    let world = World::memory().await;
    let spec = json!({ "environment": "nodejs", "package": { "name": "code" } });
    for kept in ["[]", "[[[5]]]", "5", "null", "{"] {
        let mut object = of("folio.dev/v1", "one", spec.clone());
        object["metadata"]["annotations"] = json!({ "folio.dev/kept": kept });
        let answer = convert(&world, review("folio.dev/v1beta1", json!([object]))).await.ok();
        assert_eq!(answer["response"]["result"]["status"], "Success", "{kept}");
    }
}
