//! App versions: the whole app at one moment, and what each unit was then.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Actor, AppName, Digest, Kind, Name, Number, Timestamp, UnitUid, VersionId};

/// The app after one change: a closed map from unit to snapshot, kept as intervals per unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppVersion {
    /// The app.
    pub app: AppName,
    /// Its place in the app's history: 1, 2, 3.
    pub number: Number,
    /// Its generated id, which also names the group.
    pub id: VersionId,
    /// The id of the one before.
    pub parent: Option<VersionId>,
    /// The ledger entry that made it.
    pub entry: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Actor,
    /// What was done.
    pub message: String,
    /// The state of the author's work tree, if there was one.
    pub git: Option<Git>,
}

/// Where the author's files stood in git.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Git {
    /// The commit.
    pub commit: String,
    /// The branch.
    pub branch: String,
    /// Whether nothing was uncommitted.
    pub clean: bool,
}

/// What one unit was in an app version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// The unit.
    pub uid: UnitUid,
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// Its latest version then: number, id and snapshot.
    pub latest: Option<(Number, VersionId, Digest)>,
    /// A newer version that could not be called then: one that was still to be built, or could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<(Number, VersionId, Digest)>,
    /// Its draft then.
    pub draft: Option<Digest>,
}

impl Placement {
    /// The snapshot an unqualified reference means: the draft if there is one, else latest.
    pub fn snapshot(&self) -> Option<Digest> {
        self.draft.or_else(|| self.latest.as_ref().map(|(_, _, snapshot)| *snapshot))
    }
}
