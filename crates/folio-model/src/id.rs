//! Ids of versions: what the user gave (`v1.0.0`) or five random characters. Never all digits, because
//! digits are numbers; never a reserved word. Aliases share the type, because they share the namespace.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::name::text_type;

/// Words that mean something by themselves after an `@` or in `--version`.
pub const RESERVED: [&str; 4] = ["latest", "draft", "live", "all"];

const ID_BYTES_MAX: usize = 63;
const GENERATED_LENGTH: usize = 5;
/// No vowels (no accidental words), no look-alikes.
const ALPHABET: &[u8; 26] = b"bcdfghjkmnpqrstvwxz2456789";

text_type! {
    /// The id of a version, or the name of an alias or tag: one namespace, one rule.
    VersionId, VersionIdError, check
}

/// Why a text is not an id or an alias.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionIdError {
    /// Nothing was given.
    #[error("an id or alias cannot be empty")]
    Empty,
    /// Longer than a label.
    #[error("`{0}` is longer than {ID_BYTES_MAX} characters")]
    TooLong(String),
    /// A character outside the alphabet.
    #[error(
        "`{0}` may hold only letters, digits, `.`, `_` and `-`, and starts with a letter or digit"
    )]
    Malformed(String),
    /// Digits only, which always means a number.
    #[error(
        "`{0}` looks like a version number; an id or alias needs a character that is not a digit"
    )]
    Number(String),
    /// One of [`RESERVED`].
    #[error("`{0}` is a reserved word")]
    Reserved(String),
}

/// Random bytes handed in by the caller, so that a test can own chance.
pub type Chance<'a> = &'a mut dyn FnMut() -> u8;

impl VersionId {
    /// Makes a random id: five characters, at least one of them a letter.
    pub fn generate(chance: Chance<'_>) -> Self {
        loop {
            let text: String =
                std::iter::repeat_with(|| draw(chance)).take(GENERATED_LENGTH).collect();
            if let Ok(id) = text.parse() {
                return id;
            }
        }
    }
}

/// Draws one character, rejecting bytes that would make some characters likelier than others.
fn draw(chance: Chance<'_>) -> char {
    let fair = u8::MAX - u8::MAX % 26;
    loop {
        let byte = chance();
        if byte < fair {
            return char::from(ALPHABET[usize::from(byte % 26)]);
        }
    }
}

fn check(text: &str) -> Result<(), VersionIdError> {
    let refuse = |reason: fn(String) -> VersionIdError| Err(reason(text.to_owned()));
    let alphabet = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match text.as_bytes().first() {
        None => Err(VersionIdError::Empty),
        _ if text.len() > ID_BYTES_MAX => refuse(VersionIdError::TooLong),
        Some(first) if !first.is_ascii_alphanumeric() => refuse(VersionIdError::Malformed),
        _ if !text.bytes().all(alphabet) => refuse(VersionIdError::Malformed),
        _ if text.bytes().all(|byte| byte.is_ascii_digit()) => refuse(VersionIdError::Number),
        _ if RESERVED.contains(&text) => refuse(VersionIdError::Reserved),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_generated_id_is_five_characters_and_never_a_number(bytes in proptest::collection::vec(any::<u8>(), 64)) {
            let mut bytes = bytes.into_iter().cycle().chain(std::iter::repeat(0));
            let mut fallback = 0_u8;
            let id = VersionId::generate(&mut || {
                fallback = fallback.wrapping_add(37);
                bytes.next().unwrap_or(0).wrapping_add(fallback)
            });
            prop_assert_eq!(id.as_str().len(), 5);
            prop_assert!(id.as_str().bytes().all(|byte| ALPHABET.contains(&byte)));
            prop_assert!(id.as_str().parse::<u64>().is_err());
        }

        #[test]
        fn a_printed_id_reads_back(text in "[A-Za-z0-9._-]{1,70}") {
            if let Ok(id) = text.parse::<VersionId>() {
                prop_assert_eq!(id.to_string().parse(), Ok(id));
            }
        }

        #[test]
        fn digits_alone_are_never_an_id(number: u64) {
            let text = number.to_string();
            prop_assert_eq!(text.parse::<VersionId>(), Err(VersionIdError::Number(text)));
        }
    }

    #[test]
    fn what_users_write_is_an_id() {
        for text in ["v1.0.0", "1.0.2", "bla", "owf", "2024-01-01", "qa", "Prod", "1e5", "a_b"] {
            assert!(text.parse::<VersionId>().is_ok(), "{text}");
        }
    }

    #[test]
    fn reserved_words_and_odd_texts_are_refused() {
        for text in RESERVED {
            assert_eq!(text.parse::<VersionId>(), Err(VersionIdError::Reserved(text.to_owned())));
        }
        for text in [".a", "-a", "_a", "a b", "a@b", "a/b", "ä", "a\u{0}"] {
            assert_eq!(text.parse::<VersionId>(), Err(VersionIdError::Malformed(text.to_owned())));
        }
    }
}
