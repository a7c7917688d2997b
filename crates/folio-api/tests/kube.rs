//! The Kubernetes-style face, asked as its clients ask it.

mod access;
mod asking;
mod bad_input;
mod bindings;
mod convert;
mod happening;
mod ill_formed;
mod mutations;
mod objects;
mod paging;
mod reading;
mod sameness;
mod secrets;
mod telling;
mod watching;
mod writing;

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use base64::Engine as _;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::client::World;

const FISSION: &str = "/apis/fission.io/v1/namespaces/default";
const FOLIO: &str = "/apis/folio.dev/v1/namespaces/default";

/// An answer.
struct Answer {
    status: u16,
    body: Value,
    warnings: Vec<String>,
}

impl Answer {
    /// The body of a success.
    #[track_caller]
    fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "{} {:#}", self.status, self.body);
        self.body
    }

    /// That it is a Status of this code and reason.
    #[track_caller]
    fn refused(self, code: u16, reason: &str) -> Value {
        let found = (self.status, self.body["reason"].as_str().unwrap_or_default());
        assert_eq!(found, (code, reason), "{:#}", self.body);
        assert_eq!(self.body["kind"], "Status");
        assert_eq!(self.body["code"], code);
        self.body
    }
}

fn request(world: &World, method: &str, path: &str, media: &str, body: String) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {}", world.token))
        .header("content-type", media)
        .header("user-agent", "tester/1.0 (linux)")
        .body(Body::from(body))
        .unwrap()
}

async fn send(world: &World, request: Request<Body>) -> Answer {
    answered(world.router.clone().oneshot(request).await.unwrap()).await
}

async fn answered(response: Response) -> Answer {
    let status = response.status().as_u16();
    let warnings = response.headers().get_all("warning").iter();
    let warnings = warnings.map(|warning| warning.to_str().unwrap().to_owned()).collect();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Answer { status, body, warnings }
}

async fn ask(world: &World, method: &str, path: &str, body: Value) -> Answer {
    let media = match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let text = if body.is_null() { String::new() } else { body.to_string() };
    send(world, request(world, method, path, media, text)).await
}

async fn get(world: &World, path: &str) -> Answer {
    ask(world, "GET", path, Value::Null).await
}

async fn apply(world: &World, path: &str, manager: &str, object: &Value) -> Answer {
    let path = format!("{path}?fieldManager={manager}");
    send(world, request(world, "PATCH", &path, "application/apply-patch+yaml", object.to_string()))
        .await
}

fn package(name: &str, code: &str) -> Value {
    let literal = base64::engine::general_purpose::STANDARD.encode(code);
    json!({
        "apiVersion": "fission.io/v1", "kind": "Package",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "environment": {"name": "nodejs", "namespace": "default"},
            "deployment": {"type": "literal", "literal": literal}, "source": {},
        },
    })
}

fn function(name: &str, package: &str) -> Value {
    json!({
        "apiVersion": "fission.io/v1", "kind": "Function",
        "metadata": {"name": name, "namespace": "default", "labels": {"tier": "web"}},
        "spec": {
            "InvokeStrategy": {"StrategyType": "execution"},
            "environment": {"name": "nodejs", "namespace": "default"},
            "package": {"packageref": {"name": package, "namespace": "default"}},
        },
    })
}

fn published(mut object: Value) -> Value {
    object["metadata"]["annotations"] = json!({"folio.dev/publish": "true"});
    object
}

/// Makes a package and a function of it, published.
async fn hello(world: &World) {
    let packages = format!("{FISSION}/packages");
    ask(world, "POST", &packages, published(package("code", "one"))).await.ok();
    let functions = format!("{FISSION}/functions");
    ask(world, "POST", &functions, published(function("hello", "code"))).await.ok();
}
