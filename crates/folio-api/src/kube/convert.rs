//! Converts objects for a cluster that stores folio's kinds itself: all that it sends, or none. Reads nothing of the
//! platform and keeps nothing, so it is open to whoever reaches it: a cluster has no token to show.

use axum::http::Method;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Json, Response};
use bytes::Bytes;
use folio_kinds::{Manifest, ManifestError};
use serde_json::{Value, json};

use super::body;
use super::status::Status;

const VERSION: &str = "apiextensions.k8s.io/v1";

/// Answers a `ConversionReview`.
pub(super) fn convert(parts: &Parts, bytes: &Bytes) -> Result<Response, Status> {
    if parts.method != Method::POST {
        return Err(Status::method_not_allowed("it is only posted to"));
    }
    let review = body::object(&parts.headers, bytes)?;
    if review["apiVersion"] != VERSION || review["kind"] != "ConversionReview" {
        let what = format!("only a ConversionReview of {VERSION} is answered");
        return Err(Status::bad_request(what));
    }
    let request = &review["request"];
    let (Some(uid), Some(wanted), Some(objects)) = (
        request["uid"].as_str(),
        request["desiredAPIVersion"].as_str(),
        request["objects"].as_array(),
    ) else {
        return Err(Status::bad_request(
            "a ConversionReview has `request.uid`, `request.desiredAPIVersion` and `request.objects`",
        ));
    };
    let response = match objects.iter().map(|object| one(object, wanted)).collect() {
        Ok(objects) => {
            let objects: Vec<_> = objects;
            json!({ "uid": uid, "convertedObjects": objects, "result": { "status": "Success" } })
        }
        Err(message) => {
            let message: String = message;
            json!({ "uid": uid, "result": { "status": "Failed", "message": message } })
        }
    };
    let body = json!({ "kind": "ConversionReview", "apiVersion": VERSION, "response": response });
    Ok(Json(body).into_response())
}

fn one(object: &Value, wanted: &str) -> Result<Value, String> {
    let convert = || {
        let manifest = Manifest::new(object.clone())?;
        Ok(folio_kinds::convert_kept(&manifest, wanted)?.as_value())
    };
    convert().map_err(|error: ManifestError| {
        let kind = object["kind"].as_str().unwrap_or("object");
        match object["metadata"]["name"].as_str() {
            Some(name) => format!("{kind} {name}: {error}"),
            None => error.to_string(),
        }
    })
}
