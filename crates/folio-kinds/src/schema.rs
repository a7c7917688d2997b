//! The published schemas, as hubgen blessed them: what `explain` shows and manifests are checked
//! against, so that a wrong value is named by its place.

use std::sync::LazyLock;

use hub::Value;

use crate::manifest::Mismatch;

/// The schemas by version, oldest first.
static SCHEMAS: LazyLock<Vec<(&'static str, Value)>> = LazyLock::new(|| {
    [
        ("fission.io/v1", include_str!("generated/kinds/blessed/fission.io_v1.json")),
        ("folio.dev/v1beta1", include_str!("generated/kinds/blessed/folio.dev_v1beta1.json")),
        ("folio.dev/v1", include_str!("generated/kinds/blessed/folio.dev_v1.json")),
    ]
    .map(|(version, text)| {
        (version, hub::serde_json::from_str(text).expect("a blessed schema is JSON"))
    })
    .into()
});

/// A schema, and the document its references lead into.
#[derive(Clone, Copy)]
pub(crate) struct Schema {
    document: &'static Value,
    own: &'static Value,
}

/// What a schema says a value is.
pub(crate) enum Shape {
    Any,
    Text,
    /// One of the listed texts; others are kept too.
    Choice(Vec<&'static str>),
    Integer,
    Number,
    Boolean,
    List(Schema),
    Map(Schema),
    Object(Vec<Property>),
}

/// A property of an object.
pub(crate) struct Property {
    pub(crate) name: &'static str,
    pub(crate) schema: Schema,
    pub(crate) is_required: bool,
}

impl Schema {
    /// The document of a version.
    pub(crate) fn document(version: &str) -> Option<&'static Value> {
        SCHEMAS.iter().find(|(own, _)| *own == version).map(|(_, document)| document)
    }

    /// The schema of a kind in a version.
    pub(crate) fn of(kind: &str, version: &str) -> Option<Self> {
        let document = Self::document(version)?;
        let own = document.get("x-resources")?.get(kind)?;
        Some(Self { document, own })
    }

    /// What it says in words.
    pub(crate) fn description(self) -> &'static str {
        let text = |schema: &'static Value| schema.get("description").and_then(Value::as_str);
        text(self.own).or_else(|| text(self.target().own)).unwrap_or_default()
    }

    pub(crate) fn shape(self) -> Shape {
        let Self { document, own } = self.target();
        let at = |key: &str| own.get(key).map(|own| Self { document, own });
        if let Some(values) = own.get("enum").and_then(Value::as_array) {
            return Shape::Choice(values.iter().filter_map(Value::as_str).collect());
        }
        match own.get("type").and_then(Value::as_str) {
            Some("string") => Shape::Text,
            Some("integer") => Shape::Integer,
            Some("number") => Shape::Number,
            Some("boolean") => Shape::Boolean,
            Some("array") => at("items").map_or(Shape::Any, Shape::List),
            Some("object") => match at("additionalProperties") {
                Some(values) => Shape::Map(values),
                None => Shape::Object(properties(document, own)),
            },
            _ => Shape::Any,
        }
    }

    /// Adds what is wrong with a value at a place.
    pub(crate) fn check(self, value: &Value, path: &str, found: &mut Vec<Mismatch>) {
        let mut wrong = |expected: &str| {
            found.push(Mismatch {
                path: path.to_owned(),
                expected: expected.to_owned(),
                found: brief(value),
            });
        };
        match (self.shape(), value) {
            (Shape::Any, _)
            | (Shape::Text | Shape::Choice(_), Value::String(_))
            | (Shape::Number, Value::Number(_))
            | (Shape::Boolean, Value::Bool(_)) => {}
            (Shape::Integer, Value::Number(number)) if number.is_i64() => {}
            (Shape::List(items), Value::Array(values)) => {
                for (index, value) in values.iter().enumerate() {
                    items.check(value, &format!("{path}[{index}]"), found);
                }
            }
            (Shape::Map(values), Value::Object(entries)) => {
                for (key, value) in entries {
                    values.check(value, &format!("{path}[{key:?}]"), found);
                }
            }
            (Shape::Object(properties), Value::Object(entries)) => {
                for property in properties {
                    let path = join(path, property.name);
                    property.check(entries.get(property.name), &path, found);
                }
            }
            (shape, _) => wrong(shape.word()),
        }
    }

    /// Adds the whole numbers of a value that are negative. Nothing that manifests count or measure is.
    pub(crate) fn negatives(self, value: &Value, path: &str, found: &mut Vec<Mismatch>) {
        match (self.shape(), value) {
            (Shape::Integer, Value::Number(number)) if number.as_i64().is_some_and(|n| n < 0) => {
                found.push(Mismatch {
                    path: path.to_owned(),
                    expected: "a number that is not negative".to_owned(),
                    found: brief(value),
                });
            }
            (Shape::List(items), Value::Array(values)) => {
                for (index, value) in values.iter().enumerate() {
                    items.negatives(value, &format!("{path}[{index}]"), found);
                }
            }
            (Shape::Map(values), Value::Object(entries)) => {
                for (key, value) in entries {
                    values.negatives(value, &format!("{path}[{key:?}]"), found);
                }
            }
            (Shape::Object(properties), Value::Object(entries)) => {
                for property in properties {
                    if let Some(value) = entries.get(property.name) {
                        property.schema.negatives(value, &join(path, property.name), found);
                    }
                }
            }
            _ => {}
        }
    }

    /// Where references and alternatives with null lead.
    fn target(mut self) -> Self {
        loop {
            let alternatives = self.own.get("anyOf").and_then(Value::as_array);
            if let Some(first) = alternatives.and_then(|all| all.first()) {
                self.own = first;
                continue;
            }
            let reference = self.own.get("$ref").and_then(Value::as_str);
            let Some(name) = reference.and_then(|text| text.strip_prefix("#/$defs/")) else {
                return self;
            };
            match self.document.get("$defs").and_then(|all| all.get(name)) {
                Some(own) => self.own = own,
                None => return self,
            }
        }
    }
}

impl Property {
    /// A property that need not be there may be `null`, which is as good.
    fn check(&self, value: Option<&Value>, path: &str, found: &mut Vec<Mismatch>) {
        match value {
            Some(Value::Null) if !self.is_required => {}
            Some(value) => self.schema.check(value, path, found),
            None if self.is_required => found.push(Mismatch {
                path: path.to_owned(),
                expected: self.schema.shape().word().to_owned(),
                found: "nothing".to_owned(),
            }),
            None => {}
        }
    }
}

impl Shape {
    /// What a value of it is called.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Any => "any value",
            Self::Text | Self::Choice(_) => "a string",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Object(_) => "an object",
        }
    }
}

fn properties(document: &'static Value, own: &'static Value) -> Vec<Property> {
    let required = own.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|all| all.iter().any(|own| own.as_str() == Some(name)));
    let entries = own.get("properties").and_then(Value::as_object).into_iter().flatten();
    entries
        .map(|(name, own)| Property {
            name,
            schema: Schema { document, own },
            is_required: is_required(name),
        })
        .collect()
}

/// A place in a place.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A value, short enough for a message.
pub(crate) fn brief(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().count() > 40 => {
            format!("\"{}…\"", text.chars().take(40).collect::<String>())
        }
        other => other.to_string(),
    }
}
