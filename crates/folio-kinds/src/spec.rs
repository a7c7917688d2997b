//! Manifests as directories of them are written for Fission.
//!
//! Several are in a file, keys have any letter case, numbers stand where texts belong, and parts are left out. Start
//! at [`split`] for a file, [`Document::parse`] for a document and [`unit()`] for what it asks for. The way back is
//! [`mod@write`].

mod habits;
mod lasting;
mod namespaces;
mod parts;
mod places;
mod pointer;
mod rest;
pub(crate) mod rules;
mod settings;
mod unit;
mod veiled;
mod words;
pub mod write;

use hub::Value;

pub use self::habits::{METADATA, Taken, Written, taken, written};
pub use self::lasting::{LAST_APPLIED, lasting};
pub use self::namespaces::{Stray, move_into, strays};
pub use self::parts::{Part, Words, path_of};
pub use self::places::Places;
pub use self::pointer::{AliasAsked, AskedVersion, CanaryAsked, PointerAsked, pointer};
pub use self::rest::without;
pub use self::rules::{LITERAL_BYTES_MAX, check_literal};
pub use self::unit::{Contents, Unit, unit};
pub use self::veiled::veiled;
pub use self::words::{ASKED, Asked};
use crate::manifest::{Manifest, ManifestError};

/// Refuses a manifest that is not as its version says, or says what no manifest may.
pub fn checked(manifest: &Manifest) -> Result<(), ManifestError> {
    manifest.check().map(|_| ())
}

/// A document of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    /// The line of the file on which it begins, counted from 1.
    pub line: usize,
    /// What it says.
    pub text: &'a str,
}

/// Cuts a file into documents where a line begins with three dashes, whatever it means as YAML, and leaves out those
/// that say nothing.
pub fn split(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let mut line = 1;
    for part in text.strip_prefix("---").unwrap_or(text).split("\n---") {
        let says = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        if part.lines().any(says) {
            documents.push(Document { line, text: part });
        }
        line += part.matches('\n').count() + 1;
    }
    documents
}

/// A document that is no YAML, or no object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The line of its file.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// What is wrong.
    pub what: String,
}

impl Document<'_> {
    /// Reads what it says.
    pub fn parse(&self) -> Result<Value, Unread> {
        let unread = |(line, column), what: &str| Unread {
            line: self.line + line - 1,
            column,
            what: what.to_owned(),
        };
        let parsed: Result<Value, _> = serde_saphyr::from_str(self.text);
        let value = parsed.map_err(|error| {
            let error = error.without_snippet();
            let place = error.location().map(|place| (place.line(), place.column()));
            let (line, column) = place.unwrap_or((1, 1));
            let index = |place| usize::try_from(place).unwrap_or(1).max(1);
            let text = error.to_string();
            let what = text.lines().next().unwrap_or_default();
            // The place is said in the file, not in the document.
            let what = what.split_once(" at line ").map_or(what, |(what, _)| what);
            unread((index(line), index(column)), what)
        })?;
        if value.is_object() { Ok(value) } else { Err(unread((1, 1), "it is not an object")) }
    }

    /// Where its parts are. Reads it once more, for whoever has to say where something is wrong.
    pub fn places(&self) -> Places {
        Places::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_cut_at_lines_of_dashes() {
        let text = "a: 1\n---\n# only words\n\n---\nb: 2\n--- # more\nc: 3\n";
        let found: Vec<_> = split(text).into_iter().map(|document| document.line).collect();
        assert_eq!(found, [1, 5, 7]);
        let values: Vec<_> = split(text).iter().map(|document| document.parse().unwrap()).collect();
        assert_eq!(values[2]["c"], 3);
        assert_eq!(split("---\na: 1\n").len(), 1);
        assert_eq!(split("# nothing\n"), []);
    }

    #[test]
    fn bombs_and_depths_are_refused() {
        let check = |text: &str| {
            let document = Document { line: 1, text };
            assert!(document.parse().is_err(), "{}", &text[..40.min(text.len())]);
        };
        check("[1, 2]");
        check("a: [");
        check("a: &a [*a]");
        check("a: &a {<<: *a}");
        check(&format!("a: {}1{}", "[".repeat(100_000), "]".repeat(100_000)));
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = format!("*a{}", level - 1);
            let list = vec![below; 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{list}]\n"));
        }
        check(&bomb);
    }
}
