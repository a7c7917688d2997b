//! What is stored: the shapes of the newest version with everything optional.

use hub::{Bag, Field, Stored, Symbol};
use serde::{Deserialize, Serialize};

/// A book.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Book {
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub authors: Field<Vec<Author>>,
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub code: Field<String>,
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub format: Field<Format>,
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub level: Field<Symbol>,
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub pages: Field<i64>,
    /// What older versions say beyond this.
    #[serde(rename = "$bag", skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

impl Stored for Book {
    const VERSION: &'static str = "v2";
}

/// Somebody who wrote a book.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Author {
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub born: Field<i64>,
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub name: Field<String>,
    /// What older versions say beyond this.
    #[serde(rename = "$bag", skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

impl Stored for Author {
    const VERSION: &'static str = "v2";
}

hub::open_union! {
    /// What a book is made of.
    pub enum Format by "kind" {
        Digital(Digital) = "digital",
    }
}

/// A book without paper.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Digital {
    #[serde(skip_serializing_if = "Field::is_absent")]
    pub size_bytes: Field<i64>,
    /// What older versions say beyond this.
    #[serde(rename = "$bag", skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

impl Stored for Digital {
    const VERSION: &'static str = "v1";
}
