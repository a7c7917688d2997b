//! Makes the router from the table, and wraps it: every request has an id and a span, every failure a body.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Json, Response};
use folio_core::Folio;
use tokio::sync::watch;
use tokio::time::Instant;
use tower_http::trace::TraceLayer;
use tracing::Span;
use uuid::Uuid;

use crate::failure::Failure;
use crate::kube;
use crate::refusal::Refusal;
use crate::table::operations;

/// The header that names the request in every answer and in the log.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("folio-request-id");

/// The header that says how long the server took, from the request's head to the answer's.
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

#[derive(Clone, Copy)]
struct RequestId(Uuid);

/// Everything the control API serves.
pub fn router(folio: Folio) -> Router {
    let (open, closing) = watch::channel(());
    // Whoever takes the router alone decides himself when it ends.
    std::mem::forget(open);
    router_until(folio, closing)
}

/// As [`router`], for as long as `closing` has a sender: then whoever watches is told to come again.
pub(crate) fn router_until(folio: Folio, closing: watch::Receiver<()>) -> Router {
    let routes = operations()
        .into_iter()
        .fold(Router::new(), |router, operation| router.route(operation.path, operation.route));
    let trace = TraceLayer::new_for_http()
        .make_span_with(span)
        .on_request(())
        .on_response(finished)
        .on_body_chunk(())
        .on_eos(())
        .on_failure(());
    routes
        .merge(crate::qinling::routes())
        .merge(kube::routes(Arc::new(kube::Feed::new(closing))))
        .fallback(no_such_path)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn(explain))
        .layer(trace)
        .layer(middleware::map_request(identify))
        .with_state(folio)
}

async fn no_such_path(request: Request) -> Failure {
    Refusal::NoSuchPath { path: request.uri().path().to_owned() }.into()
}

async fn method_not_allowed(request: Request) -> Failure {
    let (path, method) = (request.uri().path().to_owned(), request.method().to_string());
    Refusal::MethodNotAllowed { path, method }.into()
}

async fn identify(mut request: Request) -> Request {
    request.extensions_mut().insert(RequestId(Uuid::new_v4()));
    request
}

/// Writes the body of a failure, and logs it where someone has to look. Bodies and tokens are never logged.
async fn explain(request: Request, next: Next) -> Response {
    let (id, started) = (request_id(&request), Instant::now());
    let mut response = next.run(request).await;
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        if failure.is_broken() {
            tracing::error!(error.code = failure.code(), "A request failed: {}", failure.message());
        }
        let headers = std::mem::take(response.headers_mut());
        response = (failure.status(), Json(failure.body(id.clone()))).into_response();
        // The router's own headers, such as `Allow`, stay; the body brings its type and length.
        for (name, value) in headers.iter().filter(|(name, _)| *name == header::ALLOW) {
            response.headers_mut().insert(name, value.clone());
        }
        if failure.status() == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
    }
    if let Ok(id) = HeaderValue::try_from(id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    let took_ms = started.elapsed().as_secs_f64() * 1000.0;
    if let Ok(timing) = HeaderValue::try_from(format!("total;dur={took_ms:.3}")) {
        response.headers_mut().insert(SERVER_TIMING, timing);
    }
    response
}

/// The request's id as a number, for whoever passes it on.
pub(crate) fn request_number(request: &Request) -> u128 {
    request.extensions().get::<RequestId>().map(|id| id.0.as_u128()).unwrap_or_default()
}

fn request_id(request: &Request) -> String {
    request.extensions().get::<RequestId>().map(|id| id.0.simple().to_string()).unwrap_or_default()
}

fn span(request: &Request) -> Span {
    let path = request.extensions().get::<MatchedPath>().map_or("-", MatchedPath::as_str);
    tracing::info_span!(
        "request",
        request.id = request_id(request),
        http.method = %request.method(),
        http.path = path,
        http.status = tracing::field::Empty,
        duration_ms = tracing::field::Empty,
    )
}

fn finished(response: &Response, latency: Duration, span: &Span) {
    let duration_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX);
    span.record("http.status", response.status().as_u16());
    span.record("duration_ms", duration_ms);
    tracing::debug!(http.status = response.status().as_u16(), duration_ms, "Answered a request");
}
