//! Our schemas of `fission.io/v1` have every kind and property that Fission's own have, with the
//! same types; pod specs and what is of Kubernetes in them stay whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Fission's kinds that folio has no use for.
const LEFT_OUT: &[&str] = &["FissionTenant", "Workflow", "WorkflowRun"];

/// Where Fission's definitions lie, if they are at hand.
fn upstream() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = root.ancestors().map(|above| above.join("shared/fission-crds"));
    places.into_iter().find(|place| place.is_dir())
}

/// The types of every property of a definition, by path; what we keep whole ends there.
fn paths(directory: &Path) -> BTreeMap<String, Value> {
    let mut kinds = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let document: Value = serde_saphyr::from_str(&text).unwrap();
        if document["kind"] == "CustomResourceDefinition" {
            let kind = document["spec"]["names"]["kind"].as_str().unwrap().to_owned();
            let schema = &document["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            kinds.insert(kind, schema.clone());
        }
    }
    kinds
}

fn compare(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    if ours["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    for key in ["type", "nullable", "enum"] {
        if theirs[key] != ours[key] {
            found.push(format!("{path}: {key} is {} there, {} here", theirs[key], ours[key]));
        }
    }
    let required = |schema: &Value| {
        let mut names: Vec<_> = schema["required"].as_array().cloned().unwrap_or_default();
        names.sort_by_key(ToString::to_string);
        names
    };
    if required(theirs) != required(ours) {
        found.push(format!("{path}: other properties are required"));
    }
    let none = serde_json::Map::new();
    let properties = |schema: &'_ Value| schema["properties"].as_object().cloned();
    let (theirs_all, ours_all) = (properties(theirs), properties(ours));
    let (theirs_all, ours_all) = (theirs_all.unwrap_or(none.clone()), ours_all.unwrap_or(none));
    for (name, property) in &theirs_all {
        match ours_all.get(name) {
            Some(own) => compare(&format!("{path}.{name}"), property, own, found),
            None => found.push(format!("{path}.{name}: missing here")),
        }
    }
    for name in ours_all.keys().filter(|name| !theirs_all.contains_key(*name)) {
        found.push(format!("{path}.{name}: missing there"));
    }
    for key in ["items", "additionalProperties"] {
        if theirs[key].is_object() {
            compare(&format!("{path}[]"), &theirs[key], &ours[key], found);
        }
    }
}

#[test]
fn every_kind_and_property_of_fission_is_here() {
    let Some(upstream) = upstream() else {
        eprintln!("SKIPPED: Fission's definitions are not at hand, so nothing was compared");
        return;
    };
    let theirs = paths(&upstream);
    let ours = paths(&Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/fission.io"));
    assert!(theirs.len() > 9, "the definitions are read");
    let mut found = Vec::new();
    for (kind, schema) in &theirs {
        match ours.get(kind) {
            Some(own) => compare(kind, schema, own, &mut found),
            None if LEFT_OUT.contains(&kind.as_str()) => {}
            None => found.push(format!("{kind}: missing here")),
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
