//! Who may do what through this face: the same rights as everywhere, and nothing of another app is shown.

use folio_core::Caller;
use folio_core::token::NewToken;
use folio_model::{Actor, Grant, Right, Role};

use super::*;

#[tokio::test]
async fn every_request_asks_for_its_right() {
    let world = World::memory().await;
    let caller = Caller::new("ada".parse::<Actor>().unwrap());
    world.folio.create_app(&caller, &"shop".parse().unwrap()).await.unwrap();
    for (role, own) in Role::ALL.into_iter().flat_map(|role| [(role, None), (role, Some("shop"))]) {
        let grant = Grant { role, app: own.map(|app| app.parse().unwrap()) };
        let new =
            NewToken { actor: "grace".parse().unwrap(), grant: grant.clone(), valid_for: None };
        let (token, _) = world.folio.create_token(&caller, new).await.unwrap();
        let token = format!("Bearer {}", token.reveal());
        // What exists and what does not are refused alike.
        for app in ["shop", "default", "missing"] {
            let functions = format!("/apis/fission.io/v1/namespaces/{app}/functions");
            let one = format!("{functions}/x");
            let namespace = format!("/api/v1/namespaces/{app}");
            let (here, all) = (Some(app), None);
            for (method, path, right, place) in [
                ("GET", functions.clone(), Right::View, here),
                ("GET", one.clone(), Right::View, here),
                ("POST", functions.clone(), Right::Deploy, here),
                ("PUT", one.clone(), Right::Deploy, here),
                ("PATCH", one.clone(), Right::Deploy, here),
                ("DELETE", one, Right::Deploy, here),
                ("GET", format!("{namespace}/configmaps"), Right::View, here),
                ("GET", format!("{namespace}/secrets"), Right::View, here),
                ("GET", namespace.clone(), Right::View, here),
                ("DELETE", namespace, Right::Administer, here),
                ("GET", "/apis/fission.io/v1/functions".to_owned(), Right::View, all),
                ("GET", "/api/v1/namespaces".to_owned(), Right::View, all),
                ("POST", "/api/v1/namespaces".to_owned(), Right::Administer, all),
            ] {
                let place = place.map(|app| app.parse().unwrap());
                let may = grant.allows(right, place.as_ref());
                let mut asked = request(&world, method, &path, "application/json", "no".to_owned());
                asked.headers_mut().insert("authorization", token.parse().unwrap());
                // A namespace that is deleted is missed by what comes after.
                if may && method == "DELETE" {
                    continue;
                }
                let status = send(&world, asked).await.status;
                assert_eq!(status != 403, may, "{role} of {own:?}: {method} {path}: {status}");
            }
        }
    }
}

const ACCESS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const RULES: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
const MYSELF: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// A world in the eyes of somebody else.
pub(super) async fn seen_by(mut world: World, role: Role, app: Option<&str>) -> World {
    let caller = Caller::new("ada".parse::<Actor>().unwrap());
    world.folio.create_app(&caller, &"shop".parse().unwrap()).await.unwrap();
    let grant = Grant { role, app: app.map(|app| app.parse().unwrap()) };
    let new = NewToken { actor: "grace".parse().unwrap(), grant, valid_for: None };
    world.token = world.folio.create_token(&caller, new).await.unwrap().0.reveal();
    world
}

#[tokio::test]
async fn callers_are_told_who_they_are() {
    let world = seen_by(World::memory().await, Role::Deployer, Some("shop")).await;
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let path = MYSELF.replace("v1", version);
        let body = json!({ "apiVersion": format!("authentication.k8s.io/{version}"), "kind": "SelfSubjectReview" });
        let said = ask(&world, "POST", &path, body).await;
        assert_eq!(said.status, 201);
        let said = said.ok();
        assert_eq!(said["apiVersion"], format!("authentication.k8s.io/{version}"));
        assert_eq!(
            said["status"]["userInfo"],
            json!({
                "username": "grace", "groups": ["folio:deployer"],
                "extra": { "folio.dev/app": ["shop"], "folio.dev/role": ["deployer"] },
            })
        );
    }
}

