//! What there is, as objects in the shapes of Fission's proposals for versions: trackers, groups, aliases, tags, and
//! the versions themselves under names of their own.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
pub use folio_kinds::spec::LITERAL_BYTES_MAX;
use folio_kinds::{Manifest, mapping};
use folio_model::{Content, Kind, PackageSpec, Snapshot};
use serde_json::{Map, Value, json};

use crate::upload::Part;
use crate::view::{AliasView, AppView, PackageUse, PlacedView, TagView, VersionView};

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
            let weights: Map<_, _> =
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
    let mut object = match mapping::stored(&version.spec, &version.name) {
        Ok(stored) => Manifest::of(stored, "fission.io/v1").map(|found| found.as_value()),
        Err(_) => return Value::Null,
    }
    .unwrap_or_default();
    metadata(&mut object["metadata"], version);
    match &version.spec {
        Snapshot::Function(_) => function(&mut object["spec"], version.package.as_ref()),
        Snapshot::Package(spec) => {
            package(&mut object["spec"], spec);
            object["status"] = json!({ "buildstatus": version.build });
        }
        _ => {}
    }
    object
}

/// Puts the bytes of a package's archive into its object, if they are not too many for that.
pub fn put_literal(object: &mut Value, part: Part, bytes: &[u8]) {
    if bytes.len() > LITERAL_BYTES_MAX {
        return;
    }
    let side = match part {
        Part::Source => "source",
        Part::Deployment => "deployment",
    };
    let literal = STANDARD.encode(bytes);
    object["spec"][side] = json!({ "checksum": {}, "literal": literal, "type": "literal" });
}

/// The name of a version, its mark, and everything else that a manifest said.
fn metadata(written: &mut Value, version: &VersionView) {
    let mut said = written.as_object().cloned().unwrap_or_default();
    let mut annotations = match said.remove("annotations") {
        Some(Value::Object(annotations)) => annotations,
        _ => Map::new(),
    };
    annotations.insert("versioned".to_owned(), "true".into());
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), format!("{}-{}", version.name, version.id).into());
    if version.kind == Kind::Package {
        metadata.insert("resourceversion".to_owned(), version.number.to_string().into());
    }
    metadata.insert("annotations".to_owned(), Value::Object(annotations));
    said.remove("name");
    metadata.extend(said);
    *written = Value::Object(metadata);
}

/// A function's spec with the values that Fission gives what nobody said, by name as the proposal has them.
fn function(spec: &mut Value, used: Option<&PackageUse>) {
    let strategy = json!({
        "ExecutorType": "poolmgr",
        "MaxScale": 1,
        "MinScale": 0,
        "TargetCPUPercent": 80,
    });
    let defaults = json!({
        "InvokeStrategy": { "ExecutionStrategy": strategy, "StrategyType": "execution" },
        "configmaps": [],
        "resources": {},
        "secrets": [],
    });
    complete(spec, &defaults);
    if let Some(PackageUse { name, number, id: Some(id) }) = used {
        let reference = &mut spec["package"]["packageref"];
        reference["name"] = format!("{name}-{id}").into();
        if let Some(number) = number {
            reference["resourceversion"] = number.to_string().into();
        }
    }
    spec.sort_all_objects();
}

/// Gives what is missing from an object or part of it the value it has by default.
fn complete(value: &mut Value, defaults: &Value) {
    match (value, defaults) {
        (Value::Object(fields), Value::Object(defaults)) => {
            for (key, default) in defaults {
                complete(fields.entry(key.clone()).or_insert(Value::Null), default);
            }
        }
        (value @ Value::Null, default) => *value = default.clone(),
        _ => {}
    }
}

/// A package's spec in the proposal's order. Content is named by its digest until its bytes take its place.
fn package(spec: &mut Value, content: &PackageSpec) {
    let mut said = spec.as_object().cloned().unwrap_or_default();
    let mut archive = |side: &str, content: Option<Content>| {
        let mut archive = said.remove(side).filter(Value::is_object).unwrap_or_else(|| json!({}));
        archive["checksum"] = match content {
            Some(content) => json!({ "type": "sha256", "sum": content.tree.hex() }),
            None => json!({}),
        };
        archive
    };
    let source = archive("source", content.source);
    let deployment = archive("deployment", content.deployment);
    let environment = said.remove("environment").unwrap_or_default();
    *spec = json!({ "source": source, "environment": environment, "deployment": deployment });
    spec.as_object_mut().into_iter().for_each(|spec| spec.extend(said.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_gets_its_default_and_what_is_said_stays() {
        let mut spec = json!({ "a": { "b": 2, "c": null }, "d": [1], "e": { "f": 1 } });
        complete(&mut spec, &json!({ "a": { "b": 1, "c": 1 }, "d": [], "g": {} }));
        let expected = json!({ "a": { "b": 2, "c": 1 }, "d": [1], "e": { "f": 1 }, "g": {} });
        assert_eq!(spec, expected);
    }

    #[test]
    fn an_archive_is_in_its_object_unless_it_is_too_large() {
        let mut object = json!({ "spec": { "source": { "checksum": { "sum": "1" } } } });
        let before = object.clone();
        put_literal(&mut object, Part::Source, &vec![0; LITERAL_BYTES_MAX + 1]);
        assert_eq!(object, before);
        put_literal(&mut object, Part::Source, b"code");
        let literal = json!({ "checksum": {}, "literal": "Y29kZQ==", "type": "literal" });
        assert_eq!(object, json!({ "spec": { "source": literal } }));
    }
}
