//! Finds entries that decide nothing, and what their author may have meant.
//!
//! Start at [`check`].

use std::collections::{BTreeMap, BTreeSet};

use super::nearest::{nearest, suggestion};
use super::{Config, Uses};
use crate::error::Error;
use crate::ir::{Group, Shape};

/// What an entry speaks of, for looking up what is like it.
struct Subject<'a> {
    start: usize,
    table: &'static str,
    kind: Option<&'a str>,
    version: Option<&'a str>,
    ty: Option<&'a str>,
    properties: Vec<&'a str>,
}

/// What there is to speak of.
struct Known {
    kinds: BTreeSet<String>,
    versions: BTreeSet<String>,
    types: BTreeMap<String, BTreeSet<String>>,
    /// The versions that have a property, by type and property.
    versions_of: BTreeMap<(String, String), BTreeSet<String>>,
}

/// Refuses the first entry that decided nothing.
pub fn check(config: &Config, group: &Group, uses: &Uses) -> Result<(), Error> {
    let idle: Vec<_> =
        subjects(config).into_iter().filter(|entry| !uses.0.contains(&entry.start)).collect();
    let Some(first) = idle.first() else { return Ok(()) };
    let more = match idle.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let (what, hint) = explain(first, &known(group));
    Err(config.error_at(first.start, format!("[[{}]] {what}{more}", first.table), hint))
}

fn explain(entry: &Subject<'_>, known: &Known) -> (String, String) {
    let missing = |noun: &str, name: &str, names: &mut dyn Iterator<Item = &String>| {
        let names: Vec<_> = names.collect();
        let hint = match nearest(name, names.iter().map(|known| known.as_str())) {
            Some(near) => format!("did you mean `{near}`?"),
            None if noun == "version" || noun == "kind" => suggestion(noun, name, names),
            None => "correct the name, or delete the entry".to_owned(),
        };
        (format!("speaks of the {noun} `{name}`, which no schema has"), hint)
    };
    if let Some(kind) = entry.kind
        && !known.kinds.iter().any(|known| known.eq_ignore_ascii_case(kind))
    {
        return missing("kind", kind, &mut known.kinds.iter());
    }
    if let Some(version) = entry.version
        && !known.versions.contains(version)
    {
        return missing("version", version, &mut known.versions.iter());
    }
    let all = known.types.values().flatten().collect::<BTreeSet<_>>();
    let mut properties: BTreeSet<&String> = all;
    if let Some(ty) = entry.ty {
        match known.types.get(ty) {
            None => return missing("type", ty, &mut known.types.keys()),
            Some(own) if entry.table != "rename_property" => properties = own.iter().collect(),
            Some(_) => {}
        }
    }
    for property in &entry.properties {
        let exists = properties.iter().any(|known| known == property)
            || (entry.table == "rename_type" && known.types.contains_key(*property));
        if !exists {
            return match entry.table {
                "rename_type" => missing("type", property, &mut known.types.keys()),
                _ => missing("property", property, &mut properties.iter().copied()),
            };
        }
    }
    let hint = other_versions(entry, known).map_or_else(
        || "delete the entry, or check that some version needs it".to_owned(),
        |versions| format!("delete the entry, or did you mean version {versions}?"),
    );
    ("changes nothing".to_owned(), hint)
}

/// The versions that have the property, where an entry that changes nothing names another.
fn other_versions(entry: &Subject<'_>, known: &Known) -> Option<String> {
    let (version, ty, property) = (entry.version?, entry.ty?, entry.properties.first()?);
    let versions = known.versions_of.get(&(ty.to_owned(), (*property).to_owned()))?;
    let others = versions.iter().filter(|other| *other != version);
    let others: Vec<_> = others.map(|other| format!("`{other}`")).collect();
    (!others.is_empty()).then(|| others.join(" or "))
}

fn subjects(config: &Config) -> Vec<Subject<'_>> {
    let said = &config.said;
    let subject = |start: usize, table: &'static str| Subject {
        start,
        table,
        kind: None,
        version: None,
        ty: None,
        properties: Vec::new(),
    };
    let mut all = Vec::new();
    for (table, entries) in [("include", &said.include), ("exclude", &said.exclude)] {
        all.extend(entries.iter().map(|entry| Subject {
            kind: entry.get_ref().kind.as_deref(),
            version: entry.get_ref().version.as_deref(),
            ..subject(entry.span().start, table)
        }));
    }
    all.extend(said.hub.iter().map(|entry| Subject {
        kind: entry.get_ref().kind.as_deref(),
        version: Some(&entry.get_ref().version),
        ..subject(entry.span().start, "hub")
    }));
    all.extend(said.name.iter().map(|entry| Subject {
        ty: Some(&entry.get_ref().ty),
        properties: entry.get_ref().property.iter().map(String::as_str).collect(),
        ..subject(entry.span().start, "name")
    }));
    all.extend(said.opaque.iter().map(|entry| Subject {
        ty: Some(&entry.get_ref().ty),
        properties: vec![&entry.get_ref().property],
        ..subject(entry.span().start, "opaque")
    }));
    all.extend(said.manual.iter().map(|entry| Subject {
        version: entry.get_ref().version.as_deref(),
        ty: Some(&entry.get_ref().ty),
        properties: vec![&entry.get_ref().property],
        ..subject(entry.span().start, "manual")
    }));
    all.extend(said.default.iter().map(|entry| Subject {
        version: entry.get_ref().version.as_deref(),
        ty: Some(&entry.get_ref().ty),
        properties: vec![&entry.get_ref().property],
        ..subject(entry.span().start, "default")
    }));
    all.extend(said.rename_property.iter().map(|entry| Subject {
        ty: Some(&entry.get_ref().ty),
        properties: vec![&entry.get_ref().from, &entry.get_ref().to],
        ..subject(entry.span().start, "rename_property")
    }));
    all.extend(said.rename_type.iter().map(|entry| Subject {
        properties: vec![&entry.get_ref().from, &entry.get_ref().to],
        ..subject(entry.span().start, "rename_type")
    }));
    all.extend(said.accept.iter().map(|entry| Subject {
        version: entry.get_ref().version.as_deref(),
        ty: Some(&entry.get_ref().ty),
        properties: entry.get_ref().property.iter().map(String::as_str).collect(),
        ..subject(entry.span().start, "accept")
    }));
    all
}

fn known(group: &Group) -> Known {
    let mut known = Known {
        kinds: BTreeSet::new(),
        versions: group.versions.keys().map(ToString::to_string).collect(),
        types: BTreeMap::new(),
        versions_of: BTreeMap::new(),
    };
    for (version, api) in &group.versions {
        known.kinds.extend(api.resources.keys().cloned());
        for (name, definition) in &api.definitions {
            let properties = known.types.entry(name.clone()).or_default();
            let Shape::Object(object) = &definition.shape else { continue };
            for property in &object.properties {
                properties.insert(property.wire.clone());
                let key = (name.clone(), property.wire.clone());
                known.versions_of.entry(key).or_default().insert(version.to_string());
            }
        }
    }
    known
}
