//! Which object it is: the revision that was seen, the identity that tells it from one that had its name, and its age.

use super::*;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"k": "v"}})
}

fn alias() -> Value {
    json!({
        "apiVersion": "folio.dev/v1", "kind": "Alias", "metadata": {"name": "hello-prod"},
        "spec": {"function": "hello", "weights": [{"number": 1, "weight": 10000}]},
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
