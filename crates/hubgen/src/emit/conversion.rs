//! Expressions that convert one property: up to the hub and down to the spoke.
//!
//! Every expression is built around the property's `Field`: what a version requires is put into
//! one on the way up and taken out of it on the way down.

use serde_json::{Map, Value};

use super::code::literal;
use super::names::{Names, field};
use super::types::{inner, is_plain, variant};
use crate::ir::{Property, Shape, Type, TypeId};
use crate::plan::{Conversion, PropertyStep, Step};

/// A property of a spoke.
#[derive(Clone, Copy)]
pub(super) struct Spoke<'a> {
    pub(super) names: &'a Names<'a>,
    /// The type that has the property, in whose conversion the expressions stand.
    pub(super) owner: &'a TypeId,
    pub(super) property: &'a Property,
    /// What stands in for a value that is required and missing.
    pub(super) default: Option<&'a Value>,
}

/// A field, as an expression.
pub(super) enum Expression {
    /// It has the type of the field.
    Field(String),
    /// It has the type of a result with the field.
    Result(String),
}

/// How a value gets from one side to the other.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// It is the same on both sides: moved.
    Move,
    /// By the `Spoke` of its type.
    Spoke,
    /// Through JSON.
    Recode,
    /// As a `Spoke`, or to the bag if it does not fit.
    Spill,
}

