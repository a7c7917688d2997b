//! References: how people, APIs and manifests name a unit and one of its versions. The only parser and the
//! only printer of `app/name@qualifier`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AppName, Name, NameError, Number, VersionId, VersionIdError};

/// The longest app, name or id.
const LABEL_BYTES_MAX: usize = 63;
/// The longest reference: three labels, a `/` and an `@`.
const REFERENCE_BYTES_MAX: usize = 3 * LABEL_BYTES_MAX + 2;

/// What stands behind the `@`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Qualifier {
    /// Digits: the version with this number.
    Number(Number),
    /// Anything else: the version with this id, or the alias of this name.
    Named(VersionId),
    /// The last surviving version.
    Latest,
    /// The unpublished state.
    Draft,
}

/// A unit and, perhaps, which of its versions. Unqualified means the draft if there is one, else latest.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Reference {
    /// The app, if it was written.
    pub app: Option<AppName>,
    /// The unit's name, or what may be a unit and a version joined.
    pub name: Subject,
    /// Which version.
    pub at: Option<Qualifier>,
}

/// The part of a reference before the `@`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A well-formed name, which may still turn out to be `name-id`.
    Name(Name),
    /// A text that only makes sense as `name_id` or `name-id`, such as `hello_v1.0.0`.
    Joined(String),
}

impl Subject {
    /// The text as written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Name(name) => name.as_str(),
            Self::Joined(text) => text,
        }
    }

    /// Every way to read the text as a name and a qualifier joined by `-` or `_`, shortest name first.
    pub fn splits(&self) -> impl Iterator<Item = (Name, Qualifier)> + '_ {
        let text = self.as_str();
        let separators =
            text.match_indices(['-', '_']).take_while(|(at, _)| *at <= LABEL_BYTES_MAX);
        separators.filter_map(|(at, _)| {
            let name = text[..at].parse().ok()?;
            let qualifier = text[at + 1..].parse().ok()?;
            Some((name, qualifier))
        })
    }
}

/// Why a text is not a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The app's name is malformed.
    #[error("the app before `/`: {0}")]
    App(NameError),
    /// The unit's name is malformed.
    #[error(transparent)]
    Name(NameError),
    /// A qualifier by itself is malformed.
    #[error(transparent)]
    Qualifier(#[from] VersionIdError),
    /// The qualifier of a reference is.
    #[error("after `@`: {0}")]
    At(VersionIdError),
    /// Longer than three labels.
    #[error("a reference has at most {REFERENCE_BYTES_MAX} characters")]
    TooLong,
    /// A number outside 1 to 2^63-1.
    #[error("`{0}` is not a version number; numbers start at 1")]
    Number(String),
}

impl Reference {
    /// A reference to a unit without saying which version.
    pub fn to(name: Name) -> Self {
        Self { app: None, name: Subject::Name(name), at: None }
    }

    /// The same unit at a given version.
    #[must_use]
    pub fn at(self, at: Qualifier) -> Self {
        Self { at: Some(at), ..self }
    }
}

impl FromStr for Qualifier {
    type Err = ReferenceError;
    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text {
            "latest" => Ok(Self::Latest),
            "draft" => Ok(Self::Draft),
            _ if digits => text
                .parse()
                .ok()
                .and_then(Number::new)
                .map(Self::Number)
                .ok_or_else(|| ReferenceError::Number(text.to_owned())),
            _ => Ok(Self::Named(text.parse()?)),
        }
    }
}

impl fmt::Display for Qualifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Named(id) => id.fmt(f),
            Self::Latest => f.write_str("latest"),
            Self::Draft => f.write_str("draft"),
        }
    }
}

impl FromStr for Subject {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        match text.parse() {
            Ok(name) => Ok(Self::Name(name)),
            Err(reason) => {
                let joined = Self::Joined(text.to_owned());
                let readable = joined.splits().next().is_some();
                if readable { Ok(joined) } else { Err(reason) }
            }
        }
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;
    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        if text.len() > REFERENCE_BYTES_MAX {
            return Err(ReferenceError::TooLong);
        }
        let (app, rest) = match text.split_once('/') {
            Some((app, rest)) => (Some(app.parse().map_err(ReferenceError::App)?), rest),
            None => (None, text),
        };
        let (name, at) = match rest.split_once('@') {
            Some((name, at)) => {
                let at = at.parse().map_err(|error| match error {
                    ReferenceError::Qualifier(reason) => ReferenceError::At(reason),
                    other => other,
                });
                (name, Some(at?))
            }
            None => (rest, None),
        };
        // With a qualifier written out, the name is a name and nothing joined.
        let name = match at {
            Some(_) => Subject::Name(name.parse().map_err(ReferenceError::Name)?),
            None => name.parse().map_err(ReferenceError::Name)?,
        };
        Ok(Self { app, name, at })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(app) = &self.app {
            write!(f, "{app}/")?;
        }
        f.write_str(self.name.as_str())?;
        match &self.at {
            Some(at) => write!(f, "@{at}"),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for Qualifier {
    type Error = ReferenceError;
    fn try_from(text: String) -> Result<Self, ReferenceError> {
        text.parse()
    }
}

impl TryFrom<String> for Reference {
    type Error = ReferenceError;
    fn try_from(text: String) -> Result<Self, ReferenceError> {
        text.parse()
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> Self {
        reference.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_qualifier() -> impl Strategy<Value = Qualifier> {
        prop_oneof![
            Just(Qualifier::Latest),
            Just(Qualifier::Draft),
            (1..=i64::MAX as u64).prop_map(|n| Qualifier::Number(Number::new(n).unwrap())),
            "[a-z][a-z0-9._-]{0,8}"
                .prop_filter_map("reserved", |text| text.parse().ok().map(Qualifier::Named)),
        ]
    }

    fn any_reference() -> impl Strategy<Value = Reference> {
        let name = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,8}[a-z0-9])?".prop_map(|text| text.parse().unwrap());
        let app = proptest::option::of("[a-z0-9]{1,8}".prop_map(|text| text.parse().unwrap()));
        (app, name, proptest::option::of(any_qualifier())).prop_map(|(app, name, at)| Reference {
            app,
            name: Subject::Name(name),
            at,
        })
    }

    proptest! {
        #[test]
        fn a_printed_reference_reads_back(reference in any_reference()) {
            prop_assert_eq!(reference.to_string().parse(), Ok(reference));
        }

        #[test]
        fn whatever_parses_prints_as_it_was_written(text in "[a-z0-9/@._-]{0,16}") {
            // Leading zeros are the one spelling that is not kept.
            if let Ok(reference) = text.parse::<Reference>() {
                let printed = reference.to_string();
                prop_assert!(printed == text || text.contains("@0"), "{} printed as {}", text, printed);
            }
        }
    }

    #[test]
    fn the_five_forms_parse() {
        for text in ["hello", "hello@3", "hello@v1.0.0", "hello@qa", "hello@latest", "shop/hello@3"]
        {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn joined_forms_list_every_reading() {
        let readings = |text: &str| -> Vec<String> {
            let subject: Subject = text.parse().unwrap();
            subject.splits().map(|(name, at)| format!("{name}@{at}")).collect()
        };
        assert_eq!(readings("hello_v1.0.0"), ["hello@v1.0.0"]);
        assert_eq!(readings("a-b-c"), ["a@b-c", "a-b@c"]);
        assert_eq!(readings("hello"), [""; 0]);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "@",
            "a@",
            "@1",
            "a@0",
            "a@all",
            "a@live",
            "a@@b",
            "a/b/c",
            "A/b",
            "a@99999999999999999999",
            "_x",
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text}");
        }
    }
}
