//! Aliases, jobs and webhooks.

use serde_json::{Value, json};

use super::face::Face;

#[tokio::test]
async fn aliases_are_found_by_name_alone() {
    let face = Face::new().await;
    let id = face.function("def main(): return 1").await;
    let missing = "Required param is missing.";
    face.post("/aliases", json!({ "name": "a" })).await.refused(400, missing);
    let newest = face.post("/aliases", json!({ "name": "new", "function_id": id })).await.with(201);
    assert_eq!((&newest["function_version"], &newest["name"]), (&json!(0), &json!("new")));
    assert_eq!((&newest["project_id"], &newest["updated_at"]), (&json!("default"), &Value::Null));
    face.publish(&id).await;
    let prod =
        json!({ "name": "prod", "function_id": id, "function_version": 1, "description": "d" });
    let made = face.post("/aliases", prod.clone()).await.with(201);
    assert_eq!((&made["function_version"], &made["description"]), (&json!(1), &json!("d")));
    let taken = "Duplicate entry for function_aliases: ['project_id', 'name']";
    face.post("/aliases", prod).await.refused(400, taken);
    face.post("/aliases", json!({ "name": "new", "function_id": id })).await.refused(400, taken);
    let other = json!({ "name": "other", "function_id": id, "function_version": 1 });
    face.post("/aliases", other).await.refused(400, "'function_id', 'function_version']");
    let gone = json!({ "name": "x", "function_id": id, "function_version": 77 });
    face.post("/aliases", gone).await.refused(404, "version_number=77]");
    assert_eq!(face.get("/aliases/prod").await.with(200), made);
    let listed = face.get("/aliases").await.with(200);
    assert_eq!(listed["function_aliases"].as_array().map(Vec::len), Some(2));
    face.change(&id, "def main(): return 2").await;
    face.publish(&id).await;
    let move_to = json!({ "function_id": null, "function_version": "2", "description": null });
    let moved = face.put("/aliases/prod", move_to).await.with(200);
    assert_eq!((&moved["function_version"], &moved["description"]), (&json!(2), &json!("d")));
    assert_eq!(moved["id"], made["id"]);
    assert_eq!(face.put("/aliases/prod", json!({})).await.with(200), moved);
    face.put("/aliases/new", json!({ "function_version": 2 })).await.refused(400, "Duplicate");
    let run = face.post("/executions", json!({ "function_alias": "prod" })).await.with(201);
    assert_eq!((&run["function_alias"], &run["function_version"]), (&json!("prod"), &json!(2)));
    let first = face.put("/aliases/new", json!({ "function_version": 1 })).await.with(200);
    assert_eq!(first["function_version"], 1);
    let at = format!("/functions/{id}");
    face.delete(&at).await.refused(403, "still associated with function alias(es).");
    for name in ["prod", "new"] {
        face.delete(&format!("/aliases/{name}")).await.with(204);
        face.get(&format!("/aliases/{name}"))
            .await
            .refused(404, &format!("FunctionAlias not found [name={name}]"));
    }
    face.delete(&at).await.with(204);
}

#[tokio::test]
async fn webhooks_run_a_function_for_whoever_knows_their_name() {
    let face = Face::new().await;
    let id = face.function("def main(): return 1").await;
    let either = "Either function_alias or function_id must be provided.";
    face.post("/webhooks", json!({})).await.refused(400, either);
    let new = json!({ "function_id": id, "description": "hook" });
    let made = face.post("/webhooks", new).await.with(201);
    let hook = made["id"].as_str().unwrap();
    let url = format!("http://folio.test:7070/v1/webhooks/{hook}/invoke");
    assert_eq!((&made["webhook_url"], &made["description"]), (&json!(url), &json!("hook")));
    let at = format!("/webhooks/{hook}");
    assert!(made["function_version"].is_null(), "nobody said a version");
    assert_eq!(face.get(&at).await.with(200), made);
    let said = face.put(&at, json!({ "description": "hook", "function_id": id })).await.with(200);
    assert!(said["function_version"].is_null());
    let zero = json!({ "function_id": id, "function_version": 0 });
    let zero = face.post("/webhooks", zero).await.with(201);
    assert_eq!(zero["function_version"], 0, "as the client has it, who says 0");
    face.delete(&format!("/webhooks/{}", zero["id"].as_str().unwrap())).await.with(204);
    let invoke = async |kind: &str, query: &str, body: &str| {
        let request = axum::http::Request::builder()
            .method("POST")
            .uri(format!("/v1{at}/invoke{query}"))
            .header("content-type", kind);
        let said = face.send(request.body(axum::body::Body::from(body.to_owned())).unwrap()).await;
        let started = said.with(202);
        let started = format!("/executions/{}", started["execution_id"].as_str().unwrap());
        face.get(&started).await.with(200)
    };
    let input = async |kind: &str, query: &str, body: &str| {
        invoke(kind, query, body).await["input"].as_str().unwrap().to_owned()
    };
    assert_eq!(input("application/json", "", "{\"a\": 1}").await, "{\"a\":1}");
    let form = "application/x-www-form-urlencoded";
    assert_eq!(input(form, "", "name=a+b&x=%31").await, "{\"name\":\"a b\",\"x\":\"1\"}");
    assert_eq!(input("text/plain", "?q=1", "").await, "{\"q\":\"1\"}");
    for odd in ["", "[1]", "{"] {
        assert_eq!(input("application/json", "", odd).await, "{}");
    }
    let run = invoke("application/json", "", "").await;
    assert_eq!(run["description"], format!("Created by Webhook {hook}"));
    assert_eq!((&run["sync"], &run["status"]), (&json!(false), &json!("running")));
    face.publish(&id).await;
    let pinned = face.put(&at, json!({ "function_version": "1" })).await.with(200);
    assert_eq!(pinned["function_version"], 1);
    let newest = face.put(&at, json!({ "function_version": 0 })).await.with(200);
    assert_eq!(newest["function_version"], 0);
    face.put(&at, json!({ "function_version": "1" })).await.with(200);
    let said = face.put(&at, json!({ "description": "other" })).await.with(200);
    assert_eq!((&said["function_version"], &said["description"]), (&json!(1), &json!("other")));
    for path in [format!("/functions/{id}"), format!("/functions/{id}/versions/1")] {
        face.delete(&path).await.refused(403, "webhook");
    }
    let alias = json!({ "name": "prod", "function_id": id, "function_version": 1 });
    face.post("/aliases", alias).await.with(201);
    let aliased = face.put(&at, json!({ "function_alias": "prod" })).await.with(200);
    assert_eq!(
        (&aliased["function_id"], &aliased["function_version"]),
        (&Value::Null, &Value::Null)
    );
    face.put(&at, json!({ "function_version": 1 }))
        .await
        .refused(404, "Function not found [id=None]");
    face.delete("/aliases/prod").await.refused(403, "webhook");
    assert_eq!(invoke("application/json", "", "").await["function_version"], 1);
    face.delete(&at).await.with(204);
    face.get(&at).await.refused(404, "Webhook not found [id=");
    face.call("POST", &format!("{at}/invoke"), "").await.refused(404, "Webhook not found [id=");
    face.get(&format!("{at}/invoke")).await.refused(404, "could not be found");
}