#[tokio::test]
async fn what_a_review_says_is_what_a_request_is_told() {
    for (role, own) in Role::ALL.into_iter().flat_map(|role| [(role, None), (role, Some("shop"))]) {
        let world = seen_by(World::memory().await, role, own).await;
        let entries = world.entries();
        for app in ["shop", "default", "missing"] {
            for (verb, method) in [("list", "GET"), ("create", "POST"), ("deletecollection", "PUT")]
            {
                let functions = format!("/apis/fission.io/v1/namespaces/{app}/functions");
                // Nothing but the right is looked at: the body is none, and no collection can be put.
                let asked =
                    request(&world, method, &functions, "application/json", "no".to_owned());
                let may = send(&world, asked).await.status != 403;
                let attributes = json!({ "namespace": app, "verb": verb, "group": "fission.io", "resource": "functions" });
                let body = json!({ "spec": { "resourceAttributes": attributes } });
                let said = ask(&world, "POST", ACCESS, body).await.ok();
                assert_eq!(said["status"]["allowed"], may, "{role} of {own:?}: {verb} in {app}");
                assert_eq!(said["status"]["reason"].is_string(), !may);
                let rules =
                    ask(&world, "POST", RULES, json!({ "spec": { "namespace": app } })).await.ok();
                let rules = rules["status"]["resourceRules"].as_array().unwrap().clone();
                let listed = rules.iter().any(|rule| {
                    let has = |key: &str, value: &str| {
                        rule[key].as_array().unwrap().contains(&value.into())
                    };
                    has("resources", "functions")
                        && has("apiGroups", "fission.io")
                        && has("verbs", verb)
                });
                assert_eq!(listed, may, "{role} of {own:?}: {verb} in {app}");
            }
        }
        assert_eq!(world.entries(), entries, "a question changes nothing");
    }
}

/// A message of protocol buffers.
pub(super) fn message(fields: &[(u8, &[u8])]) -> Vec<u8> {
    let field = |(number, bytes): &(u8, &[u8])| {
        [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()][..], bytes].concat()
    };
    fields.iter().flat_map(field).collect()
}

pub(super) fn protobuf(version: &str, kind: &str, content: &[u8]) -> Vec<u8> {
    let types = message(&[(1, version.as_bytes()), (2, kind.as_bytes())]);
    [&b"k8s\0"[..], &message(&[(1, &types), (2, content), (3, b""), (4, b"")])].concat()
}

#[tokio::test]
async fn newer_clients_ask_in_protocol_buffers() {
    let world = seen_by(World::memory().await, Role::Viewer, Some("shop")).await;
    let post = async |path: &str, body: Vec<u8>| {
        let media = "application/vnd.kubernetes.protobuf";
        let mut asked = request(&world, "POST", path, media, String::new());
        *asked.body_mut() = Body::from(body);
        send(&world, asked).await
    };
    let review = |verb: &str, app: &str| {
        let attributes = message(&[
            (1, app.as_bytes()),
            (2, verb.as_bytes()),
            (3, b"fission.io"),
            (4, b"*"),
            (5, b"functions"),
        ]);
        let content = message(&[(1, b""), (2, &message(&[(1, &attributes)])), (3, b"")]);
        protobuf("authorization.k8s.io/v1", "SelfSubjectAccessReview", &content)
    };
    for (verb, app, expected) in
        [("get", "shop", true), ("delete", "shop", false), ("get", "default", false)]
    {
        let said = post(ACCESS, review(verb, app)).await.ok();
        assert_eq!(said["status"]["allowed"], expected, "{verb} in {app}");
        assert_eq!(said["spec"]["resourceAttributes"]["resource"], "functions");
    }
    let path = message(&[(1, b"/version"), (2, b"get")]);
    let content = message(&[(2, &message(&[(2, &path)]))]);
    let body = protobuf("authorization.k8s.io/v1", "SelfSubjectAccessReview", &content);
    assert_eq!(post(ACCESS, body).await.ok()["status"]["allowed"], true);
    let rules = message(&[(2, &message(&[(1, b"shop")]))]);
    let body = protobuf("authorization.k8s.io/v1", "SelfSubjectRulesReview", &rules);
    assert_eq!(post(RULES, body).await.ok()["status"]["incomplete"], false);
    let body = protobuf("authentication.k8s.io/v1", "SelfSubjectReview", b"");
    assert_eq!(post(MYSELF, body).await.ok()["status"]["userInfo"]["username"], "grace");
    let other = protobuf("authentication.k8s.io/v1", "TokenReview", b"");
    post(MYSELF, other).await.refused(400, "BadRequest");
}

#[tokio::test]
async fn nobody_acts_as_somebody_else() {
    let world = World::memory().await;
    for name in ["impersonate-user", "impersonate-group", "impersonate-extra-x"] {
        let mut asked = request(&world, "GET", &format!("{FISSION}/functions"), "", String::new());
        asked.headers_mut().insert(name, "grace".parse().unwrap());
        send(&world, asked).await.refused(403, "Forbidden");
    }
}
