//! The configuration of a group: which schemas, and what a person decided about their changes.
//!
//! Every decision says why (`because`) and knows its line, so that one that decides nothing can
//! be pointed at. Start at [`Config::parse`]; [`unused`] is where idle entries are found.

mod checks;
pub mod entry;
pub mod nearest;
pub mod unused;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::error::Error;
use crate::naming::snake;
use crate::version::Spelling;
use entry::{
    Accept, DefaultValue, Entry, Hub, Kept, Manual, Name, Place, RenameProperty, RenameType, Schema,
};

/// The schema language of a group.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Kubernetes custom resource definitions.
    Crd,
    /// JSON Schema, from draft-04 to 2020-12.
    JsonSchema,
    /// Azure deployment schemas.
    Arm,
}

/// What a configuration file says.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file, for messages.
    pub file: String,
    text: String,
    /// What it says.
    pub said: Said,
}

/// The tables of a configuration file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// The group's name.
    pub group: Entry<String>,
    /// The schemas' language.
    pub format: Format,
    /// Where generated files go, beside the configuration file.
    #[serde(default = "generated")]
    pub output: String,
    /// The Rust module of the group; by default, the group's name in small letters.
    pub module: Option<Entry<String>>,
    /// Whether versions are spelled with the API group their schema names, as in
    /// `library.example/v1`: for schemas of several API groups that are one group here.
    #[serde(default)]
    pub qualified: bool,
    /// Whether types of different names are converted where their shapes allow it.
    #[serde(default = "yes")]
    pub structural: bool,
    /// Whether enums with equal values are one type whatever their names; as `structural` unless
    /// said.
    pub equal_enums: Option<bool>,
    /// Addresses in references, and the directories that stand for them.
    #[serde(default)]
    pub remote: BTreeMap<String, String>,
    /// The schemas.
    #[serde(default)]
    pub schema: Vec<Entry<Schema>>,
    /// Resources and versions to take; without any, all.
    #[serde(default)]
    pub include: Vec<Entry<Kept>>,
    /// Resources and versions to leave out.
    #[serde(default)]
    pub exclude: Vec<Entry<Kept>>,
    /// Versions to store.
    #[serde(default)]
    pub hub: Vec<Entry<Hub>>,
    /// Rust names.
    #[serde(default)]
    pub name: Vec<Entry<Name>>,
    /// Properties kept as free JSON.
    #[serde(default)]
    pub opaque: Vec<Entry<Place>>,
    /// Properties that a hand-written hook converts.
    #[serde(default)]
    pub manual: Vec<Entry<Manual>>,
    /// Values for required properties that are missing.
    #[serde(default)]
    pub default: Vec<Entry<DefaultValue>>,
    /// Properties that changed their name.
    #[serde(default)]
    pub rename_property: Vec<Entry<RenameProperty>>,
    /// Types that changed their name.
    #[serde(default)]
    pub rename_type: Vec<Entry<RenameType>>,
    /// Removals and changes of type that somebody looked at.
    #[serde(default)]
    pub accept: Vec<Entry<Accept>>,
}

/// The entries that decided something, by where they start in the file.
#[derive(Clone, Debug, Default)]
pub struct Uses(BTreeSet<usize>);

impl Uses {
    /// Remembers that an entry decided something.
    pub fn note<T>(&mut self, entry: &Entry<T>) {
        self.0.insert(entry.span().start);
    }

    /// Whether an entry decided something.
    pub fn contains<T>(&self, entry: &Entry<T>) -> bool {
        self.0.contains(&entry.span().start)
    }
}

impl Config {
    /// Reads a configuration file's text.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let said: Said = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            Error::Config {
                file: file.to_owned(),
                line: line_of(text, start),
                what: error.message().to_owned(),
                hint: nearest::hint(error.message()),
            }
        })?;
        let config = Self { file: file.to_owned(), text: text.to_owned(), said };
        config.has_reasons()?;
        checks::names(&config)?;
        Ok(config)
    }

    /// The Rust module of the group.
    pub fn module(&self) -> String {
        match &self.said.module {
            Some(module) => module.get_ref().clone(),
            None => snake(self.group()),
        }
    }

    /// The group's name.
    pub fn group(&self) -> &str {
        self.said.group.get_ref()
    }

    /// How versions are spelled.
    pub fn spelling(&self) -> Spelling {
        if self.said.qualified { Spelling::Qualified } else { Spelling::Plain }
    }

    /// Whether enums with equal values are one type whatever their names.
    pub fn equal_enums(&self) -> bool {
        self.said.equal_enums.unwrap_or(self.said.structural)
    }

    /// An error about an entry.
    pub fn error<T>(&self, entry: &Entry<T>, what: String, hint: String) -> Error {
        self.error_at(entry.span().start, what, hint)
    }

    pub(crate) fn error_at(&self, start: usize, what: String, hint: String) -> Error {
        Error::Config { file: self.file.clone(), line: line_of(&self.text, start), what, hint }
    }

    fn has_reasons(&self) -> Result<(), Error> {
        for decision in self.decisions() {
            if decision.because.trim().is_empty() {
                return Err(self.error_at(
                    decision.start,
                    format!("this [[{}]] does not say why", decision.table),
                    "write the reason after `because =`, for whoever reads this next".to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// Every entry that decides something, in the order of the tables.
    pub(crate) fn decisions(&self) -> Vec<Decision<'_>> {
        let said = &self.said;
        let mut all = Vec::new();
        listed(&mut all, "include", &said.include, |entry| &entry.because);
        listed(&mut all, "exclude", &said.exclude, |entry| &entry.because);
        listed(&mut all, "hub", &said.hub, |entry| &entry.because);
        listed(&mut all, "name", &said.name, |entry| &entry.because);
        listed(&mut all, "opaque", &said.opaque, |entry| &entry.because);
        listed(&mut all, "manual", &said.manual, |entry| &entry.because);
        listed(&mut all, "default", &said.default, |entry| &entry.because);
        listed(&mut all, "rename_property", &said.rename_property, |entry| &entry.because);
        listed(&mut all, "rename_type", &said.rename_type, |entry| &entry.because);
        listed(&mut all, "accept", &said.accept, |entry| &entry.because);
        all
    }
}

/// An entry that decides something, whatever its table.
pub(crate) struct Decision<'a> {
    pub(crate) table: &'static str,
    pub(crate) start: usize,
    pub(crate) because: &'a str,
}

fn listed<'a, T>(
    all: &mut Vec<Decision<'a>>,
    table: &'static str,
    entries: &'a [Entry<T>],
    because: impl Fn(&'a T) -> &'a String,
) {
    all.extend(entries.iter().map(|entry| Decision {
        table,
        start: entry.span().start,
        because: because(entry.get_ref()),
    }));
}

fn line_of(text: &str, start: usize) -> usize {
    let before = text.get(..start).unwrap_or_default();
    1 + before.bytes().filter(|byte| *byte == b'\n').count()
}

fn yes() -> bool {
    true
}

fn generated() -> String {
    "generated".to_owned()
}
