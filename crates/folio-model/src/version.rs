//! Versions: published snapshots of a unit, numbered 1, 2, 3 and never edited.

use std::fmt;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Actor, Digest, Timestamp, UnitUid, VersionId};

/// The number of a version: 1 for the first, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Number(NonZeroU64);

impl Number {
    /// The first number.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// Takes a number from 1 to 2^63-1, which is what stores can hold.
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).filter(|n| i64::try_from(n.get()).is_ok()).map(Self)
    }

    /// The plain number.
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// The number after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl TryFrom<u64> for Number {
    type Error = &'static str;
    fn try_from(number: u64) -> Result<Self, Self::Error> {
        Self::new(number).ok_or("version numbers start at 1")
    }
}

impl From<Number> for u64 {
    fn from(number: Number) -> Self {
        number.get()
    }
}

impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Number".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 1 })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One version of one unit, for ever.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct VersionKey {
    /// The unit.
    pub unit: UnitUid,
    /// The version's number.
    pub number: Number,
}

/// A published snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// Its number.
    pub number: Number,
    /// What the user called it, or five random characters.
    pub id: VersionId,
    /// The complete spec it froze.
    pub snapshot: Digest,
    /// The package version a function uses; what deleting that package version takes along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<VersionKey>,
    /// The archive its files came from, byte for byte. Beside the snapshot, because packing the same files
    /// again is not a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<Digest>,
    /// When it was published.
    pub created_at: Timestamp,
    /// Who published it.
    pub created_by: Actor,
    /// What its author says about it; may be changed, because it decides nothing.
    #[serde(default)]
    pub description: String,
    /// When it was last described in other words than those it was published with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described_at: Option<Timestamp>,
}

/// How far the build of a version's package is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Build {
    /// Nothing to build.
    None,
    /// Has source that is not built yet.
    Pending,
    /// Is being built.
    Running,
    /// Was built, and can be called.
    Succeeded,
    /// Could not be built, and never becomes latest.
    Failed,
}

impl Build {
    /// Whether a version whose build stands here can be called.
    pub fn is_ready(self) -> bool {
        matches!(self, Self::None | Self::Succeeded)
    }

    /// Whether nothing more will come of it by itself.
    pub fn is_settled(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

/// How a build ended. Kept under the key of what was built, for everything that has the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BuildRecord {
    /// The files it made, or none if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<crate::Content>,
    /// What it printed, as a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Digest>,
    /// Why it failed, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// When it ended.
    pub at: Timestamp,
}

impl BuildRecord {
    /// The status it means.
    pub fn status(&self) -> Build {
        if self.result.is_some() { Build::Succeeded } else { Build::Failed }
    }

    /// What it made and printed.
    pub fn made(&self) -> impl Iterator<Item = Digest> {
        self.result.map(|content| content.tree).into_iter().chain(self.log)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_reads_back_and_the_next_is_greater(number in any::<u64>()) {
            let made = Number::new(number);
            prop_assert_eq!(made.is_some(), (1..=i64::MAX as u64).contains(&number));
            let read = serde_json::from_str::<Number>(&number.to_string());
            prop_assert_eq!(read.ok(), made);
            if let Some(made) = made {
                prop_assert_eq!((made.get(), made.to_string()), (number, number.to_string()));
                prop_assert!(made.next() > made);
            }
        }
    }
}
