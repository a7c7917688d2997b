//! Reads the bodies of requests: JSON or YAML, and for the few types of Kubernetes' own that newer clients send so,
//! protocol buffers.

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use folio_core::Folio;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::Value;

use super::protobuf;
use super::status::Status;

/// Bytes that a body has at most: what Kubernetes takes, several times over.
const BODY_BYTES_MAX: usize = 12 * 1024 * 1024;

/// What sort of patch a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchKind {
    Merge,
    Steps,
    Apply,
}

/// Reads a body whole.
pub(crate) async fn read(folio: &Folio, body: Body) -> Result<Bytes, Status> {
    let limit = usize::try_from(folio.limits().request_bytes_max).unwrap_or(usize::MAX);
    let limit = limit.min(BODY_BYTES_MAX);
    let read = Limited::new(body, limit).collect().await;
    let whole = read.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => {
            let what = format!("the body has more than the {limit} bytes allowed");
            Status::new(413, "RequestEntityTooLarge", what)
        }
        None => Status::bad_request(format!("the body ended early: {error}")),
    })?;
    Ok(whole.to_bytes())
}

/// Reads an object.
pub(crate) fn object(headers: &HeaderMap, bytes: &Bytes) -> Result<Value, Status> {
    let value = match media(headers) {
        "" | "application/json" => json(bytes)?,
        "application/yaml" | "application/x-yaml" => yaml(bytes)?,
        protobuf::MEDIA => protobuf::object(bytes)?,
        other => return Err(unsupported(other)),
    };
    if value.is_object() { Ok(value) } else { Err(Status::bad_request("the body is no object")) }
}

/// Reads a patch, and what sort it is.
pub(crate) fn patch(headers: &HeaderMap, bytes: &Bytes) -> Result<(PatchKind, Value), Status> {
    match media(headers) {
        "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
            let patch = json(bytes)?;
            let what = "a merge patch is an object";
            if patch.is_object() {
                Ok((PatchKind::Merge, patch))
            } else {
                Err(Status::bad_request(what))
            }
        }
        "application/json-patch+json" => Ok((PatchKind::Steps, json(bytes)?)),
        "application/apply-patch+yaml" => {
            let patch = yaml(bytes)?;
            let what = "what is applied is an object";
            if patch.is_object() {
                Ok((PatchKind::Apply, patch))
            } else {
                Err(Status::bad_request(what))
            }
        }
        other => Err(unsupported(other)),
    }
}

/// The options of a delete, which come in its body.
pub(crate) fn options(headers: &HeaderMap, bytes: &Bytes) -> Result<Value, Status> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    object(headers, bytes)
}

fn media(headers: &HeaderMap) -> &str {
    let found = headers.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok());
    found.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

fn unsupported(media: &str) -> Status {
    let what = format!("the body of the request was in an unknown format: `{media}`");
    Status::new(415, "UnsupportedMediaType", what)
}

fn json(bytes: &Bytes) -> Result<Value, Status> {
    serde_json::from_slice(bytes)
        .map_err(|error| Status::bad_request(format!("the body is not JSON: {error}")))
}

fn yaml(bytes: &Bytes) -> Result<Value, Status> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    let text =
        std::str::from_utf8(bytes).map_err(|_| Status::bad_request("the body is not UTF-8"))?;
    let document = folio_kinds::spec::Document { line: 1, text };
    document.parse().map_err(|error| {
        // What the reader's own settings could do about it is nothing a client can do.
        let what = error.what.split(", set DuplicateKeyPolicy").next().unwrap_or_default();
        Status::bad_request(format!("the body is not YAML: line {}: {what}", error.line))
    })
}
