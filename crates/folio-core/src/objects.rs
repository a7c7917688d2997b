//! What there is, as objects in the shapes of Fission's proposals for versions: trackers, groups, aliases, tags, and
//! the versions themselves under names of their own.

use folio_kinds::{Manifest, mapping};
use folio_model::{Kind, Snapshot};
use serde_json::{Value, json};

use crate::view::{AliasView, AppView, PlacedView, TagView, VersionView};

/// The tracker of a function or package: the ids of its versions, oldest first.
pub fn tracker(kind: Kind, name: &str, versions: &[VersionView]) -> Value {
    let ids: Vec<_> = versions.iter().map(|version| version.id.to_string()).collect();
    let kind =
        if kind == Kind::Package { "PackageVersionTracker" } else { "FunctionVersionTracker" };
    json!({ "kind": kind, "metadata": { "name": name }, "spec": { "versions": ids } })
}

/// The group of an app version: every function and package with the version it had then.
pub fn group(app: &AppView) -> Value {
    let object = |unit: &PlacedView| {
        let kind = matches!(unit.kind, Kind::Function | Kind::Package);
        let version = unit.pending.as_ref().or(unit.id.as_ref()).filter(|_| kind)?;
        Some(json!({ "type": unit.kind, "name": unit.name, "version": version }))
    };
    let objects: Vec<_> = app.units.iter().filter_map(object).collect();
    let mut spec = json!({});
    if let Some(git) = &app.git {
        let clean = if git.clean { "yes" } else { "no" };
        spec["git"] = json!({ "commit": git.commit, "branch": git.branch, "clean": clean });
    }
    spec["objects"] = objects.into();
    json!({ "kind": "GroupVersionTracker", "metadata": { "name": app.id }, "spec": spec })
}

/// An alias: where it sends calls, by the names of versions.
pub fn alias(alias: &AliasView) -> Value {
    let named = |id: &str| format!("{}-{id}", alias.function);
    let targets: Vec<_> = alias
        .targets
        .iter()
        .filter_map(|target| Some((named(target.id.as_ref()?.as_str()), target.weight)))
        .collect();
    let reference = match &targets[..] {
        [(only, _)] => json!({ "type": "name", "name": only }),
        several => {
            let weights: serde_json::Map<_, _> =
                several.iter().map(|(name, weight)| (name.clone(), percent(*weight))).collect();
            json!({ "type": "function-weights", "functionweights": weights })
        }
    };
    let name = format!("{}_{}", alias.function, alias.name);
    json!({ "kind": "Alias", "metadata": { "name": name }, "spec": { "functionref": reference } })
}

/// A share of 10,000 in per cent, as Fission writes weights.
fn percent(weight: u32) -> Value {
    if weight.is_multiple_of(100) { json!(weight / 100) } else { json!(f64::from(weight) / 100.0) }
}

/// The alias that every function has: its latest version.
pub fn latest(name: &str, versions: &[VersionView]) -> Option<Value> {
    let latest = versions.iter().find(|version| version.latest)?;
    let reference = json!({ "type": "name", "name": format!("{name}-{}", latest.id) });
    let metadata = json!({ "name": format!("{name}_latest") });
    Some(json!({ "kind": "Alias", "metadata": metadata, "spec": { "functionref": reference } }))
}

/// Everything there is to a function: its aliases, `latest` among them, and its versions.
pub fn master(name: &str, versions: &[VersionView], aliases: &[AliasView]) -> Value {
    let latest = versions.iter().any(|version| version.latest).then(|| format!("{name}_latest"));
    let named = aliases.iter().map(|alias| format!("{name}_{}", alias.name));
    let aliases: Vec<_> = latest.into_iter().chain(named).collect();
    let versions: Vec<_> =
        versions.iter().map(|version| format!("{name}-{}", version.id)).collect();
    json!({
        "kind": "FunctionMaster",
        "metadata": { "name": format!("{name}_master") },
        "spec": { "alias": aliases, "versions": versions },
    })
}

/// A tag: the function versions in it.
pub fn tag(tag: &TagView) -> Value {
    let members = tag.members.iter().map(|member| format!("{}-{}", member.function, member.id));
    let references: Vec<_> = members.map(|name| json!({ "type": "name", "name": name })).collect();
    json!({ "kind": "Tag", "metadata": { "name": tag.name }, "spec": { "functionref": references } })
}

/// A version as an object of its own, in Fission's form: called after its unit and id, and marked as versioned.
pub fn version(version: &VersionView) -> Value {
    let named = |name: &str, id: &str| format!("{name}-{id}");
    let mut object = match mapping::stored(&version.spec, &version.name) {
        Ok(stored) => Manifest::of(stored, "fission.io/v1").map(|found| found.as_value()),
        Err(_) => return Value::Null,
    }
    .unwrap_or_default();
    object["metadata"]["name"] = named(version.name.as_str(), version.id.as_str()).into();
    if !object["metadata"]["annotations"].is_object() {
        object["metadata"]["annotations"] = json!({});
    }
    object["metadata"]["annotations"]["versioned"] = "true".into();
    if let (Snapshot::Function(_), Some(package)) = (&version.spec, &version.package)
        && let Some(id) = &package.id
    {
        let name = named(package.name.as_str(), id.as_str());
        object["spec"]["package"]["packageref"]["name"] = name.into();
    }
    if let Snapshot::Package(spec) = &version.spec {
        for (side, content) in [("source", spec.source), ("deployment", spec.deployment)] {
            if let Some(content) = content {
                object["spec"][side]["checksum"] =
                    json!({ "type": "sha256", "sum": content.tree.hex() });
            }
        }
        object["status"] = json!({ "buildstatus": version.build });
    }
    object
}
