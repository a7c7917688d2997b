//! What is asked for in documents that could not be read. It may be anything such a document says, so nothing that
//! might be in one is missed: whoever mends a document does not want to hear that it is not there.

use std::collections::HashSet;

use folio_model::{Kind, Name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A document that whoever applies could not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnreadDocument {
    /// Its kind, as far as that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its name, as far as that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl UnreadDocument {
    /// What a manifest says of itself, however wrong the rest of it is.
    pub fn of(manifest: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Self { kind: text(&manifest["kind"]), name: text(&manifest["metadata"]["name"]) }
    }
}

/// What documents that could not be read may ask for.
#[derive(Debug, Default)]
pub(super) struct Unread {
    names: HashSet<(Kind, String)>,
    /// Whether something does not even say what it is.
    anything: bool,
}

impl Unread {
    /// Adds a document.
    pub(super) fn add(&mut self, document: UnreadDocument) {
        let UnreadDocument { kind, name } = document;
        let kind = kind.as_deref().map(unit_kind);
        match (kind, name) {
            (Some(Some(kind)), Some(name)) => {
                self.names.insert((kind, name));
            }
            // It is no unit, so nothing can miss it.
            (Some(None), _) => {}
            _ => self.anything = true,
        }
    }

    /// Whether a unit may be asked for in one of them.
    pub(super) fn may_have(&self, kind: Kind, name: &Name) -> bool {
        self.anything || self.names.contains(&(kind, name.to_string()))
    }
}

/// What the units of a kind of manifests are.
fn unit_kind(kind: &str) -> Option<Kind> {
    match kind {
        "Function" => Some(Kind::Function),
        "Package" => Some(Kind::Package),
        "Environment" => Some(Kind::Environment),
        "Config" => Some(Kind::Config),
        "Secret" => Some(Kind::Secret),
        kind if kind.ends_with("Trigger") => Some(Kind::Trigger),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_may_be_in_a_document_is_not_missed() {
        let name: Name = "hello".parse().unwrap();
        let mut unread = Unread::default();
        let mut check = |manifest: Value, expected: [bool; 2]| {
            unread.add(UnreadDocument::of(&manifest));
            let found = [Kind::Package, Kind::Trigger].map(|kind| unread.may_have(kind, &name));
            assert_eq!(found, expected, "{manifest}");
        };
        check(json!({ "kind": "Package", "metadata": { "name": "other" } }), [false, false]);
        check(json!({ "kind": "FunctionAlias" }), [false, false]);
        check(json!({ "kind": "Package", "metadata": { "name": "hello" } }), [true, false]);
        check(json!({ "metadata": { "name": "hello" } }), [true, true]);
    }
}
