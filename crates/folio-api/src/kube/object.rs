//! Objects as this face shows them: what a unit says, in the version that is asked for, with its metadata and how it
//! stands.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use folio_core::Folio;
use folio_core::object::{ObjectView, Standing};
use folio_kinds::{FISSION_VERSION, Manifest, mapping, spec};
use folio_model::{Build, Content, Owner, PackageSpec, Snapshot, Timestamp};
use serde_json::{Map, Value, json};

use super::resource::Resource;
use super::status::Status;

/// Files up to here are shown in the manifest itself.
const LITERAL_BYTES_MAX: u64 = spec::LITERAL_BYTES_MAX as u64;

/// The annotation that has what is applied published.
pub(crate) const PUBLISH: &str = "folio.dev/publish";

/// A moment as objects have it: to the second.
pub(crate) fn written(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A unit as an object of a version.
pub(crate) async fn show(
    folio: &Folio,
    view: &ObjectView,
    resource: &Resource,
    version: &str,
) -> Result<Value, Status> {
    let whole = format!("{}/{version}", resource.group);
    let stored = mapping::stored(&view.spec, &view.key.name);
    let stored = stored.map_err(|error| Status::new(500, "InternalError", error.to_string()))?;
    let manifest = Manifest::of(stored, &whole);
    let manifest =
        manifest.map_err(|error| Status::new(406, "NotAcceptable", error.to_string()))?;
    let Value::Object(mut object) = manifest.as_value() else {
        return Err(Status::new(500, "InternalError", "a manifest is no object"));
    };
    let own = match object.remove("metadata") {
        Some(Value::Object(own)) => own,
        _ => Map::new(),
    };
    let mut out = Map::new();
    for key in ["apiVersion", "kind"] {
        out.extend(object.remove_entry(key));
    }
    out.insert("metadata".to_owned(), metadata(view, own));
    out.extend(object);
    let mut out = Value::Object(out);
    if let Snapshot::Package(spec) = &view.spec
        && whole == FISSION_VERSION
    {
        literals(folio, spec, &mut out).await?;
    }
    out["status"] = status(&view.standing);
    Ok(out)
}

fn metadata(view: &ObjectView, mut own: Map<String, Value>) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), view.key.name.as_str().into());
    metadata.insert("namespace".to_owned(), view.key.app.as_str().into());
    metadata.insert("uid".to_owned(), view.uid.to_string().into());
    metadata.insert("resourceVersion".to_owned(), view.revision.to_string().into());
    metadata.insert("generation".to_owned(), view.generation.into());
    metadata.insert("creationTimestamp".to_owned(), written(view.created_at).into());
    if let Some(said) = &view.said {
        own.insert("labels".to_owned(), json!(said.labels));
        own.insert("annotations".to_owned(), json!(said.annotations));
    } else if let Some(text) = &view.last_applied {
        let annotations = own.entry("annotations").or_insert_with(|| json!({}));
        annotations[spec::LAST_APPLIED] = text.as_str().into();
    }
    let says =
        |value: &Value| !value.is_null() && value.as_object().is_none_or(|map| !map.is_empty());
    for (key, value) in own {
        if says(&value) {
            metadata.entry(key).or_insert(value);
        }
    }
    if !view.managers.is_empty() {
        metadata.insert("managedFields".to_owned(), view.managers.clone().into());
    }
    Value::Object(metadata)
}

/// Shows small files of a package as Fission does, in the manifest.
async fn literals(folio: &Folio, spec: &PackageSpec, object: &mut Value) -> Result<(), Status> {
    for (side, content) in [("source", spec.source), ("deployment", spec.deployment)] {
        let Some(content) = content else { continue };
        if let Some(text) = literal(folio, content).await? {
            if !object["spec"][side].is_object() {
                object["spec"][side] = json!({});
            }
            object["spec"][side]["type"] = "literal".into();
            object["spec"][side]["literal"] = text.into();
        }
    }
    Ok(())
}

async fn literal(folio: &Folio, content: Content) -> Result<Option<String>, Status> {
    let bytes = folio.sole_file(content, LITERAL_BYTES_MAX).await?;
    Ok(bytes.map(|bytes| BASE64.encode(bytes)))
}

fn status(standing: &Standing) -> Value {
    let build = standing.build.unwrap_or(Build::None);
    let word = match build {
        Build::None => "none",
        Build::Pending => "pending",
        Build::Running => "running",
        Build::Succeeded => "succeeded",
        Build::Failed => "failed",
    };
    let (ready, reason) = match build {
        Build::None | Build::Succeeded => ("True", "Ready"),
        Build::Failed => ("False", "BuildFailed"),
        Build::Pending | Build::Running => ("False", "Building"),
    };
    let mut status = json!({
        "buildstatus": word,
        "versions": standing.versions,
        "draft": standing.draft,
        "conditions": [{ "type": "Ready", "status": ready, "reason": reason }],
    });
    if let Some((_, id)) = &standing.latest {
        status["latest"] = id.as_str().into();
    }
    if let Some(id) = &standing.live {
        status["live"] = id.as_str().into();
    }
    status
}

/// The annotations of an object.
pub(crate) fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"].get(name).and_then(Value::as_str)
}

/// The deployment an object says it belongs to, in the words of Fission.
pub(crate) fn owner(object: &Value) -> Option<Owner> {
    let uid = annotation(object, "fission-uid")?.to_owned();
    let name = annotation(object, "fission-name").unwrap_or(&uid).to_owned();
    Some(Owner { uid, name })
}

/// What an object says, without what identifies it and how it stands.
pub(crate) fn content(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(entries) = object.as_object_mut() {
        entries
            .retain(|key, _| !["apiVersion", "kind", "metadata", "status"].contains(&key.as_str()));
    }
    object
}
