//! What is said about an object: of which types its parts are, and what keys and values may be.

use serde_json::Value;

use crate::kube::selector::{is_key, is_value};
use crate::kube::status::Status;

/// Bytes that all annotations have at most.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// Whether what is said about an object is of its types, and keys and values are such as can be selected by. What was
/// there before may stay as it is.
pub(crate) fn metadata(before: Option<&Value>, object: &Value) -> Result<(), Status> {
    if !object["metadata"].is_object() {
        return Err(Status::invalid("metadata", "metadata: Required value"));
    }
    types(&object["metadata"])?;
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
            let is_old =
                before.is_some_and(|before| before["metadata"][of].get(key) == Some(value));
            // Annotations have keys in any letter case.
            let name = if of == "labels" { key.clone() } else { key.to_lowercase() };
            if !is_old && !is_key(&name) {
                return Err(wrong(format!(
                    "\"{key}\": a key is at most 63 letters, digits, `-`, `_` and `.`, perhaps after a domain and `/`"
                )));
            }
            if of == "labels" && !is_old && !is_value(text) {
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

/// What a member of the metadata is.
#[derive(Debug, Clone, Copy)]
enum Member {
    Text,
    Number,
    Texts,
    Maps,
    /// Looked at elsewhere.
    Other,
}

/// The members that metadata has.
const METADATA: [(&str, Member); 15] = [
    ("name", Member::Text),
    ("generateName", Member::Text),
    ("namespace", Member::Text),
    ("selfLink", Member::Text),
    ("uid", Member::Text),
    ("creationTimestamp", Member::Text),
    ("deletionTimestamp", Member::Text),
    ("generation", Member::Number),
    ("deletionGracePeriodSeconds", Member::Number),
    ("finalizers", Member::Texts),
    ("ownerReferences", Member::Maps),
    ("resourceVersion", Member::Other),
    ("labels", Member::Other),
    ("annotations", Member::Other),
    ("managedFields", Member::Other),
];

/// Whether members of the metadata are of their types.
fn types(metadata: &Value) -> Result<(), Status> {
    for (key, member) in METADATA {
        let found = &metadata[key];
        let all = |is: fn(&Value) -> bool| found.as_array().is_some_and(|all| all.iter().all(is));
        let (fits, what) = match member {
            Member::Text => (found.is_string(), "text"),
            Member::Number => (found.is_i64() || found.is_u64(), "whole number"),
            Member::Texts => (all(Value::is_string), "list of texts"),
            Member::Maps => (all(Value::is_object), "list of maps"),
            Member::Other => continue,
        };
        if !found.is_null() && !fits {
            let field = format!("metadata.{key}");
            let message = format!("{field}: Invalid type: it is no {what}");
            return Err(Status::invalid(&field, message));
        }
    }
    Ok(())
}

/// The members of an object's metadata that nobody knows.
pub(super) fn unknown(object: &Value) -> Vec<String> {
    let members = object["metadata"].as_object().into_iter().flat_map(|members| members.keys());
    let unknown = members.filter(|key| !folio_kinds::spec::METADATA.contains(&key.as_str()));
    unknown.map(|key| format!("metadata.{key}")).collect()
}
