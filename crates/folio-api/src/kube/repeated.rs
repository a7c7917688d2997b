//! Finds fields that a body says twice. Whoever reads JSON takes the last of them, and whoever wrote it meant one.
//! YAML needs no such look: there a key that comes twice is an error wherever it is read.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Fields that are told; one more tells nobody more.
const TOLD_MAX: usize = 16;

/// The fields that come more than once in the same object, as `spec.containers[0].name`. None if it is no JSON.
pub(crate) fn fields(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    match (Walk { path: String::new(), found: &mut found }).deserialize(&mut reader) {
        Ok(()) => found,
        Err(_) => Vec::new(),
    }
}

/// A walk through a value at a place.
struct Walk<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let path = format!("{}[{index}]", self.path);
            if items.next_element_seed(Walk { path, found: &mut *self.found })?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            let dot = if self.path.is_empty() { "" } else { "." };
            let path = format!("{}{dot}{key}", self.path);
            let is_new = seen.insert(key);
            if !is_new && self.found.len() < TOLD_MAX && !self.found.contains(&path) {
                self.found.push(path.clone());
            }
            entries.next_value_seed(Walk { path, found: &mut *self.found })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(fields(text.as_bytes()), expected, "{text}");
    }

    #[test]
    fn what_comes_twice_in_one_object_is_found() {
        check(r#"{"a": 1, "b": {"a": 1}, "c": [{"a": null}, {"a": 1.5}]}"#, &[]);
        check(r#"{"a": 1, "a": 1}"#, &["a"]);
        check(r#"{"a": 1, "\u0061": 2, "a": 3}"#, &["a"]);
        check(
            r#"{"spec": {"x": true, "x": -1}, "c": [0, {"y": "", "y": []}]}"#,
            &["spec.x", "c[1].y"],
        );
        check(r#"[{"op": "add", "op": "remove"}]"#, &["[0].op"]);
        check("a: 1\na: 2\n", &[]);
    }

    #[test]
    fn a_body_full_of_them_is_told_of_briefly() {
        let many: Vec<_> = (0..100).map(|at| format!("\"k{at}\": 1, \"k{at}\": 2")).collect();
        assert_eq!(fields(format!("{{{}}}", many.join(",")).as_bytes()).len(), TOLD_MAX);
    }
}
