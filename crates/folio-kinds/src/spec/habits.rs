//! Puts a document into the form that its version's schema describes, as Fission's own reader would take it: keys in
//! any letter case, texts that are written as numbers, parts that older manifests do not have.

use hub::Value;
use hub::serde_json::{Map, json};

use crate::FISSION_VERSION;
use crate::manifest::{Manifest, ManifestError};
use crate::registry::{KINDS, KindEntry};
use crate::schema::{Schema, Shape, join};
use crate::spec::rules::MARKS;

/// A document in the form of its version.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The manifest.
    pub manifest: Manifest,
    /// The properties that its version does not have; they are kept.
    pub unknown: Vec<String>,
}

/// The groups whose kinds are known, so that any other is misspelt.
const GROUPS: [&str; 2] = ["fission.io/", "folio.dev/"];

/// The members that metadata has.
pub const METADATA: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
];

/// Kinds of Fission that folio leaves alone.
const FISSION_ONLY: [&str; 2] = ["Recorder", "Workflow"];

/// Takes a document of a known kind; nothing if folio has no such kind.
pub fn written(value: Value) -> Result<Option<Written>, ManifestError> {
    let Value::Object(object) = value else {
        return Err(ManifestError::Unreadable("it is not an object".to_owned()));
    };
    let mut object = renamed(object, &["apiVersion", "kind", "metadata", "spec", "status"]);
    let Some(kind) = object.get("kind").and_then(Value::as_str) else {
        return Err(ManifestError::Unnamed("kind"));
    };
    let Some(kind) = KindEntry::find(kind).filter(|found| found.name == kind) else {
        let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let is_ours = match version {
            "" => KINDS.iter().any(|known| is_like(kind, known.name)),
            _ => GROUPS.iter().any(|group| version.starts_with(group)),
        };
        return match is_ours && !FISSION_ONLY.contains(&kind) {
            true => Err(ManifestError::UnknownKind(kind.to_owned())),
            false => Ok(None),
        };
    };
    // Another version may mean something else by the same words, so none is taken for one that is known.
    let version = match object.get("apiVersion") {
        None | Some(Value::Null) => FISSION_VERSION.to_owned(),
        Some(Value::String(version)) if version.is_empty() => FISSION_VERSION.to_owned(),
        Some(Value::String(version)) => version.clone(),
        Some(other) => other.to_string(),
    };
    object.insert("apiVersion".to_owned(), version.clone().into());
    object.insert("kind".to_owned(), kind.name.into());
    let Some(schema) = Schema::of(kind.name, &version) else {
        return Err(ManifestError::UnknownVersion { kind: kind.name, version });
    };
    let mut unknown = Vec::new();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        *metadata = renamed(std::mem::take(metadata), &METADATA);
        let foreign = metadata.keys().filter(|key| !METADATA.contains(&key.as_str()));
        unknown.extend(foreign.map(|key| join("metadata", key)));
    }
    fill(kind.name, &version, &mut object);
    take_marks(&mut object);
    for (key, value) in &mut object {
        let own = match schema.shape() {
            Shape::Object(properties) => properties.into_iter().find(|own| own.name == key),
            _ => None,
        };
        if let Some(own) = own {
            take(own.schema, value, key, &mut unknown);
        } else if !["apiVersion", "kind", "metadata", "status"].contains(&key.as_str()) {
            unknown.push(key.clone());
        }
    }
    Ok(Some(Written { manifest: Manifest::new(Value::Object(object))?, unknown }))
}

/// Whether one word may be the other, written with other capitals or one slip. What such a document was meant to be would be
/// taken as gone.
fn is_like(word: &str, known: &str) -> bool {
    let [word, known] = [word, known].map(str::to_ascii_lowercase);
    let same = |(a, b): &(u8, u8)| a == b;
    let ahead = word.bytes().zip(known.bytes()).take_while(same).count();
    let [word, known] = [&word.as_bytes()[ahead..], &known.as_bytes()[ahead..]];
    let pairs = word.iter().copied().rev().zip(known.iter().copied().rev());
    let behind = pairs.take_while(same).count();
    match (&word[..word.len() - behind], &known[..known.len() - behind]) {
        ([a, b], [c, d]) => (a, b) == (d, c),
        (left, meant) => left.len() <= 1 && meant.len() <= 1,
    }
}

/// The properties of a document that is no manifest, as Fission's own reader would take them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taken {
    /// Those that have a known name, under it. What is `null` is not there.
    pub known: Map<String, Value>,
    /// The names of the others.
    pub unknown: Vec<String>,
}

