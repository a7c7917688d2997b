//! What clients are told beside the object: warnings, and what exactly is wrong.

use super::*;

/// A function whose spec says something twice.
fn twice() -> String {
    let text = function("twice", "code").to_string();
    let spec = r#""spec":{"#;
    text.replace(spec, r#""spec":{"functionTimeout":3,"functionTimeout":4,"#)
}

fn alias(spec: Value) -> Value {
    let metadata = json!({"name": "hello-prod"});
    json!({"apiVersion": "folio.dev/v1", "kind": "Alias", "metadata": metadata, "spec": spec})
}

async fn post(world: &World, path: &str, body: String) -> Answer {
    send(world, request(world, "POST", path, "application/json", body)).await
}

#[tokio::test]
async fn a_field_that_is_said_twice_is_refused_told_or_ignored() {
    let world = World::memory().await;
    hello(&world).await;
    let functions = |how: &str| format!("{FISSION}/functions?fieldValidation={how}");
    let refused = post(&world, &functions("Strict"), twice()).await.refused(400, "BadRequest");
    assert_eq!(
        refused["message"],
        "Function in version \"v1\" cannot be handled as a Function: strict decoding error: duplicate field \"spec.functionTimeout\""
    );
    let told = "299 - \"duplicate field \\\"spec.functionTimeout\\\"\"".to_owned();
    let warned = post(&world, &functions("Warn"), twice()).await;
    assert!(warned.warnings.contains(&told), "{:?}", warned.warnings);
    assert_eq!(warned.ok()["spec"]["functionTimeout"], 4);
    ask(&world, "DELETE", &format!("{FISSION}/functions/twice"), Value::Null).await.ok();
    let ignored = post(&world, &functions("Ignore"), twice()).await;
    assert!(!ignored.warnings.contains(&told), "{:?}", ignored.warnings);
    ignored.ok();
    let entries = world.entries();
    let strict = format!("{FISSION}/functions/hello?fieldManager=x&fieldValidation=Strict");
    let spec = r#"{"metadata":{"labels":{"a":"b","a":"c"}}}"#;
    for (media, body) in [
        ("application/merge-patch+json", spec.to_owned()),
        ("application/apply-patch+yaml", twice().replace("twice", "hello")),
        ("application/apply-patch+yaml", "metadata:\n  name: hello\n  name: hello\n".to_owned()),
    ] {
        let asked = request(&world, "PATCH", &strict, media, body);
        let refused = send(&world, asked).await.refused(400, "BadRequest");
        assert!(refused["message"].as_str().unwrap().contains("duplicate"), "{refused:#}");
    }
    let map = r#"{"metadata":{"name":"m"},"data":{"k":"v","k":"w"}}"#.to_owned();
    let maps = "/api/v1/namespaces/default/configmaps?fieldValidation=Strict";
    post(&world, maps, map).await.refused(400, "BadRequest");
    assert_eq!(world.entries(), entries);
}

#[tokio::test]
async fn a_cause_says_what_sort_of_wrong_it_is() {
    let world = World::memory().await;
    hello(&world).await;
    let route = |name: &str, function: &str| {
        json!({
            "apiVersion": "fission.io/v1", "kind": "HTTPTrigger", "metadata": {"name": name},
            "spec": {
                "relativeurl": "/x", "methods": ["GET"],
                "functionref": {"type": "name", "name": function},
            },
        })
    };
    ask(&world, "POST", &format!("{FISSION}/httptriggers"), route("one", "hello")).await.ok();
    let with = |at: &str, value: Value| {
        let mut object = function("new", "code");
        *object.pointer_mut(at).unwrap() = value;
        object
    };
    let timeout = |value: Value| {
        let mut object = function("new", "code");
        object["spec"]["functionTimeout"] = value;
        object
    };
    let named = json!({"function": "hello", "weights": [{"weight": 10000}]});
    let elsewhere = json!({"function": "hello", "weights": [{"number": 99}]});
    for (path, object, field, reason) in [
        (FISSION, with("/metadata/name", Value::Null), "metadata.name", "FieldValueRequired"),
        (
            FISSION,
            with("/metadata/labels", json!({"a": 1})),
            "metadata.labels",
            "FieldValueTypeInvalid",
        ),
        (
            FISSION,
            with("/metadata/labels", json!({"a": "b c"})),
            "metadata.labels",
            "FieldValueInvalid",
        ),
        (FISSION, timeout(json!("x")), "spec.functionTimeout", "FieldValueTypeInvalid"),
        (FISSION, timeout(json!(-5)), "spec.functionTimeout", "FieldValueInvalid"),
        (FISSION, function("new", "none"), "spec.package.packageref.name", "FieldValueNotFound"),
        (
            FISSION,
            with("/spec/environment/name", json!("none")),
            "spec.environment.name",
            "FieldValueNotFound",
        ),
        (FOLIO, alias(named), "spec.weights", "FieldValueRequired"),
        (FOLIO, alias(elsewhere), "spec", "FieldValueNotFound"),
    ] {
        let plural = if path == FOLIO { "aliases" } else { "functions" };
        let path = format!("{path}/{plural}");
        let refused = ask(&world, "POST", &path, object).await.refused(422, "Invalid");
        let cause = &refused["details"]["causes"][0];
        assert_eq!(
            (&cause["field"], &cause["reason"]),
            (&json!(field), &json!(reason)),
            "{refused:#}"
        );
    }
    let taken =
        ask(&world, "POST", &format!("{FISSION}/httptriggers"), route("two", "hello")).await;
    let taken = taken.refused(422, "Invalid");
    assert_eq!(taken["details"]["causes"][0]["reason"], "FieldValueDuplicate", "{taken:#}");
    let dry = ask(&world, "POST", &format!("{FISSION}/functions?dryRun=Some"), json!({})).await;
    let dry = dry.refused(422, "Invalid");
    assert_eq!(dry["details"]["causes"][0]["reason"], "FieldValueNotSupported", "{dry:#}");
}

#[tokio::test]
async fn what_is_said_of_a_namespace_is_kept() {
    let world = World::memory().await;
    let spaces = "/api/v1/namespaces";
    let space =
        |metadata: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
    let plain = ask(&world, "POST", spaces, space(json!({"name": "shop"}))).await;
    assert_eq!(plain.warnings, Vec::<String>::new());
    plain.ok();
    let noted = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "b"});
    let one = format!("{spaces}/shop");
    let said = json!({"metadata": {"labels": {"team": "a"}, "annotations": noted}});
    let rehearsed = ask(&world, "PATCH", &format!("{one}?dryRun=All"), said.clone()).await.ok();
    let patched = ask(&world, "PATCH", &one, said.clone()).await;
    assert_eq!(patched.warnings, Vec::<String>::new());
    let patched = patched.ok();
    for part in ["labels", "annotations"] {
        assert_eq!(patched["metadata"][part], rehearsed["metadata"][part]);
    }
    assert_eq!(patched["metadata"]["annotations"], noted);
    let own = json!({"kubernetes.io/metadata.name": "shop", "team": "a"});
    assert_eq!(patched["metadata"]["labels"], own);
    let entries = world.entries();
    for query in ["?dryRun=All", ""] {
        let again = ask(&world, "PATCH", &format!("{one}{query}"), said.clone()).await.ok();
        assert_eq!(again, patched, "{query}");
    }
    assert_eq!(world.entries(), entries, "what is said again changes nothing");
    let made = space(json!({"name": "other", "labels": {"team": "b"}}));
    ask(&world, "POST", spaces, made).await.ok();
    for (team, name) in [("a", "shop"), ("b", "other")] {
        let found = get(&world, &format!("{spaces}?labelSelector=team%3D{team}")).await.ok();
        let found: Vec<_> = found["items"].as_array().unwrap().iter().collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["metadata"]["name"], name);
    }
}

