//! Bodies about apps and releases.

use folio_core::request::IfSame;
use folio_model::{AppName, ReleaseId};
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
