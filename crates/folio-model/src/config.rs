//! Configs: named settings of an app, nested as one writes them. A function's version freezes those it names.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::name::text_type;
use crate::snapshot::{Bag, SnapshotError};

/// The longest key of a config or secret.
pub(crate) const KEY_BYTES_MAX: usize = 253;

/// What one config or secret may hold in all, keys and values together.
pub(crate) const SETTINGS_BYTES_MAX: usize = 1024 * 1024;

/// What a config says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigSpec {
    /// The values by key; those of `db.pool.size` and `db.host` are together under `db`.
    pub values: BTreeMap<String, Value>,
    /// What a manifest says beyond this; folio keeps it and never reads it.
    #[serde(rename = "$bag", default, skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

/// Why a text is not the key of a setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a key: a key has words of letters, digits, `-` and `_`, with a dot between two of them, \
     and at most {KEY_BYTES_MAX} bytes"
)]
pub struct ConfigKeyError(String);

text_type! {
    /// Where a value is in a config: words with dots between them, such as `db.pool.size`.
    ConfigKey, ConfigKeyError, check_key
}

fn check_key(text: &str) -> Result<(), ConfigKeyError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let word = |word: &str| !word.is_empty() && word.bytes().all(plain);
    let fits = text.len() <= KEY_BYTES_MAX && text.split('.').all(word);
    if fits { Ok(()) } else { Err(ConfigKeyError(text.to_owned())) }
}

impl ConfigKey {
    fn words(&self) -> (Vec<&str>, &str) {
        let mut words: Vec<_> = self.as_str().split('.').collect();
        let last = words.pop().expect("a key has a word");
        (words, last)
    }
}

impl ConfigSpec {
    /// The value at a key, which may hold further ones.
    pub fn get(&self, key: &ConfigKey) -> Option<&Value> {
        let mut words = key.as_str().split('.');
        let first = self.values.get(words.next()?)?;
        words.try_fold(first, |value, word| value.get(word))
    }

    /// Sets the value at a key. What stood there goes, with everything below it, and a plain value on the way
    /// gives place.
    pub fn set(&mut self, key: &ConfigKey, value: Value) {
        let (above, last) = key.words();
        let mut words = above.into_iter();
        let Some(first) = words.next() else {
            self.values.insert(last.to_owned(), value);
            return;
        };
        let first = self.values.entry(first.to_owned()).or_insert(Value::Null);
        let holder = words
            .fold(object(first), |holder, word| object(holder.entry(word).or_insert(Value::Null)));
        holder.insert(last.to_owned(), value);
    }

    /// Removes the value at a key, with everything below it, and what is left empty by that. Says whether there
    /// was one.
    pub fn unset(&mut self, key: &ConfigKey) -> bool {
        let mut map: Map<String, Value> = std::mem::take(&mut self.values).into_iter().collect();
        let words: Vec<_> = key.as_str().split('.').collect();
        let found = remove(&mut map, &words);
        self.values = map.into_iter().collect();
        found
    }

    /// Every single value with its key, by key. A list is one value.
    pub fn leaves(&self) -> BTreeMap<String, &Value> {
        let mut leaves = BTreeMap::new();
        for (word, value) in &self.values {
            collect(word.clone(), value, &mut leaves);
        }
        leaves
    }

    pub(crate) fn validate(&self) -> Result<(), SnapshotError> {
        let leaves = self.leaves();
        let mut bytes = 0;
        for (key, value) in &leaves {
            key.parse::<ConfigKey>()?;
            bytes += key.len() + text_of(value).len();
        }
        if bytes > SETTINGS_BYTES_MAX { Err(SnapshotError::SettingsTooLarge) } else { Ok(()) }
    }
}

/// A value as code reads it: a text as it is, anything else as JSON.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it was made one")
}

fn remove(map: &mut Map<String, Value>, words: &[&str]) -> bool {
    let [word, below @ ..] = words else { return false };
    if below.is_empty() {
        return map.remove(*word).is_some();
    }
    let Some(Value::Object(inner)) = map.get_mut(*word) else { return false };
    let found = remove(inner, below);
    if inner.is_empty() {
        map.remove(*word);
    }
    found
}

fn collect<'a>(key: String, value: &'a Value, leaves: &mut BTreeMap<String, &'a Value>) {
    match value {
        Value::Object(inner) => {
            for (word, value) in inner {
                collect(format!("{key}.{word}"), value, leaves);
            }
        }
        other => {
            leaves.insert(key, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(text: &str) -> ConfigKey {
        text.parse().unwrap()
    }

    fn flat(config: &ConfigSpec) -> Vec<String> {
        config.leaves().iter().map(|(key, value)| format!("{key}={}", text_of(value))).collect()
    }

    #[test]
    fn values_are_nested_by_the_words_of_their_keys() {
        let mut config = ConfigSpec::default();
        config.set(&key("db.pool.size"), json!(5));
        config.set(&key("db.host"), json!("local"));
        config.set(&key("motd"), json!("a b"));
        assert_eq!(flat(&config), ["db.host=local", "db.pool.size=5", "motd=a b"]);
        assert_eq!(config.get(&key("db.pool")), Some(&json!({ "size": 5 })));
        config.set(&key("db"), json!([1]));
        assert_eq!(flat(&config), ["db=[1]", "motd=a b"]);
        config.set(&key("db.host"), json!(true));
        assert_eq!(flat(&config), ["db.host=true", "motd=a b"]);
    }

    #[test]
    fn what_is_left_empty_goes_too() {
        let mut config = ConfigSpec::default();
        config.set(&key("db.pool.size"), json!(5));
        assert!(!config.unset(&key("db.pool.size.more")));
        assert!(!config.unset(&key("db.other")));
        assert!(config.unset(&key("db.pool.size")));
        assert_eq!(config, ConfigSpec::default());
    }

    #[test]
    fn a_key_is_words_between_dots() {
        for odd in ["", ".a", "a..b", "a.", "a b", "a/b", "a=b", "ä"] {
            assert!(odd.parse::<ConfigKey>().is_err(), "{odd}");
        }
        assert!("a-b.C_1".parse::<ConfigKey>().is_ok());
        let odd = ConfigSpec { values: [("a/b".to_owned(), json!(1))].into(), bag: Bag::new() };
        assert!(odd.validate().is_err());
    }

    #[test]
    fn a_config_has_an_end() {
        let mut config = ConfigSpec::default();
        config.set(&key("a"), "x".repeat(SETTINGS_BYTES_MAX - 1).into());
        assert_eq!(config.validate(), Ok(()));
        config.set(&key("b"), "".into());
        assert_eq!(config.validate(), Err(SnapshotError::SettingsTooLarge));
    }
}
