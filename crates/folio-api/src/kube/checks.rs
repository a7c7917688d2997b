//! What must hold for any object that is put, whatever it says.

mod metadata;

use folio_kinds::{Manifest, ManifestError, spec};
use serde_json::Value;

pub(crate) use self::metadata::metadata;
use super::query::{Query, Validation, revision};
use super::repeated;
use super::status::{Cause, Status};
use super::target::Target;

/// What is wrong with a new object that names the revision of one.
pub(crate) const NEW_HAS_REVISION: &str =
    "resourceVersion should not be set on objects to be created";

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
    sort(target, object)?;
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

/// Whether an object is of the version and kind that the path says. In Kubernetes' own group the path is enough, as
/// there.
fn sort(target: &Target, object: &Value) -> Result<(), Status> {
    let (version, kind) = (target.api_version(), target.resource.kind);
    for (key, called, expected) in
        [("apiVersion", "API version", version.as_str()), ("kind", "kind", kind)]
    {
        let what = match &object[key] {
            Value::String(found) if found == expected => continue,
            Value::String(found) if !found.is_empty() => format!(
                "the {called} in the data ({found}) does not match the expected {called} ({expected})"
            ),
            Value::Null | Value::String(_) if target.resource.group.is_empty() => continue,
            Value::Null | Value::String(_) => {
                let what = target.resource.qualified();
                format!("`{key}` is missing: the body of a request for {what} says `{expected}`")
            }
            other => format!("`{key}` is no text: {other}; it says `{expected}`"),
        };
        return Err(Status::bad_request(what));
    }
    Ok(())
}

/// Refuses what nobody may say who applies an object, where there is none before it as well.
pub(crate) fn applied(before: Option<&Value>, patch: &Value) -> Result<(), Status> {
    let metadata = |key: &str| {
        let is_empty = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        patch["metadata"].get(key).filter(|value| !is_empty(value))
    };
    if metadata("managedFields").is_some() {
        let what = "metadata.managedFields must be nil: who applies an object does not say who wrote its fields; leave it out";
        return Err(Status::bad_request(what));
    }
    if before.is_some() {
        return Ok(());
    }
    if metadata("resourceVersion").is_some() {
        return Err(Status::bad_request(NEW_HAS_REVISION));
    }
    match metadata("uid") {
        Some(uid) => {
            let what = format!(
                "Precondition failed: the object that is applied has uid {uid}, and there is none; leave it out to make one"
            );
            Err(Status::new(409, "Conflict", what))
        }
        None => Ok(()),
    }
}

/// Refuses an apply by nobody.
pub(crate) fn applier(query: &Query) -> Result<(), Status> {
    if query.manager.is_some() {
        return Ok(());
    }
    let (field, what) = ("fieldManager", "Required value: is required for apply patch");
    let message = format!("PatchOptions.meta.k8s.io \"\" is invalid: {field}: {what}");
    Err(Status::new(422, "Invalid", message).because([Cause::of(field, what)]))
}

/// The revision that a client says it has seen; none if it says nothing.
pub(crate) fn seen(object: &Value) -> Result<Option<u64>, Status> {
    match &object["metadata"]["resourceVersion"] {
        Value::Null => Ok(None),
        Value::String(text) => revision(text),
        other => {
            let what = format!("metadata.resourceVersion is no text: {other}; quote it");
            Err(Status::bad_request(what))
        }
    }
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
    let said = seen(after)?;
    let Some(before) = before else {
        return if said.is_some() { Err(Status::bad_request(NEW_HAS_REVISION)) } else { Ok(()) };
    };
    // A revision that is still to come was seen as little as one that is gone.
    if said.is_some() && said != seen(before)? {
        let name = target.name.as_deref().unwrap_or_default();
        return Err(Status::modified(target, name));
    }
    same(before, after)
}

/// Refuses to change an object that is not the one that is meant.
pub(crate) fn same(before: &Value, after: &Value) -> Result<(), Status> {
    let uid = |value: &Value| {
        let uid = value["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty());
        uid.map(str::to_owned)
    };
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
    if validation == Validation::Ignore {
        return Ok(Vec::new());
    }
    let unknown = |value: &Value| {
        let mut unknown = metadata::unknown(value);
        if !target.resource.group.is_empty() {
            let written = spec::written(value.clone()).ok().flatten();
            let more = written.into_iter().flat_map(|written| written.unknown);
            let more: Vec<_> = more.filter(|field| !unknown.contains(field)).collect();
            unknown.extend(more);
        }
        unknown
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
