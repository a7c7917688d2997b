//! What must hold for any object that is put, whatever it says.

use serde_json::Value;

use super::selector::is_value;
use super::status::Status;
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
            return Err(wrong("it is no map of texts".to_owned()));
        };
        for (key, value) in entries {
            let Value::String(text) = value else {
                return Err(wrong(format!("the value of `{key}` is no text")));
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
