//! What a webhook gives its function: the query, a form's fields or a JSON object's members, as one object.

use serde_json::{Map, Value, json};

use super::Error;

/// The input of a call. A body that says that it is JSON has to be an object; another that is none gives nothing.
pub(super) fn input(content_type: Option<&str>, query: &str, body: &[u8]) -> Result<String, Error> {
    let mut members = Map::new();
    members.extend(pairs(query).map(|(name, value)| (name, json!(value))));
    let content_type = content_type.unwrap_or_default();
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind == "application/x-www-form-urlencoded" {
        let text = String::from_utf8_lossy(body);
        members.extend(pairs(&text).map(|(name, value)| (name, json!(value))));
        return Ok(Value::Object(members).to_string());
    }
    let is_json = kind == "application/json" || kind.ends_with("+json");
    match object(body) {
        Ok(given) => members.extend(given),
        Err(why) if is_json => return Err(Error::NotObject(why)),
        Err(_) => {}
    }
    Ok(Value::Object(members).to_string())
}

/// The members of a JSON object; none if there is no body at all.
fn object(body: &[u8]) -> Result<Map<String, Value>, String> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(Value::Array(_)) => Err("it is a list".to_owned()),
        Ok(Value::String(_)) => Err("it is a text".to_owned()),
        Ok(Value::Number(_)) => Err("it is a number".to_owned()),
        Ok(Value::Bool(_)) => Err("it is a truth value".to_owned()),
        Ok(Value::Null) => Err("it is `null`".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
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

    const JSON: &str = "application/json";

    #[test]
    fn whatever_comes_is_one_object() {
        let check = |kind: &str, query: &str, body: &str, expected: &str| {
            let found = input(Some(kind), query, body.as_bytes()).unwrap();
            assert_eq!(found, expected, "{kind} {body}");
        };
        check(JSON, "", "{\"a\": [1]}", r#"{"a":[1]}"#);
        check(JSON, "q=1", "{\"a\": 2}", r#"{"q":"1","a":2}"#);
        let form = "application/x-www-form-urlencoded; charset=utf-8";
        check(form, "", "name=a+b%21&x=%zz&y", r#"{"name":"a b!","x":"%zz","y":""}"#);
        check(JSON, "q=1", " \n", r#"{"q":"1"}"#);
        for odd in ["[1]", "{", "hello"] {
            check("text/plain", "", odd, "{}");
        }
    }

    #[test]
    fn what_says_it_is_json_and_is_no_object_is_refused() {
        let check = |kind: &str, body: &str, expected: &str| {
            let refused = input(Some(kind), "", body.as_bytes()).unwrap_err();
            assert!(refused.to_string().contains(expected), "{refused}");
            let silent = input(None, "q=1", body.as_bytes()).unwrap();
            assert_eq!(silent, r#"{"q":"1"}"#, "{body}");
        };
        check(JSON, "[1]", "it is a list");
        check(JSON, "7", "it is a number");
        check("Application/JSON; charset=utf-8", "null", "it is `null`");
        check("application/vnd.till+json", "{\"a\": ", "it is not JSON: EOF");
    }
}
