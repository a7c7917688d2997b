//! What is served, and how it is read.

use super::*;

#[tokio::test]
async fn discovery_tells_of_every_kind_in_both_forms() {
    let world = World::memory().await;
    let groups = get(&world, "/apis").await.ok();
    let names: Vec<_> =
        groups["groups"].as_array().unwrap().iter().map(|group| &group["name"]).collect();
    assert_eq!(names, ["fission.io", "folio.dev", "authentication.k8s.io", "authorization.k8s.io"]);
    let plain = get(&world, "/apis/folio.dev/v1").await.ok();
    let accept =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let mut asked = request(&world, "GET", "/apis", "application/json", String::new());
    asked.headers_mut().insert("accept", accept.parse().unwrap());
    let whole = send(&world, asked).await.ok();
    assert_eq!(whole["kind"], "APIGroupDiscoveryList");
    let versions = &whole["items"][1]["versions"];
    assert_eq!(versions[0]["version"], "v1");
    assert_eq!(versions[1]["version"], "v1beta1");
    let served = folio_kinds::KINDS.iter().filter(|kind| kind.versions.contains(&"folio.dev/v1"));
    for kind in served.filter(|kind| kind.name != "CanaryConfig") {
        let resources = plain["resources"].as_array().unwrap();
        assert!(resources.iter().any(|found| found["name"] == kind.plural), "{}", kind.name);
        let resources = versions[0]["resources"].as_array().unwrap();
        assert!(resources.iter().any(|found| found["resource"] == kind.plural), "{}", kind.name);
    }
    assert!(get(&world, "/version").await.ok()["gitVersion"].as_str().unwrap().starts_with("v1."));
}

#[tokio::test]
async fn every_list_of_every_version_can_be_read() {
    let world = World::memory().await;
    hello(&world).await;
    for version in ["fission.io/v1", "folio.dev/v1", "folio.dev/v1beta1"] {
        let resources = get(&world, &format!("/apis/{version}")).await.ok();
        for resource in resources["resources"].as_array().unwrap() {
            let name = resource["name"].as_str().unwrap();
            if name.contains('/') {
                continue;
            }
            let list = get(&world, &format!("/apis/{version}/{name}")).await.ok();
            assert_eq!(list["kind"], format!("{}List", resource["kind"].as_str().unwrap()));
            for item in list["items"].as_array().unwrap() {
                let name = format!("{name}/{}", item["metadata"]["name"].as_str().unwrap());
                let one =
                    get(&world, &format!("/apis/{version}/namespaces/default/{name}")).await.ok();
                assert_eq!(one["metadata"]["uid"], item["metadata"]["uid"], "{version} {name}");
            }
        }
    }
}

#[tokio::test]
async fn a_table_has_a_row_for_each_object() {
    let world = World::memory().await;
    hello(&world).await;
    let mut asked = request(&world, "GET", &format!("{FISSION}/functions"), "", String::new());
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    asked.headers_mut().insert("accept", accept.parse().unwrap());
    let table = send(&world, asked).await.ok();
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["rows"][0]["cells"][0], "hello");
    assert_eq!(table["rows"][0]["cells"][1], "1");
    let columns = table["columnDefinitions"].as_array().unwrap().len();
    assert_eq!(table["rows"][0]["cells"].as_array().unwrap().len(), columns);
}

#[tokio::test]
async fn pages_follow_one_another_without_gaps() {
    let world = World::memory().await;
    for name in ["a", "b", "c", "d", "e"] {
        ask(&world, "POST", &format!("{FISSION}/packages"), package(name, name)).await.ok();
    }
    let mut names = Vec::new();
    let mut next = String::new();
    loop {
        let page = get(&world, &format!("{FISSION}/packages?limit=2&continue={next}")).await.ok();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        names
            .extend(items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()));
        next = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        if next.is_empty() {
            break;
        }
    }
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    let selected =
        get(&world, &format!("{FISSION}/packages?fieldSelector=metadata.name%3Dc")).await.ok();
    assert_eq!(selected["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_documents_hold_every_kind() {
    let world = World::memory().await;
    let index = get(&world, "/openapi/v3").await.ok();
    let url = index["paths"]["apis/fission.io/v1"]["serverRelativeURL"].as_str().unwrap();
    let document = get(&world, url).await.ok();
    let schema = &document["components"]["schemas"]["io.fission.v1.Function"];
    assert_eq!(schema["x-kubernetes-group-version-kind"][0]["kind"], "Function");
    let shown = &schema["properties"]["status"]["properties"];
    for served in ["buildstatus", "conditions", "draft", "latest", "live", "versions"] {
        assert!(shown[served]["description"].is_string(), "{served}: {shown:#}");
    }
    let url = index["paths"]["api/v1"]["serverRelativeURL"].as_str().unwrap();
    let core = get(&world, url).await.ok();
    for (name, schema) in core["components"]["schemas"].as_object().unwrap() {
        let own = schema["properties"].as_object().unwrap();
        assert!(own.len() > 3 && schema["description"] != "", "{name}: {schema:#}");
    }
    let patch =
        &document["paths"]["/apis/fission.io/v1/namespaces/{namespace}/functions/{name}"]["patch"];
    let names: Vec<_> =
        patch["parameters"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation"]);
}

#[tokio::test]
async fn what_is_made_elsewhere_is_seen_here() {
    let world = World::memory().await;
    world.publish("other", "v1.0.0", "exports").await;
    let found = get(&world, &format!("{FOLIO}/functions/other")).await.ok();
    assert_eq!(found["status"]["latest"], "v1.0.0");
    assert_eq!(found["spec"]["package"]["name"], "other-pkg");
    let versions =
        get(&world, &format!("{FOLIO}/functionversions?labelSelector=function%3Dother")).await.ok();
    assert_eq!(versions["items"][0]["metadata"]["name"], "other-v1.0.0");
    let releases = get(&world, &format!("{FOLIO}/releases")).await.ok();
    assert_eq!(releases["items"].as_array().unwrap().len(), 1);
}
