//! What a function answered, passed on as it is, with the version that did.

use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use folio_core::ports::Body;
use folio_core::ports::runtime::Plan;
use serde_json::json;

use crate::openapi::Schemas;
use crate::operation::{Encode, Output};

/// The version that answered. An answer without it is folio's own.
const VERSION: HeaderName = HeaderName::from_static("folio-version");

/// A function's answer.
pub(crate) struct Answered(axum::http::Response<Body>);

impl Answered {
    /// An answer of one version.
    pub(crate) fn new(plan: &Plan, mut answer: axum::http::Response<Body>) -> Self {
        let named = format!("{}@{}", plan.function, plan.at);
        let named = HeaderValue::try_from(named).expect("names and ids are plain text");
        answer.headers_mut().insert(VERSION, named);
        Self(answer)
    }
}

impl IntoResponse for Answered {
    fn into_response(self) -> Response {
        self.0.map(axum::body::Body::new)
    }
}

impl Encode for Answered {
    fn describe(_: &mut Schemas) -> Vec<Output> {
        let says = "What the function answered, with its own status and headers.";
        let content = json!({ "*/*": {} });
        vec![Output { status: 200, says, content, headers: &["Folio-Version"] }]
    }
}
