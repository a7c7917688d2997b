//! Conditions, selectors and metadata that are not formed as they should be: each is refused, since what is not
//! understood cannot be obeyed, and nothing is changed.

use super::*;

const HELLO: &str = "/apis/fission.io/v1/namespaces/default/functions/hello";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

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
async fn metadata_is_of_its_types_and_its_keys_can_be_selected_by() {
    let world = World::memory().await;
    hello(&world).await;
    let wrong = [
        json!({"labels": {"a b": "c"}}),
        json!({"labels": {"x/y/z": "c"}}),
        json!({"labels": {"Upper.case/z": "c"}}),
        json!({"annotations": {"bad key!": "c"}}),
        json!({"finalizers": 5}),
        json!({"finalizers": [5]}),
        json!({"ownerReferences": 5}),
        json!({"ownerReferences": ["x"]}),
        json!({"uid": 5}),
        json!({"generation": "x"}),
        json!({"generateName": 5}),
        json!({"creationTimestamp": 5}),
    ];
    let maps = "/api/v1/namespaces/default/configmaps";
    let mut rows = Vec::new();
    for metadata in wrong {
        let patch = json!({"metadata": metadata});
        let mut named = function("new", "code");
        let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}, "data": {"k": "v"}});
        for (key, value) in metadata.as_object().unwrap() {
            named["metadata"][key] = value.clone();
            map["metadata"][key] = value.clone();
        }
        rows.push(("PATCH", HELLO.to_owned(), MERGE, patch, 422));
        rows.push(("POST", format!("{FISSION}/functions"), "application/json", named, 422));
        rows.push(("POST", maps.to_owned(), "application/json", map, 422));
    }
    all_refused(&world, rows).await;
    let right = json!({
        "labels": {"example.com/Tier": "web"}, "annotations": {"Example.com/note": "any text", "fission-name": "x"},
        "finalizers": ["example.com/x"], "ownerReferences": [{"kind": "x"}],
    });
    ask(&world, "PATCH", HELLO, json!({"metadata": right})).await.ok();
}

#[tokio::test]
async fn members_of_metadata_that_nobody_knows_are_told_of() {
    let world = World::memory().await;
    hello(&world).await;
    let patch = json!({"metadata": {"mood": "good"}});
    let map = json!({"metadata": {"name": "m", "mood": "good"}, "data": {"k": "v"}});
    let maps = "/api/v1/namespaces/default/configmaps";
    for (method, path, body) in [("PATCH", HELLO, patch), ("POST", maps, map)] {
        let strict = format!("{path}?fieldValidation=Strict");
        let refused = ask(&world, method, &strict, body.clone()).await.refused(400, "BadRequest");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("unknown field \"metadata.mood\""), "{message}");
        let quiet = format!("{path}?fieldValidation=Ignore&dryRun=All");
        let ignored = ask(&world, method, &quiet, body.clone()).await;
        assert_eq!(ignored.warnings, Vec::<String>::new());
        let told = ask(&world, method, path, body).await;
        assert_eq!(told.warnings, ["299 - \"unknown field \\\"metadata.mood\\\"\""]);
        told.ok();
    }
}

#[tokio::test]
async fn a_body_says_what_it_is() {
    let world = World::memory().await;
    hello(&world).await;
    let objects = [
        (format!("{FISSION}/functions"), function("new", "code")),
        (
            format!("{FOLIO}/domains"),
            json!({"apiVersion": "folio.dev/v1", "kind": "Domain", "metadata": {"name": "a.example.com"}}),
        ),
        (
            "/api/v1/namespaces/default/configmaps".to_owned(),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}, "data": {"k": "v"}}),
        ),
    ];
    let mut rows = Vec::new();
    for (path, object) in objects {
        for key in ["apiVersion", "kind"] {
            let mut values = vec![json!(5), json!({}), json!("other")];
            if path.starts_with("/apis") {
                values.extend([Value::Null, json!("")]);
            }
            for value in values {
                let mut object = object.clone();
                object[key] = value;
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                let applied = format!("{path}/{name}?fieldManager=x");
                rows.push((
                    "POST",
                    format!("{path}?dryRun=All"),
                    "application/json",
                    object.clone(),
                    400,
                ));
                rows.push(("POST", path.clone(), "application/json", object.clone(), 400));
                rows.push(("PATCH", applied, APPLY, object, 400));
            }
        }
    }
    all_refused(&world, rows).await;
    let map = json!({"metadata": {"name": "new"}, "data": {"k": "v"}});
    ask(&world, "POST", "/api/v1/namespaces/default/configmaps", map).await.ok();
}

