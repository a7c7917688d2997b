//! Releases as people see them.

use folio_model::{AppVersion, ReleaseId, ReleaseState, Timestamp, VersionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Standing;
use crate::ports::{Releases, StandingRelease, State, StoreError};

/// A release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseView {
    /// Its id, and under which names it is known.
    #[serde(flatten)]
    pub label: ReleaseLabel,
    /// The app version it shows.
    pub shows: VersionId,
    /// What was done in that app version.
    pub message: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when it can no longer be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The ledger entry that made it.
    pub made_in: u64,
}

/// A release's id, and under which names it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseLabel {
    /// Its id.
    pub id: ReleaseId,
    /// Whether it can be reached.
    pub state: ReleaseState,
    /// Whether it is the newest that can be reached.
    pub latest: bool,
    /// Its share of what is live, of 10,000, if it is among it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<u32>,
    /// The tags on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<ReleaseId>,
    /// Whether it stands aside: it is never latest or live, and the plan does not count it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
}

/// An app version, and what it was released as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppVersionView {
    /// The app version.
    #[serde(flatten)]
    pub version: AppVersion,
    /// Its releases, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<ReleaseLabel>,
}

pub(super) fn release(
    state: &dyn State,
    standing: &Standing,
    found: StandingRelease,
) -> Result<ReleaseView, StoreError> {
    // An app version that is being made has no row yet.
    let app_version = found.release.app_version.clone();
    let app = state.entry(found.release.entry)?.map(|entry| entry.app);
    let version = match &app {
        Some(app) => state.app_version_by_id(app, &app_version)?,
        None => None,
    };
    Ok(ReleaseView {
        label: label(standing, &found),
        shows: app_version,
        message: version.map(|version| version.message).unwrap_or_default(),
        created_at: found.release.created_at,
        ended_at: found.release.ended_at,
        made_in: found.release.entry,
    })
}

fn label(standing: &Standing, found: &StandingRelease) -> ReleaseLabel {
    ReleaseLabel {
        id: found.id.clone(),
        state: found.release.state,
        latest: standing.latest() == Some(&found.id),
        live: standing.live_share(&found.id),
        tags: standing.tags_on(&found.id).cloned().collect(),
        aside: found.release.aside,
    }
}

/// An app version with its releases.
pub(crate) fn app_version(
    state: &dyn State,
    standing: &Standing,
    version: AppVersion,
) -> Result<AppVersionView, StoreError> {
    let releases = state.releases(&version.app, Releases::Of(&version.id))?;
    // Those aside come and go with every save; only one that is there is worth a word.
    let seen = releases.iter().rev();
    let seen = seen.filter(|found| !found.release.aside || found.release.is_accessible());
    let releases = seen.map(|found| label(standing, found)).collect();
    Ok(AppVersionView { version, releases })
}
