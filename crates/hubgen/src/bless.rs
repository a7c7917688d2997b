//! The published schemas of a group, kept so that none of them changes by accident.
//!
//! A blessed schema is the version as JSON Schema 2020-12, in a form that depends on nothing but
//! its types: it can be read back as a schema, when upstream has dropped the version.
//! [`compatibility`] says which changes to a published version break somebody.

pub mod compatibility;
mod narrower;

use serde_json::{Map, Value, json};

use crate::ir::{Api, Definition, Limits, Property, Shape, Type};
use crate::output::mark;
use crate::version::Version;

/// Where a blessed schema says which properties tell the items of a list apart: at the items' own
/// type, for that is where a definition stands by itself.
pub const ITEM_KEYS: &str = "x-item-keys";

/// The JSON Schema of one version.
pub fn schema(group: &str, version: &Version, api: &Api) -> Value {
    let resources = api.resources.values().map(|resource| {
        let identity: Map<String, Value> = resource
            .identity
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
            .collect();
        let mut entry = json!({"$ref": reference(&resource.root.name)});
        if !identity.is_empty() {
            entry["x-identity"] = Value::Object(identity);
        }
        (resource.kind.clone(), entry)
    });
    let definitions = api
        .definitions
        .iter()
        .map(|(name, definition)| (name.clone(), definition_schema(definition)));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": format!("{} the published schema of this version", mark(group)),
        "title": format!("{group} {version}"),
        "x-resources": resources.collect::<Map<_, _>>(),
        "$defs": definitions.collect::<Map<_, _>>(),
    })
}

fn reference(name: &str) -> String {
    format!("#/$defs/{name}")
}

fn definition_schema(definition: &Definition) -> Value {
    let mut schema = match &definition.shape {
        Shape::Object(object) => {
            let required = object.properties.iter().filter(|property| property.required);
            let required: Vec<_> = required.map(|property| property.wire.as_str()).collect();
            let properties = object.properties.iter();
            let properties: Map<_, _> = properties
                .map(|property| (property.wire.clone(), property_schema(property)))
                .collect();
            let mut schema = json!({"type": "object", "properties": properties});
            if !required.is_empty() {
                schema["required"] = required.into();
            }
            limit(&mut schema, Some(&object.limits));
            if !object.keys.is_empty() {
                schema[ITEM_KEYS] = object.keys.as_slice().into();
            }
            schema
        }
        Shape::Enum(values) => {
            let values: Vec<_> = values.values.iter().map(|value| value.wire.as_str()).collect();
            json!({"type": "string", "enum": values})
        }
        Shape::Union(union) => {
            let arms = union.arms.iter().map(|arm| json!({"$ref": reference(&arm.ty.name)}));
            json!({
                "oneOf": arms.collect::<Vec<_>>(),
                "discriminator": {"propertyName": union.tag},
            })
        }
    };
    describe(&mut schema, &definition.doc);
    schema
}

fn property_schema(property: &Property) -> Value {
    let mut schema = match &property.constant {
        Some(value) => json!({"const": value}),
        None => type_schema(&property.ty, property, ""),
    };
    if property.nullable {
        schema = json!({"anyOf": [schema, {"type": "null"}]});
    }
    describe(&mut schema, &property.doc);
    schema
}

fn describe(schema: &mut Value, doc: &str) {
    if !doc.is_empty() {
        schema["description"] = doc.into();
    }
}

/// The schema of a type that is somewhere in a property's values, with what is asked of it there.
fn type_schema(ty: &Type, property: &Property, at: &str) -> Value {
    let mut schema = match ty {
        Type::String => json!({"type": "string"}),
        Type::Integer => json!({"type": "integer"}),
        Type::Number => json!({"type": "number"}),
        Type::Boolean => json!({"type": "boolean"}),
        Type::Any => json!({}),
        Type::List(inner) => {
            let items = type_schema(inner, property, &format!("{at}[]"));
            json!({"type": "array", "items": items})
        }
        Type::Map(inner) => {
            let values = type_schema(inner, property, &format!("{at}{{}}"));
            json!({"type": "object", "additionalProperties": values})
        }
        Type::Named(id) => json!({"$ref": reference(&id.name)}),
    };
    limit(&mut schema, property.limits.get(at));
    schema
}

fn limit(schema: &mut Value, limits: Option<&Limits>) {
    for (keyword, value) in limits.into_iter().flatten() {
        schema[keyword] = value.clone();
    }
}
