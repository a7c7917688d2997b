//! Who may do what through this face: a token's app is its project, and only admins of the server see the others.

use axum::body::Body;
use axum::http::Request;
use folio_core::Caller;
use folio_core::token::NewToken;
use folio_model::{Actor, Grant, Right, Role};
use serde_json::{Value, json};

use super::face::{Face, Said, id};

const NOBODY: &str = "9b0d3f6a-0000-4000-8000-000000000000";

/// A token of a role in an app.
async fn token(face: &Face, role: Role, app: Option<&str>) -> String {
    let caller = Caller::new("ada".parse::<Actor>().unwrap());
    let grant = Grant { role, app: app.map(|app| app.parse().unwrap()) };
    let new = NewToken { actor: "grace".parse().unwrap(), grant, valid_for: None };
    face.world.folio.create_token(&caller, new).await.unwrap().0.reveal()
}

async fn ask(face: &Face, token: &str, call: (&str, &str)) -> Said {
    tell(face, token, call, &json!({})).await
}

async fn tell(face: &Face, token: &str, (method, path): (&str, &str), body: &Value) -> Said {
    let request = Request::builder().method(method).uri(format!("/v1{path}"));
    let request = request.header("x-auth-token", token).header("content-type", "application/json");
    face.send(request.body(Body::from(body.to_string())).unwrap()).await
}

async fn shop(face: &Face) {
    let caller = Caller::new("ada".parse::<Actor>().unwrap());
    face.world.folio.create_app(&caller, &"shop".parse().unwrap()).await.unwrap();
}

#[tokio::test]
async fn every_call_asks_for_its_right() {
    let face = Face::new().await;
    shop(&face).await;
    let one = |of: &str| format!("/{of}/{NOBODY}");
    let calls = [
        ("GET", "/functions".to_owned(), Right::View),
        ("GET", one("functions"), Right::View),
        ("POST", "/functions".to_owned(), Right::Deploy),
        ("DELETE", one("functions"), Right::Deploy),
        ("POST", format!("{}/versions", one("functions")), Right::Deploy),
        ("POST", format!("{}/detach", one("functions")), Right::Deploy),
        ("GET", "/executions".to_owned(), Right::View),
        ("POST", "/executions".to_owned(), Right::Invoke),
        ("DELETE", one("executions"), Right::Deploy),
        ("GET", format!("{}/log", one("executions")), Right::View),
        ("POST", "/aliases".to_owned(), Right::Deploy),
        ("PUT", one("jobs"), Right::Deploy),
        ("POST", "/webhooks".to_owned(), Right::Deploy),
        ("POST", "/runtimes".to_owned(), Right::Deploy),
    ];
    for (role, own) in Role::ALL.into_iter().flat_map(|role| [(role, None), (role, Some("shop"))]) {
        let token = token(&face, role, own).await;
        for (method, path, right) in &calls {
            let said = ask(&face, &token, (method, path)).await;
            let context = format!("{role} of {own:?}: {method} {path}: {}", said.status);
            assert_eq!(said.status != 403, role.has(*right), "{context}");
        }
    }
}

#[tokio::test]
async fn a_project_sees_itself_and_an_admin_sees_all() {
    let face = Face::new().await;
    shop(&face).await;
    let id = face.function("def main(): return 1").await;
    let done = face.post("/executions", json!({ "function_id": id })).await.with(201);
    let hook = face.post("/webhooks", json!({ "function_id": id })).await.with(201);
    let paths = [
        format!("/functions/{id}"),
        format!("/executions/{}", done["id"].as_str().unwrap()),
        format!("/executions/{}/log", done["id"].as_str().unwrap()),
        format!("/webhooks/{}", hook["id"].as_str().unwrap()),
    ];
    let own = token(&face, Role::Admin, Some("shop")).await;
    for path in &paths {
        ask(&face, &own, ("GET", path)).await.refused(404, "not found [id=");
        assert_eq!(ask(&face, &face.world.token, ("GET", path)).await.status, 200, "{path}");
    }
    let all = "/functions?all_projects=true";
    ask(&face, &own, ("GET", all)).await.refused(403, "Operation not allowed");
    let everywhere = token(&face, Role::Viewer, None).await;
    ask(&face, &everywhere, ("GET", all)).await.refused(403, "Operation not allowed");
    let listed = ask(&face, &own, ("GET", "/functions")).await.with(200);
    assert_eq!(listed["functions"], json!([]));
    let other = ask(&face, &own, ("GET", "/functions?project_id=default")).await.with(200);
    assert_eq!(other["functions"], json!([]));
    let runtimes = ask(&face, &own, ("GET", "/runtimes")).await.with(200);
    assert_eq!(runtimes["runtimes"][0]["project_id"], "shop");
}

