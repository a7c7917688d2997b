//! What must hold for any object that is put, whatever it says.

use folio_kinds::{Manifest, ManifestError, spec};
use serde_json::Value;

use super::query::{Query, Validation, revision};
use super::repeated;
use super::selector::is_value;
use super::status::{Cause, Status};
use super::target::Target;

/// Bytes that all annotations have at most.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// The name of an object.
pub(crate) fn name(object: &Value) -> Result<&str, Status> {
    let name = object["metadata"]["name"].as_str().filter(|name| !name.is_empty());
    name.ok_or_else(|| {
        let what = "metadata.name: Required value: name or generateName is required";
        Status::invalid("metadata.name", what)
    })
}

/// Whether an object is what the path says it is.
pub(crate) fn identity(target: &Target, expected: &str, object: &Value) -> Result<(), Status> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let version = target.api_version();
    if !text("apiVersion").is_empty() && text("apiVersion") != version {
        let what = format!(
            "the API version in the data ({}) does not match the expected API version ({version})",
            text("apiVersion")
        );
        return Err(Status::bad_request(what));
    }
    let kind = target.resource.kind;
    if !text("kind").is_empty() && text("kind") != kind {
        let what = format!(
            "the kind in the data ({}) does not match the expected kind ({kind})",
            text("kind")
        );
        return Err(Status::bad_request(what));
    }
    let metadata = |key: &str| object["metadata"][key].as_str().filter(|text| !text.is_empty());
    if let Some(found) = metadata("name").filter(|found| *found != expected) {
        let what = format!(
            "the name of the object ({found}) does not match the name on the URL ({expected})"
        );
        return Err(Status::bad_request(what));
    }
    if let (Some(found), Some(app)) = (metadata("namespace"), &target.namespace)
        && found != app.as_str()
    {
        let what = format!(
            "the namespace of the provided object does not match the namespace sent on the request: {found} and {app}"
        );
        return Err(Status::bad_request(what));
    }
    Ok(())
}

/// Whether labels and annotations are such.
pub(crate) fn metadata(object: &Value) -> Result<(), Status> {
    if !object["metadata"].is_object() {
        return Err(Status::invalid("metadata", "metadata: Required value"));
    }
    let mut bytes = 0;
    for of in ["labels", "annotations"] {
        let field = format!("metadata.{of}");
        let Some(found) = object["metadata"].get(of).filter(|found| !found.is_null()) else {
            continue;
        };
        let wrong =
            |what: String| Status::invalid(&field, format!("{field}: Invalid value: {what}"));
        let Value::Object(entries) = found else {
            let what = format!("{field}: Invalid type: it is no map of texts");
            return Err(Status::invalid(&field, what));
        };
        for (key, value) in entries {
            let Value::String(text) = value else {
                let what = format!("{field}: Invalid type: the value of `{key}` is no text");
                return Err(Status::invalid(&field, what));
            };
            if key.is_empty() || key.len() > 317 || key.chars().any(char::is_control) {
                return Err(wrong(format!("`{key}` is no name")));
            }
            if of == "labels" && !is_value(text) {
                return Err(wrong(format!(
                    "\"{text}\": a label has at most 63 letters, digits, `-`, `_` and `.`"
                )));
            }
            bytes += if of == "annotations" { key.len() + text.len() } else { 0 };
        }
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        let what = format!(
            "metadata.annotations: Too long: may not be more than {ANNOTATIONS_BYTES_MAX} bytes"
        );
        return Err(Status::invalid("metadata.annotations", what));
    }
    Ok(())
}

/// Whether an object is what its schema says, where it has one.
pub(crate) fn schema(target: &Target, object: &Value) -> Result<(), Status> {
    if target.resource.group.is_empty() {
        return Ok(());
    }
    let mut object = object.clone();
    object["apiVersion"] = target.api_version().into();
    object["kind"] = target.resource.kind.into();
    if let Some(entries) = object.as_object_mut() {
        entries.remove("status");
    }
    let manifest = Manifest::new(object).map_err(|error| Status::bad_request(error.to_string()))?;
    let Err(error) = manifest.store() else { return Ok(()) };
    let message = error.to_string();
    let ManifestError::Mismatches { mismatches, .. } = error else {
        return Err(Status::invalid("spec", message));
    };
    let causes = mismatches.into_iter().map(|mismatch| {
        let what = format!("expected {}, found {}", mismatch.expected, mismatch.found);
        Cause::of(&mismatch.path, what)
    });
    Err(Status::new(422, "Invalid", message).because(causes))
}

/// Refuses to change what the client has not seen.
pub(crate) fn unmoved(
    target: &Target,
    before: Option<&Value>,
    after: &Value,
) -> Result<(), Status> {
    let of =
        |value: &Value| revision(value["metadata"]["resourceVersion"].as_str().unwrap_or_default());
    let said = of(after)?;
    let Some(before) = before else {
        let what = "resourceVersion should not be set on objects to be created";
        return if said.is_some() { Err(Status::bad_request(what)) } else { Ok(()) };
    };
    if said.is_some_and(|seen| of(before).is_ok_and(|now| now > Some(seen))) {
        let name = target.name.as_deref().unwrap_or_default();
        return Err(Status::modified(target, name));
    }
    let uid = |value: &Value| value["metadata"]["uid"].as_str().map(str::to_owned);
    if uid(after).is_some_and(|said| uid(before) != Some(said)) {
        let what = "Precondition failed: the object was made anew, and has another uid";
        return Err(Status::new(409, "Conflict", what));
    }
    Ok(())
}

/// Fields that nobody knows, as warnings or as a refusal. What was there before is not told again.
pub(crate) fn unknown_fields(
    target: &Target,
    query: &Query,
    before: Option<&Value>,
    after: &Value,
) -> Result<Vec<String>, Status> {
    let validation = query.validation.unwrap_or(Validation::Warn);
    if validation == Validation::Ignore || target.resource.group.is_empty() {
        return Ok(Vec::new());
    }
    let unknown = |value: &Value| {
        let written = spec::written(value.clone()).ok().flatten();
        written.map(|written| written.unknown).unwrap_or_default()
    };
    let known = before.map(unknown).unwrap_or_default();
    let new = unknown(after).into_iter().filter(|field| !known.contains(field));
    let texts = new.map(|field| format!("unknown field \"{field}\"")).collect();
    told(target, validation, texts)
}

/// Fields that a body says twice, as warnings or as a refusal.
pub(crate) fn repeated_fields(
    target: &Target,
    query: &Query,
    bytes: &[u8],
) -> Result<Vec<String>, Status> {
    let validation = query.validation.unwrap_or(Validation::Warn);
    if validation == Validation::Ignore {
        return Ok(Vec::new());
    }
    let found = repeated::fields(bytes).into_iter();
    let texts = found.map(|field| format!("duplicate field \"{field}\"")).collect();
    told(target, validation, texts)
}

/// What is odd about an object: a refusal for those who are strict.
fn told(
    target: &Target,
    validation: Validation,
    texts: Vec<String>,
) -> Result<Vec<String>, Status> {
    if validation != Validation::Strict || texts.is_empty() {
        return Ok(texts);
    }
    let kind = target.resource.kind;
    let what = format!(
        "{kind} in version \"{}\" cannot be handled as a {kind}: strict decoding error: {}",
        target.version,
        texts.join(", ")
    );
    Err(Status::bad_request(what))
}
