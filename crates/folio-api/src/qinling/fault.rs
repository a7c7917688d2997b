//! What Qinling's clients are told when something is refused: always an object with `faultstring`, because
//! anything else breaks them.

use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use folio_core::upload::Download;
use folio_core::{Class, Explain};
use serde_json::{Value, json};

use crate::encode::File;

/// A refusal: a status and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

/// What a handler gives.
pub(super) type Outcome<T = Response> = Result<T, Fault>;

impl Fault {
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(super) fn invalid(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    pub(super) fn not_allowed(text: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, text)
    }

    pub(super) fn absent(text: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, text)
    }

    /// `Function not found [id=...]`.
    pub(super) fn no(what: &str, id: &str) -> Self {
        Self::absent(format!("{what} not found [id={id}]"))
    }
}

/// What folio refuses, in its own words. What only an operator can mend is 503, because the client without a
/// session breaks on a 500.
impl<E: Explain> From<E> for Fault {
    fn from(error: E) -> Self {
        let status = match error.class() {
            Class::Invalid | Class::TooLarge => StatusCode::BAD_REQUEST,
            Class::Unauthenticated => StatusCode::UNAUTHORIZED,
            Class::Forbidden => StatusCode::FORBIDDEN,
            Class::NotFound | Class::Gone => StatusCode::NOT_FOUND,
            Class::Conflict if error.code().0 == "in_use" => StatusCode::FORBIDDEN,
            Class::Conflict => StatusCode::CONFLICT,
            _ => {
                tracing::error!(error.code = error.code().0, "A request failed: {error}");
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        Self::new(status, error.to_string())
    }
}

/// How the original says a refusal: most of its calls in one way, those that take or give bytes in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Three fields.
    Full,
    /// Only the sentence.
    Brief,
}

impl Shape {
    /// The shape of a call, by its method and the words of its path.
    pub(super) fn of(method: &Method, words: &[&str]) -> Self {
        match (method.as_str(), words) {
            ("GET" | "POST" | "PUT", ["functions"] | ["functions", _])
            | ("GET", ["functions", _, "versions", _] | ["executions", _, "log"])
            | ("POST", ["webhooks", _, "invoke"]) => Self::Brief,
            _ => Self::Full,
        }
    }
}

impl Fault {
    /// The refusal as a client reads it.
    pub(super) fn say(self, shape: Shape) -> Response {
        let code = if self.status.is_server_error() { "Server" } else { "Client" };
        let body = match shape {
            Shape::Full => {
                json!({ "faultcode": code, "faultstring": self.text, "debuginfo": null })
            }
            Shape::Brief => json!({ "faultstring": self.text }),
        };
        (self.status, Json(body)).into_response()
    }
}

/// Something that was asked for.
pub(super) fn found(body: Value) -> Response {
    Json(body).into_response()
}

/// Something that was made.
pub(super) fn made(body: Value) -> Response {
    (StatusCode::CREATED, Json(body)).into_response()
}

/// Nothing more to say.
pub(super) fn empty(status: StatusCode) -> Response {
    status.into_response()
}

/// Bytes with a name, never compressed on the way: the client keeps what it is sent.
pub(super) fn zip(name: &str, download: Download) -> Response {
    let mut response = File::named(name.to_owned(), download).into_response();
    let media_type = HeaderValue::from_static("application/zip");
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}