#[tokio::test]
async fn an_admin_reads_what_another_project_has_and_does_not_change_it() {
    let face = Face::new().await;
    shop(&face).await;
    let own = token(&face, Role::Deployer, Some("shop")).await;
    let face = face.acting(&own);
    let function = face.function("def main(): return 1").await;
    let at = format!("/functions/{function}");
    let versions = format!("{at}/versions");
    ask(&face, &own, ("POST", &versions)).await.with(201);
    let admin = face.world.token.clone();
    assert_eq!(ask(&face, &admin, ("GET", &at)).await.with(200)["project_id"], "shop");
    let version = format!("{versions}/1");
    assert_eq!(ask(&face, &admin, ("GET", &version)).await.status, 200);
    let all = ask(&face, &admin, ("GET", "/functions?all_projects=true")).await.with(200);
    assert_eq!(all["functions"][0]["id"], *function);
    let listed = ask(&face, &admin, ("GET", &versions)).await.with(200);
    assert_eq!(listed["function_versions"].as_array().map(Vec::len), Some(1));
    for call in [("POST", &versions), ("DELETE", &version), ("PUT", &at)] {
        ask(&face, &admin, (call.0, call.1)).await.refused(404, "not found");
    }
    let owner = "Function can only be deleted by its owner.";
    ask(&face, &admin, ("DELETE", &at)).await.refused(403, owner);
    let hook = face.post("/webhooks", json!({ "function_id": function })).await.with(201);
    let bound = "The function is still associated with webhook(s).";
    ask(&face, &admin, ("DELETE", &at)).await.refused(403, bound);
    ask(&face, &own, ("DELETE", &format!("/webhooks/{}", id(&hook)))).await.with(204);
    ask(&face, &own, ("DELETE", &at)).await.with(204);
    ask(&face, &admin, ("DELETE", &at)).await.refused(404, "Function not found [id=");
}

/// One of everything in a project that is not one's own.
struct Theirs {
    function: String,
    runtime: String,
    execution: String,
    job: String,
    webhook: String,
}

async fn theirs(face: &Face) -> Theirs {
    let function = face.function("def main(): return 1").await;
    face.publish(&function).await;
    let runtime = face.get(&format!("/functions/{function}")).await.with(200);
    let alias = json!({ "name": "prod", "function_id": function, "function_version": 1 });
    face.post("/aliases", alias).await.with(201);
    let made = async |path: &str, more: Value| {
        let mut body = json!({ "function_id": function });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        id(&face.post(path, body).await.with(201)).to_owned()
    };
    Theirs {
        runtime: runtime["runtime_id"].as_str().unwrap().to_owned(),
        execution: made("/executions", json!({})).await,
        job: made("/jobs", json!({ "pattern": "0 0 * * *" })).await,
        webhook: made("/webhooks", json!({})).await,
        function,
    }
}

#[tokio::test]
async fn nobody_changes_what_another_project_has() {
    let face = Face::new().await;
    shop(&face).await;
    let own = token(&face, Role::Deployer, Some("shop")).await;
    let face = face.acting(&own);
    let Theirs { function, runtime, execution, job, webhook } = theirs(&face).await;
    let stranger = token(&face, Role::Admin, Some("default")).await;
    let at = format!("/functions/{function}");
    let bound = json!({ "function_id": function, "pattern": "0 0 * * *" });
    let aliased = json!({ "function_alias": "prod", "pattern": "0 0 * * *" });
    let run = |of: &Value| {
        let mut run = of.clone();
        run.as_object_mut().unwrap().remove("pattern");
        run
    };
    let said = json!({ "description": "mine" });
    let calls = [
        ("PUT", at.clone(), json!({ "name": "mine" })),
        ("POST", format!("{at}/versions"), json!({})),
        ("PUT", format!("{at}/versions/1"), said.clone()),
        ("DELETE", format!("{at}/versions/1"), json!({})),
        ("POST", format!("{at}/scale_up"), json!({ "count": 1 })),
        ("POST", format!("{at}/scale_down"), json!({ "count": 1 })),
        ("POST", format!("{at}/detach"), json!({})),
        ("POST", format!("{at}/versions/1/detach"), json!({})),
        ("PUT", format!("/runtimes/{runtime}"), json!({ "name": "mine" })),
        ("DELETE", format!("/runtimes/{runtime}"), json!({})),
        ("POST", "/aliases".to_owned(), json!({ "name": "mine", "function_id": function })),
        ("PUT", "/aliases/prod".to_owned(), said.clone()),
        ("DELETE", "/aliases/prod".to_owned(), json!({})),
        ("POST", "/executions".to_owned(), run(&bound)),
        ("POST", "/executions".to_owned(), run(&aliased)),
        ("DELETE", format!("/executions/{execution}"), json!({})),
        ("POST", "/jobs".to_owned(), bound.clone()),
        ("POST", "/jobs".to_owned(), aliased.clone()),
        ("PUT", format!("/jobs/{job}"), json!({ "status": "cancelled" })),
        ("DELETE", format!("/jobs/{job}"), json!({})),
        ("POST", "/webhooks".to_owned(), run(&bound)),
        ("POST", "/webhooks".to_owned(), run(&aliased)),
        ("PUT", format!("/webhooks/{webhook}"), said),
        ("DELETE", format!("/webhooks/{webhook}"), json!({})),
    ];
    let before = face.world.entries();
    let admin = face.world.token.clone();
    for token in [&admin, &stranger] {
        for (method, path, body) in &calls {
            let said = tell(&face, token, (method, path), body).await;
            assert_eq!(
                said.status,
                404,
                "{method} {path}: {}",
                String::from_utf8_lossy(&said.bytes)
            );
        }
        let said = ask(&face, token, ("DELETE", &at)).await;
        assert_eq!(said.status, if *token == admin { 403 } else { 404 });
    }
    assert_eq!(face.world.entries(), before, "nothing was changed");
    let runs = face.get("/executions").await.with(200);
    assert_eq!(runs["executions"].as_array().map(Vec::len), Some(1), "and nothing was run");
}

