//! The one byte encoding of a value, so that equal values have equal digests.
//!
//! JSON with keys sorted by their bytes, no spaces, and one spelling per number (RFC 8785 for everything
//! folio stores). Absent and null are different: skip a field to leave it out.

use serde::Serialize;
use serde_json::Value;

use crate::Digest;

/// Encodes a value canonically. Equal values give equal bytes, whatever order their keys came in.
///
/// # Panics
/// If the value has a map whose keys are not strings, which no folio type has.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    let value = serde_json::to_value(value).expect("folio values have string keys");
    let mut bytes = Vec::new();
    write(&value, &mut bytes);
    bytes
}

/// The digest of a value's canonical encoding.
pub fn digest<T: Serialize>(value: &T) -> Digest {
    Digest::of(&encode(value))
}

fn write(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Null => bytes.extend_from_slice(b"null"),
        Value::Bool(true) => bytes.extend_from_slice(b"true"),
        Value::Bool(false) => bytes.extend_from_slice(b"false"),
        Value::Number(number) => bytes.extend_from_slice(number_text(number).as_bytes()),
        Value::String(text) => write_text(text, bytes),
        Value::Array(items) => {
            bytes.push(b'[');
            for (index, item) in items.iter().enumerate() {
                separate(index, bytes);
                write(item, bytes);
            }
            bytes.push(b']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| key.as_bytes());
            bytes.push(b'{');
            for (index, (key, item)) in fields.into_iter().enumerate() {
                separate(index, bytes);
                write_text(key, bytes);
                bytes.push(b':');
                write(item, bytes);
            }
            bytes.push(b'}');
        }
    }
}

fn separate(index: usize, bytes: &mut Vec<u8>) {
    if index > 0 {
        bytes.push(b',');
    }
}

fn write_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(Value::from(text).to_string().as_bytes());
}

/// `1`, `1.0` and `1e0` are one number, so they get one spelling.
fn number_text(number: &serde_json::Number) -> String {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(value) if number.is_f64() && value.fract() == 0.0 && value.abs() < EXACT_MAX => {
            // Adding zero turns -0.0 into 0.0.
            format!("{:.0}", value + 0.0)
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..6).prop_map(Value::from),
                btree_map(".{0,6}", inner, 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn with_keys_reversed(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(with_keys_reversed).collect(),
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .rev()
                    .map(|(key, item)| (key.clone(), with_keys_reversed(item)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn key_order_does_not_matter(value in any_value()) {
            prop_assert_eq!(encode(&value), encode(&with_keys_reversed(&value)));
        }

        #[test]
        fn the_encoding_reads_back_as_the_same_value(value in any_value()) {
            let back: Value = serde_json::from_slice(&encode(&value)).unwrap();
            prop_assert_eq!(back, value);
        }

        #[test]
        fn different_values_have_different_encodings(a in any_value(), b in any_value()) {
            prop_assert_eq!(a == b, encode(&a) == encode(&b));
        }
    }

    #[test]
    fn the_spelling_is_fixed() {
        let value = json!({"b": [1, 2.0, -0.0, 1.5], "a": {"é": "\n", "": null}});
        assert_eq!(
            String::from_utf8(encode(&value)).unwrap(),
            r#"{"a":{"":null,"é":"\n"},"b":[1,2,0,1.5]}"#
        );
    }
}
