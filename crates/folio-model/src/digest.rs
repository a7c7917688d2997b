//! SHA-256 digests, the names of bytes and values.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes, written `sha256:<64 hex digits>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest([u8; 32]);

const PREFIX: &str = "sha256:";
const TEXT_BYTES: usize = PREFIX.len() + 64;

impl Digest {
    /// Digests bytes that are already in memory.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Wraps the 32 bytes of a finished SHA-256.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 hex digits without the prefix.
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }

    /// Writes the whole text into a buffer. Entries hold many digests, so this is worth not allocating.
    fn write<'a>(&self, buffer: &'a mut [u8; TEXT_BYTES]) -> &'a str {
        let (prefix, digits) = buffer.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        hex::encode_to_slice(self.0, digits).expect("two digits for each byte");
        std::str::from_utf8(buffer).expect("a prefix and hex digits are ASCII")
    }

    /// The first 12 hex digits, for people.
    pub fn short(&self) -> String {
        hex::encode(&self.0[..6])
    }
}

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest: write `sha256:` and 64 lower-case hex digits")]
pub struct DigestError(String);

impl FromStr for Digest {
    type Err = DigestError;
    fn from_str(text: &str) -> Result<Self, DigestError> {
        let mut bytes = [0; 32];
        let is_lower = |digits: &&str| !digits.bytes().any(|digit| digit.is_ascii_uppercase());
        let digits = text.strip_prefix(PREFIX).filter(is_lower);
        digits
            .and_then(|digits| hex::decode_to_slice(digits, &mut bytes).ok())
            .map(|()| Self(bytes))
            .ok_or_else(|| DigestError(text.to_owned()))
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;
    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.write(&mut [0; TEXT_BYTES]))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.write(&mut [0; TEXT_BYTES]))
    }
}

impl schemars::JsonSchema for Digest {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digest".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" })
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.short())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_printed_digest_reads_back(bytes: [u8; 32]) {
            let digest = Digest::from_bytes(bytes);
            prop_assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
        }
    }

    #[test]
    fn only_the_full_lower_case_form_is_a_digest() {
        let good = Digest::of(b"").to_string();
        assert_eq!(good, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        for bad in [&good[7..], &good[..70], &good.to_uppercase(), "sha256:", ""] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
