//! What a function is told when a call it made came to nothing.

use bytes::Bytes;
use folio_core::ports::Body;
use folio_core::ports::runtime::{CallError, RequestId};
use http::{Response, StatusCode, header};

/// Why a call was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("write the function into the path: `/name/...` or `/name@version/...`")]
    NoName,
    #[error("`{text}` names no function: {why}")]
    BadName { text: String, why: String },
    #[error("functions call only functions of their own app; leave `{0}` out")]
    OtherApp(String),
    #[error("this worker serves no function yet")]
    Nobody,
    #[error("this server passes no calls between functions")]
    NoInvoke,
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Refusal {
    fn code(&self) -> &'static str {
        match self {
            Self::NoName | Self::BadName { .. } => "bad_reference",
            Self::OtherApp(_) => "foreign_app",
            Self::Nobody | Self::NoInvoke => "invoke_unavailable",
            Self::Call(error) => call_code(error).1,
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::NoName | Self::BadName { .. } => StatusCode::BAD_REQUEST,
            Self::OtherApp(_) => StatusCode::FORBIDDEN,
            Self::Nobody | Self::NoInvoke => StatusCode::SERVICE_UNAVAILABLE,
            Self::Call(error) => call_code(error).0,
        }
    }

    /// The answer that says it.
    pub(super) fn answer(&self, id: RequestId) -> Response<Body> {
        let text = serde_json::json!({
            "error": {
                "code": self.code(),
                "message": self.to_string(),
                "requestId": id.to_string(),
            },
        });
        let body = Body::Full(Bytes::from(text.to_string()));
        let answer = Response::builder()
            .status(self.status())
            .header(header::CONTENT_TYPE, "application/json")
            .body(body);
        answer.expect("a status and a fixed header are always valid")
    }
}

fn call_code(error: &CallError) -> (StatusCode, &'static str) {
    match error {
        CallError::Load(_) => (StatusCode::BAD_GATEWAY, "load_failed"),
        CallError::Damaged(_) => (StatusCode::INTERNAL_SERVER_ERROR, "corrupt"),
        CallError::Failed => (StatusCode::INTERNAL_SERVER_ERROR, "function_failed"),
        CallError::Timeout(_) => (StatusCode::GATEWAY_TIMEOUT, "function_timeout"),
        CallError::Crashed(_) => (StatusCode::BAD_GATEWAY, "worker_crashed"),
        CallError::Garbled(_) => (StatusCode::BAD_GATEWAY, "garbled_answer"),
        CallError::Busy => (StatusCode::TOO_MANY_REQUESTS, "busy"),
        CallError::Full => (StatusCode::SERVICE_UNAVAILABLE, "server_full"),
        CallError::Loop(_) => (StatusCode::LOOP_DETECTED, "call_loop"),
        CallError::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "runtime_unavailable"),
        CallError::Body(_) => (StatusCode::BAD_REQUEST, "body_broke_off"),
        CallError::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
    }
}
