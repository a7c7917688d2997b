//! Shares types between versions, and finds the fields that contain their own object.
//!
//! Two types are the same when their names, their properties and everything they contain are;
//! what the schema says about them in prose does not count. Start at [`share`].

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::ir::{Api, Definition, Group, Property, Shape, Type, TypeId};
use crate::shape::{mentioned, reachable};
use crate::version::Version;

/// Makes every type that an older version has in exactly the same shape that version's type.
pub fn share(mut group: Group) -> Group {
    let mut first: BTreeMap<(String, [u8; 32]), TypeId> = BTreeMap::new();
    for (version, api) in &mut group.versions {
        mark_recursion(&mut api.definitions);
        let keys = deep_keys(&api.definitions);
        api.names = keys
            .into_iter()
            .map(|(name, key)| {
                let own = TypeId { since: version.clone(), name: name.clone() };
                (name.clone(), first.entry((name, key)).or_insert(own).clone())
            })
            .collect();
        redirect(version, api);
    }
    group
}

/// Points everything at the shared types and drops what an older version has.
fn redirect(version: &Version, api: &mut Api) {
    let names = &api.names;
    let shared = |id: &mut TypeId| {
        if let Some(first) = names.get(&id.name) {
            *id = first.clone();
        }
    };
    api.definitions.retain(|name, _| names.get(name).is_some_and(|id| id.since == *version));
    for definition in api.definitions.values_mut() {
        match &mut definition.shape {
            Shape::Object(object) => {
                for property in &mut object.properties {
                    named_mut(&mut property.ty).into_iter().for_each(shared);
                }
            }
            Shape::Enum(_) => {}
            Shape::Union(union) => union.arms.iter_mut().for_each(|arm| shared(&mut arm.ty)),
        }
    }
    api.resources.values_mut().for_each(|resource| shared(&mut resource.root));
}

fn named_mut(ty: &mut Type) -> Option<&mut TypeId> {
    match ty {
        Type::List(inner) | Type::Map(inner) => named_mut(inner),
        Type::Named(id) => Some(id),
        Type::String | Type::Integer | Type::Number | Type::Boolean | Type::Any => None,
    }
}

/// A key for each type that only an equal type has. Names are part of a shape, so the shapes of
/// all types within reach, taken together, say all there is to say; cycles need no special care.
fn deep_keys(definitions: &BTreeMap<String, Definition>) -> BTreeMap<String, [u8; 32]> {
    let own: BTreeMap<&str, [u8; 32]> = definitions
        .iter()
        .map(|(name, definition)| (name.as_str(), Sha256::digest(outline(definition)).into()))
        .collect();
    let deep = |name: &str| {
        let mut hasher = Sha256::new();
        for part in reachable(definitions, [name]) {
            hasher.update(own[part]);
        }
        hasher.finalize().into()
    };
    definitions.keys().map(|name| (name.clone(), deep(name))).collect()
}

/// Everything about a definition that makes its shape, as text.
fn outline(definition: &Definition) -> String {
    let name = &definition.id.name;
    match &definition.shape {
        Shape::Object(object) => {
            let properties: Vec<_> = object.properties.iter().map(property_outline).collect();
            format!("object {name:?} {properties:?}")
        }
        Shape::Enum(values) => {
            let values: Vec<_> = values.values.iter().map(|value| &value.wire).collect();
            format!("enum {name:?} {values:?}")
        }
        Shape::Union(union) => {
            let arms: Vec<_> = union.arms.iter().map(|arm| (&arm.value, &arm.ty.name)).collect();
            format!("union {name:?} {:?} {arms:?}", union.tag)
        }
    }
}

fn property_outline(property: &Property) -> String {
    let Property { wire, name, ty, required, nullable, constant, recursive, doc: _ } = property;
    let ty = crate::shape::label(ty);
    format!("{wire:?} {name} {ty:?} {required} {nullable} {constant:?} {recursive}")
}

/// Marks the fields and arms that contain their own type without a list or map between.
fn mark_recursion(definitions: &mut BTreeMap<String, Definition>) {
    let direct: BTreeMap<String, BTreeSet<String>> =
        definitions.iter().map(|(name, definition)| (name.clone(), directly(definition))).collect();
    for (name, definition) in definitions {
        let leads_back = |id: &TypeId| reaches(&direct, &id.name, name);
        match &mut definition.shape {
            Shape::Object(object) => {
                for property in &mut object.properties {
                    property.recursive = matches!(&property.ty, Type::Named(id) if leads_back(id));
                }
            }
            Shape::Enum(_) => {}
            Shape::Union(union) => {
                union.arms.iter_mut().for_each(|arm| arm.recursive = leads_back(&arm.ty));
            }
        }
    }
}

fn directly(definition: &Definition) -> BTreeSet<String> {
    let names = |ids: Vec<&TypeId>| ids.into_iter().map(|id| id.name.clone()).collect();
    match &definition.shape {
        Shape::Object(object) => {
            let types = object.properties.iter().map(|property| &property.ty);
            let direct = types.filter_map(|ty| match ty {
                Type::Named(id) => Some(id),
                _ => None,
            });
            names(direct.collect())
        }
        Shape::Enum(_) | Shape::Union(_) => names(mentioned(definition)),
    }
}

fn reaches(direct: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut rest = vec![from];
    while let Some(name) = rest.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name) {
            rest.extend(direct.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    false
}
