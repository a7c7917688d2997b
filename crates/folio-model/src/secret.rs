//! Secrets: named values that only code may read. What is kept of one is sealed, and a fingerprint by which people
//! tell whether it changed; the value itself is in no type of this crate.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{KEY_BYTES_MAX, SETTINGS_BYTES_MAX};
use crate::name::text_type;
use crate::snapshot::{Bag, SnapshotError};

/// Hexadecimal digits of a fingerprint.
const FINGERPRINT_DIGITS: usize = 12;

/// What a secret holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretSpec {
    /// The values by key, sealed.
    pub keys: BTreeMap<SecretKey, Sealed>,
    /// What a manifest says beyond this; folio keeps it and never reads it.
    #[serde(rename = "$bag", default, skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

/// One value of a secret, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sealed {
    /// Tells one value from another without telling what it is; nobody without the server's key can compute it.
    pub fingerprint: Fingerprint,
    /// The sealed value. What is shown to people leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Ciphertext>,
}

/// Why a text is not the key of a secret's value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a key: a key has letters, digits, `-`, `_` and `.`, does not begin with `..`, \
     and has at most {KEY_BYTES_MAX} bytes"
)]
pub struct SecretKeyError(String);

text_type! {
    /// What a value of a secret is called, such as `password`.
    SecretKey, SecretKeyError, check_key
}

fn check_key(text: &str) -> Result<(), SecretKeyError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let fits = (1..=KEY_BYTES_MAX).contains(&text.len()) && text.bytes().all(plain);
    let odd = text == "." || text.starts_with("..");
    if fits && !odd { Ok(()) } else { Err(SecretKeyError(text.to_owned())) }
}

/// Why a text is not a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a fingerprint of {FINGERPRINT_DIGITS} hexadecimal digits")]
pub struct FingerprintError(String);

text_type! {
    /// Tells whether two values are the same: hexadecimal digits made of the value under a key.
    Fingerprint, FingerprintError, check_fingerprint
}

fn check_fingerprint(text: &str) -> Result<(), FingerprintError> {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let fits = text.len() == FINGERPRINT_DIGITS && text.bytes().all(digit);
    if fits { Ok(()) } else { Err(FingerprintError(text.to_owned())) }
}

impl Fingerprint {
    /// The fingerprint that a keyed digest gives.
    pub fn of(keyed: &[u8; 32]) -> Self {
        hex::encode(&keyed[..FINGERPRINT_DIGITS / 2]).parse().expect("those are its digits")
    }
}

/// Bytes that say nothing to whoever lacks the key. Written as hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Ciphertext(pub Vec<u8>);

impl fmt::Debug for Ciphertext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sealed bytes", self.0.len())
    }
}

impl Serialize for Ciphertext {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Ciphertext {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        hex::decode(text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Ciphertext {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ciphertext".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

impl SecretSpec {
    /// The secret as people may see it: every fingerprint, and nothing that is sealed.
    #[must_use]
    pub fn shown(mut self) -> Self {
        self.keys.values_mut().for_each(|one| one.sealed = None);
        self
    }

    pub(crate) fn validate(&self) -> Result<(), SnapshotError> {
        if self.keys.is_empty() {
            return Err(SnapshotError::EmptySecret);
        }
        let size = |(key, one): (&SecretKey, &Sealed)| {
            key.as_str().len() + one.sealed.as_ref().map_or(0, |sealed| sealed.0.len())
        };
        let bytes: usize = self.keys.iter().map(size).sum();
        if bytes > SETTINGS_BYTES_MAX { Err(SnapshotError::SettingsTooLarge) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> SecretSpec {
        let fingerprint = Fingerprint::of(&[0xab; 32]);
        let sealed = Sealed { fingerprint, sealed: Some(Ciphertext(vec![1, 255])) };
        SecretSpec { keys: [("password".parse().unwrap(), sealed)].into(), bag: Bag::new() }
    }

    #[test]
    fn what_is_kept_reads_back_and_what_is_shown_has_no_bytes() {
        let kept = serde_json::json!({ "fingerprint": "abababababab", "sealed": "01ff" });
        assert_eq!(serde_json::to_value(secret().keys).unwrap()["password"], kept);
        let again: SecretSpec =
            serde_json::from_value(serde_json::to_value(secret()).unwrap()).unwrap();
        assert_eq!(again, secret());
        let shown = serde_json::json!({ "fingerprint": "abababababab" });
        assert_eq!(serde_json::to_value(secret().shown().keys).unwrap()["password"], shown);
        assert!(!format!("{:?}", secret()).contains("01ff"));
    }

    #[test]
    fn a_key_names_a_file() {
        for odd in ["", ".", "..", "..a", "a/b", "a b", "ä"] {
            assert!(odd.parse::<SecretKey>().is_err(), "{odd}");
        }
        assert!(".dockerconfigjson".parse::<SecretKey>().is_ok());
    }

    #[test]
    fn a_secret_holds_something() {
        assert_eq!(SecretSpec::default().validate(), Err(SnapshotError::EmptySecret));
        assert_eq!(secret().validate(), Ok(()));
    }
}
