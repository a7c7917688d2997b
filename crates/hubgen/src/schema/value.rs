//! The type of one value: what its schema says, through references, lists and maps.
//!
//! Objects, enums and unions are only named and queued here; [`Lowering`] gives them their shape.
//! Start at [`Lowering::property_type`].

use std::collections::BTreeMap;

use super::documents::{Node, Place};
use super::flat::{Flat, Kind, Peeled, Reader, Unread, merge};
use super::limits;
use super::lower::{Lowering, Pending};
use super::union::tagged;
use super::view::{kind, nullable, several_kinds, texts};
use crate::error::Error;
use crate::ir::{Limits, Type};

/// The most values an enum has before nobody would read it.
const ENUM_MAX: usize = 4096;

/// The deepest nesting of lists and maps in one type.
const NESTING_MAX: usize = 32;

/// The type of a property, and what else is said of its values.
pub(super) struct Typed {
    pub(super) ty: Type,
    pub(super) nullable: bool,
    pub(super) limits: BTreeMap<String, Limits>,
}

impl Typed {
    /// Free JSON without limits.
    pub(super) fn free() -> Self {
        Self { ty: Type::Any, nullable: false, limits: BTreeMap::new() }
    }
}

/// The way from a property to the value that is looked at.
#[derive(Default)]
pub(super) struct Trail {
    /// The lists and maps around it: a type that is a list of itself has no end.
    places: Vec<Place>,
    /// The same as text: `[]` for a list, `{}` for a map.
    at: String,
    /// What is asked of the values so far, by the way to them.
    limits: BTreeMap<String, Limits>,
}

impl Trail {
    fn limit(&mut self, found: Limits) {
        if !found.is_empty() {
            let known = self.limits.remove(&self.at).unwrap_or_default();
            self.limits.insert(self.at.clone(), limits::merge(known, found));
        }
    }
}

