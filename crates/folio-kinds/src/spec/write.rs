//! Manifests for what flags describe, as Fission's command line writes them into a spec directory.
//!
//! Each is of `fission.io/v1`, or of folio's own version where Fission has no word for something: what is written
//! down asks for all of what was described, or is not written.

use folio_model::{FunctionSpec, Name, PackageSpec, Snapshot, TriggerSpec};
use hub::Value;
use hub::serde_json::{Map, json};

use super::settings;
use crate::manifest::{Manifest, ManifestError, shown};
use crate::mapping::{self, MappingError};
use crate::registry::Stored;
use crate::{FISSION_VERSION, HUB_VERSION};

/// Why there is no manifest.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Fission has no word for a part, and folio's version none for settings.
    #[error("{FISSION_VERSION} has no word for {}, and {HUB_VERSION} none for configs and secrets", .0.join(", "))]
    Both(Vec<String>),
    /// What was described is no object of its kind.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// It has no form in any version.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl WriteError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Both(_) => "leave one of them out, or create it without --spec".to_owned(),
            Self::Mapping(_) => "create it without --spec".to_owned(),
            Self::Manifest(error) => error.hint(),
        }
    }
}

/// The archives of a spec directory that a package is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Archives {
    /// What it is built from.
    pub source: Option<String>,
    /// What runs.
    pub deployment: Option<String>,
}

/// The manifest of a unit. The package that a function pins is written by name alone.
pub fn manifest(name: &Name, namespace: &str, spec: Snapshot) -> Result<Value, WriteError> {
    let (fission, reads_settings) = match &spec {
        Snapshot::Function(function) => {
            let FunctionSpec { configs, secrets, .. } = function;
            let reads_settings = !(configs.is_empty() && secrets.is_empty());
            let function = settings::write(function.clone(), namespace);
            (Snapshot::Function(function), reads_settings)
        }
        Snapshot::Trigger(TriggerSpec::Watch(watch)) => {
            let namespace = Some(namespace.to_owned());
            let watch = folio_model::WatchSpec { namespace, ..watch.clone() };
            (Snapshot::Trigger(TriggerSpec::Watch(watch)), false)
        }
        spec => (spec.clone(), false),
    };
    let written = match shown(open(&fission, name)?, FISSION_VERSION) {
        Ok((written, hidden)) if hidden.is_empty() => written,
        Ok((_, hidden)) if reads_settings => return Err(WriteError::Both(hidden)),
        Ok(_) | Err(ManifestError::Inexpressible { .. }) => {
            Manifest::of(open(&spec, name)?, HUB_VERSION)?
        }
        Err(error) => return Err(error.into()),
    };
    Ok(placed(written, namespace))
}

/// The manifest of a package that is made of archives of the directory.
pub fn package(
    name: &Name,
    namespace: &str,
    spec: PackageSpec,
    archives: Archives,
) -> Result<Value, WriteError> {
    let mut written = manifest(name, namespace, Snapshot::Package(spec))?;
    for (part, archive) in [("source", archives.source), ("deployment", archives.deployment)] {
        if let Some(archive) = archive {
            written["spec"][part] = json!({"type": "url", "url": format!("archive://{archive}")});
        }
    }
    Ok(written)
}

/// The document that says which files an archive holds.
pub fn archive(name: &str, include: &[String]) -> Value {
    json!({ "kind": "ArchiveUploadSpec", "name": name, "include": include })
}

/// The file that Fission's command line writes an object to.
pub fn file(kind: &str, name: &str) -> String {
    let word = match kind {
        "Environment" => "env",
        "HTTPTrigger" => "route",
        "MessageQueueTrigger" => "mqtrigger",
        "KubernetesWatchTrigger" => "kubewatch",
        kind => &kind.to_ascii_lowercase(),
    };
    format!("{word}-{name}.yaml")
}

/// What is stored of a spec, without what a platform fills in.
fn open(spec: &Snapshot, name: &Name) -> Result<Stored, WriteError> {
    let stored = mapping::stored(spec, name)?;
    let kind = stored.kind().name;
    let mut hub = stored.to_value();
    if let Some(Value::Object(package)) = hub.pointer_mut("/spec/package") {
        package.remove("snapshot");
    }
    // Who says nothing of the network gets none.
    if let Some(Value::Object(spec)) = hub.pointer_mut("/spec")
        && spec.get("network").is_some_and(|network| network == "none")
    {
        spec.remove("network");
    }
    let opened = Stored::of_value(kind, hub).map_err(MappingError::Unreadable)?;
    Ok(opened)
}

/// A manifest that says where it and what it names are.
fn placed(manifest: Manifest, namespace: &str) -> Value {
    let mut value = manifest.as_value();
    let metadata: Map<_, _> = [
        ("name".to_owned(), value["metadata"]["name"].take()),
        ("namespace".to_owned(), namespace.into()),
    ]
    .into_iter()
    .collect();
    value["metadata"] = metadata.into();
    for reference in ["/spec/environment", "/spec/package/packageref"] {
        if let Some(Value::Object(reference)) = value.pointer_mut(reference) {
            reference.insert("namespace".to_owned(), namespace.into());
        }
    }
    value
}
