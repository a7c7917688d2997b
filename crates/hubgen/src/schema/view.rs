//! Small questions about what a schema says of one value.

use std::collections::BTreeSet;

use serde_json::Value;

use super::documents::Node;
use super::flat::{Flat, Kind};

/// The values of an enum of texts, each listed once.
pub(super) fn texts<'a>(flat: &Flat<'a>) -> Option<Vec<&'a str>> {
    let (values, _) = flat.values.as_ref()?;
    let mut seen = BTreeSet::new();
    let mut texts = Vec::with_capacity(values.len());
    for value in values.iter().filter(|value| !value.is_null()) {
        let text = value.as_str()?;
        if seen.insert(text) {
            texts.push(text);
        }
    }
    (!texts.is_empty()).then_some(texts)
}

/// The one kind of value that is left besides `null`, if only one is.
pub(super) fn kind(flat: &Flat<'_>) -> Option<Kind> {
    let mut kinds = kinds(flat);
    if kinds.len() == 1 { kinds.pop_first() } else { None }
}

/// Whether a schema says that values are of several kinds.
pub(super) fn several_kinds(flat: &Flat<'_>) -> bool {
    kinds(flat).len() > 1
}

fn kinds(flat: &Flat<'_>) -> BTreeSet<Kind> {
    let mut kinds: BTreeSet<Kind> = match (&flat.kinds, &flat.values) {
        (Some((kinds, _)), _) => kinds.clone(),
        (None, Some((values, _))) => values.iter().map(|value| kind_of_value(value)).collect(),
        (None, None) if !flat.properties.is_empty() => [Kind::Object].into(),
        (None, None) if !flat.items.is_empty() => [Kind::Array].into(),
        (None, None) if !flat.additional.is_empty() => [Kind::Object].into(),
        (None, None) => BTreeSet::new(),
    };
    kinds.remove(&Kind::Null);
    if kinds.contains(&Kind::Number) {
        kinds.remove(&Kind::Integer);
    }
    kinds
}

fn kind_of_value(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Boolean,
        Value::Number(number) if number.is_f64() => Kind::Number,
        Value::Number(_) => Kind::Integer,
        Value::String(_) => Kind::String,
        Value::Array(_) => Kind::Array,
        Value::Object(_) => Kind::Object,
    }
}

/// Whether `null` is among the values.
pub(super) fn nullable(flat: &Flat<'_>) -> bool {
    let kinds = flat.kinds.as_ref().is_some_and(|(kinds, _)| kinds.contains(&Kind::Null));
    let values = flat.values.as_ref().is_some_and(|(values, _)| values.iter().any(|v| v.is_null()));
    flat.nullable || kinds || values
}

/// Whether a property may not be there at all: its schema is `false`.
pub(super) fn forbidden(nodes: &[Node<'_>]) -> bool {
    nodes.iter().any(|node| node.value == &Value::Bool(false))
}
