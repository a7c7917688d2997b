//! What a client is told when something failed. One table gives every failure its status; the body is written
//! in one place, where the request's id is known. No handler chooses a status.

use std::error::Error;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use folio_core::{Cause, Class, Code, Explain, Referrer};
use schemars::JsonSchema;
use serde::Serialize;

/// The status of each class.
const BY_CLASS: [(Class, StatusCode); 12] = [
    (Class::Invalid, StatusCode::BAD_REQUEST),
    (Class::Unauthenticated, StatusCode::UNAUTHORIZED),
    (Class::Forbidden, StatusCode::FORBIDDEN),
    (Class::NotFound, StatusCode::NOT_FOUND),
    (Class::Gone, StatusCode::GONE),
    (Class::Conflict, StatusCode::CONFLICT),
    (Class::TooLarge, StatusCode::PAYLOAD_TOO_LARGE),
    (Class::Full, StatusCode::INSUFFICIENT_STORAGE),
    (Class::Broken, StatusCode::INTERNAL_SERVER_ERROR),
    (Class::Unavailable, StatusCode::SERVICE_UNAVAILABLE),
    (Class::Failed, StatusCode::BAD_GATEWAY),
    (Class::Late, StatusCode::GATEWAY_TIMEOUT),
];

/// Codes for which HTTP has a more exact status than for their class.
const BY_CODE: [(Code, StatusCode); 6] = [
    (Code("webhook_too_often"), StatusCode::TOO_MANY_REQUESTS),
    (crate::refusal::METHOD_NOT_ALLOWED, StatusCode::METHOD_NOT_ALLOWED),
    (Code("stale"), StatusCode::PRECONDITION_FAILED),
    (Code("function_failed"), StatusCode::INTERNAL_SERVER_ERROR),
    (Code("function_busy"), StatusCode::TOO_MANY_REQUESTS),
    (Code("call_loop"), StatusCode::LOOP_DETECTED),
];

/// Anything that explains itself, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Failure(Box<Explained>);

#[derive(Debug, Clone)]
struct Explained {
    class: Class,
    code: Code,
    message: String,
    hint: Option<String>,
    referrers: Vec<Referrer>,
    causes: Vec<Cause>,
}

impl<E: Explain> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(Box::new(Explained {
            class: error.class(),
            code: error.code(),
            message: message(&error),
            hint: error.hint(),
            referrers: error.referrers(),
            causes: error.causes(),
        }))
    }
}

impl Failure {
    pub(crate) fn status(&self) -> StatusCode {
        let by_code = BY_CODE.iter().find(|(code, _)| *code == self.0.code).map(|row| row.1);
        let by_class = BY_CLASS.iter().find(|(class, _)| *class == self.0.class).map(|row| row.1);
        by_code.or(by_class).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Whether someone has to look at the server.
    pub(crate) fn is_broken(&self) -> bool {
        self.0.class == Class::Broken
    }

    pub(crate) fn code(&self) -> &'static str {
        self.0.code.0
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// The body to send.
    pub(crate) fn body(&self, request_id: String) -> ErrorBody {
        let blocking = self.0.referrers.iter().cloned();
        let referrers = blocking.map(|Referrer { kind, name }| Blocking { kind, name }).collect();
        let causes = self.0.causes.iter().cloned();
        let causes = causes.map(|Cause { at, path, what }| Wrong { at, path, what }).collect();
        ErrorBody {
            error: ErrorDetail {
                code: self.0.code.0.to_owned(),
                message: self.0.message.clone(),
                hint: self.0.hint.clone(),
                referrers,
                causes,
                request_id,
            },
        }
    }
}

/// Leaves the body to the layer that knows the request's id.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The error and its causes on one line. A cause that the text before already tells is left out.
fn message(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}

/// The body of every answer that is not a success.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorBody {
    /// What went wrong.
    pub(crate) error: ErrorDetail,
}

/// What went wrong, why, and what to do.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorDetail {
    /// Its stable name; `docs/errors/<code>.md` explains it.
    pub(crate) code: String,
    /// What happened, and why.
    pub(crate) message: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    /// Everything that stands in the way.
    pub(crate) referrers: Vec<Blocking>,
    /// Everything that is wrong, where that is more than one thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) causes: Vec<Wrong>,
    /// The request, as the server's log names it.
    pub(crate) request_id: String,
}

/// Something that stands in the way.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Blocking {
    /// What it is: `alias`, `tag`, `function version`.
    pub(crate) kind: String,
    /// Its name, as a reference where there is one.
    pub(crate) name: String,
}

/// One of several things that are wrong.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wrong {
    /// Where it is written.
    pub(crate) at: String,
    /// The field of the manifest that it is about, such as `spec.cron`; left out if it is about the whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) path: String,
    /// What is wrong.
    pub(crate) what: String,
}

#[cfg(test)]
mod tests {
    use folio_core::ports::StoreError;

    use super::*;

    #[test]
    fn every_class_has_a_status() {
        let classes = [
            Class::Invalid,
            Class::Unauthenticated,
            Class::NotFound,
            Class::Conflict,
            Class::TooLarge,
            Class::Full,
            Class::Broken,
            Class::Unavailable,
            Class::Failed,
            Class::Late,
        ];
        for class in classes {
            assert!(BY_CLASS.iter().any(|row| row.0 == class), "{class:?}");
        }
    }

    #[test]
    fn causes_are_told_once() {
        let inner = StoreError::failed("reading page 3", "the disk is gone");
        let failure = Failure::from(folio_core::folio::Error::from(inner));
        assert_eq!(failure.message(), "the store failed: reading page 3: the disk is gone");
        assert!(failure.is_broken());
        assert_eq!(failure.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
