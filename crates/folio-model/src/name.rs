//! Names of units, apps and people. Parsed once at the door; a value of these types is always well formed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest name of a unit or an app: one DNS label, so that every name fits a host and an object name.
const NAME_BYTES_MAX: usize = 63;

/// Defines a validated string type with its parsing, printing and serde forms.
macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident, $error:ident, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = $error;
            fn from_str(text: &str) -> Result<Self, $error> {
                $check(text)?;
                Ok(Self(text.into()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;
            fn try_from(text: String) -> Result<Self, $error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" })
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}
pub(crate) use text_type;

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing was given.
    #[error("a name cannot be empty")]
    Empty,
    /// Longer than one DNS label.
    #[error("name `{0}` is longer than {NAME_BYTES_MAX} characters")]
    TooLong(String),
    /// A character outside the alphabet, or a dash at either end.
    #[error("name `{0}` may hold only letters, digits and inner dashes")]
    Malformed(String),
    /// An app's name is part of a host name.
    #[error("app name `{0}` has an upper-case letter, which a host name cannot carry")]
    UpperCase(String),
    /// Two dashes part a release from its app in a host name.
    #[error(
        "app name `{0}` has two dashes in a row, which part a release from its app in a host name"
    )]
    TwoDashes(String),
}

text_type! {
    /// The name of a unit: letters, digits and inner dashes, at most 63.
    Name, NameError, check_name
}

text_type! {
    /// The name of an app: a lower-case DNS label, because it becomes part of a host name.
    AppName, NameError, check_app_name
}

text_type! {
    /// Who did something: printable text without line breaks, at most 128 bytes.
    Actor, ActorError, check_actor
}

impl AppName {
    /// The app that exists from the start.
    pub fn default_app() -> Self {
        Self("default".into())
    }
}

impl Actor {
    /// The platform itself, for entries no person asked for.
    pub fn system() -> Self {
        Self("system".into())
    }
}

fn check_name(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > NAME_BYTES_MAX {
        return Err(NameError::TooLong(text.to_owned()));
    }
    let alphabet = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !text.bytes().all(alphabet) || text.starts_with('-') || text.ends_with('-') {
        return Err(NameError::Malformed(text.to_owned()));
    }
    Ok(())
}

fn check_app_name(text: &str) -> Result<(), NameError> {
    check_name(text)?;
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(NameError::UpperCase(text.to_owned()));
    }
    if text.contains("--") {
        return Err(NameError::TwoDashes(text.to_owned()));
    }
    Ok(())
}

/// Why a text cannot name a person or a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an author is 1 to 128 bytes of printable text on one line")]
pub struct ActorError;

fn check_actor(text: &str) -> Result<(), ActorError> {
    let fits = (1..=128).contains(&text.len());
    if fits && !text.chars().any(char::is_control) { Ok(()) } else { Err(ActorError) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_name_prints_and_reads_back_as_it_was_written(text in "[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9]") {
            let name: Name = text.parse().unwrap();
            prop_assert_eq!(name.to_string(), &*text);
            let json = serde_json::to_string(&name).unwrap();
            prop_assert_eq!(serde_json::from_str::<Name>(&json).unwrap(), name);
        }

        #[test]
        fn no_text_is_a_name_and_breaks_its_rules(text in any::<String>()) {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            let inner = !text.starts_with('-') && !text.ends_with('-');
            let fits = (1..=63).contains(&text.len()) && text.bytes().all(plain) && inner;
            prop_assert_eq!(text.parse::<Name>().is_ok(), fits);
            // Whatever names an app names a unit, too.
            prop_assert!(text.parse::<AppName>().is_err() || fits);
        }

        #[test]
        fn an_app_has_no_upper_case_and_no_two_dashes(text in "[a-zA-Z0-9-]{1,20}") {
            let allowed = text.parse::<Name>().is_ok()
                && text.to_lowercase() == text
                && !text.contains("--");
            prop_assert_eq!(text.parse::<AppName>().is_ok(), allowed);
        }
    }

    fn check(text: &str, expected: Result<(), NameError>) {
        assert_eq!(text.parse::<Name>().map(|_| ()), expected, "{text:?}");
    }

    #[test]
    fn letters_digits_and_inner_dashes_make_a_name() {
        for text in ["hello", "fnA", "src-pkg", "a", "0", &"x".repeat(63)] {
            check(text, Ok(()));
        }
    }

    #[test]
    fn anything_else_is_refused_with_its_reason() {
        check("", Err(NameError::Empty));
        check(&"x".repeat(64), Err(NameError::TooLong("x".repeat(64))));
        for text in ["-a", "a-", "a_b", "a.b", "a/b", "a@b", "a b", "é", "a\n", "..", "a\0"] {
            check(text, Err(NameError::Malformed(text.to_owned())));
        }
    }

    #[test]
    fn an_app_is_a_host_label() {
        assert!("shop".parse::<AppName>().is_ok());
        assert_eq!("Shop".parse::<AppName>(), Err(NameError::UpperCase("Shop".to_owned())));
        assert_eq!("a--b".parse::<AppName>(), Err(NameError::TwoDashes("a--b".to_owned())));
    }
}
