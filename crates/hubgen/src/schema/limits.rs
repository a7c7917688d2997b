//! What schemas ask of values beyond their type: lengths, ranges, patterns.
//!
//! Types do not carry it, for documents that break it are kept like others; published schemas do,
//! because a document that was valid must stay so.

use serde_json::Value;

use super::flat::Flat;
use crate::ir::Limits;

/// Keywords whose value is the most that is allowed.
pub(crate) const MOST: &[&str] =
    &["maxItems", "maxLength", "maxProperties", "maximum", "exclusiveMaximum"];

/// Keywords whose value is the least that is allowed.
pub(crate) const LEAST: &[&str] =
    &["minItems", "minLength", "minProperties", "minimum", "exclusiveMinimum"];

/// What a schema itself asks, without its references and parts.
pub(super) fn own(schema: &Value) -> Limits {
    let mut limits = Limits::new();
    for keyword in MOST.iter().chain(LEAST) {
        // In draft-04, `exclusiveMaximum: true` says how `maximum` is meant.
        match schema.get(*keyword) {
            Some(value @ Value::Number(_)) => limits.insert((*keyword).to_owned(), value.clone()),
            _ => None,
        };
    }
    for (said, bound) in [("exclusiveMaximum", "maximum"), ("exclusiveMinimum", "minimum")] {
        if schema.get(said) == Some(&Value::Bool(true))
            && let Some(value) = limits.remove(bound)
        {
            limits.insert(said.to_owned(), value);
        }
    }
    for keyword in ["multipleOf", "pattern"] {
        if let Some(value) = schema.get(keyword).filter(|it| it.is_number() || it.is_string()) {
            limits.insert(keyword.to_owned(), value.clone());
        }
    }
    for (keyword, is_limit) in [("uniqueItems", true), ("additionalProperties", false)] {
        if schema.get(keyword) == Some(&Value::Bool(is_limit)) {
            limits.insert(keyword.to_owned(), Value::Bool(is_limit));
        }
    }
    limits
}

/// What both of two schemas ask, the narrower where they ask the same thing.
pub(super) fn merge(mut left: Limits, right: Limits) -> Limits {
    for (keyword, value) in right {
        let narrower = match left.remove(&keyword) {
            None => value,
            Some(other) if other == value => value,
            Some(other) => narrower(&keyword, other, value),
        };
        left.insert(keyword, narrower);
    }
    left
}

fn narrower(keyword: &str, left: Value, right: Value) -> Value {
    let is_less = left.as_f64() < right.as_f64();
    match keyword {
        "pattern" => {
            let mut parts = [left, right].map(|it| it.as_str().unwrap_or_default().to_owned());
            parts.sort();
            let [first, second] = parts;
            format!(r"^(?=[\s\S]*{first})(?=[\s\S]*{second})").into()
        }
        _ if MOST.contains(&keyword) == is_less => left,
        _ => right,
    }
}

/// What is asked of a value that is no text, its possible values included.
pub(super) fn with_values(flat: &Flat<'_>) -> Limits {
    let mut limits = flat.limits.clone();
    if let Some((values, _)) = &flat.values {
        let values = values.iter().copied().filter(|value| !value.is_null()).cloned();
        limits.insert("enum".to_owned(), values.collect());
    }
    limits
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{merge, own};

    fn check(left: Value, right: Value, expected: Value) {
        assert_eq!(json!(merge(own(&left), own(&right))), expected);
    }

    #[test]
    fn the_narrower_of_two_limits_counts() {
        check(json!({"maxLength": 5}), json!({"maxLength": 3}), json!({"maxLength": 3}));
        check(json!({"minLength": 5}), json!({"minLength": 3}), json!({"minLength": 5}));
        check(json!({"pattern": "a"}), json!({"type": "string"}), json!({"pattern": "a"}));
    }

    #[test]
    fn the_oldest_draft_says_exclusive_by_a_word() {
        let old = json!({"maximum": 9, "exclusiveMaximum": true, "exclusiveMinimum": false});
        check(old, json!({}), json!({"exclusiveMaximum": 9}));
    }
}
