//! Marks: what is said about an object and decides nothing. Labels, annotations and who wrote which field change without
//! a new version, so they lie beside the object, never in its snapshot's digest.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Digest, Timestamp};

/// Labels or annotations.
pub type Labels = BTreeMap<String, String>;

/// What is said about an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Marks {
    /// The snapshot of which it was said. Once the object is another, its own manifest's labels and annotations hold.
    pub of: Digest,
    /// All labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: Labels,
    /// All annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: Labels,
    /// Who wrote which field, as those who share an object write it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managers: Vec<Value>,
    /// How often what it says was changed.
    pub generation: u64,
    /// When the object was first marked.
    pub since: Timestamp,
    /// The entry that made the object, where this was said in it. An object that has no identity of its own is told by it
    /// from those that had its name before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_in: Option<u64>,
}
