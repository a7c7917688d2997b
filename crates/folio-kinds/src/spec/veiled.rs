//! What may be kept of a secret that kubectl applied. It notes the whole manifest in an annotation, which whoever may see
//! the secret reads; there, too, something else has to stand for the values.

use hub::Value;
use hub::serde_json::{Map, from_str, json};

use super::LAST_APPLIED;

/// Where the manifest of a secret has its values.
const VALUES: [&str; 2] = ["data", "stringData"];

/// What else it may have. A value under a misspelt name is still a value, so nothing but this is kept.
const KEPT: [&str; 5] = ["apiVersion", "immutable", "kind", "metadata", "type"];

/// What kubectl noted of a secret, with what is shown of each value in its place.
///
/// What is shown no more leaves its key, so that kubectl finds out what to remove. None if it cannot be read, as nobody can
/// tell what is in it then.
pub fn veiled(noted: &str, shown: &Map<String, Value>) -> Option<String> {
    let Value::Object(mut said) = from_str(noted).ok()? else { return None };
    said.retain(|key, _| KEPT.contains(&key.as_str()) || VALUES.contains(&key.as_str()));
    for part in VALUES {
        let Some(values) = said.get_mut(part) else { continue };
        let keys = values.as_object().into_iter().flatten().map(|(key, _)| key.clone());
        let stand_in = |key: String| {
            let value = shown.get(&key).cloned().unwrap_or_else(|| "".into());
            (key, value)
        };
        *values = Value::Object(keys.map(stand_in).collect());
    }
    match said.get_mut("metadata") {
        Some(Value::Object(metadata)) => {
            if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
                annotations.remove(LAST_APPLIED);
            }
        }
        Some(other) => *other = json!({}),
        None => {}
    }
    Some(Value::Object(said).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(noted: &Value, expected: &Value) {
        let Value::Object(shown) = json!({ "a": "FA", "b": "FB" }) else { return };
        let found = veiled(&noted.to_string(), &shown).unwrap();
        assert_eq!(from_str::<Value>(&found).unwrap(), *expected);
        assert_eq!(veiled(&found, &shown), Some(found), "twice is the same");
    }

    #[test]
    fn values_are_not_kept_wherever_they_stand() {
        check(
            &json!({ "kind": "Secret", "type": "Opaque", "metadata": { "name": "s" },
                "data": { "a": "hush" }, "stringData": { "b": "hush", "c": "hush" } }),
            &json!({ "kind": "Secret", "type": "Opaque", "metadata": { "name": "s" },
                "data": { "a": "FA" }, "stringData": { "b": "FB", "c": "" } }),
        );
        check(&json!({ "stringdata": { "a": "hush" }, "spec": { "a": "hush" } }), &json!({}));
        check(
            &json!({ "data": "hush", "stringData": ["hush"] }),
            &json!({ "data": {}, "stringData": {} }),
        );
        check(&json!({ "data": { "a": { "b": "hush" } } }), &json!({ "data": { "a": "FA" } }));
        let nested = json!({ "annotations": { LAST_APPLIED: "hush", "x": "y" } });
        check(
            &json!({ "metadata": nested }),
            &json!({ "metadata": { "annotations": { "x": "y" } } }),
        );
    }

    #[test]
    fn what_cannot_be_read_is_not_kept() {
        for noted in ["", "hush", "[\"hush\"]", "{\"data\": {\"a\": \"hush\"}"] {
            assert_eq!(veiled(noted, &Map::new()), None);
        }
    }
}
