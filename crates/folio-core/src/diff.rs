//! Compares two versions, drafts or app versions: settings field by field, files tree by tree, text line by
//! line. Equal subtrees are never read, so the cost follows what differs.

mod app;
mod files;

use std::collections::BTreeMap;

use folio_model::{
    AppName, Content, Digest, Kind, MountPin, PackageSpec, Reference, Right, Snapshot,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::app::{AppDiffView, UnitChange};
pub use self::files::{FileChange, FileSide};
use crate::history;
use crate::ports::{State, StoreError};
use crate::request::Caller;
use crate::resolve::{self, What};
use crate::view;
use crate::{Folio, compose};

/// How two versions differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffView {
    /// The older side, as a reference.
    pub from: String,
    /// The newer side, as a reference.
    pub to: String,
    /// Settings that differ.
    pub fields: Vec<FieldChange>,
    /// Files that differ.
    pub files: Vec<FileChange>,
    /// Whether some text was left out because the comparison hit a limit.
    pub truncated: bool,
}

/// A setting that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// Its path, such as `package.name`.
    pub field: String,
    /// Its old value; absent if it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// Its new value; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

impl Folio {
    /// Compares two versions or drafts of one kind.
    pub async fn diff(
        &self,
        caller: &Caller,
        (app, kind): (&AppName, Kind),
        from: &Reference,
        to: &Reference,
    ) -> Result<DiffView, history::Error> {
        for reference in [from, to] {
            caller.may_name(Right::View, reference).map_err(resolve::Error::from)?;
        }
        let (app, references) = (app.clone(), [from.clone(), to.clone()]);
        let [old, new] = self
            .look(move |state| {
                let [from, to] = &references;
                Ok::<_, history::Error>([
                    side(state, &app, kind, from)?,
                    side(state, &app, kind, to)?,
                ])
            })
            .await?;
        let mut files = files::Comparison::new(self.blobs.as_ref(), self.limits());
        for (prefix, old, new) in old.parts(&new) {
            files.compare(prefix, old, new).await?;
        }
        let (files, truncated) = files.finish();
        let fields = compare_fields(&old.fields, &new.fields);
        Ok(DiffView { from: old.name, to: new.name, fields, files, truncated })
    }
}

/// One side of a comparison.
struct Side {
    name: String,
    fields: BTreeMap<String, Value>,
    source: Option<Content>,
    deployment: Option<Content>,
}

impl Side {
    /// The parts that have files, with a prefix only where both sides together have two.
    fn parts(&self, new: &Self) -> Vec<(&'static str, Option<Digest>, Option<Digest>)> {
        let tree = |content: Option<Content>| content.map(|content| content.tree);
        let source = (tree(self.source), tree(new.source));
        let deployment = (tree(self.deployment), tree(new.deployment));
        let two = source != (None, None) && deployment != (None, None);
        let prefix = |prefix| if two { prefix } else { "" };
        vec![
            (prefix("source/"), source.0, source.1),
            (prefix("deployment/"), deployment.0, deployment.1),
        ]
    }
}

fn side(
    state: &dyn State,
    app: &AppName,
    kind: Kind,
    reference: &Reference,
) -> Result<Side, history::Error> {
    let resolved = resolve::resolve(state, app, kind, reference)?;
    let unit = resolved.unit.key.name.clone();
    let (snapshot, name) = match (&resolved.what, &resolved.unit.draft) {
        (What::Draft, Some(draft)) => (draft.snapshot, format!("{unit}@draft")),
        _ => {
            let version = resolve::sole(state, resolved)?;
            (version.snapshot, format!("{unit}@{}", version.id))
        }
    };
    Ok(held(state, name, view::snapshot(state, snapshot)?)?)
}

/// What a snapshot holds.
fn held(state: &dyn State, name: String, snapshot: Snapshot) -> Result<Side, StoreError> {
    let package = match &snapshot {
        Snapshot::Function(spec) => compose::package_spec(state, spec.package.snapshot)?,
        Snapshot::Package(spec) => spec.clone(),
        Snapshot::Static(spec) => {
            let (mut fields, deployment) = (settings(&snapshot), Some(spec.content));
            fields.remove("content.tree");
            return Ok(Side { name, fields, source: None, deployment });
        }
        Snapshot::Environment(_)
        | Snapshot::Trigger(_)
        | Snapshot::Config(_)
        | Snapshot::Secret(_) => {
            return Ok(Side { name, fields: settings(&snapshot), source: None, deployment: None });
        }
    };
    Ok(Side {
        name,
        fields: fields(state, &snapshot, &package)?,
        source: package.source,
        deployment: package.deployment,
    })
}

/// A version's settings as flat paths. Content is compared as files, so its digests are left out.
fn fields(
    state: &dyn State,
    snapshot: &Snapshot,
    package: &PackageSpec,
) -> Result<BTreeMap<String, Value>, StoreError> {
    let mut flat = settings(snapshot);
    flat.remove("configs");
    flat.remove("secrets");
    flat.retain(|path, _| {
        let content = path.starts_with("source.") || path.starts_with("deployment.");
        !content && path != "package.snapshot"
    });
    if let (Snapshot::Function(_), Some(command)) = (snapshot, &package.build_command) {
        flat.insert("package.buildCommand".to_owned(), command.clone().into());
    }
    for (kind, pin) in snapshot.named() {
        flat.extend(named(state, kind, pin)?);
    }
    Ok(flat)
}

/// What a function froze of a config or secret: values, or the fingerprints of values.
fn named(
    state: &dyn State,
    kind: Kind,
    pin: &MountPin,
) -> Result<BTreeMap<String, Value>, StoreError> {
    let below = format!("{}.{}", kind.plural(), pin.name);
    let mut flat = BTreeMap::new();
    match view::snapshot(state, pin.snapshot)? {
        Snapshot::Config(config) => {
            let values = config.leaves().into_iter();
            flat.extend(values.map(|(key, value)| (format!("{below}.{key}"), value.clone())));
        }
        Snapshot::Secret(secret) => {
            let print = |one: &folio_model::Sealed| Value::from(one.fingerprint.as_str());
            let keys = secret.keys.iter();
            flat.extend(keys.map(|(key, one)| (format!("{below}.{key}"), print(one))));
        }
        _ => return Err(StoreError::corrupt(format!("{kind} snapshot {}", pin.snapshot))),
    }
    if let Some(path) = &pin.mount_path {
        flat.insert(format!("mountPaths.{below}"), path.clone().into());
    }
    Ok(flat)
}

/// Everything a snapshot says, as flat paths.
fn settings(snapshot: &Snapshot) -> BTreeMap<String, Value> {
    let mut flat = BTreeMap::new();
    let value = serde_json::to_value(snapshot.clone().shown()).expect("snapshots have string keys");
    flatten("", &value, &mut flat);
    flat.remove("kind");
    flat
}

fn flatten(prefix: &str, value: &Value, flat: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => flatten_object(prefix, fields, flat),
        other => {
            flat.insert(prefix.to_owned(), other.clone());
        }
    }
}

fn flatten_object(prefix: &str, fields: &Map<String, Value>, flat: &mut BTreeMap<String, Value>) {
    for (key, value) in fields {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        flatten(&path, value, flat);
    }
}

fn compare_fields(
    old: &BTreeMap<String, Value>,
    new: &BTreeMap<String, Value>,
) -> Vec<FieldChange> {
    let mut paths: Vec<_> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let change = |path: &String| FieldChange {
        field: path.clone(),
        from: old.get(path).cloned(),
        to: new.get(path).cloned(),
    };
    paths.into_iter().map(change).filter(|change| change.from != change.to).collect()
}
