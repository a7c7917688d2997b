//! What a command that changes something answers, whatever it changes.

use folio_model::VersionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::release::Released;

/// What a command that changes something answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Done{T}")]
pub struct Done<T> {
    /// What it made or moved.
    #[serde(flatten)]
    pub result: T,
    /// Whether anything changed at all.
    pub changed: bool,
    /// The app version it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<VersionId>,
    /// The ledger entry it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    /// The release it made, and what that did to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Released>,
}

impl<T> Done<T> {
    /// What changed nothing.
    pub(crate) fn unchanged(result: T) -> Self {
        Self { result, changed: false, app_version: None, entry: None, release: None }
    }
}
