//! Names entries of the bag: `property@version`, the first version that has the property in
//! exactly this shape.
//!
//! So versions that agree share an entry, and two shapes never meet under one key: a document
//! stored years ago is read by the shape it was written in.

use std::collections::{BTreeMap, HashMap};

use super::Types;
use crate::error::Error;
use crate::ir::{Group, Property, Shape, Type, TypeId};
use crate::plan::{Pair, PairId, Step};
use crate::version::Version;

/// The first version of each property of each type in each shape.
pub(super) struct Keys<'a> {
    first: HashMap<(&'a str, &'a str, &'a Type), Version>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(group: &'a Group, types: &Types<'a>) -> Self {
        let mut first = HashMap::new();
        for (version, api) in &group.versions {
            for id in api.names.values() {
                let Shape::Object(object) = &types[id].shape else { continue };
                let name = types[id].id.name.as_str();
                for property in &object.properties {
                    let key = (name, property.wire.as_str(), &property.ty);
                    first.entry(key).or_insert_with(|| version.clone());
                }
            }
        }
        Self { first }
    }

    pub(super) fn of(&self, ty: &TypeId, property: &Property) -> String {
        let key = (ty.name.as_str(), property.wire.as_str(), &property.ty);
        let since = self.first.get(&key).unwrap_or(&ty.since);
        format!("{}@{since}", property.wire)
    }
}

/// Refuses a plan in which two shapes would meet under one key of one stored type: two types that
/// existed in one version and became one.
pub(super) fn check(pairs: &BTreeMap<PairId, Pair>, types: &Types<'_>) -> Result<(), Error> {
    let mut owners: BTreeMap<(&TypeId, &str), (&TypeId, &Type)> = BTreeMap::new();
    for (id, pair) in pairs {
        let (Pair::Object(steps), Shape::Object(spoke)) = (pair, &types[&id.spoke].shape) else {
            continue;
        };
        for step in steps {
            let (Step::Bag { key } | Step::Convert { bag: Some(key), .. }) = &step.step else {
                continue;
            };
            let property =
                spoke.properties.iter().find(|own| Some(&own.wire) == step.spoke.as_ref());
            let Some(property) = property else { continue };
            let owner = owners.entry((&id.hub, key)).or_insert((&id.spoke, &property.ty));
            if owner.1 != &property.ty {
                return Err(Error::refused(
                    format!(
                        "`{}` and `{}` both become `{}`, and would keep different values under \
                         `{key}`",
                        owner.0.name, id.spoke.name, id.hub.name
                    ),
                    "rename only one of the two types, or convert the property by [[manual]]",
                ));
            }
        }
    }
    Ok(())
}