/// Takes the properties of a document that has the given names, in any letter case. Texts may be written as numbers.
pub fn taken(value: Value, names: &[&str]) -> Taken {
    let mut taken = Taken::default();
    let Value::Object(entries) = value else { return taken };
    for (key, value) in renamed(entries, names) {
        if !names.contains(&key.as_str()) {
            taken.unknown.push(key);
            continue;
        }
        match value {
            Value::Null => {}
            Value::Number(_) | Value::Bool(_) => {
                taken.known.insert(key, value.to_string().into());
            }
            other => {
                taken.known.insert(key, other);
            }
        }
    }
    taken.unknown.sort();
    taken
}

/// Adds what Fission's schema asks for and its older manifests do not have.
fn fill(kind: &str, version: &str, object: &mut Map<String, Value>) {
    if version != FISSION_VERSION {
        return;
    }
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    if let Some(name @ Value::Number(_)) = metadata.get_mut("name") {
        *name = name.to_string().into();
    }
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    let has = |spec: &Map<String, Value>, wanted: &str| {
        spec.iter().any(|(key, value)| key.eq_ignore_ascii_case(wanted) && !value.is_null())
    };
    if kind == "Function" && !has(spec, "InvokeStrategy") {
        spec.insert("InvokeStrategy".to_owned(), json!({}));
    }
    let reference = spec.iter_mut().find(|(key, _)| key.eq_ignore_ascii_case("functionref"));
    if let Some((_, Value::Object(reference))) = reference
        && !has(reference, "name")
    {
        reference.retain(|key, _| !key.eq_ignore_ascii_case("name"));
        reference.insert("name".to_owned(), "".into());
    }
    let lists = spec.iter_mut().filter(|(key, _)| {
        ["secrets", "configmaps"].iter().any(|list| list.eq_ignore_ascii_case(key))
    });
    for item in lists.filter_map(|(_, list)| list.as_array_mut()).flatten() {
        if let Value::Object(item) = item
            && !has(item, "namespace")
        {
            item.insert("namespace".to_owned(), "".into());
        }
    }
    let variables = spec.iter_mut().find(|(key, _)| key.eq_ignore_ascii_case("env"));
    if let Some((_, Value::Array(variables))) = variables {
        variables.iter_mut().for_each(take_variable);
    }
    if matches!(kind, "Function" | "Package") {
        let environment = spec.iter_mut().find(|(key, _)| key.eq_ignore_ascii_case("environment"));
        if let Some((_, Value::Object(environment))) = environment
            && !has(environment, "namespace")
        {
            environment.retain(|key, _| !key.eq_ignore_ascii_case("namespace"));
            environment.insert("namespace".to_owned(), "".into());
        }
    }
}

/// A variable as a container has it; no schema describes it.
fn take_variable(variable: &mut Value) {
    let Value::Object(entries) = variable else { return };
    *entries = renamed(std::mem::take(entries), &["name", "value", "valueFrom"]);
    for key in ["name", "value"] {
        if let Some(value @ (Value::Number(_) | Value::Bool(_))) = entries.get_mut(key) {
            *value = value.to_string().into();
        }
    }
}

/// Labels and annotations as texts; no schema describes them. What is neither is left for whoever checks it.
fn take_marks(object: &mut Map<String, Value>) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
    for marks in MARKS {
        match metadata.get_mut(marks) {
            Some(Value::Null) => drop(metadata.remove(marks)),
            Some(Value::Object(entries)) => {
                entries.retain(|_, value| !value.is_null());
                for value in entries.values_mut().filter(|it| it.is_number() || it.is_boolean()) {
                    *value = value.to_string().into();
                }
            }
            _ => {}
        }
    }
}

/// Brings a value into the form of its schema.
fn take(schema: Schema, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match (schema.shape(), value) {
        (Shape::Text | Shape::Choice(_), value @ (Value::Number(_) | Value::Bool(_))) => {
            *value = value.to_string().into();
        }
        (Shape::List(items), Value::Array(values)) => {
            for (at, value) in values.iter_mut().enumerate() {
                take(items, value, &format!("{path}[{at}]"), unknown);
            }
        }
        (Shape::Map(values), Value::Object(entries)) => {
            for (key, value) in entries {
                take(values, value, &join(path, key), unknown);
            }
        }
        (Shape::Object(properties), Value::Object(entries)) if !properties.is_empty() => {
            let names: Vec<_> = properties.iter().map(|property| property.name).collect();
            *entries = renamed(std::mem::take(entries), &names);
            for (key, value) in entries {
                let path = join(path, key);
                match properties.iter().find(|property| property.name == key) {
                    Some(property) => take(property.schema, value, &path, unknown),
                    None => unknown.push(path),
                }
            }
        }
        _ => {}
    }
}

