//! Conditions, selectors and metadata that are not formed as they should be: each is refused, since what is not
//! understood cannot be obeyed, and nothing is changed.

use super::*;

const HELLO: &str = "/apis/fission.io/v1/namespaces/default/functions/hello";

/// Sends requests, each with how it is to be refused, and sees that nothing came of them.
async fn all_refused(world: &World, rows: Vec<(&str, String, &str, Value, u16)>) {
    let entries = world.entries();
    for (method, path, media, body, code) in rows {
        let shown = format!("{method} {path} {body}");
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let answer = send(world, request(world, method, &path, media, text)).await;
        assert_eq!((answer.status, world.entries()), (code, entries), "{shown}: {:#}", answer.body);
        assert_eq!(answer.body["kind"], "Status", "{shown}");
    }
}

#[tokio::test]
async fn a_deletion_obeys_all_of_its_options_or_is_none() {
    let world = World::memory().await;
    hello(&world).await;
    let mut rows = Vec::new();
    for (options, code) in [
        (json!({"preconditions": 5}), 400),
        (json!({"preconditions": "x"}), 400),
        (json!({"preconditions": []}), 400),
        (json!({"preconditions": {"uid": 5}}), 400),
        (json!({"preconditions": {"resourceVersion": 5}}), 400),
        (json!({"preconditions": {"resourceVersion": "999999"}}), 409),
        (json!({"gracePeriodSeconds": "x"}), 400),
        (json!({"gracePeriodSeconds": 1.5}), 400),
        (json!({"orphanDependents": "x"}), 400),
        (json!({"propagationPolicy": 5}), 400),
        (json!({"propagationPolicy": "Nope"}), 422),
        (json!({"kind": 5}), 400),
        (json!({"apiVersion": {}}), 400),
    ] {
        for path in [HELLO.to_owned(), format!("{FISSION}/functions")] {
            rows.push(("DELETE", path, "application/json", options.clone(), code));
        }
    }
    for path in [
        format!("{HELLO}?propagationPolicy=Nope"),
        format!("{FISSION}/functions?propagationPolicy=Nope"),
    ] {
        rows.push(("DELETE", path, "application/json", Value::Null, 422));
    }
    all_refused(&world, rows).await;
    let whole = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Background",
        "preconditions": {"uid": get(&world, HELLO).await.ok()["metadata"]["uid"]}, "dryRun": ["All"],
    });
    ask(&world, "DELETE", HELLO, whole).await.ok();
}

#[tokio::test]
async fn a_selector_that_says_nothing_does_not_select_everything() {
    let world = World::memory().await;
    hello(&world).await;
    let mut rows = Vec::new();
    for selector in [
        "labelSelector=%2C",
        "labelSelector=a%20notin%20()",
        "labelSelector=a%20in%20()",
        "labelSelector=tier%2Cb%2C",
        "labelSelector=%2Ctier",
        "fieldSelector=%2C",
        "fieldSelector=metadata.name%3Dhello%2C",
    ] {
        for method in ["GET", "DELETE"] {
            let path = format!("{FISSION}/functions?{selector}");
            rows.push((method, path, "application/json", Value::Null, 400));
        }
    }
    all_refused(&world, rows).await;
}

#[tokio::test]
async fn an_archive_in_a_manifest_is_as_small_as_in_a_spec() {
    let world = World::memory().await;
    let packages = format!("{FISSION}/packages");
    let most = "x".repeat(256 * 1024);
    ask(&world, "POST", &packages, package("most", &most)).await.ok();
    let entries = world.entries();
    for (method, path) in [("POST", packages.clone()), ("PUT", format!("{packages}/most"))] {
        let name = if method == "POST" { "more" } else { "most" };
        let answer = ask(&world, method, &path, package(name, &format!("{most}x"))).await;
        let refused = answer.refused(422, "Invalid");
        let cause = &refused["details"]["causes"][0];
        assert_eq!(cause["field"], "spec.deployment.literal", "{refused:#}");
    }
    assert_eq!(world.entries(), entries);
}
