//! Bodies about apps and releases.

use folio_core::canary::{PlanFields, RolloutMove};
use folio_core::request::IfSame;
use folio_model::{AppName, ReleaseId, Sticky};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::decode::{AppMoment, ReleaseName};

/// Makes an app.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewApp {
    /// Its name.
    pub(crate) name: AppName,
}

/// Releases an app version.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewRelease {
    /// The app version: its id, its number, or `latest`.
    pub(crate) app_version: AppMoment,
    /// What to do when a release of it can be reached already.
    #[serde(default = "keep")]
    pub(crate) if_same: IfSame,
}

fn keep() -> IfSame {
    IfSame::Keep
}

/// Puts a tag on a release.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewReleaseTag {
    /// The release.
    pub(crate) release: ReleaseName,
    /// The release that the tag was seen on; moved since, it is refused.
    #[serde(default)]
    pub(crate) from: Option<ReleaseId>,
}

/// Makes a release live.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewLive {
    /// The release.
    pub(crate) release: ReleaseName,
}

/// Takes live back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RollBackLive {
    /// The release to go back to; the one before if left out.
    #[serde(default)]
    pub(crate) to: Option<ReleaseName>,
}

/// Shares what is live among releases.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewLiveSplit {
    /// The releases, with shares that sum to 10,000.
    pub(crate) shares: Vec<NewLiveShare>,
    /// What tells one client from another; chance decides if left out.
    #[serde(default)]
    pub(crate) sticky: Option<Sticky>,
}

/// One of the releases that are to share what is live.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewLiveShare {
    /// The release.
    pub(crate) release: ReleaseName,
    /// Its share of 10,000.
    pub(crate) weight: u32,
}

/// Starts a rollout.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StartRollout {
    /// The release that is to get everything.
    pub(crate) release: ReleaseName,
    /// What tells one client from another; chance decides if left out.
    #[serde(default)]
    pub(crate) sticky: Option<Sticky>,
    /// How it goes about it.
    #[serde(default)]
    pub(crate) fields: PlanFields,
}

/// Has a rollout do something.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MoveRollout {
    /// What it is to do.
    pub(crate) to: RolloutMove,
}