#[tokio::test]
async fn admins_list_all_projects_or_one_and_others_only_their_own() {
    let face = Face::new().await;
    shop(&face).await;
    theirs(&face).await;
    let own = token(&face, Role::Deployer, Some("shop")).await;
    let admin = face.world.token.clone();
    let face = face.acting(&own);
    theirs(&face).await;
    let keys = [
        ("functions", "functions"),
        ("aliases", "function_aliases"),
        ("executions", "executions"),
        ("jobs", "jobs"),
        ("webhooks", "webhooks"),
    ];
    for (path, key) in keys {
        let projects = async |token: &str, query: &str| {
            let listed = ask(&face, token, ("GET", &format!("/{path}{query}"))).await.with(200);
            let listed = listed[key].as_array().unwrap_or_else(|| panic!("{path}")).clone();
            let each = listed.iter().map(|one| one["project_id"].as_str().unwrap().to_owned());
            each.collect::<Vec<_>>()
        };
        assert_eq!(projects(&admin, "").await, ["default"], "{path}");
        assert_eq!(projects(&admin, "?all_projects=true").await, ["default", "shop"], "{path}");
        assert_eq!(
            projects(&admin, "?all_projects=true&project_id=shop").await,
            ["shop"],
            "{path}"
        );
        assert_eq!(projects(&admin, "?project_id=eq:shop").await, ["shop"], "{path}");
        assert_eq!(projects(&own, "").await, ["shop"], "{path}");
        assert_eq!(projects(&own, "?all_projects=false").await, ["shop"], "{path}");
        assert_eq!(projects(&own, "?project_id=shop").await, ["shop"], "{path}");
        let none: [&str; 0] = [];
        assert_eq!(projects(&own, "?project_id=default").await, none, "{path}");
        let all = format!("/{path}?all_projects=true");
        ask(&face, &own, ("GET", &all)).await.refused(403, "Operation not allowed");
    }
    let alias = async |token: &str| ask(&face, token, ("GET", "/aliases/prod")).await;
    assert_eq!(alias(&own).await.with(200)["project_id"], "shop");
    assert_eq!(alias(&admin).await.with(200)["project_id"], "default", "one's own comes first");
    ask(&face, &admin, ("DELETE", "/aliases/prod")).await.with(204);
    assert_eq!(alias(&admin).await.with(200)["project_id"], "shop");
    ask(&face, &admin, ("DELETE", "/aliases/prod")).await.refused(404, "FunctionAlias not found");
}

#[tokio::test]
async fn a_token_may_be_a_password() {
    use base64::Engine as _;
    let face = Face::new().await;
    let basic = |password: &str| {
        let pair = base64::prelude::BASE64_STANDARD.encode(format!("ada:{password}"));
        Request::builder().uri("/v1/functions").header("authorization", format!("Basic {pair}"))
    };
    let right = basic(&face.world.token).body(Body::empty()).unwrap();
    face.send(right).await.with(200);
    face.send(basic("wrong").body(Body::empty()).unwrap()).await.refused(401, "token");
}
