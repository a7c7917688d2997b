//! The words for what changed and what is done about it.

use std::collections::BTreeSet;

use crate::ir::{Enum, Property, Shape, Type};
use crate::plan::{Conversion, PropertyStep, Step};
use crate::planner::Types;
use crate::shape::{label, named};
use crate::version::Version;

pub(super) const NONE: &str = "None";
pub(super) const NEW: &str = "New Property";
pub(super) const NEW_REQUIRED: &str = "New Required Property";
pub(super) const REMOVED: &str = "Property Removed";
pub(super) const NOT_IN_HUB: &str = "Not in Hub";
pub(super) const RENAMED: &str = "Property Renamed";
pub(super) const TYPE: &str = "Change of Type";
pub(super) const OPTIONAL: &str = "Became Optional";
pub(super) const REQUIRED: &str = "Became Required";
pub(super) const NULLABLE: &str = "Became Nullable";
pub(super) const NOT_NULLABLE: &str = "No Longer Nullable";
pub(super) const ARM_NEW: &str = "New Arm";
pub(super) const ARM_REMOVED: &str = "Arm Removed";
pub(super) const TAG: &str = "Change of Tag";

/// The most values of an enum that one row names.
const VALUES_SHOWN: usize = 6;

/// What became of the values of an enum.
#[derive(Default)]
pub(super) struct Values {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
}

impl Values {
    /// Compares the enums of two types, where both are enums or lists or maps of them.
    pub(super) fn between(types: &Types<'_>, spoke: &Type, hub: &Type) -> Self {
        let values = |ty: &Type| match &types[named(ty)?].shape {
            Shape::Enum(Enum { values }) => {
                Some(values.iter().map(|value| value.wire.clone()).collect::<Vec<_>>())
            }
            Shape::Object(_) | Shape::Union(_) => None,
        };
        let (Some(spoke), Some(hub)) = (values(spoke), values(hub)) else { return Self::default() };
        let without = |own: &[String], other: &[String]| {
            let other: BTreeSet<_> = other.iter().collect();
            own.iter().filter(|value| !other.contains(value)).cloned().collect()
        };
        Self { added: without(&hub, &spoke), removed: without(&spoke, &hub) }
    }

    fn words(&self) -> Vec<String> {
        let shown = |what: &str, values: &[String]| {
            let more = values.len().saturating_sub(VALUES_SHOWN);
            let mut listed = values[..values.len() - more].join(", ");
            if more > 0 {
                listed.push_str(&format!(" and {more} more"));
            }
            (!values.is_empty()).then(|| format!("Values {what}: {listed}"))
        };
        let words = [shown("Added", &self.added), shown("Removed", &self.removed)];
        words.into_iter().flatten().collect()
    }
}

/// Everything that changed about a property, the greatest change first.
pub(super) fn changes(
    step: &PropertyStep,
    (spoke, hub): (Option<&Property>, Option<&Property>),
    (since, hub_since): (&Version, &Version),
    values: &Values,
) -> String {
    let (Some(left), Some(right)) = (spoke, hub) else {
        return match spoke {
            None if hub.is_some_and(|hub| hub.required) => NEW_REQUIRED,
            None => NEW,
            Some(_) if since > hub_since => NOT_IN_HUB,
            Some(_) => REMOVED,
        }
        .to_owned();
    };
    let mut words: Vec<String> = Vec::new();
    let mut add = |is_so: bool, word: &str| words.extend(is_so.then(|| word.to_owned()));
    add(left.wire != right.wire, RENAMED);
    add(step.change.is_some(), TYPE);
    add(left.required && !right.required, OPTIONAL);
    add(!left.required && right.required, REQUIRED);
    add(!left.nullable && right.nullable, NULLABLE);
    add(left.nullable && !right.nullable, NOT_NULLABLE);
    words.extend(values.words());
    if words.is_empty() { NONE.to_owned() } else { words.join(", ") }
}

pub(super) fn handler(step: &PropertyStep) -> String {
    match &step.step {
        Step::Convert { bag: None, .. } if step.change.is_none() => "Copy value".to_owned(),
        Step::Convert { .. } if step.change.is_none() => "Copy value, else Property Bag".to_owned(),
        Step::Convert { conversion, bag: None } => format!("Convert ({})", how(conversion)),
        Step::Convert { conversion, bag: Some(_) } => {
            format!("Convert ({}), else Property Bag", how(conversion))
        }
        Step::Bag { .. } => "Property Bag".to_owned(),
        Step::Skip => "Skip".to_owned(),
        Step::Manual => "Hand-written".to_owned(),
    }
}

fn how(conversion: &Conversion) -> String {
    match conversion {
        Conversion::Copy => "copy".to_owned(),
        Conversion::Text => "enum".to_owned(),
        Conversion::IntegerToNumber => "wider number".to_owned(),
        Conversion::NumberToInteger => "whole number".to_owned(),
        Conversion::ToAny => "free JSON".to_owned(),
        Conversion::List(inner) => format!("list of {}", how(inner)),
        Conversion::Map(inner) => format!("map of {}", how(inner)),
        Conversion::Object(_) => "object".to_owned(),
        Conversion::Union(_) => "union".to_owned(),
    }
}

/// A property's type, with a star where it may be absent and a question mark where it may be
/// `null`.
pub(super) fn shown(property: &Property) -> String {
    let star = if property.required { "" } else { "*" };
    let question = if property.nullable { "?" } else { "" };
    format!("{star}{}{question}", label(&property.ty))
}
