//! Objects that are no units: pointers, releases, executions, and what is told of them.

use super::*;

fn alias(weights: Value) -> Value {
    json!({
        "apiVersion": "folio.dev/v1", "kind": "Alias", "metadata": {"name": "hello-prod"},
        "spec": {"function": "hello", "weights": weights},
    })
}

/// A function with two versions, `v1` and `v2`.
async fn two_versions(world: &World) {
    world.publish("hello", "v1", "one").await;
    world.publish("hello", "v2", "two").await;
}

async fn a_release(world: &World, live: bool) -> Value {
    let list = get(world, &format!("{FOLIO}/releases")).await.ok();
    let items = list["items"].as_array().unwrap().clone();
    items.into_iter().find(|item| item["spec"]["live"] == live).unwrap()
}

#[tokio::test]
async fn an_alias_is_made_moved_and_removed() {
    let world = World::memory().await;
    two_versions(&world).await;
    let aliases = format!("{FOLIO}/aliases");
    let one = format!("{aliases}/hello-prod");
    let made = ask(&world, "POST", &aliases, alias(json!([{"version": "v1"}]))).await.ok();
    assert_eq!(made["status"]["to"], "v1");
    assert_eq!(made["spec"]["weights"], json!([{"version": "v1"}]), "its words are kept");
    ask(&world, "POST", &aliases, alias(json!([{"number": 1}])))
        .await
        .refused(409, "AlreadyExists");
    let split = json!([{"number": 1, "weight": 9000}, {"number": 2, "weight": 1000}]);
    let moved = ask(&world, "PATCH", &one, json!({"spec": {"weights": split}})).await.ok();
    assert_eq!(moved["status"]["to"], "v1=90%,v2=10%");
    let fission = get(&world, &format!("{FISSION}/functionaliases/prod")).await.ok();
    assert_eq!(fission["spec"]["weight"], 90);
    assert_eq!(fission["spec"]["secondaryVersion"], "v2");
    ask(&world, "DELETE", &one, Value::Null).await.ok();
    get(&world, &one).await.refused(404, "NotFound");
}

#[tokio::test]
async fn fields_of_an_alias_that_nobody_knows_stay_wherever_it_moves() {
    let world = World::memory().await;
    two_versions(&world).await;
    world.publish("other", "v1", "one").await;
    let aliases = format!("{FISSION}/functionaliases");
    let named = |function: &str| {
        json!({
            "apiVersion": "fission.io/v1", "kind": "FunctionAlias", "metadata": {"name": "prod"},
            "spec": {"functionName": function, "version": "v1", "mood": "good"}, "owners": ["me"],
        })
    };
    let made = ask(&world, "POST", &aliases, named("hello")).await.ok();
    assert_eq!((&made["spec"]["mood"], &made["owners"]), (&json!("good"), &json!(["me"])));
    let to_two = json!({"spec": {"weights": [{"number": 2, "weight": 10000}]}});
    ask(&world, "PATCH", &format!("{FOLIO}/aliases/hello-prod"), to_two).await.ok();
    let moved = get(&world, &format!("{aliases}/prod")).await.ok();
    let spec = json!({"functionName": "hello", "version": "v2", "mood": "good"});
    assert_eq!((&moved["spec"], &moved["owners"]), (&spec, &json!(["me"])));

    // Another of that name is told apart by its function, and they stay what they were.
    let other = json!({
        "apiVersion": "folio.dev/v1", "kind": "Alias", "metadata": {"name": "other-prod"},
        "spec": {"function": "other", "weights": [{"version": "v1"}]},
    });
    ask(&world, "POST", &format!("{FOLIO}/aliases"), other).await.ok();
    let again = get(&world, &format!("{aliases}/hello-prod")).await.ok();
    assert_eq!((&again["spec"], &again["metadata"]["uid"]), (&spec, &made["metadata"]["uid"]));
    let fresh = get(&world, &format!("{aliases}/other-prod")).await.ok();
    assert_eq!(fresh["spec"]["mood"], Value::Null);
}

#[tokio::test]
async fn a_pointer_moves_only_from_where_it_was_seen() {
    let world = World::memory().await;
    two_versions(&world).await;
    let one = format!("{FOLIO}/aliases/hello-prod");
    let made = alias(json!([{"number": 1, "weight": 10000}]));
    let seen = ask(&world, "POST", &format!("{FOLIO}/aliases"), made).await.ok();
    let to_two = json!({"spec": {"weights": [{"number": 2, "weight": 10000}]}});
    ask(&world, "PATCH", &one, to_two.clone()).await.ok();
    let entries = world.entries();
    ask(&world, "PUT", &one, seen.clone()).await.refused(409, "Conflict");
    let mut stale = to_two.clone();
    stale["metadata"] = json!({"resourceVersion": seen["metadata"]["resourceVersion"]});
    ask(&world, "PATCH", &one, stale).await.refused(409, "Conflict");
    ask(&world, "PATCH", &one, to_two).await.ok();
    assert_eq!(world.entries(), entries, "what is so already moves nothing");
}