impl<'a> Lowering<'a, '_> {
    /// The type of a property, of which several schemas may speak.
    pub(super) fn property_type(
        &mut self,
        nodes: &[Node<'a>],
        name: String,
    ) -> Result<Typed, Error> {
        let mut trail = Trail::default();
        let mut peeled = Vec::new();
        for node in nodes {
            let found = self.reader.peel(node.clone())?;
            if !peeled.iter().any(|other: &Peeled<'_>| other.node.place == found.node.place) {
                peeled.push(found);
            }
        }
        if let [_] = peeled.as_slice() {
            let (ty, nullable) = self.value_type(nodes[0].clone(), name, &mut trail)?;
            return Ok(Typed { ty, nullable, limits: trail.limits });
        }
        let flat = self.reader.flatten_all(nodes)?;
        let nullable = nullable(&flat) || peeled.iter().any(|found| found.nullable);
        let place = nodes[0].place.clone();
        let ty = self.typed(Pending::new(flat, place), (name, false), &mut trail)?;
        Ok(Typed { ty, nullable, limits: trail.limits })
    }

    /// The type of a value and whether it may be `null`.
    fn value_type(
        &mut self,
        node: Node<'a>,
        name: String,
        trail: &mut Trail,
    ) -> Result<(Type, bool), Error> {
        let peeled = self.reader.peel(node)?;
        let place = peeled.node.place;
        if trail.places.contains(&place) || trail.places.len() > NESTING_MAX {
            return Err(Error::schema(
                &place,
                "the type is a list or map of itself without end",
                "let the cycle pass through a property of an object, or mark the property `opaque`",
            ));
        }
        trail.limit(peeled.limits);
        let flat = self.reader.flatten(&Node { value: peeled.node.value, place: place.clone() })?;
        let nullable = nullable(&flat) || peeled.nullable;
        if let Some(id) = self.ids.get(&place) {
            return Ok((Type::Named(id.clone()), nullable));
        }
        trail.places.push(place.clone());
        let name = if peeled.named { self.definition_name(&place) } else { name };
        let ty = self.typed(Pending::new(flat, place), (name, peeled.named), trail)?;
        trail.places.pop();
        Ok((ty, nullable))
    }

    fn typed(
        &mut self,
        pending: Pending<'a>,
        (name, named): (String, bool),
        trail: &mut Trail,
    ) -> Result<Type, Error> {
        let flat = &pending.flat;
        if flat.free {
            return Ok(Type::Any);
        }
        readable(&pending)?;
        if texts(flat).is_some() {
            return Ok(Type::Named(self.queued(pending, name, named)?));
        }
        if !flat.choices.is_empty() {
            return self.choice(pending, (name, named), trail);
        }
        let found = kind(flat);
        let has_properties = !flat.properties.is_empty();
        if found == Some(Kind::Object) && (has_properties || (named && flat.additional.is_empty()))
        {
            return Ok(Type::Named(self.queued(pending, name, named)?));
        }
        trail.limit(limits::with_values(flat));
        Ok(match found {
            Some(Kind::String) => Type::String,
            Some(Kind::Integer) => Type::Integer,
            Some(Kind::Number) => Type::Number,
            Some(Kind::Boolean) => Type::Boolean,
            Some(Kind::Array) => self.list(&pending, name, trail)?,
            Some(Kind::Object) if !flat.additional.is_empty() => {
                trail.at.push_str("{}");
                let value = self.part(&flat.additional, name, trail)?;
                trail.at.truncate(trail.at.len() - 2);
                Type::Map(Box::new(value))
            }
            Some(Kind::Object | Kind::Null) | None => {
                self.note_free(&pending);
                Type::Any
            }
        })
    }

    fn list(
        &mut self,
        pending: &Pending<'a>,
        name: String,
        trail: &mut Trail,
    ) -> Result<Type, Error> {
        let flat = &pending.flat;
        if flat.unread.contains(&Unread::Places) {
            self.note(&pending.place, "a list with a schema for each place is one of free JSON");
        }
        trail.at.push_str("[]");
        let item = self.part(&flat.items, name, trail)?;
        trail.at.truncate(trail.at.len() - 2);
        if let (Type::Named(id), false) = (&item, flat.item_keys.is_empty()) {
            self.keys.push((id.clone(), flat.item_keys.clone(), pending.place.clone()));
        }
        Ok(Type::List(Box::new(item)))
    }

    /// Notes a schema that says more than that anything goes, and still becomes free JSON.
    fn note_free(&mut self, pending: &Pending<'a>) {
        if several_kinds(&pending.flat) {
            self.note(&pending.place, "several types are possible: free JSON");
        }
        if pending.flat.unread.contains(&Unread::Patterns) {
            self.note(&pending.place, "properties are named by a pattern: free JSON");
        }
    }

    /// The type of a list's items or a map's values. One that may be `null` is free JSON.
    fn part(&mut self, nodes: &[Node<'a>], name: String, trail: &mut Trail) -> Result<Type, Error> {
        let Some(node) = nodes.first() else { return Ok(Type::Any) };
        if nodes.len() > 1 {
            self.note(&node.place, "items with several schemas are free JSON");
            return Ok(Type::Any);
        }
        let (ty, nullable) = self.value_type(node.clone(), name, trail)?;
        if nullable && ty != Type::Any {
            self.note(&node.place, "items that may be null are free JSON");
        }
        Ok(if nullable { Type::Any } else { ty })
    }

    fn choice(
        &mut self,
        mut pending: Pending<'a>,
        (name, named): (String, bool),
        trail: &mut Trail,
    ) -> Result<Type, Error> {
        if tagged(&self.reader, &pending.flat)?.is_some() {
            return Ok(Type::Named(self.queued(pending, name, named)?));
        }
        let choices: Vec<_> = pending.flat.choices.iter().flatten().cloned().collect();
        if let [only] = choices.as_slice() {
            let inner = self.reader.flatten(only)?;
            pending.flat.choices.clear();
            pending.flat = merge(pending.flat, inner)?;
            return self.typed(pending, (name, named), trail);
        }
        let mut strings = true;
        for choice in &choices {
            let flat = self.reader.flatten(choice)?;
            strings &= kind(&flat) == Some(Kind::String) && flat.choices.is_empty();
        }
        if strings {
            return Ok(Type::String);
        }
        self.note(&pending.place, why_free(&choices, &self.reader)?);
        Ok(Type::Any)
    }
}

/// Why a choice that is no union is free JSON.
fn why_free<'a>(choices: &[Node<'a>], reader: &Reader<'a>) -> Result<&'static str, Error> {
    let flats: Result<Vec<Flat<'a>>, Error> =
        choices.iter().map(|choice| reader.flatten(choice)).collect();
    Ok(match flats?.iter().any(|flat| !flat.choices.is_empty()) {
        true => "one of its choices is a choice again: free JSON",
        false => "no property tells the choices apart: free JSON",
    })
}

/// Refuses an enum with more values than anybody would read.
fn readable(pending: &Pending<'_>) -> Result<(), Error> {
    let count = pending.flat.values.as_ref().map_or(0, |(values, _)| values.len());
    if count <= ENUM_MAX {
        return Ok(());
    }
    Err(Error::schema(
        &pending.place,
        format!("the enum has {count} values, more than {ENUM_MAX}"),
        "mark the property `opaque`, or let the schema say only `type: string`",
    ))
}
