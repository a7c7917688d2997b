//! Units: the smallest things that are versioned, and their unpublished state.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{AppName, Digest, Name, Number, VersionKey};

/// What kind of thing a unit is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Code that can be called.
    Function,
    /// Source or deployable files, shared by the functions that use it.
    Package,
    /// What runs and builds code.
    Environment,
    /// What starts functions.
    Trigger,
    /// Settings that code reads.
    Config,
    /// Values that only code reads.
    Secret,
    /// Files that are served as they are.
    Static,
}

impl Kind {
    /// Every kind, in the order lists show them.
    pub const ALL: [Self; 7] = [
        Self::Function,
        Self::Package,
        Self::Environment,
        Self::Trigger,
        Self::Config,
        Self::Secret,
        Self::Static,
    ];

    /// Every kind, those first that others stand on.
    pub const ALL_BY_NEED: [Self; 7] = [
        Self::Environment,
        Self::Config,
        Self::Secret,
        Self::Package,
        Self::Function,
        Self::Trigger,
        Self::Static,
    ];

    /// Its place in [`Kind::ALL_BY_NEED`].
    pub fn need(self) -> usize {
        Self::ALL_BY_NEED.iter().position(|kind| *kind == self).expect("every kind is listed")
    }

    /// The word used in commands, URLs and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Package => "package",
            Self::Environment => "environment",
            Self::Trigger => "trigger",
            Self::Config => "config",
            Self::Secret => "secret",
            Self::Static => "static",
        }
    }

    /// The word for several.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Function => "functions",
            Self::Package => "packages",
            Self::Environment => "environments",
            Self::Trigger => "triggers",
            Self::Config => "configs",
            Self::Secret => "secrets",
            Self::Static => "statics",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = ();
    /// Reads the singular or the plural word.
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| text == kind.as_str() || text == kind.plural()).ok_or(())
    }
}

/// Identifies one unit for ever, also after its name was given to another.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct UnitUid(pub Uuid);

impl fmt::Display for UnitUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a unit is found by name: names are unique per app and kind.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct UnitKey {
    /// The app.
    pub app: AppName,
    /// The kind.
    pub kind: Kind,
    /// The name.
    pub name: Name,
}

impl fmt::Display for UnitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind, self.name)
    }
}

/// Who asked for a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A user, by name.
    User,
    /// A function that was made from code and needed a package.
    Implied,
}

/// The deployment that a unit belongs to: a directory of manifests that was given an identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Owner {
    /// The deployment's identity.
    pub uid: String,
    /// What people call it.
    pub name: String,
}

/// A unit as it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unit {
    /// Its identity.
    pub uid: UnitUid,
    /// Its name.
    #[serde(flatten)]
    pub key: UnitKey,
    /// Who asked for it.
    pub origin: Origin,
    /// The deployment it belongs to, if it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The number the next version gets. Only ever grows.
    pub next_number: Number,
    /// The last surviving version that can be called, if any.
    pub latest: Option<Number>,
    /// The last surviving version, whether it can be called or not, if any.
    pub newest: Option<Number>,
    /// The unpublished state, if any.
    pub draft: Option<Draft>,
    /// The ledger entry that last touched the unit or one of its aliases.
    pub revision: u64,
}

impl Unit {
    /// Whether there is anything to see: a draft or a version. A unit with neither only keeps its counter.
    pub fn is_visible(&self) -> bool {
        self.draft.is_some() || self.newest.is_some()
    }
}

/// The unpublished state of a function or package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// The complete spec.
    pub snapshot: Digest,
    /// The package version it uses, where that is published already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<VersionKey>,
    /// The archive its files came from, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<Digest>,
}