#[tokio::test]
async fn those_who_name_no_revision_all_get_their_say() {
    let world = World::memory().await;
    two_versions(&world).await;
    let made = alias(json!([{"number": 1, "weight": 10000}]));
    ask(&world, "POST", &format!("{FOLIO}/aliases"), made).await.ok();
    let one = format!("{FOLIO}/aliases/hello-prod");
    let label = async |index: usize| {
        let patch = json!({"metadata": {"labels": {format!("l{index}"): "x"}}});
        ask(&world, "PATCH", &one, patch).await.ok()
    };
    futures::future::join_all((0..8).map(label)).await;
    let found = get(&world, &one).await.ok();
    let labels = found["metadata"]["labels"].as_object().unwrap();
    assert_eq!((0..8).filter(|index| labels.contains_key(&format!("l{index}"))).count(), 8);
}

#[tokio::test]
async fn a_tag_is_exactly_its_members() {
    let world = World::memory().await;
    two_versions(&world).await;
    world.publish("other", "v1", "three").await;
    let tags = format!("{FOLIO}/tags");
    let members =
        json!([{"function": "hello", "version": "v1"}, {"function": "other", "number": 1}]);
    let tag = json!({
        "apiVersion": "folio.dev/v1", "kind": "Tag", "metadata": {"name": "spring"},
        "spec": {"members": members},
    });
    ask(&world, "POST", &tags, tag).await.ok();
    let one = format!("{tags}/spring");
    let fewer = json!({"spec": {"members": [{"function": "hello", "number": 2}]}});
    let now = ask(&world, "PATCH", &one, fewer).await.ok();
    assert_eq!(now["status"]["members"], json!(["hello@v2"]));
    ask(&world, "PATCH", &one, json!({"spec": {"members": []}})).await.refused(422, "Invalid");
    ask(&world, "DELETE", &one, Value::Null).await.ok();
}

#[tokio::test]
async fn setting_live_moves_what_is_live() {
    let world = World::memory().await;
    two_versions(&world).await;
    let (live, other) = (a_release(&world, true).await, a_release(&world, false).await);
    let path = |release: &Value| {
        format!("{FOLIO}/releases/{}", release["metadata"]["name"].as_str().unwrap())
    };
    let set = json!({"spec": {"live": true}});
    let now = ask(&world, "PATCH", &path(&other), set.clone()).await.ok();
    assert_eq!((&now["spec"]["live"], &now["status"]["live"]), (&json!(true), &json!("100%")));
    assert_eq!(get(&world, &path(&live)).await.ok()["spec"]["live"], false);
    // Who saw the other release live puts it back only knowingly.
    ask(&world, "PUT", &path(&live), live.clone()).await.refused(409, "Conflict");
    let entries = world.entries();
    ask(&world, "PATCH", &path(&other), set).await.ok();
    assert_eq!(world.entries(), entries);
    let refused = ask(&world, "DELETE", &path(&other), Value::Null).await.refused(409, "Conflict");
    assert_eq!(refused["details"]["causes"][0]["reason"], "InUse", "{refused:#}");
    let off = json!({"spec": {"live": false}});
    ask(&world, "PATCH", &path(&other), off).await.refused(422, "Invalid");
    let edit = json!({"spec": {"appVersion": "x"}});
    ask(&world, "PATCH", &path(&other), edit).await.refused(422, "Invalid");
    ask(&world, "DELETE", &path(&live), Value::Null).await.ok();
    get(&world, &path(&live)).await.refused(404, "NotFound");
}

#[tokio::test]
async fn making_an_execution_runs_a_function() {
    let world = World::memory().await;
    two_versions(&world).await;
    let executions = format!("{FOLIO}/executions");
    let run = |function: &str| {
        json!({
            "apiVersion": "folio.dev/v1", "kind": "Execution", "metadata": {"generateName": "run-"},
            "spec": {"function": function, "mode": "sync", "input": {"n": 1}},
        })
    };
    ask(&world, "POST", &format!("{executions}?dryRun=All"), run("hello@v1")).await.ok();
    let none = get(&world, &executions).await.ok();
    assert_eq!(none["items"], json!([]), "a rehearsal runs nothing");
    let made = ask(&world, "POST", &executions, run("hello@v1")).await.ok();
    assert_eq!(made["status"]["status"], "success", "{made:#}");
    assert_eq!(made["spec"]["input"], json!({"n": 1}));
    let one = format!("{executions}/{}", made["metadata"]["name"].as_str().unwrap());
    assert_eq!(get(&world, &one).await.ok()["metadata"]["uid"], made["metadata"]["uid"]);
    ask(&world, "POST", &executions, run("none")).await.refused(422, "Invalid");
    let mut named = run("hello");
    named["metadata"]["name"] = "mine".into();
    ask(&world, "POST", &executions, named).await.refused(422, "Invalid");
    let edit = json!({"spec": {"function": "other"}});
    ask(&world, "PATCH", &one, edit).await.refused(422, "Invalid");
    ask(&world, "DELETE", &one, Value::Null).await.ok();
    get(&world, &one).await.refused(404, "NotFound");
}

