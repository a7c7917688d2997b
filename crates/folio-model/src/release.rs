//! Releases: app versions that can be reached from outside, under an id that fits a host name. What moves about
//! them is small: whether one can still be reached, which of them are live, and what an app may have.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::text_type;
use crate::{AppName, Chance, FULL_WEIGHT, RESERVED, ReleasePolicy, Sticky, Timestamp, VersionId};

text_type! {
    /// The id of a release, or a tag on one: a lower-case DNS label with a letter in it.
    ReleaseId, ReleaseIdError, check
}

/// Why a text is neither a release id nor a tag on a release.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseIdError {
    /// A host name cannot carry it, or could carry it for something else.
    #[error(
        "`{0}` cannot name a release: 1 to {LABEL_BYTES_MAX} lower-case letters, digits and single inner dashes, not digits only"
    )]
    Malformed(String),
    /// One of [`RESERVED`].
    #[error("`{0}` is a reserved word and cannot name a release")]
    Reserved(String),
}

/// Longest label of a host name.
const LABEL_BYTES_MAX: usize = 63;

impl ReleaseId {
    /// Makes a random one.
    pub fn generate(chance: Chance<'_>) -> Self {
        Self(VersionId::generate(chance).as_str().into())
    }

    /// The longest tag of an app: one label of a host name holds both of them, as in `beta--shop`. Nothing if the
    /// app's name leaves no room.
    pub fn tag_bytes_max(app: &AppName) -> usize {
        LABEL_BYTES_MAX.saturating_sub("--".len() + app.as_str().len())
    }
}

fn check(text: &str) -> Result<(), ReleaseIdError> {
    let label =
        text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let dashes = text.starts_with('-') || text.ends_with('-') || text.contains("--");
    let number = text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = (1..=LABEL_BYTES_MAX).contains(&text.len());
    if RESERVED.contains(&text) {
        return Err(ReleaseIdError::Reserved(text.to_owned()));
    }
    let good = label && !dashes && !number && fits;
    if good { Ok(()) } else { Err(ReleaseIdError::Malformed(text.to_owned())) }
}

/// An app version reachable from outside. Only whether it can be reached ever changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// The app version it shows.
    pub app_version: VersionId,
    /// The ledger entry that made it: its place among the releases of its app.
    pub entry: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// Whether it can be reached.
    pub state: ReleaseState,
    /// Since when it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Whether it stands aside: it is reached by its id and its tag, is never live or latest, and the plan does not
    /// count it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
}

/// Whether a release can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReleaseState {
    /// It can.
    Accessible,
    /// There were more than the app's plan allows.
    Expired,
    /// Somebody removed it.
    Deleted,
}

impl Release {
    /// The release when it can no longer be reached.
    #[must_use]
    pub fn ended(&self, state: ReleaseState, at: Timestamp) -> Self {
        Self { state, ended_at: Some(at), ..self.clone() }
    }

    /// Whether it can be reached, and is one of those that everybody sees.
    pub fn is_public(&self) -> bool {
        self.is_accessible() && !self.aside
    }

    /// Whether it can be reached.
    pub fn is_accessible(&self) -> bool {
        self.state == ReleaseState::Accessible
    }
}

/// What an app's own host shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Live {
    /// The releases, with their shares of 10,000.
    pub shares: Vec<LiveShare>,
    /// What tells one client from another where several share; chance decides if nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Sticky>,
    /// Whether a new release takes their place.
    pub mode: LiveMode,
    /// Since when it is so.
    pub since: Timestamp,
    /// Why, in the words of whoever pinned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The entry at which the release before this one got all the traffic: where a rollback goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

/// One of the releases that are live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveShare {
    /// The release.
    pub release: ReleaseId,
    /// Its share of 10,000.
    pub weight: u32,
}

/// Whether a new release becomes live by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LiveMode {
    /// It does.
    Following,
    /// It does not, until somebody says so.
    Pinned,
}

impl Live {
    /// All traffic to one release.
    pub fn only(release: ReleaseId, mode: LiveMode, since: Timestamp) -> Self {
        let shares = vec![LiveShare { release, weight: FULL_WEIGHT }];
        Self { shares, sticky: None, mode, since, reason: None, before: None }
    }

    /// Traffic shared among releases, of which none is ever replaced by a newer one.
    pub fn shared(shares: Vec<LiveShare>, since: Timestamp) -> Result<Self, SharesError> {
        let sum: u64 = shares.iter().map(|share| u64::from(share.weight)).sum();
        if sum != u64::from(FULL_WEIGHT) {
            return Err(SharesError::Sum(sum));
        }
        for (at, share) in shares.iter().enumerate() {
            if shares[..at].iter().any(|before| before.release == share.release) {
                return Err(SharesError::Twice(share.release.clone()));
            }
        }
        let mode = LiveMode::Pinned;
        Ok(Self { shares, sticky: None, mode, since, reason: None, before: None })
    }

    /// The release with the largest share, the first of them if several have it.
    pub fn main(&self) -> Option<&ReleaseId> {
        let most = self.shares.iter().map(|share| share.weight).max()?;
        let main = self.shares.iter().find(|share| share.weight == most);
        main.map(|share| &share.release)
    }

    /// Whether several releases are named, also with a share of nothing.
    pub fn is_shared(&self) -> bool {
        self.shares.len() > 1
    }

    /// The release that gets everything, unless several share it.
    pub fn sole(&self) -> Option<&ReleaseId> {
        let all = self.shares.iter().find(|share| share.weight == FULL_WEIGHT);
        all.map(|share| &share.release)
    }

    /// Whether a release is among them, also with a share of nothing.
    pub fn shows(&self, release: &ReleaseId) -> bool {
        self.shares.iter().any(|share| share.release == *release)
    }
}

/// Why releases cannot share what is live.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SharesError {
    /// The shares do not add up.
    #[error("shares sum to {0}, not {FULL_WEIGHT}")]
    Sum(u64),
    /// A release was named twice.
    #[error("release `{0}` is named twice")]
    Twice(ReleaseId),
}

/// How much an app may have, and how it treats its releases. Never part of a version: what was paid for is not
/// rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppPlan {
    /// Releases that can be reached at once.
    pub releases: u32,
    /// Releases that can be tagged at once.
    pub tagged: u32,
    /// How it treats its releases.
    #[serde(default, skip_serializing_if = "ReleasePolicy::is_default")]
    pub policy: ReleasePolicy,
}

impl Default for AppPlan {
    fn default() -> Self {
        Self { releases: 3, tagged: 10, policy: ReleasePolicy::default() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_generated_release_id_is_a_host_label(seed: u8) {
            let mut byte = seed;
            let id = ReleaseId::generate(&mut || { byte = byte.wrapping_mul(5).wrapping_add(7); byte });
            prop_assert_eq!(id.as_str().parse(), Ok(id));
        }
    }

    #[test]
    fn a_tag_and_its_app_fit_one_label() {
        let check = |app: &str, expected: usize| {
            assert_eq!(ReleaseId::tag_bytes_max(&app.parse().unwrap()), expected, "{app}");
        };
        check("shop", 57);
        check(&"a".repeat(60), 1);
        check(&"a".repeat(63), 0);
    }

    #[test]
    fn what_a_host_cannot_carry_is_refused() {
        for text in ["", "-a", "a-", "a--b", "A", "a.b", "a_b", "123", "live", &"a".repeat(64)] {
            assert!(text.parse::<ReleaseId>().is_err(), "{text}");
        }
    }
}
