//! Qinling's API, `/v1`, for its own client: thin over the same verbs as everything else.
//!
//! Runtimes are environments, functions have their draft as version 0, and an app is a project. The sentences of
//! refusals are the original's, because people search for them. Start at [`serve`]; a call is found in
//! `dispatch`, by its method and the words of its path.

mod aliases;
mod body;
mod calls;
mod executions;
mod fault;
mod functions;
mod jobs;
mod runtimes;
mod showing;
mod versions;
mod visit;
mod webhooks;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use folio_core::Folio;
use serde_json::json;

use self::calls::Unknown;
pub(crate) use self::calls::{CALLS, OPEN};
use self::fault::{Fault, Outcome, Shape, found};
use self::visit::Visit;

/// The paths of this face.
pub(crate) fn routes() -> Router<Folio> {
    Router::new()
        .route("/", any(root))
        .route("/v1", any(moved))
        .route("/v1/", any(serve))
        .route("/v1/{*rest}", any(serve))
}

async fn root(request: Request) -> Response {
    if let Err(fault) = only_read(request.method()) {
        return fault.say(Shape::Full);
    }
    let at = format!("{}/v1", visit::origin(request.headers(), request.extensions()));
    let links = json!([{ "href": at, "target": "v1", "rel": "self" }]);
    let version = json!({ "id": "v1.0", "status": "CURRENT", "links": links });
    found(json!({ "versions": [version] }))
}

async fn moved(method: Method) -> Response {
    if let Err(fault) = only_read(&method) {
        return fault.say(Shape::Full);
    }
    let mut response = StatusCode::FOUND.into_response();
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/v1/"));
    response
}

/// Refuses what does more than read.
fn only_read(method: &Method) -> Outcome<()> {
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let text = format!("The method {method} is not allowed for this resource.");
    Err(Fault::new(StatusCode::METHOD_NOT_ALLOWED, text))
}

/// Answers one call, whatever it is.
async fn serve(State(folio): State<Folio>, request: Request) -> Response {
    let path = request.uri().path().strip_prefix("/v1").unwrap_or_default().to_owned();
    let words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    let shape = Shape::of(request.method(), &words);
    let answer = match (request.method().as_str(), &*words) {
        // Whoever knows its name may call it: no token is asked for.
        ("POST", ["webhooks", id, "invoke"]) => webhooks::invoke(&folio, id, request).await,
        _ => match Visit::read(folio, request).await {
            Ok(visit) => dispatch(&visit).await,
            Err(fault) => Err(fault),
        },
    };
    answer.unwrap_or_else(|fault| fault.say(shape))
}

/// What a call means. What is not here does not exist, and says so as JSON.
async fn dispatch(visit: &Visit) -> Outcome {
    calls::find(&visit.method, &visit.words).map_err(|unknown| match unknown {
        Unknown::Path => visit.nowhere(),
        Unknown::Method => visit.no_method(),
    })?;
    let words: Vec<&str> = visit.words.iter().map(String::as_str).collect();
    match (visit.method.as_str(), &*words) {
        ("GET", []) => Ok(found(json!({ "uri": format!("{}/v1", visit.origin) }))),
        (_, ["runtimes", rest @ ..]) => runtimes::dispatch(visit, rest).await,
        (_, ["functions", id, "versions", rest @ ..]) => versions::dispatch(visit, id, rest).await,
        (_, ["functions", rest @ ..]) => functions::dispatch(visit, rest).await,
        (_, ["aliases", rest @ ..]) => aliases::dispatch(visit, rest).await,
        (_, ["executions", rest @ ..]) => executions::dispatch(visit, rest).await,
        (_, ["jobs", rest @ ..]) => jobs::dispatch(visit, rest).await,
        (_, ["webhooks", rest @ ..]) => webhooks::dispatch(visit, rest).await,
        _ => Err(visit.nowhere()),
    }
}
