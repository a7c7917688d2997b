//! Jobs, webhooks and domains as objects, and versions that are deleted as objects.

use super::*;

fn of(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "folio.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn job() -> Value {
    let spec = json!({"function": "hello", "pattern": "0 6 * * *", "count": 3, "input": {"n": 1}});
    of("Job", "tick", spec)
}

async fn items(world: &World, plural: &str) -> Vec<Value> {
    let list = get(world, &format!("{FOLIO}/{plural}")).await.ok();
    list["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_job_is_made_paused_resumed_and_removed() {
    let world = World::memory().await;
    hello(&world).await;
    let (jobs, one) = (format!("{FOLIO}/jobs"), format!("{FOLIO}/jobs/tick"));
    ask(&world, "POST", &format!("{jobs}?dryRun=All"), job()).await.ok();
    assert_eq!(items(&world, "jobs").await, Vec::<Value>::new(), "a rehearsal makes nothing");
    let made = ask(&world, "POST", &jobs, job()).await.ok();
    assert_eq!(made["spec"], job()["spec"], "its words are kept");
    let status = &made["status"];
    assert_eq!((&status["state"], &status["left"]), (&json!("running"), &json!(3)), "{made:#}");
    assert!(status["next"].as_str().unwrap().ends_with("T06:00:00Z"), "{made:#}");
    ask(&world, "POST", &jobs, job()).await.refused(409, "AlreadyExists");
    let own = world.get("/folio/v1/apps/default/jobs").await.ok();
    assert_eq!((&own["items"][0]["name"], &own["items"][0]["id"]), (&json!("tick"), &status["id"]));
    let pause = json!({"spec": {"state": "paused"}});
    let paused = ask(&world, "PATCH", &one, pause.clone()).await.ok();
    assert_eq!(paused["status"]["state"], "paused");
    let entries = world.entries();
    ask(&world, "PATCH", &one, pause).await.ok();
    assert_eq!(world.entries(), entries, "what is so already moves nothing");
    let labelled = ask(&world, "PATCH", &one, json!({"metadata": {"labels": {"a": "b"}}})).await;
    let labelled = labelled.ok();
    assert_eq!(labelled["status"]["state"], "paused");
    assert_eq!(labelled["metadata"]["labels"], json!({"a": "b", "function": "hello"}));
    ask(&world, "PUT", &one, paused).await.refused(409, "Conflict");
    let resumed = ask(&world, "PATCH", &one, json!({"spec": {"state": null}})).await.ok();
    assert_eq!(resumed["status"]["state"], "running", "one that says nothing runs");
    ask(&world, "DELETE", &one, Value::Null).await.ok();
    get(&world, &one).await.refused(404, "NotFound");
}

#[tokio::test]
async fn a_job_is_changed_where_the_core_can_and_nowhere_else() {
    let world = World::memory().await;
    hello(&world).await;
    let one = format!("{FOLIO}/jobs/tick");
    ask(&world, "POST", &format!("{FOLIO}/jobs"), job()).await.ok();
    let change = json!({"spec": {
        "pattern": "0 7 * * *", "input": "text", "description": "wakes", "function": "hello@1",
    }});
    let changed = ask(&world, "PATCH", &one, change).await.ok();
    let own = world.get("/folio/v1/apps/default/jobs").await.ok();
    let own = &own["items"][0];
    assert_eq!(own["function"], "hello@1", "{own:#}");
    assert_eq!(own["terms"]["job"]["pattern"], "0 7 * * *", "{own:#}");
    assert_eq!(own["description"], "wakes");
    assert_eq!(changed["spec"]["input"], "text");
    let entries = world.entries();
    for wrong in [
        json!({"count": 4}),
        json!({"first": "2126-01-01T00:00:00Z"}),
        json!({"input": null}),
        json!({"state": "done"}),
        json!({"state": "sleeping"}),
        json!({"pattern": "every day"}),
        json!({"pattern": null}),
        json!({"function": "none"}),
        json!({"function": null}),
    ] {
        let refused = ask(&world, "PATCH", &one, json!({"spec": wrong})).await;
        refused.refused(422, "Invalid");
    }
    for wrong in [
        json!({"function": "hello"}),
        json!({"function": "hello", "first": "1990-01-01T00:00:00Z"}),
        json!({"function": "hello", "pattern": "0 6 * * *", "state": "paused"}),
        json!({"function": "hello", "pattern": "0 6 * * *", "next": "2126-01-01T00:00:00Z"}),
        json!({"function": "none", "pattern": "0 6 * * *"}),
        json!({"function": "hello", "pattern": "0 6 * * *", "count": 0}),
    ] {
        let new = of("Job", "new", wrong);
        ask(&world, "POST", &format!("{FOLIO}/jobs"), new).await.refused(422, "Invalid");
    }
    let unnameable = of("Job", "Not A Name", job()["spec"].clone());
    ask(&world, "POST", &format!("{FOLIO}/jobs"), unnameable).await.refused(422, "Invalid");
    assert_eq!(world.entries(), entries);
    ask(&world, "PATCH", &one, json!({"spec": {"state": "cancelled"}})).await.ok();
    let again = json!({"spec": {"state": "running"}});
    ask(&world, "PATCH", &one, again).await.refused(409, "Conflict");
}

#[tokio::test]
async fn a_webhook_is_made_changed_and_removed() {
    let world = World::memory().await;
    hello(&world).await;
    let (hooks, one) = (format!("{FOLIO}/webhooks"), format!("{FOLIO}/webhooks/pushed"));
    let spec = json!({"function": "hello", "callsPerMinuteMax": 5});
    let made = ask(&world, "POST", &hooks, of("Webhook", "pushed", spec.clone())).await.ok();
    assert_eq!(made["spec"], spec);
    let id = made["status"]["id"].as_str().unwrap();
    assert_eq!(made["status"]["url"], format!("/v1/webhooks/{id}/invoke"));
    let changed = ask(&world, "PATCH", &one, json!({"spec": {"callsPerMinuteMax": 6}})).await.ok();
    assert_eq!(changed["spec"]["callsPerMinuteMax"], 6);
    let own = world.get(&format!("/folio/v1/apps/default/webhooks/{id}")).await.ok();
    assert_eq!(own["terms"]["webhook"]["callsPerMinuteMax"], 6, "{own:#}");
    let entries = world.entries();
    for wrong in [
        json!({"callsPerMinuteMax": null}),
        json!({"callsPerMinuteMax": -1}),
        json!({"signing": {"secret": "none", "key": "k"}}),
        json!({"signing": {"secret": "none"}}),
        json!({"function": "none"}),
    ] {
        ask(&world, "PATCH", &one, json!({"spec": wrong})).await.refused(422, "Invalid");
    }
    assert_eq!(world.entries(), entries);
    // What has no name of its own goes by its id.
    let unnamed = world.post("/folio/v1/apps/default/webhooks", json!({"function": "hello"})).await;
    let unnamed = format!("{hooks}/{}", unnamed.made()["id"].as_str().unwrap());
    get(&world, &unnamed).await.ok();
    ask(&world, "PATCH", &unnamed, json!({"spec": {"description": "said"}})).await.ok();
    for path in [&unnamed, &one] {
        ask(&world, "DELETE", path, Value::Null).await.ok();
        get(&world, path).await.refused(404, "NotFound");
    }
}

#[tokio::test]
async fn of_jobs_with_one_name_the_first_has_it() {
    let world = World::memory().await;
    hello(&world).await;
    let jobs = "/folio/v1/apps/default/jobs";
    let mut ids = Vec::new();
    for name in ["tick", "tick", "Every morning!"] {
        let new = json!({"function": "hello", "pattern": "0 6 * * *", "name": name});
        ids.push(world.post(jobs, new).await.made()["id"].as_str().unwrap().to_owned());
    }
    let found = items(&world, "jobs").await;
    let mut names: Vec<_> =
        found.iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    let mut expected = vec!["tick", &ids[1], &ids[2]];
    expected.sort_unstable();
    assert_eq!(names, expected);
    let first = get(&world, &format!("{FOLIO}/jobs/tick")).await.ok();
    assert_eq!(first["status"]["id"], ids[0]);
    assert_eq!(first["spec"]["pattern"], "0 6 * * *");
}

#[tokio::test]
async fn what_a_job_or_webhook_leads_to_is_not_deleted_before_it() {
    let world = World::memory().await;
    hello(&world).await;
    ask(&world, "POST", &format!("{FOLIO}/jobs"), job()).await.ok();
    let function = format!("{FISSION}/functions/hello");
    let refused = ask(&world, "DELETE", &function, Value::Null).await.refused(409, "Conflict");
    assert_eq!(refused["details"]["causes"][0]["reason"], "InUse", "{refused:#}");
    ask(&world, "DELETE", &format!("{FOLIO}/jobs"), Value::Null).await.ok();
    ask(&world, "DELETE", &function, Value::Null).await.ok();
}

#[tokio::test]
async fn a_domain_is_of_one_app_and_nobody_else_learns_of_which() {
    let world = World::memory().await;
    for app in ["first", "other"] {
        world.post("/folio/v1/apps", json!({ "name": app })).await.made();
    }
    let of_app = |app: &str| format!("/apis/folio.dev/v1/namespaces/{app}/domains");
    let domain = of("Domain", "shop.example.com", json!({}));
    let made = ask(&world, "POST", &of_app("first"), domain.clone()).await.ok();
    assert_eq!(made["metadata"]["namespace"], "first");
    ask(&world, "POST", &of_app("first"), domain.clone()).await.refused(409, "AlreadyExists");
    let listed = world.get("/folio/v1/apps/first/domains").await.ok();
    assert_eq!(listed["items"][0]["domain"], "shop.example.com");
    let one = format!("{}/shop.example.com", of_app("first"));
    let entries = world.entries();
    apply(&world, &one, "me", &domain).await.ok();
    assert_eq!(world.entries(), entries, "what is so already moves nothing");
    let mut labelled = domain.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    let labelled = apply(&world, &one, "me", &labelled).await.ok();
    assert_eq!(labelled["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(world.entries(), entries + 1);
    let refused = ask(&world, "POST", &of_app("other"), domain.clone()).await;
    let refused = refused.refused(409, "Conflict");
    assert!(refused["message"].as_str().unwrap().contains("of app `first`"), "{refused:#}");
    let world = super::access::seen_by(world, folio_model::Role::Admin, Some("other")).await;
    let refused = ask(&world, "POST", &of_app("other"), domain).await.refused(409, "Conflict");
    assert!(refused["message"].as_str().unwrap().contains("of another app"), "{refused:#}");
    for (name, spec) in
        [("127.0.0.1", json!({})), ("localhost", json!({})), ("a.test", json!({"host": "b.test"}))]
    {
        let wrong = of("Domain", name, spec);
        ask(&world, "POST", &of_app("other"), wrong).await.refused(422, "Invalid");
    }
    let own = of("Domain", "other.example.com", json!({"host": "other.example.com"}));
    ask(&world, "POST", &of_app("other"), own).await.ok();
    let one = format!("{}/other.example.com", of_app("other"));
    ask(&world, "DELETE", &one, Value::Null).await.ok();
    get(&world, &one).await.refused(404, "NotFound");
}

#[tokio::test]
async fn a_version_is_deleted_by_the_guards_of_the_verb() {
    let world = World::memory().await;
    for version in ["v1", "v2", "v3"] {
        world.publish("hello", version, version).await;
    }
    let alias = json!({
        "apiVersion": "folio.dev/v1", "kind": "Alias", "metadata": {"name": "hello-prod"},
        "spec": {"function": "hello", "weights": [{"version": "v1"}]},
    });
    ask(&world, "POST", &format!("{FOLIO}/aliases"), alias).await.ok();
    let entries = world.entries();
    for path in [
        format!("{FOLIO}/functionversions/hello-v1"),
        format!("{FISSION}/functionversions/hello-v1"),
        format!("{FOLIO}/packageversions/hello-pkg-v1"),
    ] {
        let refused = ask(&world, "DELETE", &path, Value::Null).await.refused(409, "Conflict");
        let cause = &refused["details"]["causes"][0];
        assert_eq!(cause["reason"], "InUse", "{refused:#}");
        assert!(cause["message"].as_str().unwrap().contains("prod"), "{refused:#}");
    }
    let two = format!("{FOLIO}/functionversions/hello-v2");
    ask(&world, "DELETE", &two, json!({"dryRun": ["All"]})).await.ok();
    assert_eq!(world.entries(), entries, "a rehearsal deletes nothing");
    ask(&world, "DELETE", &two, Value::Null).await.ok();
    get(&world, &two).await.refused(404, "NotFound");
    ask(&world, "DELETE", &two, Value::Null).await.refused(404, "NotFound");
    let package = format!("{FOLIO}/packageversions/hello-pkg-v2");
    ask(&world, "DELETE", &package, Value::Null).await.ok();
    ask(&world, "PATCH", &two, json!({})).await.refused(405, "MethodNotAllowed");
    let entry = world.get("/folio/v1/apps/default/log?limit=1").await.ok();
    assert!(entry.to_string().contains("delete version"), "{entry:#}");
}
