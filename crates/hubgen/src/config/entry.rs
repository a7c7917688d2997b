//! The tables of a configuration file, one kind of entry each.

use serde::Deserialize;

/// An entry and where it stands in the file.
pub type Entry<T> = toml::Spanned<T>;

/// A schema file, or a directory of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// The file or directory, below the directory of schemas.
    pub path: String,
    /// The API version, where the schema does not say it or says it wrong.
    pub version: Option<String>,
    /// The kind of resource, where the schema does not say it.
    pub kind: Option<String>,
}

/// Which resources and versions an `include` or `exclude` means.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// The kind, in any letter case; without it, all.
    pub kind: Option<String>,
    /// The version; without it, all.
    pub version: Option<String>,
    /// Why.
    pub because: String,
}

/// The version that is stored.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hub {
    /// The kind, in any letter case; without it, every kind that has the version.
    pub kind: Option<String>,
    /// The version.
    pub version: String,
    /// Why.
    pub because: String,
}

/// A Rust name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Name {
    /// The definition as the schema names it, or, with a property, the Rust type that has it.
    #[serde(rename = "type")]
    pub ty: String,
    /// The property as documents name it.
    pub property: Option<String>,
    /// The Rust name.
    pub name: String,
    /// Why.
    pub because: String,
}

/// A property that a hand-written hook converts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manual {
    /// The type that has the property.
    #[serde(rename = "type")]
    pub ty: String,
    /// The property as documents name it.
    pub property: String,
    /// The version whose conversion it is; without it, every one in which the type changed.
    pub version: Option<String>,
    /// Why.
    pub because: String,
}

/// A property of a type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The type that has the property.
    #[serde(rename = "type")]
    pub ty: String,
    /// The property as documents name it.
    pub property: String,
    /// Why.
    pub because: String,
}

/// The value of a required property that is missing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultValue {
    /// The type that has the property.
    #[serde(rename = "type")]
    pub ty: String,
    /// The property as documents name it.
    pub property: String,
    /// The version whose property it is; without it, every one that requires it.
    pub version: Option<String>,
    /// The value.
    pub value: serde_json::Value,
    /// Why.
    pub because: String,
}

/// A property that changed its name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameProperty {
    /// The type that has the property, by its older or newer name.
    #[serde(rename = "type")]
    pub ty: String,
    /// The older name.
    pub from: String,
    /// The newer name.
    pub to: String,
    /// Why.
    pub because: String,
}

/// A type that changed its name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameType {
    /// The older name.
    pub from: String,
    /// The newer name.
    pub to: String,
    /// Why.
    pub because: String,
}

/// A removal or change of type that somebody looked at.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// The type that has the property.
    #[serde(rename = "type")]
    pub ty: String,
    /// The property as documents name it, or the arm's tag; without it, all of the type's.
    pub property: Option<String>,
    /// The version whose loss it is; without it, every one, those to come included.
    pub version: Option<String>,
    /// Why.
    pub because: String,
}
