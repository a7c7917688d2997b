//! Small questions about types: what they contain, which of them are used, how they are labelled.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Api, Arm, Definition, Enum, EnumValue, Shape, Type, TypeId, Union};
use crate::naming::{distinct, pascal};

/// An enum of these values, with a distinct variant for each.
pub fn enumeration(values: &[&str]) -> Enum {
    let mut taken = BTreeSet::new();
    let named = values.iter().map(|value| EnumValue {
        wire: (*value).to_owned(),
        name: distinct(pascal(value), &mut taken),
    });
    Enum { values: named.collect() }
}

/// A union of these arms, with a distinct variant for each.
pub fn union(tag: &str, arms: Vec<(&str, TypeId)>) -> Union {
    let mut taken = BTreeSet::new();
    let named = arms.into_iter().map(|(value, ty)| Arm {
        value: value.to_owned(),
        name: distinct(pascal(value), &mut taken),
        ty,
        recursive: false,
    });
    Union { tag: tag.to_owned(), arms: named.collect() }
}

/// The named types a definition mentions.
pub fn mentioned(definition: &Definition) -> Vec<&TypeId> {
    match &definition.shape {
        Shape::Object(object) => {
            object.properties.iter().filter_map(|property| named(&property.ty)).collect()
        }
        Shape::Enum(_) => Vec::new(),
        Shape::Union(union) => union.arms.iter().map(|arm| &arm.ty).collect(),
    }
}

/// The named type inside lists and maps, if there is one.
pub fn named(ty: &Type) -> Option<&TypeId> {
    match ty {
        Type::List(inner) | Type::Map(inner) => named(inner),
        Type::Named(id) => Some(id),
        Type::String | Type::Integer | Type::Number | Type::Boolean | Type::Any => None,
    }
}

/// A type as a reader would say it, without the version it is from: `[]NodeTypes`.
pub fn label(ty: &Type) -> String {
    match ty {
        Type::String => "string".to_owned(),
        Type::Integer => "int".to_owned(),
        Type::Number => "float".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Any => "any".to_owned(),
        Type::List(inner) => format!("[]{}", label(inner)),
        Type::Map(inner) => format!("map[string]{}", label(inner)),
        Type::Named(id) => id.name.clone(),
    }
}

/// The names that can be reached from some names, themselves included.
pub fn reachable<'a>(
    definitions: &'a BTreeMap<String, Definition>,
    from: impl IntoIterator<Item = &'a str>,
) -> BTreeSet<&'a str> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut rest: Vec<&str> = from.into_iter().collect();
    while let Some(name) = rest.pop() {
        if found.insert(name)
            && let Some(definition) = definitions.get(name)
        {
            rest.extend(mentioned(definition).into_iter().map(|id| id.name.as_str()));
        }
    }
    found
}

/// Drops the types that no resource uses.
pub fn prune(api: &mut Api) {
    let roots = api.resources.values().map(|resource| resource.root.name.as_str());
    let used = reachable(&api.definitions, roots);
    let used: BTreeSet<String> = used.into_iter().map(str::to_owned).collect();
    api.definitions.retain(|name, _| used.contains(name));
}