#[tokio::test]
async fn jobs_are_made_and_changed_by_the_originals_rules() {
    let face = Face::new().await;
    let id = face.function("def main(): return 1").await;
    let refuse = async |more: Value, text: &str| {
        let mut job = json!({ "function_id": id });
        job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        face.post("/jobs", job).await.refused(400, text);
    };
    refuse(json!({}), "pattern or first_execution_time must be specified.").await;
    refuse(json!({ "pattern": "x" }), "The specified pattern is not valid: x").await;
    refuse(json!({ "first_execution_time": "foo" }), "Unknown string format: foo").await;
    let past = json!({ "first_execution_time": "2000-01-01 00:00:00" });
    refuse(past, "Execution time must be at least 1 minute in the future.").await;
    let often = json!({ "first_execution_time": "2100-01-01T00:00:00Z", "count": 2 });
    refuse(often, "pattern must be provided if count is greater than 1.").await;
    let new = json!({
        "function_alias": null, "function_id": id, "function_version": 0, "name": "j1",
        "first_execution_time": null, "pattern": "0 0 * * *", "function_input": "{}", "count": 3,
    });
    let made = face.post("/jobs", new).await.with(201);
    assert_eq!((&made["status"], &made["count"]), (&json!("running"), &json!(3)));
    assert_eq!(made["first_execution_time"], made["next_execution_time"]);
    let at = format!("/jobs/{}", made["id"].as_str().unwrap());
    assert_eq!(face.get(&at).await.with(200), made);
    let put = async |body: Value| face.put(&at, body).await;
    assert_eq!(put(json!({ "status": "paused" })).await.with(200)["status"], "paused");
    assert_eq!(put(json!({ "status": "running" })).await.with(200)["status"], "running");
    put(json!({ "status": "done" })).await.refused(400, "Invalid status.");
    put(json!({ "pattern": "" })).await.refused(400, "Can not change job type.");
    assert_eq!(put(json!({ "pattern": "0 1 * * *" })).await.with(200)["pattern"], "0 1 * * *");
    let grave = json!({ "entry": "x.y" });
    face.put(&format!("/functions/{id}"), grave).await.refused(403, "running job(s)");
    face.put(&format!("/functions/{id}"), json!({ "name": "still" })).await.with(200);
    face.delete(&format!("/functions/{id}")).await.refused(403, "running job(s)");
    assert_eq!(put(json!({ "status": "cancelled" })).await.with(200)["status"], "cancelled");
    put(json!({ "name": "x" })).await.refused(400, "Can not update a finished job.");
    let once = json!({ "function_id": id, "first_execution_time": "2100-01-01T00:00:30Z" });
    let once = face.post("/jobs", once).await.with(201);
    assert_eq!((&once["count"], &once["pattern"]), (&json!(1), &Value::Null));
    let at_once = format!("/jobs/{}", once["id"].as_str().unwrap());
    face.put(&at_once, json!({ "pattern": "* * * * *" }))
        .await
        .refused(400, "Can not change job type.");
    let both = json!({
        "function_id": id, "pattern": "*/5 * * * *", "first_execution_time": "2100-01-01 00:00:30",
    });
    let both = face.post("/jobs", both).await.with(201);
    assert_eq!(both["first_execution_time"], "2100-01-01T00:00:00Z");
    assert_eq!(face.get("/jobs").await.with(200)["jobs"].as_array().map(Vec::len), Some(3));
    face.post("/aliases", json!({ "name": "new", "function_id": id })).await.with(201);
    let aliased = json!({ "function_alias": "new", "pattern": "0 0 * * *" });
    let aliased = face.post("/jobs", aliased).await.with(201);
    assert_eq!(
        (&aliased["function_id"], &aliased["function_alias"]),
        (&Value::Null, &json!("new"))
    );
    assert_eq!(aliased["function_version"], 0);
    let gone = json!({ "function_alias": "nobody", "pattern": "0 0 * * *" });
    face.post("/jobs", gone).await.refused(404, "FunctionAlias not found [name=nobody]");
    for job in [&at_once, &format!("/jobs/{}", both["id"].as_str().unwrap())] {
        face.delete(job).await.with(204);
        face.get(job).await.refused(404, "Job not found [id=");
    }
}