/// Entries under the names a schema knows, where they differ in letter case only. A name that is there already stays.
fn renamed(entries: Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let (exact, others): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|(key, _)| names.contains(&key.as_str()));
    let mut renamed: Map<String, Value> = exact.into_iter().collect();
    for (key, value) in others {
        let known = names.iter().find(|name| name.eq_ignore_ascii_case(&key));
        let name = known.filter(|name| !renamed.contains_key(**name));
        renamed.insert(name.map_or(key, |name| (*name).to_owned()), value);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: Value) -> Written {
        written(value).unwrap().expect("it is a kind")
    }

    #[test]
    fn keys_and_texts_are_taken_as_fission_takes_them() {
        let written = check(json!({
            "kind": "Function", "Metadata": {"name": "hello"},
            "spec": {
                "Environment": {"Name": 27}, "package": {"PackageRef": {"name": true}},
                "functionName": "x", "functiontimeout": 5,
            },
        }));
        let value = written.manifest.as_value();
        assert_eq!(value["apiVersion"], "fission.io/v1");
        assert_eq!(value["spec"]["environment"], json!({"name": "27", "namespace": ""}));
        assert_eq!(value["spec"]["package"]["packageref"]["name"], "true");
        assert_eq!(value["spec"]["functionTimeout"], 5);
        assert_eq!(written.unknown, ["spec.functionName"]);
        written.manifest.store().unwrap();
    }

    #[test]
    fn what_no_schema_describes_is_taken_the_same_way() {
        let written = check(json!({
            "kind": "Function",
            "metadata": {"Name": "hello", "LABELS": {"a": 1}, "lables": {"b": "c"}},
            "spec": {"env": [{"Name": "PORT", "Value": 8080}, {"name": "ON", "value": true}]},
        }));
        let value = written.manifest.as_value();
        let expected = json!({"name": "hello", "labels": {"a": "1"}, "lables": {"b": "c"}});
        assert_eq!(value["metadata"], expected);
        let expected = json!([{"name": "PORT", "value": "8080"}, {"name": "ON", "value": "true"}]);
        assert_eq!(value["spec"]["env"], expected);
        assert_eq!(written.unknown, ["metadata.lables"]);
    }

    #[test]
    fn documents_that_are_no_manifests_are_taken_the_same_way() {
        let value = json!({ "Kind": "ArchiveUploadSpec", "NAME": 27, "include": null, "extra": 1 });
        let Taken { known, unknown } = taken(value, &["kind", "name", "include"]);
        assert_eq!(Value::Object(known), json!({ "kind": "ArchiveUploadSpec", "name": "27" }));
        assert_eq!(unknown, ["extra"]);
    }

    #[test]
    fn only_known_kinds_in_known_versions_are_taken() {
        assert_eq!(written(json!({"kind": "Deployment"})).unwrap(), None);
        let foreign = json!({"kind": "TimerTriger", "apiVersion": "v1"});
        assert_eq!(written(foreign).unwrap(), None);
        let left_alone = json!({"kind": "Workflow", "apiVersion": "fission.io/v1"});
        assert_eq!(written(left_alone).unwrap(), None);
        let misspelt = json!({"kind": "TimerTriger", "apiVersion": "fission.io/v1"});
        assert!(matches!(written(misspelt), Err(ManifestError::UnknownKind(_))));
        for slip in ["function", "Fnuction", "Functon", "HTTPTriger", "Packages"] {
            let without = json!({"kind": slip, "metadata": {"name": "a"}});
            assert!(matches!(written(without), Err(ManifestError::UnknownKind(_))), "{slip}");
        }
        let unknown = json!({"kind": "Function", "apiVersion": "folio.dev/v9"});
        assert!(matches!(written(unknown), Err(ManifestError::UnknownVersion { .. })));
        assert!(matches!(written(json!({"spec": {}})), Err(ManifestError::Unnamed("kind"))));
        let old = json!({"kind": "Package", "apiVersion": "fission.io/v0", "spec": null});
        assert!(matches!(written(old), Err(ManifestError::UnknownVersion { .. })));
    }
}