#[tokio::test]
async fn who_applies_says_neither_who_wrote_what_nor_which_it_was_that_is_not_there() {
    let world = World::memory().await;
    hello(&world).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}, "data": {"k": "v"}});
    let managed = json!([{
        "manager": "x", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": {},
    }]);
    let mut rows = Vec::new();
    for (path, object) in [
        (format!("{FISSION}/functions/new"), function("new", "code")),
        ("/api/v1/namespaces/default/configmaps/new".to_owned(), map),
    ] {
        for (key, value, code) in [
            ("managedFields", managed.clone(), 400),
            ("resourceVersion", json!("1"), 400),
            ("uid", json!("6f4ba3c5-16c9-4d15-a0ab-3d7bd6a4a7a6"), 409),
        ] {
            let mut object = object.clone();
            object["metadata"][key] = value;
            rows.push(("PATCH", format!("{path}?fieldManager=x"), APPLY, object, code));
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
        assert_eq!(cause["reason"], "FieldValueTooLong", "{refused:#}");
    }
    assert_eq!(world.entries(), entries);
}

#[tokio::test]
async fn a_cause_is_of_the_sort_that_the_rule_is_of() {
    let world = World::memory().await;
    hello(&world).await;
    let strategy = |parts: Value| {
        let mut object = function("new", "code");
        object["spec"]["InvokeStrategy"]["ExecutionStrategy"] = parts;
        object
    };
    let with_spec = |spec: Option<Value>| {
        let mut object = function("new", "code");
        object.as_object_mut().unwrap().remove("spec");
        object.as_object_mut().unwrap().extend(spec.map(|spec| ("spec".to_owned(), spec)));
        object
    };
    let mut host = function("new", "code");
    host["spec"]["podspec"] = json!({"hostNetwork": true});
    let alias =
        json!({"apiVersion": "folio.dev/v1", "kind": "Alias", "metadata": {"name": "hello-prod"}});
    let scaled = json!({"ExecutorType": "newdeploy", "MinScale": 3, "MaxScale": 2});
    let at = |key: &str| format!("spec.InvokeStrategy.ExecutionStrategy.{key}");
    for (object, field, reason) in [
        (strategy(json!({"ExecutorType": "guess"})), at("ExecutorType"), "FieldValueNotSupported"),
        (strategy(scaled), at("MaxScale"), "FieldValueInvalid"),
        (strategy(json!({"TargetCPUPercent": 500})), at("TargetCPUPercent"), "FieldValueInvalid"),
        (host, "spec.podspec.hostNetwork".to_owned(), "FieldValueForbidden"),
        (with_spec(None), "spec".to_owned(), "FieldValueRequired"),
        (with_spec(Some(Value::Null)), "spec".to_owned(), "FieldValueRequired"),
        (alias, "spec".to_owned(), "FieldValueRequired"),
    ] {
        let is_alias = object["kind"] == "Alias";
        let path =
            if is_alias { format!("{FOLIO}/aliases") } else { format!("{FISSION}/functions") };
        let refused = ask(&world, "POST", &path, object).await.refused(422, "Invalid");
        let cause = &refused["details"]["causes"][0];
        assert_eq!(
            (&cause["field"], &cause["reason"]),
            (&json!(field), &json!(reason)),
            "{refused:#}"
        );
    }
    for path in [HELLO, "/api/v1/namespaces/default/configmaps/new"] {
        let asked = request(&world, "PATCH", path, APPLY, function("hello", "code").to_string());
        let refused = send(&world, asked).await.refused(422, "Invalid");
        let cause = &refused["details"]["causes"][0];
        assert_eq!(
            (&cause["field"], &cause["reason"]),
            (&json!("fieldManager"), &json!("FieldValueRequired"))
        );
    }
}
