//! Tells the objects of a choice apart by the value of one property.
//!
//! Schemas encode this in three ways: a list of inline objects beside common properties, a list of
//! references, and an `allOf` of a base with such a list. All of them arrive here as a base and a
//! list of choices. A choice that no property tells apart is no union.

use std::collections::{BTreeMap, BTreeSet};

use super::documents::Node;
use super::flat::{Flat, Reader, merge};
use crate::error::Error;

/// A choice with the property that decides it.
pub struct Tagged<'a> {
    /// The property.
    pub tag: &'a str,
    /// The choices by the property's value.
    pub arms: BTreeMap<&'a str, TaggedArm<'a>>,
}

/// One choice.
pub struct TaggedArm<'a> {
    /// The definition that is the whole of this arm, if there is one.
    pub definition: Option<Node<'a>>,
    /// Everything said about the arm, the common part included.
    pub flat: Flat<'a>,
}

/// Finds the property that tells the choices apart, if there is one.
pub fn tagged<'a>(reader: &Reader<'a>, flat: &Flat<'a>) -> Result<Option<Tagged<'a>>, Error> {
    let [choices] = flat.choices.as_slice() else { return Ok(None) };
    let mut base = flat.clone();
    base.choices.clear();
    let mut arms = Vec::new();
    for choice in choices {
        let own = reader.flatten(choice)?;
        if !own.choices.is_empty() || own.properties.is_empty() {
            return Ok(None);
        }
        let merged = merge(base.clone(), own)?;
        arms.push((choice, merged));
    }
    let Some(tag) = tag_of(reader, &arms)? else { return Ok(None) };
    let mut by_value = BTreeMap::new();
    for (choice, merged) in arms {
        let value = reader.constant(&merged.properties[tag])?.expect("a tag has one value");
        let definition = whole(reader, choice, &merged, tag)?;
        by_value.insert(value, TaggedArm { definition, flat: merged });
    }
    Ok(Some(Tagged { tag, arms: by_value }))
}

/// The first property that has one value in each arm, and a different one in each.
fn tag_of<'a>(
    reader: &Reader<'a>,
    arms: &[(&Node<'a>, Flat<'a>)],
) -> Result<Option<&'a str>, Error> {
    let Some((_, first)) = arms.first() else { return Ok(None) };
    let required = |name: &&&str| first.required.contains(**name);
    let names = first.properties.keys();
    let by_need = names.clone().filter(required).chain(names.filter(|name| !required(name)));
    'names: for name in by_need {
        let mut values = BTreeSet::new();
        for (_, arm) in arms {
            let Some(nodes) = arm.properties.get(name) else { continue 'names };
            let Some(value) = reader.constant(nodes)? else { continue 'names };
            if !values.insert(value) {
                continue 'names;
            }
        }
        return Ok(Some(name));
    }
    Ok(None)
}

/// The definition a choice refers to, where it already has every property of the arm.
fn whole<'a>(
    reader: &Reader<'a>,
    choice: &Node<'a>,
    arm: &Flat<'a>,
    tag: &str,
) -> Result<Option<Node<'a>>, Error> {
    let peeled = reader.peel(choice.clone())?;
    if !peeled.named {
        return Ok(None);
    }
    let own = reader.flatten(&peeled.node)?;
    let same = own.properties.len() == arm.properties.len() && own.required == arm.required;
    let tells = own.properties.get(tag).map(|nodes| reader.constant(nodes)).transpose()?.flatten();
    Ok((same && tells.is_some()).then_some(peeled.node))
}
