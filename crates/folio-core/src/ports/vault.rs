//! The vault: seals the values of secrets and opens them again. What is sealed says nothing to whoever lacks the
//! key, and cannot be passed off as the value of another app, secret or key.

use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use folio_model::{AppName, Name, Sealed, SecretKey};
use schemars::JsonSchema;
use serde::Deserialize;
use zeroize::Zeroize as _;

use crate::{Class, Code, Explain};

/// A value that only code may read. Shows itself to nobody, and is wiped when it goes.
#[derive(Clone, PartialEq, Eq)]
pub struct Plaintext(Vec<u8>);

impl Plaintext {
    /// Takes a value.
    pub fn new(value: Vec<u8>) -> Self {
        Self(value)
    }

    /// The value itself, for whoever seals it or hands it to code.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Plaintext {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plaintext(…)")
    }
}

/// A value as requests write it. An error never repeats what was given.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a text, or `{\"base64\": …}`")]
enum Written {
    Text(String),
    Bytes { base64: String },
}

impl<'de> Deserialize<'de> for Plaintext {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(Self(text.into_bytes())),
            Written::Bytes { mut base64 } => {
                let decoded = STANDARD.decode(&base64);
                base64.zeroize();
                decoded.map(Self).map_err(|_| serde::de::Error::custom("a value is not base64"))
            }
        }
    }
}

impl JsonSchema for Plaintext {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Plaintext".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "oneOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": { "base64": { "type": "string" } },
                    "required": ["base64"],
                    "additionalProperties": false,
                },
            ],
            "writeOnly": true,
        })
    }
}

/// Whose value it is. Bound to what is sealed: it opens in no other place.
#[derive(Debug, Clone, Copy)]
pub struct SecretPlace<'a> {
    /// The app.
    pub app: &'a AppName,
    /// The secret.
    pub secret: &'a Name,
    /// The value's key.
    pub key: &'a SecretKey,
}

/// Seals and opens. Both are quick and wait for nothing but, the first time, a file.
pub trait Vault: Send + Sync + 'static {
    /// Seals a value, with its fingerprint. The same value in the same place is always sealed to the same bytes.
    /// Makes the key if nothing was ever sealed.
    fn seal(&self, place: SecretPlace<'_>, value: &Plaintext) -> Result<Sealed, VaultError>;

    /// Opens what was sealed in this place. Never makes a key.
    fn open(&self, place: SecretPlace<'_>, sealed: &Sealed) -> Result<Plaintext, VaultError>;
}

/// Why nothing was sealed or opened. Never tells a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// This platform was put together without one.
    #[error("no key for secrets was set up here")]
    None,
    /// Something is sealed and its key is not there.
    #[error("the key that sealed the secrets is not in `{}`", .0.display())]
    Missing(PathBuf),
    /// The key does not open it.
    #[error("secret `{secret}` of app `{app}` was sealed with another key than the one in `{}`, or is damaged", .path.display())]
    Wrong {
        /// The app.
        app: AppName,
        /// The secret.
        secret: Name,
        /// Where the key is.
        path: PathBuf,
    },
    /// The file with the key cannot be used.
    #[error("the key for secrets in `{}` cannot be used: {why}", .path.display())]
    Unusable {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl Explain for VaultError {
    fn code(&self) -> Code {
        match self {
            Self::None | Self::Missing(_) => Code("secret_key_missing"),
            Self::Wrong { .. } => Code("secret_key_wrong"),
            Self::Unusable { .. } => Code("secret_key_unusable"),
        }
    }

    fn class(&self) -> Class {
        Class::Broken
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::None => "start the server with `folio serve --secret-key FILE`".to_owned(),
            Self::Missing(_) => "put the key file back, or name it with --secret-key".to_owned(),
            Self::Wrong { .. } => {
                "name the file with the right key with --secret-key, or set the secret anew"
                    .to_owned()
            }
            Self::Unusable { .. } => {
                "make it a file of its owner's with 64 hexadecimal digits, as it was made"
                    .to_owned()
            }
        })
    }
}

/// What a platform has that keeps no secrets.
pub(crate) struct NoVault;

impl Vault for NoVault {
    fn seal(&self, _: SecretPlace<'_>, _: &Plaintext) -> Result<Sealed, VaultError> {
        Err(VaultError::None)
    }

    fn open(&self, _: SecretPlace<'_>, _: &Sealed) -> Result<Plaintext, VaultError> {
        Err(VaultError::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_from_text_or_base64_and_never_shown() {
        let text: Plaintext = serde_json::from_str("\"hunter2\"").unwrap();
        assert_eq!(text.expose(), b"hunter2");
        assert!(!format!("{text:?}").contains("hunter2"));
        let bytes: Plaintext = serde_json::from_str(r#"{"base64":"/wA="}"#).unwrap();
        assert_eq!(bytes.expose(), [255, 0]);
        let errors = [r#"{"base64":"hunter2!"}"#, r#"{"hunter2":1}"#, "[\"hunter2\"]"];
        for odd in errors {
            let error = serde_json::from_str::<Plaintext>(odd).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
