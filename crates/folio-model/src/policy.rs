//! How an app treats its releases: how long they can be reached, which of them are kept, and whether a client stays
//! with the one it began with. Never part of a version.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ReleaseId;

/// How an app treats its releases.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleasePolicy {
    /// Which releases can be reached how long, beside what the plan allows.
    #[serde(default)]
    pub retention: Retention,
    /// Releases that never expire.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub kept: BTreeSet<ReleaseId>,
    /// How long a client stays with the release it began with; not at all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew: Option<Skew>,
}

impl ReleasePolicy {
    /// Whether nothing was ever said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Which releases can be reached how long. What any of the first four keeps stays; without them everything does. What
/// is over the budget of bytes goes after that, the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retention {
    /// So many of the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<u32>,
    /// Those that are not older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_s: Option<u64>,
    /// The last one of each of so many days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily: Option<u32>,
    /// The last one of each of so many weeks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weekly: Option<u32>,
    /// The bytes that all of them together may hold; what several share counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Retention {
    /// Whether anything says which releases stay.
    pub fn chooses(&self) -> bool {
        self.newest.is_some()
            || self.age_s.is_some()
            || self.daily.is_some()
            || self.weekly.is_some()
    }

    /// Whether something may expire between one release and the next: with time, or because of its bytes.
    pub fn is_timely(&self) -> bool {
        self.chooses() || self.bytes.is_some()
    }
}

/// How long a client stays with the release it began with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Skew {
    /// At most so long.
    pub max_age_s: u64,
    /// No client stays with a release that is older than this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<ReleaseId>,
}
