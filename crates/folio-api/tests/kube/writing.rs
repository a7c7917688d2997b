//! What becomes of what is written.

use super::*;

const HELLO: &str = "/apis/fission.io/v1/namespaces/default/functions/hello";

#[tokio::test]
async fn what_is_applied_is_a_draft_until_it_is_to_be_published() {
    let world = World::memory().await;
    ask(&world, "POST", &format!("{FISSION}/packages"), package("code", "one")).await.ok();
    let made =
        ask(&world, "POST", &format!("{FISSION}/functions"), function("hello", "code")).await.ok();
    assert_eq!(made["status"]["versions"], 0);
    assert_eq!(made["status"]["draft"], true);
    let publish = json!({"metadata": {"annotations": {"folio.dev/publish": "true"}}});
    let path = format!("{FISSION}/packages/code");
    let package = ask(&world, "PATCH", &path, publish.clone()).await;
    assert!(package.warnings[0].contains("published version 1 ("), "{:?}", package.warnings);
    let answer = ask(&world, "PATCH", HELLO, publish).await;
    assert!(answer.warnings[0].contains("published version 1 ("), "{:?}", answer.warnings);
    let object = answer.ok();
    assert_eq!(object["status"]["versions"], 1);
    assert_eq!(object["status"]["draft"], false);
}

#[tokio::test]
async fn putting_what_is_there_moves_nothing() {
    let world = World::memory().await;
    hello(&world).await;
    let entries = world.entries();
    let before = get(&world, HELLO).await.ok();
    let after = ask(&world, "PUT", HELLO, before.clone()).await.ok();
    assert_eq!(after, before);
    ask(&world, "PATCH", HELLO, json!({"metadata": {"labels": {"tier": "web"}}})).await.ok();
    let path = format!("{FISSION}/packages/code");
    let package = get(&world, &path).await.ok();
    assert_eq!(ask(&world, "PUT", &path, package.clone()).await.ok(), package);
    assert_eq!(world.entries(), entries);
}

#[tokio::test]
async fn labels_and_annotations_make_no_version() {
    let world = World::memory().await;
    hello(&world).await;
    let patch =
        json!({"metadata": {"labels": {"tier": "db", "new": "x"}, "annotations": {"note": "y"}}});
    let changed = ask(&world, "PATCH", HELLO, patch).await.ok();
    assert_eq!(changed["metadata"]["labels"], json!({"tier": "db", "new": "x"}));
    assert_eq!(changed["status"]["versions"], 1);
    assert_eq!(changed["status"]["draft"], false);
    assert_eq!(changed["metadata"]["generation"], 1);
    let selected =
        get(&world, &format!("{FISSION}/functions?labelSelector=new%3Dx,tier!%3Dweb")).await.ok();
    assert_eq!(selected["items"].as_array().unwrap().len(), 1);
    let removed =
        ask(&world, "PATCH", HELLO, json!({"metadata": {"labels": {"new": null}}})).await.ok();
    assert_eq!(removed["metadata"]["labels"], json!({"tier": "db"}));
}

#[tokio::test]
async fn a_new_version_of_a_package_reaches_its_functions() {
    let world = World::memory().await;
    hello(&world).await;
    let path = format!("{FISSION}/packages/code");
    let mut package = published(package("code", "two"));
    package["metadata"]["resourceVersion"] =
        get(&world, &path).await.ok()["metadata"]["resourceVersion"].clone();
    let answer = ask(&world, "PUT", &path, package).await;
    assert!(
        answer.warnings.iter().any(|text| text.contains("changed function hello too")),
        "{:?}",
        answer.warnings
    );
    answer.ok();
    assert_eq!(get(&world, HELLO).await.ok()["status"]["versions"], 2);
}

#[tokio::test]
async fn an_old_revision_is_refused_and_none_is_not() {
    let world = World::memory().await;
    hello(&world).await;
    let old = get(&world, HELLO).await.ok();
    ask(&world, "PATCH", HELLO, json!({"metadata": {"labels": {"a": "b"}}})).await.ok();
    let mut late = old.clone();
    late["metadata"]["labels"]["c"] = "d".into();
    ask(&world, "PUT", HELLO, late).await.refused(409, "Conflict");
    let patch = json!({"metadata": {"resourceVersion": old["metadata"]["resourceVersion"], "labels": {"e": "f"}}});
    ask(&world, "PATCH", HELLO, patch).await.refused(409, "Conflict");
    let changes = (0..8).map(|number| {
        let world = &world;
        async move {
            let patch = json!({"metadata": {"labels": {format!("n{number}"): "x"}}});
            ask(world, "PATCH", HELLO, patch).await.ok();
        }
    });
    futures::future::join_all(changes).await;
    let labels = get(&world, HELLO).await.ok()["metadata"]["labels"].as_object().unwrap().len();
    assert_eq!(labels, 10);
}

#[tokio::test]
async fn a_rehearsal_changes_nothing() {
    let world = World::memory().await;
    hello(&world).await;
    let entries = world.entries();
    let made =
        ask(&world, "POST", &format!("{FISSION}/functions?dryRun=All"), function("new", "code"))
            .await
            .ok();
    assert_eq!(made["metadata"]["name"], "new");
    let patched = json!({"spec": {"functionTimeout": 7}});
    let path = format!("{HELLO}?dryRun=All");
    assert_eq!(ask(&world, "PATCH", &path, patched).await.ok()["spec"]["functionTimeout"], 7);
    ask(&world, "DELETE", HELLO, json!({"dryRun": ["All"]})).await.ok();
    assert_eq!(world.entries(), entries);
    let refused =
        ask(&world, "POST", &format!("{FISSION}/functions?dryRun=All"), function("new", "none"))
            .await;
    refused.refused(422, "Invalid");
}