#[tokio::test]
async fn a_scale_is_how_many_workers_are_kept() {
    let world = World::memory().await;
    hello(&world).await;
    for (group, replicas) in [(FISSION, 3), (FOLIO, 5), (FOLIO, 0)] {
        let path = format!("{group}/functions/hello/scale");
        let answer = ask(&world, "PATCH", &path, json!({"spec": {"replicas": replicas}})).await;
        assert!(answer.warnings[0].contains("published version"), "{:?}", answer.warnings);
        let scale = answer.ok();
        assert_eq!(
            (&scale["kind"], &scale["spec"]["replicas"]),
            (&json!("Scale"), &json!(replicas))
        );
        assert_eq!(get(&world, &path).await.ok()["spec"]["replicas"], replicas);
    }
    let entries = world.entries();
    let path = format!("{FISSION}/functions/hello/scale");
    ask(&world, "PATCH", &path, json!({"spec": {"replicas": 0}})).await.ok();
    assert_eq!(world.entries(), entries);
    for wrong in [json!(-1), json!("many"), json!(5_000_000_000_u64)] {
        let patch = json!({"spec": {"replicas": wrong}});
        ask(&world, "PATCH", &path, patch).await.refused(422, "Invalid");
    }
    let mut seen = get(&world, &path).await.ok();
    seen["spec"]["replicas"] = 2.into();
    ask(&world, "PUT", &path, seen.clone()).await.ok();
    ask(&world, "PUT", &path, seen).await.refused(409, "Conflict");
}

#[tokio::test]
async fn events_tell_of_deploys_releases_rollbacks_and_expiries() {
    let world = World::memory().await;
    for version in ["v1", "v2", "v3", "v4", "v5"] {
        world.publish("hello", version, version).await;
    }
    world.post(&format!("{}/live/rollback", crate::client::APP), json!({})).await;
    let events = get(&world, "/api/v1/namespaces/default/events").await.ok();
    let told = |reason: &str, kind: &str| {
        let mut all = events["items"].as_array().unwrap().iter();
        all.any(|event| event["reason"] == reason && event["involvedObject"]["kind"] == kind)
    };
    assert!(told("Published", "Function"), "{events:#}");
    assert!(told("Published", "Package"));
    assert!(told("Released", "Release"));
    assert!(told("Expired", "Release"));
    assert!(told("RolledBack", "Release"));
    let uid = get(&world, &format!("{FISSION}/functions/hello")).await.ok();
    let uid = uid["metadata"]["uid"].as_str().unwrap();
    let selector = format!(
        "involvedObject.kind=Function,involvedObject.uid={uid},involvedObject.apiVersion=folio.dev/v1"
    );
    let path = format!("/api/v1/namespaces/default/events?fieldSelector={selector}");
    let own = get(&world, &path).await.ok();
    assert_eq!(own["items"].as_array().unwrap().len(), 5, "{own:#}");
}

#[tokio::test]
async fn a_number_below_zero_is_refused_wherever_a_manifest_comes_from() {
    let world = World::memory().await;
    hello(&world).await;
    let entries = world.entries();
    let path = format!("{FISSION}/functions/hello");
    for spec in [
        json!({"functionTimeout": -5}),
        json!({"idletimeout": -1}),
        json!({"requestsPerPod": -1}),
        json!({"InvokeStrategy": {"ExecutionStrategy": {"ExecutorType": "newdeploy", "MinScale": -1}}}),
    ] {
        let refused = ask(&world, "PATCH", &path, json!({"spec": spec})).await;
        let refused = refused.refused(422, "Invalid");
        assert!(refused["message"].as_str().unwrap().contains("not negative"), "{refused:#}");
    }
    assert_eq!(world.entries(), entries);
}

#[tokio::test]
async fn what_a_cluster_converts_there_and_back_is_what_it_was() {
    let world = World::memory().await;
    let convert = async |object: Value, to: &str| {
        let review = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": {"uid": "1", "desiredAPIVersion": to, "objects": [object]},
        });
        let mut answer = ask(&world, "POST", "/convert", review).await.ok();
        answer["response"]["convertedObjects"][0].take()
    };
    let mut object = function("hello", "code");
    object["spec"]["podspec"] = json!({"hostNetwork": true});
    let there = convert(object.clone(), "folio.dev/v1").await;
    assert_eq!(there["spec"]["environment"], "nodejs");
    assert_eq!(convert(there, "fission.io/v1").await, object);
}
