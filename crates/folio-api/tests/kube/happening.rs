//! What is told of what happens by itself: builds as Events, and changes as rows of a table.

use folio_model::{Kind, UnitKey};
use futures::StreamExt as _;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::*;

/// Builds whatever waits until it is dropped.
fn builders(world: &World) -> (JoinSet<()>, oneshot::Sender<()>) {
    let (stop, stopped) = oneshot::channel::<()>();
    let folio = world.folio.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        folio.run_builds(async { drop(stopped.await) }).await.unwrap();
    });
    (tasks, stop)
}

/// A package that has to be built, by a command.
fn source(name: &str, command: &str) -> Value {
    let mut object = published(package(name, &format!("source of {name}")));
    object["spec"]["source"] = object["spec"]["deployment"].take();
    object["spec"]["deployment"] = json!({});
    object["spec"]["buildcmd"] = command.into();
    object
}

async fn events(world: &World, package: &str) -> Vec<Value> {
    let selector = format!("involvedObject.kind%3DPackage,involvedObject.name%3D{package}");
    let path = format!("/api/v1/namespaces/default/events?fieldSelector={selector}");
    get(world, &path).await.ok()["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn events_tell_how_builds_ended_of_the_packages_they_were_for() {
    let world = World::memory().await;
    let _builders = builders(&world);
    for (name, command) in [("good", "make"), ("bad", "break")] {
        ask(&world, "POST", &format!("{FISSION}/packages"), source(name, command)).await.ok();
        // A function that waits with it is not what was built.
        let mut waits = published(function(&format!("of-{name}"), name));
        waits["metadata"]["labels"] = json!({});
        ask(&world, "POST", &format!("{FISSION}/functions"), waits).await.ok();
        let key = UnitKey {
            app: "default".parse().unwrap(),
            kind: Kind::Package,
            name: name.parse().unwrap(),
        };
        world.folio.await_build(&key, &"1".parse().unwrap()).await.unwrap();
    }
    for (name, reason, kind) in [("good", "Built", "Normal"), ("bad", "BuildFailed", "Warning")] {
        let package = get(&world, &format!("{FISSION}/packages/{name}")).await.ok();
        let events = events(&world, name).await;
        let told: Vec<_> = events.iter().filter(|event| event["reason"] == reason).collect();
        let [told] = &told[..] else { panic!("{name}: {events:#?}") };
        assert_eq!(told["type"], kind);
        assert_eq!(told["involvedObject"]["uid"], package["metadata"]["uid"]);
        if reason == "BuildFailed" {
            let message = told["message"].as_str().unwrap();
            assert!(message.contains("nothing is built here"), "{message}");
        }
    }
    let all = get(&world, "/api/v1/namespaces/default/events").await.ok();
    let all = all["items"].as_array().unwrap().iter();
    let ended = all.filter(|event| event["reason"].as_str().unwrap().starts_with("Buil"));
    assert_eq!(ended.count(), 2, "one for each package, and none for anything else");
}

#[tokio::test]
async fn a_table_that_is_watched_is_a_row_for_each_change() {
    let world = World::memory().await;
    hello(&world).await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let table = async |path: &str| {
        let mut asked = request(&world, "GET", path, "", String::new());
        asked.headers_mut().insert("accept", accept.parse().unwrap());
        world.router.clone().oneshot(asked).await.unwrap()
    };
    let path = format!(
        "{FISSION}/functions?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    );
    let mut lines = table(&path).await.into_body().into_data_stream();
    let mut next = async || {
        let waited = std::time::Duration::from_secs(30);
        let line = tokio::time::timeout(waited, lines.next()).await.expect("something happens");
        serde_json::from_slice::<Value>(&line.expect("the watch lasts").unwrap()).unwrap()
    };
    let row = |event: &Value| {
        assert_eq!(event["object"]["kind"], "Table", "{event:#}");
        let rows = event["object"]["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 1, "{event:#}");
        rows[0].clone()
    };
    let added = next().await;
    assert_eq!(added["type"], "ADDED");
    let columns = added["object"]["columnDefinitions"].as_array().unwrap().len();
    assert_eq!(row(&added)["cells"].as_array().unwrap().len(), columns);
    assert_eq!(row(&added)["cells"][0], "hello");
    let mark = next().await;
    assert_eq!(mark["type"], "BOOKMARK");
    let metadata = row(&mark)["object"]["metadata"].clone();
    assert_eq!(metadata["resourceVersion"], world.entries().to_string());
    assert_eq!(metadata["annotations"]["k8s.io/initial-events-end"], "true");
    let one = format!("{FISSION}/functions/hello");
    ask(&world, "PATCH", &one, json!({"spec": {"functionTimeout": 3}})).await.ok();
    let changed = next().await;
    assert_eq!(changed["type"], "MODIFIED");
    assert_eq!(row(&changed)["cells"][1], "2", "it has a version more");
    assert_eq!(row(&changed)["object"]["kind"], "PartialObjectMetadata");
    ask(&world, "DELETE", &one, Value::Null).await.ok();
    let gone = next().await;
    assert_eq!((&gone["type"], &row(&gone)["cells"][0]), (&json!("DELETED"), &json!("hello")));
}

#[tokio::test]
async fn jobs_webhooks_and_domains_are_watched_as_well() {
    let world = World::memory().await;
    hello(&world).await;
    for (plural, kind, name, spec) in [
        ("jobs", "Job", "tick", json!({"function": "hello", "pattern": "0 6 * * *"})),
        ("webhooks", "Webhook", "pushed", json!({"function": "hello"})),
        ("domains", "Domain", "shop.example.com", json!({})),
    ] {
        let path = format!("{FOLIO}/{plural}");
        let asked = request(&world, "GET", &format!("{path}?watch=true"), "", String::new());
        let response = world.router.clone().oneshot(asked).await.unwrap();
        let mut lines = response.into_body().into_data_stream();
        let mut next = async || {
            let waited = std::time::Duration::from_secs(30);
            let line = tokio::time::timeout(waited, lines.next()).await.expect("something happens");
            let event: Value = serde_json::from_slice(&line.unwrap().unwrap()).unwrap();
            (event["type"].clone(), event["object"]["metadata"]["name"].clone())
        };
        let metadata = json!({"name": name});
        let object = json!({
            "apiVersion": "folio.dev/v1", "kind": kind, "metadata": metadata, "spec": spec,
        });
        ask(&world, "POST", &path, object).await.ok();
        assert_eq!(next().await, (json!("ADDED"), json!(name)));
        ask(&world, "DELETE", &format!("{path}/{name}"), Value::Null).await.ok();
        assert_eq!(next().await, (json!("DELETED"), json!(name)));
    }
}
