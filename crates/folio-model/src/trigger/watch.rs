//! Watches: changes of folio's own objects that call a function.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Target, check_targets};
use crate::snapshot::{Bag, SnapshotError, check_text};
use crate::{Kind, Name};

/// Which changes call which function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WatchSpec {
    /// The kind of the objects, such as `function`.
    pub object_type: String,
    /// The name of the only object that counts; all of the kind if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_name: Option<Name>,
    /// The namespace a manifest names; a watch sees its own app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The labels a manifest names; folio's objects have none, so only an empty map matches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Where changes go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// What a manifest says beyond this; folio keeps it and never reads it.
    #[serde(rename = "$bag", default, skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

impl WatchSpec {
    /// The kind of objects it watches, whatever the case it is written in.
    pub fn watched(&self) -> Option<Kind> {
        self.object_type.to_ascii_lowercase().parse().ok()
    }

    pub(super) fn validate(&self) -> Result<(), SnapshotError> {
        check_text("the kind of objects", Some(&self.object_type))?;
        let cluster = ["pod", "service", "replicationcontroller", "job"];
        if cluster.contains(&self.object_type.to_ascii_lowercase().as_str()) {
            return Err(SnapshotError::NoCluster(self.object_type.clone()));
        }
        if self.watched().is_none() {
            return Err(SnapshotError::Watched(self.object_type.clone()));
        }
        if !self.labels.is_empty() {
            return Err(SnapshotError::Labels);
        }
        check_targets(&self.targets)
    }
}
