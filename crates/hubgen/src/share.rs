//! Shares types between versions, and finds the fields that contain their own object.
//!
//! Two types are the same when their names, their properties and everything they contain are;
//! what the schema says about them in prose, and its limits, do not count. Start at [`share`].

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::graph::components;
use crate::ir::{Api, Definition, Group, Property, Shape, Type, TypeId};
use crate::shape::mentioned;
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

/// A key for each type that only an equal type has: its own outline, the outlines of the types it
/// forms cycles with, and the keys of all that these contain.
fn deep_keys(definitions: &BTreeMap<String, Definition>) -> BTreeMap<String, [u8; 32]> {
    let edges = edges(definitions, mentioned);
    let own: Vec<[u8; 32]> =
        definitions.values().map(|definition| Sha256::digest(outline(definition)).into()).collect();
    let component = components(&edges);
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (node, component) in component.iter().enumerate() {
        members.entry(*component).or_default().push(node);
    }
    let mut keys = vec![[0; 32]; own.len()];
    for (number, nodes) in &members {
        // Nodes are in the order of their names, so the parts of a key are too.
        let targets = nodes.iter().flat_map(|node| &edges[*node]);
        let outside: BTreeSet<_> = targets.filter(|node| component[**node] != *number).collect();
        let mut cycle = Sha256::new();
        nodes.iter().for_each(|node| cycle.update(own[*node]));
        outside.iter().for_each(|node| cycle.update(keys[**node]));
        let cycle = cycle.finalize();
        for node in nodes {
            keys[*node] =
                Sha256::new().chain_update(own[*node]).chain_update(cycle).finalize().into();
        }
    }
    definitions.keys().cloned().zip(keys).collect()
}

/// For each definition in the order of names, the places in that order of those it leads to.
fn edges<'a>(
    definitions: &'a BTreeMap<String, Definition>,
    leads_to: impl Fn(&'a Definition) -> Vec<&'a TypeId>,
) -> Vec<Vec<usize>> {
    let places: BTreeMap<&str, usize> =
        definitions.keys().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    let targets = definitions.values().map(|definition| {
        let ids = leads_to(definition).into_iter();
        ids.filter_map(|id| places.get(id.name.as_str()).copied()).collect()
    });
    targets.collect()
}

/// Everything about a definition that makes its shape, as text.
fn outline(definition: &Definition) -> String {
    let name = &definition.id.name;
    match &definition.shape {
        Shape::Object(object) => {
            let properties: Vec<_> = object.properties.iter().map(property_outline).collect();
            format!("object {name:?} {properties:?} {:?}", object.keys)
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
    let Property { wire, name, ty, required, nullable, constant, recursive, .. } = property;
    let ty = crate::shape::label(ty);
    format!("{wire:?} {name} {ty:?} {required} {nullable} {constant:?} {recursive}")
}

/// Marks the fields and arms that contain their own type without a list or map between.
fn mark_recursion(definitions: &mut BTreeMap<String, Definition>) {
    let component = components(&edges(definitions, directly));
    let component: BTreeMap<String, usize> = definitions.keys().cloned().zip(component).collect();
    for (name, definition) in definitions {
        let leads_back = |id: &TypeId| component.get(&id.name) == component.get(name);
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

/// The types a definition contains without a list or map between.
fn directly(definition: &Definition) -> Vec<&TypeId> {
    match &definition.shape {
        Shape::Object(object) => {
            let types = object.properties.iter().map(|property| &property.ty);
            let direct = types.filter_map(|ty| match ty {
                Type::Named(id) => Some(id),
                _ => None,
            });
            direct.collect()
        }
        Shape::Enum(_) | Shape::Union(_) => mentioned(definition),
    }
}
