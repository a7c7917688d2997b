//! The words in which an object was asked for that is no unit. No snapshot holds them, so they are kept beside it, with
//! every field that its version does not know, and are back when it is shown in that version.

use hub::Value;
use hub::serde_json::{Map, from_str, json};

use super::written;

/// The annotation in which they are kept. Nobody sees it.
pub const ASKED: &str = "folio.dev/asked";

/// What a manifest said, its metadata aside.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked(Map<String, Value>);

impl Asked {
    /// The words of a manifest; none if it asks for nothing.
    pub fn of(manifest: &Value) -> Option<Self> {
        let mut said = manifest.as_object()?.clone();
        said.retain(|key, _| key != "metadata" && key != "status");
        said.get("spec").is_some_and(Value::is_object).then_some(Self(said))
    }

    /// Reads what an annotation keeps. Once it was a spec alone.
    pub fn read(text: &str) -> Option<Self> {
        let Value::Object(said) = from_str(text).ok()? else { return None };
        match said.contains_key("apiVersion") && said.contains_key("spec") {
            true => Some(Self(said)),
            false => Some(Self(Map::from_iter([("spec".to_owned(), Value::Object(said))]))),
        }
    }

    /// What an annotation keeps.
    pub fn text(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    /// What it asked for.
    pub fn spec(&self) -> &Value {
        self.0.get("spec").unwrap_or(&Value::Null)
    }

    /// Adds the fields that nobody knows to an object that is shown in a version, if they were written in that one.
    pub fn restore(&self, version: &str, object: &mut Map<String, Value>) {
        if self.0.get("apiVersion").and_then(Value::as_str) != Some(version) {
            return;
        }
        for path in self.unknown() {
            let (said, shown, field) = match path.strip_prefix("spec.") {
                Some(field) => {
                    let shown = object.get_mut("spec").and_then(Value::as_object_mut);
                    (self.spec().get(field), shown, field)
                }
                None => (self.0.get(&path), Some(&mut *object), path.as_str()),
            };
            if let (Some(said), Some(shown)) = (said, shown) {
                shown.entry(field).or_insert_with(|| said.clone());
            }
        }
    }

    /// The fields that its version does not know.
    pub fn unknown(&self) -> Vec<String> {
        let mut manifest = self.0.clone();
        manifest.insert("metadata".to_owned(), json!({ "name": "any" }));
        let written = written(Value::Object(manifest)).ok().flatten();
        written.map(|written| written.unknown).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        let manifest = json!({
            "apiVersion": "fission.io/v1", "kind": "CanaryConfig", "metadata": { "name": "c" },
            "spec": { "trigger": "r", "color": "blue" }, "owners": ["me"], "status": {},
        });
        Asked::of(&manifest).unwrap()
    }

    #[test]
    fn unknown_fields_are_back_in_their_version_only() {
        let kept = Asked::read(&asked().text()).unwrap();
        assert_eq!(kept, asked());
        let mut shown = Map::from_iter([("spec".to_owned(), json!({ "trigger": "other" }))]);
        kept.restore("folio.dev/v1", &mut shown);
        assert_eq!(Value::Object(shown.clone()), json!({ "spec": { "trigger": "other" } }));
        kept.restore("fission.io/v1", &mut shown);
        let expected = json!({ "spec": { "trigger": "other", "color": "blue" }, "owners": ["me"] });
        assert_eq!(Value::Object(shown), expected);
    }

    #[test]
    fn a_spec_alone_is_read_too() {
        let old = Asked::read(r#"{"trigger":"r"}"#).unwrap();
        assert_eq!(old.spec(), &json!({ "trigger": "r" }));
        assert_eq!(old.unknown(), Vec::<String>::new());
        assert_eq!(Asked::read("nothing"), None);
    }
}
