//! What a webhook gives its function: the query, a form's fields or a JSON object's members, as one object.

use serde_json::{Map, Value, json};

/// The input of a call. What is no object and no form gives nothing.
pub(super) fn input(content_type: Option<&str>, query: &str, body: &[u8]) -> String {
    let mut members = Map::new();
    members.extend(pairs(query).map(|(name, value)| (name, json!(value))));
    let form = "application/x-www-form-urlencoded";
    if content_type.is_some_and(|kind| kind.to_ascii_lowercase().starts_with(form)) {
        let text = String::from_utf8_lossy(body);
        members.extend(pairs(&text).map(|(name, value)| (name, json!(value))));
    } else if let Ok(Value::Object(given)) = serde_json::from_slice(body) {
        members.extend(given);
    }
    Value::Object(members).to_string()
}

fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (plain(name), plain(value)))
}

/// A text without its escapes; what is no escape stays.
fn plain(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, escaped) {
            (b'%', Some(escaped)) => {
                plain.push(escaped);
                at += 2;
            }
            (b'+', _) => plain.push(b' '),
            (byte, _) => plain.push(*byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_comes_is_one_object() {
        let check = |kind: &str, query: &str, body: &str, expected: &str| {
            assert_eq!(input(Some(kind), query, body.as_bytes()), expected);
        };
        check("application/json", "", "{\"a\": [1]}", r#"{"a":[1]}"#);
        check("application/json", "q=1", "{\"a\": 2}", r#"{"q":"1","a":2}"#);
        let form = "application/x-www-form-urlencoded; charset=utf-8";
        check(form, "", "name=a+b%21&x=%zz&y", r#"{"name":"a b!","x":"%zz","y":""}"#);
        for odd in ["", "[1]", "{", "7"] {
            check("application/json", "", odd, "{}");
        }
    }
}
