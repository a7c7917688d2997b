//! The schema files of one run, and references between them.
//!
//! Never fetches anything: a reference leads to a file that was read, or to an error.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::error::Error;

/// Schema files by their path, as the configuration names them.
#[derive(Default)]
pub struct Documents {
    files: BTreeMap<Arc<str>, Value>,
    /// Addresses whose files were read from elsewhere, such as `https://example.org/schemas/`,
    /// with the directory that stands for them.
    remotes: BTreeMap<String, String>,
    /// Directories outside that of the schemas whose files may be referred to, because the
    /// configuration names them.
    outside: BTreeSet<String>,
}

/// A place in a schema file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file's path.
    pub file: Arc<str>,
    /// The JSON pointer in it; empty for the whole file.
    pub pointer: String,
}

impl Place {
    /// The place of a part of what is here.
    pub fn at(&self, step: impl fmt::Display) -> Self {
        let step = step.to_string().replace('~', "~0").replace('/', "~1");
        Self { file: Arc::clone(&self.file), pointer: format!("{}/{step}", self.pointer) }
    }

    /// The last step of the pointer, unescaped: the name of a definition.
    pub fn name(&self) -> String {
        let last = self.pointer.rsplit('/').next().unwrap_or_default();
        last.replace("~1", "/").replace("~0", "~")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}#{}", self.file, self.pointer)
    }
}

/// A schema and where it stands.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// The schema.
    pub value: &'a Value,
    /// Where it stands.
    pub place: Place,
}

impl<'a> Node<'a> {
    /// A part of the schema, if it has it.
    pub fn get(&self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| Self { value, place: self.place.at(key) })
    }

    /// The parts of a list in the schema; none if there is no such list.
    pub fn list(&self, key: &str) -> Vec<Self> {
        let Some(list) = self.get(key) else { return Vec::new() };
        let items = list.value.as_array().into_iter().flatten().enumerate();
        items.map(|(index, value)| Node { value, place: list.place.at(index) }).collect()
    }

    /// The named parts of a table in the schema; none if there is no such table.
    pub fn table(&self, key: &str) -> Vec<(&'a str, Self)> {
        let Some(table) = self.get(key) else { return Vec::new() };
        let entries = table.value.as_object().into_iter().flatten();
        entries
            .map(|(name, value)| (name.as_str(), Node { value, place: table.place.at(name) }))
            .collect()
    }

    /// The text of a part, empty if there is none.
    pub fn text(&self, key: &str) -> &'a str {
        self.value.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Documents {
    /// Makes the directory stand for an address in references.
    pub fn stand_for(&mut self, address: &str, directory: &str) {
        self.remotes.insert(address.to_owned(), directory.to_owned());
    }

    /// Lets references lead to the files below a directory, wherever it is.
    pub fn open(&mut self, directory: &str) {
        let directory = normal(directory);
        if is_outside(&directory) {
            self.outside.insert(directory);
        }
    }

    /// Whether references may lead to the file: it is below the directory of the schemas, or below
    /// one that the configuration names.
    pub fn is_open(&self, path: &str) -> bool {
        let is_below = |directory: &String| {
            path.strip_prefix(directory.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        !is_outside(path) || self.outside.iter().any(is_below)
    }

    /// Adds a file.
    pub fn insert(&mut self, path: &str, value: Value) {
        self.files.insert(path.into(), value);
    }

    /// Whether the file was read.
    pub fn contains(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The whole of a file.
    pub fn root(&self, path: &str) -> Option<Node<'_>> {
        let (file, value) = self.files.get_key_value(path)?;
        Some(Node { value, place: Place { file: Arc::clone(file), pointer: String::new() } })
    }

    /// The file that a reference from `from` names, if it may name one: a path beside it, or an
    /// address that a directory stands for.
    pub fn file_of(&self, from: &str, reference: &str) -> Option<String> {
        let path = reference.split('#').next().unwrap_or_default();
        if path.is_empty() {
            return Some(from.to_owned());
        }
        if let Some((address, directory)) =
            self.remotes.iter().find(|(address, _)| path.starts_with(address.as_str()))
        {
            let rest = path[address.len()..].trim_start_matches('/');
            return Some(normal(&format!("{directory}/{rest}")));
        }
        if path.contains("://") {
            return None;
        }
        match from.rsplit_once('/') {
            Some((folder, _)) => Some(normal(&format!("{folder}/{path}"))),
            None => Some(normal(path)),
        }
    }

    /// The schema that a reference at `from` leads to.
    pub fn follow(&self, from: &Place, reference: &str) -> Result<Node<'_>, Error> {
        let root = self.base_of(from, reference);
        let Some(file) = root.or_else(|| self.file_of(&from.file, reference)) else {
            return Err(Error::schema(
                from,
                format!("`$ref` leads out of the schemas: {reference}"),
                "nothing is fetched: save the file, and name its directory under `[remote]`",
            ));
        };
        if !self.is_open(&file) {
            return Err(Error::schema(
                from,
                format!("`$ref` leads out of the directory of schemas: {reference}"),
                format!(
                    "copy {file} below that directory, or name a directory above with --schemas"
                ),
            ));
        }
        let Some(node) = self.root(&file) else {
            return Err(Error::schema(
                from,
                format!("`$ref` leads to a file that is not there: {reference}"),
                format!("add the file {file}, or correct the reference"),
            ));
        };
        let pointer = reference.split_once('#').map_or("", |(_, pointer)| pointer);
        let pointer = unescaped(pointer);
        match node.value.pointer(&pointer) {
            Some(value) => Ok(Node { value, place: Place { file: node.place.file, pointer } }),
            None => Err(Error::schema(
                from,
                format!("`$ref` leads to nothing: {reference}"),
                format!("define `{pointer}` in {file}, or correct the reference"),
            )),
        }
    }

    /// The file itself, where a reference spells out the file's own `id` or `$id`.
    fn base_of(&self, from: &Place, reference: &str) -> Option<String> {
        let address = reference.split('#').next().filter(|address| address.contains("://"))?;
        let root = self.files.get(&from.file)?;
        let own = root.get("$id").or_else(|| root.get("id")).and_then(Value::as_str)?;
        (own.trim_end_matches('#') == address).then(|| from.file.to_string())
    }
}

/// Whether a path without idle steps leads out of the directory it starts in.
fn is_outside(path: &str) -> bool {
    path.starts_with('/') || path == ".." || path.starts_with("../")
}

/// Every reference to another file in a schema, for reading the files before they are followed.
pub fn references(value: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(items) => rest.extend(items),
            Value::Object(entries) => {
                let reference = entries.get("$ref").and_then(Value::as_str);
                found.extend(reference.filter(|text| !text.starts_with('#')));
                rest.extend(entries.values());
            }
            _ => {}
        }
    }
    found
}

/// A path without `.`, `..` and empty steps.
pub(crate) fn normal(path: &str) -> String {
    let absolute = if path.starts_with('/') && !path.starts_with("//") { "/" } else { "" };
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." if steps.last().is_some_and(|last| *last != "..") => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    format!("{absolute}{}", steps.join("/"))
}

/// A pointer as it stands in a reference, with `%20` and the like resolved.
fn unescaped(pointer: &str) -> String {
    let bytes = pointer.as_bytes();
    let mut text = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let code = pointer.get(index + 1..index + 3).filter(|_| bytes[index] == b'%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                text.push(byte);
                index += 3;
            }
            None => {
                text.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
