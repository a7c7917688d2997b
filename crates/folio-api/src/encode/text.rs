//! Plain text, and what was made without an entry of the ledger.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::Wire;
use crate::openapi::Schemas;
use crate::operation::{Encode, Output};

/// Text as it is.
pub(crate) struct Text(pub(crate) String);

/// Something new that is no unit and makes no entry.
pub(crate) struct Made<T>(pub(crate) T);

impl IntoResponse for Text {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        let nosniff = HeaderValue::from_static("nosniff");
        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
        response
    }
}

impl<T: Wire> IntoResponse for Made<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

impl Encode for Text {
    fn describe(_: &mut Schemas) -> Vec<Output> {
        let content = json!({ "text/plain": { "schema": { "type": "string" } } });
        vec![Output { status: 200, says: "The text.", content, headers: &[] }]
    }
}

impl<T: Wire> Encode for Made<T> {
    fn describe(schemas: &mut Schemas) -> Vec<Output> {
        vec![Output::json(201, "Made.", schemas.response::<T>())]
    }
}
