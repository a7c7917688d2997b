//! Releases: app versions that can be reached from outside, under an id that fits a host name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::name::text_type;
use crate::{Chance, RESERVED, Timestamp, VersionId};

text_type! {
    /// The id of a release: a lower-case DNS label with a letter in it.
    ReleaseId, ReleaseIdError, check
}

/// Why a text is not a release id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a release id: 1 to 63 lower-case letters, digits and inner dashes, not digits only"
)]
pub struct ReleaseIdError(String);

impl ReleaseId {
    /// Makes a random one.
    pub fn generate(chance: Chance<'_>) -> Self {
        Self(VersionId::generate(chance).as_str().into())
    }
}

fn check(text: &str) -> Result<(), ReleaseIdError> {
    let label =
        text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let ends = text.starts_with('-') || text.ends_with('-') || text.contains("--");
    let number = text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = (1..=63).contains(&text.len());
    let good = label && !ends && !number && fits && !RESERVED.contains(&text);
    if good { Ok(()) } else { Err(ReleaseIdError(text.to_owned())) }
}

/// An app version reachable from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// Its id, part of its host name.
    pub id: ReleaseId,
    /// The app version it shows.
    pub app_version: VersionId,
    /// When it was made.
    pub created_at: Timestamp,
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
    fn what_a_host_cannot_carry_is_refused() {
        for text in ["", "-a", "a-", "a--b", "A", "a.b", "a_b", "123", "live", &"a".repeat(64)] {
            assert!(text.parse::<ReleaseId>().is_err(), "{text}");
        }
    }
}
