//! The configured values of required properties that a stored object may not have.

use serde_json::Value;

use crate::config::{Config, Uses};
use crate::error::Error;
use crate::ir::{Property, Type, TypeId};

/// The default of a property, if the configuration has one and it is of use.
pub(super) fn find(
    config: &Config,
    ty: &TypeId,
    property: &Property,
    uses: &mut Uses,
) -> Result<Option<Value>, Error> {
    let entries = config.said.default.iter();
    let mut entries = entries.filter(|entry| {
        let entry = entry.get_ref();
        let version = entry.version.as_deref();
        entry.ty == ty.name
            && entry.property == property.wire
            && version.is_none_or(|version| version == ty.since.as_str())
    });
    let Some(entry) = entries.next().filter(|_| property.required) else { return Ok(None) };
    uses.note(entry);
    let value = &entry.get_ref().value;
    if !fits(value, &property.ty) {
        return Err(config.error(
            entry,
            format!("the default {value} is not a value of `{}.{}`", ty.name, property.wire),
            format!("give a value of type {}", crate::shape::label(&property.ty)),
        ));
    }
    Ok(Some(value.clone()))
}

/// Whether a value is of a type, as far as one can see without looking into named types.
fn fits(value: &Value, ty: &Type) -> bool {
    match ty {
        Type::String => value.is_string(),
        Type::Integer => value.is_i64() || value.is_u64(),
        Type::Number => value.is_number(),
        Type::Boolean => value.is_boolean(),
        Type::Any => true,
        Type::List(inner) => {
            value.as_array().is_some_and(|items| items.iter().all(|item| fits(item, inner)))
        }
        Type::Map(inner) => {
            value.as_object().is_some_and(|entries| entries.values().all(|item| fits(item, inner)))
        }
        Type::Named(_) => value.is_string() || value.is_object(),
    }
}
