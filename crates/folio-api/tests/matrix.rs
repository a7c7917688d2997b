//! Every endpoint of every face, for every role, in one's own app and in others: who may is told something, who may not is
//! told the same whatever there is. The endpoints come from the tables that the faces are made from.

mod allowed;
mod named;
mod others;
mod watched;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use folio_api::{Endpoint, Face, endpoints, router};
use folio_core::Caller;
use folio_core::token::NewToken;
use folio_model::{Actor, AppName, Grant, Right, Role};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use crate::client::World;

/// The app that tokens are for, and one that is not there.
const OWN: &str = "shop";
const MISSING: &str = "missing";

/// Every role: nobody, then each in its own app and in all.
fn grants() -> Vec<Option<Grant>> {
    let own: Option<AppName> = Some(OWN.parse().unwrap());
    let roles = Role::ALL.into_iter();
    let all = roles.flat_map(|role| [None, own.clone()].map(|app| Some(Grant { role, app })));
    [None].into_iter().chain(all).collect()
}

/// Whether a role may use an endpoint, as the documentation tells it; for nobody, whether it is open.
fn may(grant: Option<&Grant>, endpoint: &Endpoint, app: &str) -> bool {
    let Endpoint { face, method, path } = endpoint;
    let (method, path) = (method.as_str(), path.as_str());
    let is_open = match face {
        Face::Folio => matches!(path, "/healthz" | "/folio/v1"),
        Face::Qinling => matches!(path, "/" | "/v1" | "/v1/webhooks/{id}/invoke"),
        Face::Kubernetes => matches!(path, "/livez" | "/readyz" | "/convert"),
    };
    let Some(grant) = grant else { return is_open };
    let app: AppName = app.parse().unwrap();
    is_open
        || match face {
            Face::Folio => may_of_folio(grant, (method, path), &app),
            Face::Qinling => grant.role.has(match (method, path) {
                ("GET", _) => Right::View,
                ("POST", "/v1/executions") => Right::Invoke,
                _ => Right::Deploy,
            }),
            Face::Kubernetes => may_of_kubernetes(grant, (method, path), &app),
        }
}

fn may_of_folio(grant: &Grant, (method, path): (&str, &str), app: &AppName) -> bool {
    let usual = if method == "GET" { Right::View } else { Right::Deploy };
    match (method, path) {
        ("GET", "/folio/v1/self") => true,
        (_, "/metrics" | "/folio/v1/status") => grant.allows(Right::View, None),
        ("POST", "/folio/v1/apps") | (_, "/folio/v1/apps/{app}/plan") => {
            grant.allows(Right::Administer, None)
        }
        (_, path) if path.starts_with("/folio/v1/storage") => grant.allows(Right::Administer, None),
        (_, path) if path.starts_with("/folio/v1/tokens") => grant.role.has(Right::Administer),
        (_, path) if path.starts_with("/folio/v1/blobs") => grant.role.has(Right::Deploy),
        ("DELETE", "/folio/v1/apps/{app}") => grant.allows(Right::Administer, Some(app)),
        ("POST", "/folio/v1/apps/{app}/invoke" | "/folio/v1/apps/{app}/executions") => {
            grant.allows(Right::Invoke, Some(app))
        }
        (_, path) if path.contains("{app}") => grant.allows(usual, Some(app)),
        _ => grant.role.has(usual),
    }
}

fn may_of_kubernetes(grant: &Grant, (method, path): (&str, &str), app: &AppName) -> bool {
    let parts: Vec<_> = path.split('/').skip(1).collect();
    let rest = match &parts[..] {
        ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] if !rest.is_empty() => rest,
        // What is served is no secret.
        _ => return true,
    };
    let right = if method == "GET" { Right::View } else { Right::Deploy };
    match rest {
        [review] if review.starts_with("selfsubject") => true,
        ["namespaces"] if method == "GET" => grant.allows(Right::View, None),
        ["namespaces"] => grant.allows(Right::Administer, None),
        ["namespaces", "{name}"] if method == "GET" => grant.allows(Right::View, Some(app)),
        ["namespaces", "{name}"] => grant.allows(Right::Administer, Some(app)),
        ["namespaces", _, "executions"] if method == "POST" => {
            grant.allows(Right::Invoke, Some(app))
        }
        ["namespaces", ..] => grant.allows(right, Some(app)),
        _ => grant.allows(right, None),
    }
}

