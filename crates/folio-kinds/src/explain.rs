//! What a kind's properties are, in words, from the schemas that manifests are checked against.

use crate::registry::{KINDS, KindEntry};
use crate::schema::{Property, Schema, Shape};

/// What can be said about a kind or one of its properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The kind.
    pub kind: &'static str,
    /// The version that was looked at.
    pub version: &'static str,
    /// The property, as a path; empty for the kind itself.
    pub path: String,
    /// The type of its values.
    pub ty: String,
    /// What it is.
    pub description: &'static str,
    /// The properties it has.
    pub fields: Vec<ExplainedField>,
}

/// One property of what is explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedField {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub ty: String,
    /// Whether every manifest has it.
    pub is_required: bool,
    /// What it is.
    pub description: &'static str,
}

/// Why there is nothing to explain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// No such kind.
    #[error("there is no kind `{0}`")]
    UnknownKind(String),
    /// A version in which the kind is not served.
    #[error("{kind} is not served in `{version}`, only in {}", .versions.join(", "))]
    UnknownVersion {
        /// The kind.
        kind: &'static str,
        /// The version.
        version: String,
        /// Those it is served in.
        versions: &'static [&'static str],
    },
    /// No such property.
    #[error("{kind} of {version} has no property `{path}`")]
    UnknownProperty {
        /// The kind.
        kind: &'static str,
        /// The version.
        version: &'static str,
        /// The path as far as it was followed.
        path: String,
        /// The properties there are instead.
        known: Vec<&'static str>,
    },
}

impl ExplainError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownKind(_) => {
                let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
                format!("the kinds are {}", names.join(", "))
            }
            Self::UnknownVersion { kind, versions, .. } => {
                let newest = versions.last().copied().unwrap_or_default();
                format!("folio explain {kind} --api-version {newest}")
            }
            Self::UnknownProperty { known, .. } if known.is_empty() => {
                "what is in there is kept as it is".to_owned()
            }
            Self::UnknownProperty { known, .. } => format!("there are {}", known.join(", ")),
        }
    }
}

/// Explains `KIND` or `KIND.path.to.property`, in a version or in the newest one.
pub fn explain(subject: &str, version: Option<&str>) -> Result<Explained, ExplainError> {
    let mut steps = subject.split('.');
    let name = steps.next().unwrap_or_default();
    let kind = KindEntry::find(name).ok_or_else(|| ExplainError::UnknownKind(name.to_owned()))?;
    let versions = kind.versions;
    let chosen = match version {
        Some(version) => versions.iter().find(|own| **own == version),
        None => versions.last(),
    };
    let unknown = || ExplainError::UnknownVersion {
        kind: kind.name,
        version: version.unwrap_or_default().to_owned(),
        versions,
    };
    let version = *chosen.ok_or_else(unknown)?;
    let mut schema = Schema::of(kind.name, version).ok_or_else(unknown)?;
    let mut path = String::new();
    for step in steps {
        path = crate::schema::join(&path, step);
        let known = properties(schema.shape());
        let Some(found) = known.iter().find(|property| property.name == step) else {
            let known = known.iter().map(|property| property.name).collect();
            return Err(ExplainError::UnknownProperty { kind: kind.name, version, path, known });
        };
        schema = found.schema;
    }
    let fields = properties(schema.shape()).into_iter().map(|property| ExplainedField {
        name: property.name,
        ty: word(property.schema),
        is_required: property.is_required,
        description: property.schema.description(),
    });
    Ok(Explained {
        kind: kind.name,
        version,
        path,
        ty: word(schema),
        description: schema.description(),
        fields: fields.collect(),
    })
}

/// The properties of a value, or of the items or values in it.
fn properties(shape: Shape) -> Vec<Property> {
    match shape {
        Shape::Object(properties) => properties,
        Shape::List(inner) | Shape::Map(inner) => properties(inner.shape()),
        Shape::Any
        | Shape::Text
        | Shape::Choice(_)
        | Shape::Integer
        | Shape::Number
        | Shape::Boolean => Vec::new(),
    }
}

/// The type of a value, as it is shown.
fn word(schema: Schema) -> String {
    match schema.shape() {
        Shape::Any => "any".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Choice(values) => {
            let values = values.iter().filter(|value| !value.is_empty());
            values.copied().collect::<Vec<_>>().join("|")
        }
        Shape::Integer => "integer".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::List(items) => format!("[]{}", word(items)),
        Shape::Map(values) => format!("map of {}", word(values)),
        Shape::Object(_) => "object".to_owned(),
    }
}