#[tokio::test]
async fn who_deploys_while_live_is_pinned_is_told() {
    let world = World::memory().await;
    hello(&world).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "v"}});
    let made = ask(&world, "POST", maps, map).await;
    assert_eq!(made.warnings, Vec::<String>::new(), "live follows");
    let releases = get(&world, &format!("{FOLIO}/releases")).await.ok();
    let older = releases["items"].as_array().unwrap().iter();
    let older = older.clone().find(|release| release["spec"]["live"] == false).unwrap();
    let older = older["metadata"]["name"].as_str().unwrap();
    let live = json!({"spec": {"live": true}});
    ask(&world, "PATCH", &format!("{FOLIO}/releases/{older}"), live).await.ok();
    let pinned = format!("is not live: live is pinned at {older} since ");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "v"}});
    let change = json!({"data": {"k": "w"}});
    let code = published(package("code", "two"));
    for (method, path, body) in [
        ("PATCH", format!("{FISSION}/packages/code"), code),
        ("PATCH", format!("{maps}/c"), change),
        ("POST", "/api/v1/namespaces/default/secrets".to_owned(), secret),
    ] {
        let rehearsed = ask(&world, method, &format!("{path}?dryRun=All"), body.clone()).await;
        let is_told = |warning: &String| warning.contains(&pinned);
        assert!(!rehearsed.warnings.iter().any(is_told), "{path}: {:?}", rehearsed.warnings);
        let done = ask(&world, method, &path, body).await;
        let told: Vec<_> = done.warnings.iter().filter(|warning| is_told(warning)).collect();
        assert_eq!(told.len(), 1, "{path}: {:?}", done.warnings);
        assert!(told[0].contains("folio release follow"), "{told:?}");
        done.ok();
    }
}

#[tokio::test]
async fn a_namespace_is_as_old_as_its_app() {
    let world = World::memory().await;
    let age = async |name: &str| {
        let found = get(&world, &format!("/api/v1/namespaces/{name}")).await.ok();
        found["metadata"]["creationTimestamp"].as_str().map(str::to_owned)
    };
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    let made = ask(&world, "POST", "/api/v1/namespaces", space).await.ok();
    let first = made["metadata"]["creationTimestamp"].as_str().map(str::to_owned);
    assert!(first.is_some(), "{made:#}");
    let default = age("default").await;
    assert!(default.is_some());
    hello(&world).await;
    assert_eq!((age("shop").await, age("default").await), (first, default), "it never changes");
}

#[tokio::test]
async fn a_patch_that_is_too_much_says_what_to_do_instead() {
    let world = World::memory().await;
    hello(&world).await;
    let step = json!({"op": "test", "path": "/metadata/name", "value": "hello"});
    let long: Value = std::iter::repeat_n(step, 10_001).collect();
    let copy = |at| json!({"op": "copy", "from": "/spec", "path": format!("/spec/k{at}")});
    let large: Value = (0..64).map(copy).collect();
    for (patch, code) in [(long, 413), (large, 422)] {
        let path = format!("{FISSION}/functions/hello");
        let asked =
            request(&world, "PATCH", &path, "application/json-patch+json", patch.to_string());
        let answer = send(&world, asked).await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert_eq!(answer.status, code, "{message}");
        assert!(message.contains("send a merge patch, or replace the object"), "{message}");
    }
}
