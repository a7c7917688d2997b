//! Who may do what through this face: a token's app is its project, and only admins of the server see the others.

use axum::body::Body;
use axum::http::Request;
use folio_core::Caller;
use folio_core::token::NewToken;
use folio_model::{Actor, Grant, Right, Role};
use serde_json::json;

use super::face::{Face, Said};

const NOBODY: &str = "9b0d3f6a-0000-4000-8000-000000000000";

/// A token of a role in an app.
async fn token(face: &Face, role: Role, app: Option<&str>) -> String {
    let caller = Caller::new("ada".parse::<Actor>().unwrap());
    let grant = Grant { role, app: app.map(|app| app.parse().unwrap()) };
    let new = NewToken { actor: "grace".parse().unwrap(), grant, valid_for: None };
    face.world.folio.create_token(&caller, new).await.unwrap().0.reveal()
}

async fn ask(face: &Face, token: &str, (method, path): (&str, &str)) -> Said {
    let request = Request::builder().method(method).uri(format!("/v1{path}"));
    let request = request.header("x-auth-token", token).header("content-type", "application/json");
    face.send(request.body(Body::from("{}")).unwrap()).await
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
    for call in [("POST", &versions), ("DELETE", &version), ("DELETE", &at)] {
        ask(&face, &admin, (call.0, call.1)).await.refused(404, "not found");
    }
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
