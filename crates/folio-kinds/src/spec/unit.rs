//! What a manifest asks for, as a unit of the model.

use folio_model::{Content, Digest, Name, RouteSpec, Snapshot, TriggerSpec};
use hub::Value;
use hub::serde_json::{json, to_value};

use super::settings;
use crate::manifest::{Manifest, ManifestError};
use crate::mapping::{self, MappingError};
use crate::registry::Stored;

/// A unit that a manifest asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// Its name.
    pub name: Name,
    /// Its spec. What it stands on is left open: the package that a function pins has a name and no digest yet.
    pub spec: Snapshot,
    /// What folio keeps of it and does not act on, by its place in the manifest.
    pub idle: Vec<String>,
}

/// The files that a package's manifest names, found and stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contents {
    /// Files to build from.
    pub source: Option<Content>,
    /// Files to run as they are.
    pub deployment: Option<Content>,
}

/// Reads the unit that a manifest asks for.
pub fn unit(manifest: &Manifest, contents: Contents) -> Result<Unit, ManifestError> {
    let kind = manifest.kind()?.name;
    let incomplete = |why: String| ManifestError::Unreadable(why);
    let name = manifest.name().ok_or(ManifestError::Unnamed("metadata.name"))?;
    let name: Name = name.parse().map_err(|error| incomplete(format!("metadata.name: {error}")))?;
    let stored = manifest.check()?;
    let idle = idle(&stored.to_value());
    let mut hub = stored.to_value();
    complete(kind, &mut hub, contents);
    let stored = Stored::of_value(kind, hub).map_err(incomplete)?;
    let spec = mapping::snapshot(&stored).map_err(|error| match error {
        MappingError::Incomplete { why, .. } => {
            let why = in_fissions_words(manifest, &why).unwrap_or_else(|| format!("spec: {why}"));
            incomplete(why)
        }
        other => incomplete(other.to_string()),
    })?;
    let spec = match spec {
        Snapshot::Function(spec) => Snapshot::Function(settings::read(spec).map_err(incomplete)?),
        // Generated manifests write an empty host where they mean none.
        Snapshot::Trigger(TriggerSpec::Http(spec)) => {
            let host = spec.host.filter(|host| !host.is_empty());
            Snapshot::Trigger(TriggerSpec::Http(RouteSpec { host, ..spec }))
        }
        other => other,
    };
    Ok(Unit { name, spec, idle })
}

/// What a manifest of Fission lacks, said by its own fields.
fn in_fissions_words(manifest: &Manifest, why: &str) -> Option<String> {
    let value = manifest.as_value();
    if value["apiVersion"] != "fission.io/v1" {
        return None;
    }
    let lacks = |field: &str| why.contains(&format!("missing field `{field}`"));
    match value["kind"].as_str()? {
        "HTTPTrigger" if lacks("path") => Some(
            "spec: it has neither `relativeurl` nor `prefix`, so nothing leads to it".to_owned(),
        ),
        "Environment" if lacks("runtime") => {
            let image = value["spec"]["runtime"]["image"].as_str().unwrap_or_default();
            Some(format!(
                "spec.runtime.image: `{image}` is no image that folio can stand in for; those of \
                 Fission for node and python are, such as fission/node-env and fission/python-env"
            ))
        }
        _ => None,
    }
}

/// Fills in what manifests leave to the platform.
fn complete(kind: &str, hub: &mut Value, contents: Contents) {
    let Some(spec) = hub.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if kind == "Function"
        && let Some(Value::Object(package)) = spec.get_mut("package")
    {
        let open = Digest::of(b"").to_string();
        package.insert("snapshot".to_owned(), open.into());
    }
    if kind == "Function" {
        for list in ["configs", "secrets"] {
            let pins = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            for pin in pins.filter_map(Value::as_object_mut) {
                pin.insert("snapshot".to_owned(), Digest::of(b"").to_string().into());
            }
        }
    }
    if kind == "StaticAsset" {
        let content = contents.deployment.and_then(|content| to_value(content).ok());
        spec.extend(content.map(|content| ("content".to_owned(), content)));
    }
    if kind == "Package" {
        let files = [("source", contents.source), ("deployment", contents.deployment)];
        for (side, content) in files {
            let Some(content) = content else {
                spec.remove(side);
                continue;
            };
            let part = spec.entry(side).or_insert_with(|| json!({}));
            if !part.is_object() {
                *part = json!({});
            }
            if let (Value::Object(part), Ok(Value::Object(found))) = (part, to_value(content)) {
                part.extend(found);
            }
        }
        // Archives of the manifest's own are in the trees.
        for side in ["source", "deployment"] {
            if let Some(bag) = spec.get_mut(side).and_then(|part| part.get_mut("$bag"))
                && let Some(bag) = bag.as_object_mut()
            {
                bag.remove("literal@fission.io/v1");
            }
        }
    }
}

/// What the hub keeps in its bags, has a value and means something to a platform.
fn idle(hub: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(hub.get("spec").unwrap_or(&Value::Null), "spec", &mut found);
    found.sort();
    found.dedup();
    found
}

/// Properties that say nothing folio would have to act on.
const SILENT: [&str; 17] = [
    "ExecutorType",
    "SpecializationTimeout",
    "StrategyType",
    "TargetCPUPercent",
    "checksum",
    "configmaps",
    "environment",
    "functionref",
    "literal",
    "method",
    "methods",
    "namespace",
    "package",
    "resourceversion",
    "secrets",
    "type",
    "url",
];

fn collect(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                if key != "$bag" {
                    collect(value, &format!("{path}.{key}"), found);
                    continue;
                }
                for (key, value) in value.as_object().into_iter().flatten() {
                    let name = key.split('@').next().unwrap_or(key);
                    if name != "*" && !SILENT.contains(&name) && says(value) {
                        let parts = settings::idle(name, value).into_iter();
                        found.extend(parts.map(|part| format!("{path}.{part}")));
                    }
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, path, found)),
        _ => {}
    }
}

/// Whether a value says anything.
pub(super) fn says(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(says),
        Value::Object(entries) => entries.values().any(says),
    }
}
