//! Aliases that move, and what follows them.

use serde_json::{Value, json};

use super::face::{Face, id};

/// A function with versions 1 and 2, and another with version 1.
async fn functions(face: &Face) -> (String, String) {
    let first = face.function("def main(): return 1").await;
    face.publish(&first).await;
    face.change(&first, "def main(): return 2").await;
    face.publish(&first).await;
    let second = face.function("def main(): return 3").await;
    face.publish(&second).await;
    (first, second)
}

#[tokio::test]
async fn jobs_and_webhooks_follow_an_alias_wherever_it_is_pointed() {
    let face = Face::new().await;
    let (first, second) = functions(&face).await;
    let prod = json!({
        "name": "prod", "function_id": first, "function_version": 1, "description": "d",
    });
    let prod = face.post("/aliases", prod).await.with(201);
    let job = json!({ "function_alias": "prod", "pattern": "* * * * *" });
    let job = face.post("/jobs", job).await.with(201);
    let hook = face.post("/webhooks", json!({ "function_alias": "prod" })).await.with(201);
    let invoke = format!("/webhooks/{}/invoke", id(&hook));
    let places = [(&first, 1), (&first, 0), (&second, 1), (&second, 0), (&first, 2), (&second, 1)];
    for (turn, (function, version)) in places.into_iter().enumerate() {
        let before = face.world.entries();
        let to = json!({ "function_id": function, "function_version": version });
        let moved = face.put("/aliases/prod", to).await.with(200);
        assert_eq!(face.world.entries(), before + u64::from(turn > 0), "one request, one entry");
        assert_eq!(
            (&moved["function_id"], &moved["function_version"]),
            (&json!(function), &json!(version))
        );
        for same in ["id", "name", "description", "created_at"] {
            assert_eq!(moved[same], prod[same], "{same}");
        }
        assert_eq!(moved["updated_at"].is_string(), turn > 0);
        assert_eq!(face.get("/aliases/prod").await.with(200), moved);
        face.post(&invoke, json!({})).await.with(202);
        face.pass(60).await;
        for by in ["Job", "Webhook"] {
            let of = if by == "Job" { &job } else { &hook };
            let runs = face.described(&format!("Created by {by} {}", id(of))).await;
            assert_eq!(runs.len(), turn + 1, "{by}");
            let run = runs.last().unwrap();
            assert_eq!(
                (&run["function_id"], &run["function_version"]),
                (&json!(function), &json!(version)),
                "{by}"
            );
        }
    }
    let refused = "is in use by job";
    face.delete("/aliases/prod").await.refused(403, refused);
    let newest = json!({ "function_id": first, "function_version": 0 });
    face.put("/aliases/prod", newest).await.with(200);
    face.delete("/aliases/prod").await.refused(403, refused);
    face.delete(&format!("/jobs/{}", id(&job))).await.with(204);
    face.delete("/aliases/prod").await.refused(403, "is in use by webhook");
    face.delete(&format!("/webhooks/{}", id(&hook))).await.with(204);
    face.delete("/aliases/prod").await.with(204);
    let again = json!({ "name": "prod", "function_id": second });
    let again = face.post("/aliases", again).await.with(201);
    assert_eq!((&again["description"], &again["updated_at"]), (&Value::Null, &Value::Null));
    assert_ne!(again["created_at"], prod["created_at"], "it is another one");
}

#[tokio::test]
async fn an_alias_that_cannot_be_moved_stays_as_it_was() {
    let face = Face::new().await;
    let (first, second) = functions(&face).await;
    let new = |name: &str, function: &str, version: u64| json!({ "name": name, "function_id": function, "function_version": version });
    let prod = face.post("/aliases", new("prod", &first, 1)).await.with(201);
    face.post("/aliases", new("taken", &second, 1)).await.with(201);
    let before = face.world.entries();
    let refuse = async |body: Value, status: u16, text: &str| {
        face.put("/aliases/prod", body).await.refused(status, text);
    };
    refuse(json!({ "function_version": 77 }), 404, "version_number=77]").await;
    refuse(
        json!({ "function_id": "9b0d3f6a-0000-4000-8000-000000000000" }),
        404,
        "Function not found [id=",
    )
    .await;
    refuse(json!({ "function_id": "x" }), 400, "Expected a uuid but received x.").await;
    refuse(json!({ "function_id": second }), 400, "'function_id', 'function_version']").await;
    refuse(json!({ "function_version": [] }), 400, "Invalid input for field/attribute").await;
    refuse(json!({ "description": 5 }), 400, "Wrong type").await;
    refuse(json!({ "colour": 5 }), 400, "Unknown attribute for argument body: colour").await;
    assert_eq!(face.get("/aliases/prod").await.with(200), prod);
    assert_eq!(face.world.entries(), before, "nothing was changed");
    let said = face.put("/aliases/prod", json!({ "description": "other" })).await.with(200);
    assert_eq!((&said["description"], &said["function_version"]), (&json!("other"), &json!(1)));
    let ignored = json!({ "name": "x", "function_version": null, "description": null });
    assert_eq!(face.put("/aliases/prod", ignored).await.with(200), said, "a name is ignored");
}

#[tokio::test]
async fn webhooks_are_made_for_a_version_or_an_alias() {
    let face = Face::new().await;
    let (first, _) = functions(&face).await;
    let pinned = json!({ "function_id": first, "function_version": 1 });
    let pinned = face.post("/webhooks", pinned).await.with(201);
    assert_eq!((&pinned["function_version"], &pinned["function_alias"]), (&json!(1), &Value::Null));
    let gone = json!({ "function_alias": "nobody" });
    face.post("/webhooks", gone).await.refused(404, "FunctionAlias not found [name=nobody]");
    let gone = json!({ "function_id": first, "function_version": 9 });
    face.post("/webhooks", gone).await.refused(404, "version_number=9]");
    let alias = json!({ "name": "prod", "function_id": first, "function_version": 2 });
    face.post("/aliases", alias).await.with(201);
    let aliased = face.post("/webhooks", json!({ "function_alias": "prod" })).await.with(201);
    assert_eq!(aliased["function_alias"], "prod");
    assert_eq!(
        (&aliased["function_id"], &aliased["function_version"]),
        (&Value::Null, &Value::Null)
    );
    for (hook, version) in [(&pinned, 1), (&aliased, 2)] {
        let request = axum::http::Request::builder()
            .method("POST")
            .uri(format!("/v1/webhooks/{}/invoke", id(hook)))
            .header("content-type", "application/x-www-form-urlencoded");
        let called = face.send(request.body("name=Qinling".into()).unwrap()).await.with(202);
        face.pass(0).await;
        let found = face.described(&format!("Created by Webhook {}", id(hook))).await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["id"], called["execution_id"]);
        assert_eq!(
            (&found[0]["status"], &found[0]["function_version"]),
            (&json!("success"), &json!(version))
        );
        assert!(face.log(&found[0]).await.contains("Qinling"));
    }
    let back = json!({ "function_id": first, "function_version": "2" });
    let back = face.put(&format!("/webhooks/{}", id(&aliased)), back).await.with(200);
    assert_eq!((&back["function_id"], &back["function_alias"]), (&json!(first), &Value::Null));
}