/// Someone with a token, or without one.
struct Visitor {
    router: Router,
    token: Option<String>,
}

/// An answer: its status and what it says.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    status: u16,
    text: String,
}

impl Visitor {
    async fn new(world: &World, grant: Option<&Grant>) -> Self {
        let router = router(world.folio.clone());
        let Some(grant) = grant.cloned() else { return Self { router, token: None } };
        let caller = Caller::new("ada".parse::<Actor>().unwrap());
        let new = NewToken { actor: "grace".parse().unwrap(), grant, valid_for: None };
        let (token, _) = world.folio.create_token(&caller, new).await.unwrap();
        Self { router, token: Some(token.reveal()) }
    }

    /// Asks with a body, whose media type is one that the method usually has.
    async fn ask(&self, method: &str, path: &str, body: &str) -> Said {
        let media = match (method, path.starts_with("/api")) {
            ("PATCH", true) if path.contains("fieldManager=") => "application/apply-patch+yaml",
            ("PATCH", true) => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut request = Request::builder().method(method).uri(path).header("content-type", media);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        Said { status, text: String::from_utf8_lossy(&bytes).into_owned() }
    }
}

/// A path with all its names given.
fn filled(template: &str, app: &str) -> String {
    let path = template.replace("{app}", app).replace("{namespace}", app);
    let path = path.replace("/namespaces/{name}", &format!("/namespaces/{app}"));
    path.replace("{kind}", "functions").replace(['{', '}'], "")
}

#[tokio::test]
async fn every_endpoint_of_every_face_asks_for_its_right() {
    let world = World::memory().await;
    let caller = Caller::new("ada".parse::<Actor>().unwrap());
    world.folio.create_app(&caller, &OWN.parse().unwrap()).await.unwrap();
    let all = endpoints();
    assert!(all.len() > 400, "{}", all.len());
    for grant in grants() {
        let visitor = Visitor::new(&world, grant.as_ref()).await;
        let before = world.entries();
        for endpoint in &all {
            for app in [OWN, "default", MISSING] {
                // Nothing but the path is right about the request, so whoever may is told something else.
                let path = filled(&endpoint.path, app);
                let deletes = path == format!("/api/v1/namespaces/{app}");
                let may = may(grant.as_ref(), endpoint, app);
                if deletes && may && endpoint.method == "DELETE" {
                    continue;
                }
                let said = visitor.ask(&endpoint.method, &path, "not json").await;
                let refusal = if grant.is_some() { 403 } else { 401 };
                let context = format!("{grant:?}: {} {path}: {said:?}", endpoint.method);
                assert_eq!(said.status != refusal, may, "{context}");
                assert!(said.status < 500, "{context}");
            }
        }
        assert_eq!(world.entries(), before, "{grant:?} changed something");
    }
}

#[test]
fn the_list_has_every_face() {
    let all = endpoints();
    let has = |face, method: &str, path: &str| {
        let wanted = Endpoint { face, method: method.to_owned(), path: path.to_owned() };
        assert!(all.contains(&wanted), "{wanted:?}");
    };
    has(Face::Folio, "POST", "/folio/v1/apps/{app}/invoke");
    has(Face::Qinling, "POST", "/v1/functions/{id}/versions");
    has(Face::Kubernetes, "GET", "/apis/fission.io/v1/functions");
    has(
        Face::Kubernetes,
        "PATCH",
        "/apis/folio.dev/v1/namespaces/{namespace}/functions/{name}/status",
    );
    has(Face::Kubernetes, "DELETE", "/api/v1/namespaces/{namespace}/secrets");
    has(Face::Kubernetes, "DELETE", "/api/v1/namespaces/{name}");
    has(Face::Kubernetes, "GET", "/openapi/v3/apis/folio.dev/v1beta1");
}