#[tokio::test]
async fn two_who_apply_do_not_overwrite_each_other() {
    let world = World::memory().await;
    hello(&world).await;
    let mut one = function("hello", "code");
    one["spec"]["functionTimeout"] = 10.into();
    let first = apply(&world, HELLO, "one", &one).await.ok();
    assert_eq!(first["spec"]["functionTimeout"], 10);
    let entries = world.entries();
    assert_eq!(apply(&world, HELLO, "one", &one).await.ok(), first);
    assert_eq!(world.entries(), entries);
    let mut two =
        json!({"apiVersion": "fission.io/v1", "kind": "Function", "metadata": {"name": "hello"}});
    two["spec"] = json!({"functionTimeout": 20});
    let refused = apply(&world, HELLO, "two", &two).await.refused(409, "Conflict");
    assert_eq!(refused["details"]["causes"][0]["reason"], "FieldManagerConflict");
    let forced = format!("{HELLO}?fieldManager=two&force=true");
    let text = two.to_string();
    let forced =
        send(&world, request(&world, "PATCH", &forced, "application/apply-patch+yaml", text))
            .await
            .ok();
    assert_eq!(forced["spec"]["functionTimeout"], 20);
    one["spec"].as_object_mut().unwrap().remove("functionTimeout");
    let kept = apply(&world, HELLO, "one", &one).await.ok();
    assert_eq!(kept["spec"]["functionTimeout"], 20, "it is two's now");
}

#[tokio::test]
async fn what_is_in_use_is_not_deleted() {
    let world = World::memory().await;
    hello(&world).await;
    let route = json!({
        "apiVersion": "fission.io/v1", "kind": "HTTPTrigger",
        "metadata": {"name": "hello", "namespace": "default"},
        "spec": {
            "relativeurl": "/hello", "methods": ["GET"], "method": "",
            "functionref": {"type": "name", "name": "hello", "functionweights": null},
            "host": "", "createingress": false,
            "ingressconfig": {"annotations": null, "host": "", "path": "", "tls": ""},
        },
    });
    ask(&world, "POST", &format!("{FISSION}/httptriggers"), route).await.ok();
    let refused = ask(&world, "DELETE", HELLO, Value::Null).await.refused(409, "Conflict");
    assert_eq!(refused["details"]["causes"][0]["reason"], "InUse");
    ask(&world, "DELETE", &format!("{FISSION}/httptriggers/hello"), Value::Null).await.ok();
    ask(&world, "DELETE", HELLO, Value::Null).await.ok();
    get(&world, HELLO).await.refused(404, "NotFound");
}

#[tokio::test]
async fn one_object_is_written_in_any_of_its_versions() {
    let world = World::memory().await;
    hello(&world).await;
    let path = format!("{FOLIO}/functions/hello");
    let changed =
        ask(&world, "PATCH", &path, json!({"spec": {"run": {"timeoutMs": 9000}}})).await.ok();
    assert_eq!(changed["apiVersion"], "folio.dev/v1");
    let fission = get(&world, HELLO).await.ok();
    assert_eq!(fission["spec"]["functionTimeout"], 9);
    assert_eq!(fission["spec"]["InvokeStrategy"]["StrategyType"], "execution");
}

#[tokio::test]
async fn namespaces_configs_and_secrets_are_folios() {
    let world = World::memory().await;
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    ask(&world, "POST", "/api/v1/namespaces", space.clone()).await.ok();
    ask(&world, "POST", "/api/v1/namespaces", space).await.refused(409, "AlreadyExists");
    let maps = "/api/v1/namespaces/shop/configmaps";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"colour": "red", "app.ini": "x=1"}});
    ask(&world, "POST", maps, map).await.ok();
    let patched =
        ask(&world, "PATCH", &format!("{maps}/settings"), json!({"data": {"colour": "blue"}}))
            .await
            .ok();
    assert_eq!(patched["data"], json!({"colour": "blue", "app.ini": "x=1"}));
    let secrets = "/api/v1/namespaces/shop/secrets";
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"token": "hush"}});
    let made = ask(&world, "POST", secrets, secret).await.ok();
    assert!(!made.to_string().contains("hush"), "a value is never shown");
    let again = ask(&world, "PUT", &format!("{secrets}/key"), made.clone()).await.ok();
    assert_eq!(again, made, "what stands in for a value leaves it as it is");
    let shop = "/api/v1/namespaces/shop";
    ask(&world, "DELETE", shop, Value::Null).await.ok();
    for path in [shop.to_owned(), format!("{maps}/settings"), format!("{secrets}/key")] {
        ask(&world, "GET", &path, Value::Null).await.refused(404, "NotFound");
    }
}

#[tokio::test]
async fn a_namespace_is_applied_again_without_a_trace() {
    let world = World::memory().await;
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": "shop", "labels": { "team": "a" } },
    });
    let path = "/api/v1/namespaces/shop";
    let made = apply(&world, path, "loop", &namespace).await;
    assert_eq!(made.status, 201);
    let entries = world.entries();
    let again = apply(&world, path, "loop", &namespace).await.ok();
    assert_eq!(again, made.ok());
    assert_eq!(world.entries(), entries);
}
