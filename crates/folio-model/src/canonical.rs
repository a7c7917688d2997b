//! The one byte encoding of a value, so that equal values have equal digests.
//!
//! JSON with keys sorted by their bytes, no spaces, and one spelling per number (RFC 8785 for everything
//! folio stores). Absent and null are different: skip a field to leave it out.

use serde::Serialize;

use crate::Digest;

mod writer;

/// Encodes a value canonically. Equal values give equal bytes, whatever order their keys came in.
///
/// # Panics
/// If the value has a map whose keys are not strings, which no folio type has.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    let written = value.serialize(writer::Writer(&mut bytes));
    written.expect("folio values have string keys");
    bytes
}

/// The digest of a value's canonical encoding.
pub fn digest<T: Serialize>(value: &T) -> Digest {
    Digest::of(&encode(value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use serde_json::{Value, json};

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

    /// Every shape serde has for a value.
    #[derive(Serialize)]
    struct Shapes {
        z: (u8, Option<char>),
        a: BTreeMap<String, Variant>,
        unit: (),
        nothing: Vec<u8>,
        empty: Empty,
    }

    #[derive(Serialize)]
    struct Empty {}

    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Variant {
        Unit,
        One(f32),
        Two(i8, bool),
        Fields { b: u64, a: &'static str },
    }

    #[test]
    fn every_shape_is_written_as_its_json_value_is() {
        use Variant::{Fields, One, Two, Unit};
        let variants = [Unit, One(1.5), Two(-1, true), Fields { b: u64::MAX, a: "\"\u{1}é" }];
        let names = ["é", "\n", "", "a\"b"].map(str::to_owned);
        let shapes = Shapes {
            z: (1, Some('x')),
            a: names.into_iter().zip(variants).collect(),
            unit: (),
            nothing: Vec::new(),
            empty: Empty {},
        };
        let value = serde_json::to_value(&shapes).unwrap();
        assert_eq!(encode(&shapes), encode(&value));
        assert_eq!(serde_json::from_slice::<Value>(&encode(&shapes)).unwrap(), value);
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
