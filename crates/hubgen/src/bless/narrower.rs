//! Whether what is asked of values became more: a shorter length, a smaller range, fewer values.

use serde_json::Value;

use crate::ir::Limits;
use crate::schema::limits::{LEAST, MOST};

/// What is asked of values that was not asked before, each as one phrase.
pub(super) fn narrower(old: &Limits, new: &Limits) -> Vec<String> {
    let keywords = new.iter().filter(|(keyword, value)| old.get(*keyword) != Some(value));
    keywords.filter_map(|(keyword, value)| phrase(keyword, old, value)).collect()
}

fn phrase(keyword: &str, old: &Limits, new: &Value) -> Option<String> {
    let before = old.get(keyword);
    let is_narrower = match keyword {
        "additionalProperties" => {
            return Some("unknown properties are no longer allowed".to_owned());
        }
        "enum" => return gone(before, new),
        "multipleOf" => !is_multiple(before, new),
        _ if MOST.contains(&keyword) => bound(old, keyword).is_none_or(|old| number(new) < old),
        _ if LEAST.contains(&keyword) => bound(old, keyword).is_none_or(|old| number(new) > old),
        _ => true,
    };
    is_narrower.then(|| match before {
        Some(before) => format!("`{keyword}` {before} became {new}"),
        None => format!("`{keyword}` {new} is new"),
    })
}

/// The bound there was, whichever way it was said: `maximum` is at most as narrow as
/// `exclusiveMaximum` of the same number.
fn bound(old: &Limits, keyword: &str) -> Option<f64> {
    let other = match keyword {
        "maximum" => "exclusiveMaximum",
        "minimum" => "exclusiveMinimum",
        _ => keyword,
    };
    old.get(keyword).or_else(|| old.get(other)).map(number)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn is_multiple(old: Option<&Value>, new: &Value) -> bool {
    match (old.and_then(Value::as_i64), new.as_i64()) {
        (Some(old), Some(new)) if new != 0 => old % new == 0,
        _ => false,
    }
}

fn gone(old: Option<&Value>, new: &Value) -> Option<String> {
    let values = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let Some(old) = old else { return Some(format!("only the values {new} are allowed now")) };
    let new = values(new);
    let gone: Vec<_> =
        values(old).iter().filter(|value| !new.contains(value)).map(Value::to_string).collect();
    match gone.as_slice() {
        [] => None,
        [one] => Some(format!("the value `{one}` is gone")),
        _ => Some(format!("the values `{}` are gone", gone.join("`, `"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::narrower;

    fn check(old: Value, new: Value, expected: &[&str]) {
        let limits = |value| serde_json::from_value(value).unwrap_or_default();
        assert_eq!(narrower(&limits(old), &limits(new)), expected);
    }

    #[test]
    fn less_room_is_narrower() {
        check(json!({}), json!({"maxLength": 5}), &["`maxLength` 5 is new"]);
        check(json!({"maxLength": 5}), json!({"maxLength": 4}), &["`maxLength` 5 became 4"]);
        check(json!({"minimum": 1}), json!({"minimum": 2}), &["`minimum` 1 became 2"]);
        check(json!({"pattern": "a"}), json!({"pattern": "b"}), &["`pattern` \"a\" became \"b\""]);
        check(json!({"enum": [1, 2]}), json!({"enum": [1]}), &["the value `2` is gone"]);
        check(json!({}), json!({"enum": [1]}), &["only the values [1] are allowed now"]);
        check(
            json!({}),
            json!({"additionalProperties": false}),
            &["unknown properties are no longer allowed"],
        );
    }

    #[test]
    fn more_room_is_not() {
        check(json!({"maxLength": 5}), json!({"maxLength": 6}), &[]);
        check(json!({"minimum": 1, "pattern": "a"}), json!({"minimum": 0}), &[]);
        check(json!({"enum": [1]}), json!({"enum": [1, 2]}), &[]);
        check(json!({"exclusiveMaximum": 9}), json!({"maximum": 9}), &[]);
        check(json!({"multipleOf": 10}), json!({"multipleOf": 5}), &[]);
    }
}
