//! Timers: what is called at set times. When a slot is, and what becomes of one that was missed, is decided by
//! whoever runs them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Target, check_method, check_path, check_targets};
use crate::VersionId;
use crate::snapshot::{Bag, SnapshotError, check_text};

/// When which functions are called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimerSpec {
    /// When: `0 30 6 * * *`, `30 6 * * *`, `@hourly` or `@every 5m`.
    pub cron: String,
    /// The time zone the expression is read in; UTC if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The method of the request; POST if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path of the request; `/` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Where calls go, unless a tag says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// The tag whose members are all called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<VersionId>,
    /// What becomes of slots that nobody was there for.
    #[serde(default, skip_serializing_if = "Misfire::is_default")]
    pub misfire: Misfire,
    /// Whether a slot is run again whose run was cut off by the end of its server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
    /// What a manifest says beyond this; folio keeps it and never reads it.
    #[serde(rename = "$bag", default, skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

/// What becomes of slots that nobody was there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Misfire {
    /// The newest is run, if it is not too long ago; the others are skipped.
    #[default]
    Skip,
    /// All are run, up to a limit; older ones are skipped.
    All,
}

impl Misfire {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl TimerSpec {
    /// The method of its requests.
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or("POST")
    }

    /// The path of its requests.
    pub fn path(&self) -> &str {
        self.path.as_deref().unwrap_or("/")
    }

    pub(super) fn validate(&self) -> Result<(), SnapshotError> {
        check_text("the cron expression", Some(&self.cron))?;
        check_text("the time zone", self.zone.as_deref())?;
        check_method(self.method())?;
        check_path(self.path())?;
        match (&self.tag, self.targets.is_empty()) {
            (Some(_), true) => Ok(()),
            (Some(_), false) => Err(SnapshotError::TagAndTargets),
            (None, _) => check_targets(&self.targets),
        }
    }
}