impl Spoke<'_> {
    /// The property, as a field.
    pub(super) fn source(self) -> String {
        let name = field(self.property);
        let is_plain = is_plain(self.property);
        if is_plain { format!("Field::Value(self.{name})") } else { format!("self.{name}") }
    }

    /// Names the property in the error of what stands before.
    pub(super) fn at(self) -> String {
        format!(".at({})?", literal(&self.property.wire))
    }

    /// The type of the property's values.
    pub(super) fn value_type(self) -> String {
        inner(self.names.spoke_type_within(&self.property.ty, self.owner), self.property)
    }

    /// The property's value for the hub.
    pub(super) fn up(self, hub: &Property, conversion: &Conversion, bag: Option<&str>) -> String {
        let (source, at) = (self.source(), self.at());
        match (self.way(hub, conversion), bag) {
            (Way::Move, _) => source,
            (Way::Recode, _) => format!("hub::recode({source}){at}"),
            (Way::Spill, Some(key)) => format!("bag.spill({}, {source}){at}", literal(key)),
            (Way::Spill | Way::Spoke, _) => match (self.property.recursive, hub.recursive) {
                (true, false) => format!("{source}.map(|value| *value).into_hub(){at}"),
                (false, true) => format!("{source}.into_hub(){at}.map(Box::new)"),
                (true, true) | (false, false) => format!("{source}.into_hub(){at}"),
            },
        }
    }

    /// The property's value from the hub.
    pub(super) fn down(self, hub: &Property, conversion: &Conversion, bag: Option<&str>) -> String {
        let source = format!("hub.{}", field(hub));
        let value = match (self.way(hub, conversion), bag) {
            (Way::Move, _) => return self.required(Expression::Field(source)),
            (Way::Recode, _) => format!("hub::recode({source})"),
            (Way::Spill, Some(key)) => format!("bag.unspill({}, {source})", literal(key)),
            (Way::Spill | Way::Spoke, _) => match (self.property.recursive, hub.recursive) {
                (true, false) => {
                    format!("Field::from_hub({source}).map(|field| field.map(Box::new))")
                }
                (false, true) => format!("Field::from_hub({source}.map(|value| *value))"),
                (true, true) | (false, false) => format!("Field::from_hub({source})"),
            },
        };
        self.required(Expression::Result(value))
    }

    /// Takes what a version requires out of its field.
    pub(super) fn required(self, value: Expression) -> String {
        let Property { required, nullable, recursive, .. } = *self.property;
        let at = self.at();
        let value = match (value, required, self.default) {
            (Expression::Field(field), false, _) => return field,
            (Expression::Result(result), false, _) => return format!("{result}{at}"),
            (Expression::Result(result), true, None) => {
                let demand = if nullable { "present" } else { "required" };
                return format!("{result}.and_then(Field::{demand}){at}");
            }
            (Expression::Result(result), true, Some(_)) => format!("{result}{at}"),
            (Expression::Field(field), true, _) => field,
        };
        let Some(default) = self.default else {
            let demand = if nullable { "present" } else { "required" };
            return format!("{value}.{demand}(){at}");
        };
        match self.written(&self.property.ty, default) {
            Some(default) if !nullable && !recursive => {
                format!("{value}.required_or(|| {default})")
            }
            _ => {
                let demand = if nullable { "present_or_json" } else { "required_or_json" };
                format!("{value}.{demand}({}){at}", literal(&default.to_string()))
            }
        }
    }

    /// A default as an expression of a type, where it can be written as one.
    fn written(self, ty: &Type, default: &Value) -> Option<String> {
        match (ty, default) {
            (Type::String, Value::String(text)) if text.is_empty() => {
                Some("String::new()".to_owned())
            }
            (Type::String, Value::String(text)) => Some(format!("{}.to_owned()", literal(text))),
            (Type::Integer, Value::Number(number)) if number.is_i64() => Some(number.to_string()),
            (Type::Boolean, Value::Bool(value)) => Some(value.to_string()),
            (Type::Named(id), default) => {
                let name = self.names.spoke(id, &self.owner.since);
                match (&self.names.definition(id).shape, default) {
                    (Shape::Enum(shape), Value::String(text)) => {
                        let value = shape.values.iter().find(|it| it.wire == *text)?;
                        Some(format!("{name}::{}", variant(&value.name)))
                    }
                    (Shape::Object(_), Value::Object(default)) => {
                        Some(format!("{name} {{ {} }}", self.written_properties(id, default)?))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The properties of an object with a default for each that is required; others are absent.
    fn written_properties(self, id: &TypeId, default: &Map<String, Value>) -> Option<String> {
        let properties = self.names.properties(id);
        let is_known = |wire: &String| properties.iter().any(|property| property.wire == *wire);
        if !default.keys().all(is_known) {
            return None;
        }
        let mut written = Vec::with_capacity(properties.len() + 1);
        for property in properties {
            let value = match default.get(&property.wire) {
                Some(_) if property.recursive => return None,
                Some(value) if is_plain(property) => self.written(&property.ty, value)?,
                Some(value) => format!("Field::Value({})", self.written(&property.ty, value)?),
                None if is_plain(property) => return None,
                None => "Field::Absent".to_owned(),
            };
            written.push(format!("{}: {value}", field(property)));
        }
        written.push("unknown: Object::new()".to_owned());
        Some(written.join(", "))
    }

    fn way(self, hub: &Property, conversion: &Conversion) -> Way {
        if is_same(conversion, (&self.property.ty, &hub.ty)) {
            return Way::Move;
        }
        match leaf(conversion) {
            Conversion::ToAny => Way::Recode,
            Conversion::NumberToInteger => Way::Spill,
            _ => Way::Spoke,
        }
    }
}

/// The key under which values that do not fit the hub go to the bag.
pub(super) fn spill_key(step: &PropertyStep) -> Option<&str> {
    match &step.step {
        Step::Convert { bag, .. } => bag.as_deref(),
        Step::Bag { .. } | Step::Skip | Step::Manual => None,
    }
}

/// Whether values are the same in the spoke and in storage, down to the last item.
fn is_same(conversion: &Conversion, types: (&Type, &Type)) -> bool {
    match (conversion, types) {
        (Conversion::Copy, _) | (Conversion::Text, (Type::String, Type::String)) => true,
        (Conversion::List(item), (Type::List(spoke), Type::List(hub)))
        | (Conversion::Map(item), (Type::Map(spoke), Type::Map(hub))) => {
            is_same(item, (spoke, hub))
        }
        _ => false,
    }
}

/// What is converted in the innermost list or map.
pub(super) fn leaf(conversion: &Conversion) -> &Conversion {
    match conversion {
        Conversion::List(item) | Conversion::Map(item) => leaf(item),
        _ => conversion,
    }
}
