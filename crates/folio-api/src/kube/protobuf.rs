//! The few types of Kubernetes' own that newer clients send as protocol buffers: read by hand, answered in JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use super::status::Status;

/// The media type.
pub(crate) const MEDIA: &str = "application/vnd.kubernetes.protobuf";

/// What every such body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// A field of a message: its number and its bytes. Numbers are passed over: none is needed.
struct Field<'a>(u64, &'a [u8]);

/// Reads an object.
pub(crate) fn object(bytes: &[u8]) -> Result<Value, Status> {
    read(bytes).ok_or_else(|| Status::bad_request("the body is no object that can be read"))
}

fn read(bytes: &[u8]) -> Option<Value> {
    let body = bytes.strip_prefix(MAGIC)?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &b""[..]);
    for field in fields(body)? {
        match field {
            Field(1, types) => {
                for field in fields(types)? {
                    match field {
                        Field(1, text) => version = utf8(text)?,
                        Field(2, text) => kind = utf8(text)?,
                        _ => {}
                    }
                }
            }
            Field(2, bytes) => raw = bytes,
            _ => {}
        }
    }
    let mut object = json!({ "apiVersion": version, "kind": kind });
    let content = fields(raw)?;
    match kind.as_str() {
        "Namespace" | "ConfigMap" | "Secret" => {
            for field in content {
                let Field(number, bytes) = field;
                match (kind.as_str(), number) {
                    (_, 1) => object["metadata"] = metadata(bytes)?,
                    ("ConfigMap", 2) => entry(&mut object["data"], bytes, utf8)?,
                    ("Secret", 2) => {
                        entry(&mut object["data"], bytes, |value| Some(BASE64.encode(value)))?;
                    }
                    ("Secret", 3) => object["type"] = utf8(bytes)?.into(),
                    _ => {}
                }
            }
        }
        "DeleteOptions" => {
            for field in content {
                match field {
                    Field(4, policy) => object["propagationPolicy"] = utf8(policy)?.into(),
                    Field(5, dry) => object["dryRun"] = json!([utf8(dry)?]),
                    _ => {}
                }
            }
        }
        "SelfSubjectAccessReview" | "SelfSubjectRulesReview" | "SelfSubjectReview" => {
            let specs = content.into_iter().filter(|Field(number, _)| *number == 2);
            for Field(_, spec) in specs {
                object["spec"] = review(&kind, spec)?;
            }
        }
        _ => return None,
    }
    Some(object)
}

/// What a review asks.
fn review(kind: &str, bytes: &[u8]) -> Option<Value> {
    const RESOURCE: [&str; 7] =
        ["namespace", "verb", "group", "version", "resource", "subresource", "name"];
    match kind {
        "SelfSubjectAccessReview" => {
            let mut spec = json!({});
            for Field(number, bytes) in fields(bytes)? {
                match number {
                    1 => spec["resourceAttributes"] = texts(bytes, &RESOURCE)?,
                    2 => spec["nonResourceAttributes"] = texts(bytes, &["path", "verb"])?,
                    _ => {}
                }
            }
            Some(spec)
        }
        "SelfSubjectRulesReview" => texts(bytes, &["namespace"]),
        // Its second field is its status, which is for us to say.
        _ => Some(json!({})),
    }
}

/// A message of texts, by their names in the order of their numbers.
fn texts(bytes: &[u8], names: &[&str]) -> Option<Value> {
    let mut found = Map::new();
    for Field(number, bytes) in fields(bytes)? {
        let name = usize::try_from(number).ok()?.checked_sub(1).and_then(|at| names.get(at));
        if let Some(name) = name {
            found.insert((*name).to_owned(), utf8(bytes)?.into());
        }
    }
    Some(Value::Object(found))
}

fn metadata(bytes: &[u8]) -> Option<Value> {
    let mut metadata = json!({});
    for field in fields(bytes)? {
        let Field(number, bytes) = field;
        match number {
            1 => metadata["name"] = utf8(bytes)?.into(),
            2 if !bytes.is_empty() => metadata["generateName"] = utf8(bytes)?.into(),
            3 if !bytes.is_empty() => metadata["namespace"] = utf8(bytes)?.into(),
            11 => entry(&mut metadata["labels"], bytes, utf8)?,
            12 => entry(&mut metadata["annotations"], bytes, utf8)?,
            _ => {}
        }
    }
    Some(metadata)
}

/// Adds an entry of a map.
fn entry(map: &mut Value, bytes: &[u8], value: impl Fn(&[u8]) -> Option<String>) -> Option<()> {
    let (mut key, mut text) = (String::new(), value(b"")?);
    for field in fields(bytes)? {
        match field {
            Field(1, bytes) => key = utf8(bytes)?,
            Field(2, bytes) => text = value(bytes)?,
            _ => {}
        }
    }
    if !map.is_object() {
        *map = Value::Object(Map::new());
    }
    map[key] = text.into();
    Some(())
}

fn utf8(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

/// Takes a message apart; none if it is cut short.
fn fields(mut bytes: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let number = tag >> 3;
        match tag & 7 {
            0 => {
                varint(&mut bytes)?;
            }
            1 => bytes = bytes.get(8..)?,
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                found.push(Field(number, bytes.get(..length)?));
                bytes = bytes.get(length..)?;
            }
            5 => bytes = bytes.get(4..)?,
            _ => return None,
        }
    }
    Some(found)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(fields: &[(u8, &[u8])]) -> Vec<u8> {
        fields
            .iter()
            .flat_map(|(number, bytes)| {
                [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()][..], bytes].concat()
            })
            .collect()
    }

    fn config_map() -> Vec<u8> {
        let types = message(&[(1, b"v1"), (2, b"ConfigMap")]);
        let label = message(&[(1, b"a"), (2, b"b")]);
        let own = message(&[
            (1, &message(&[(1, b"settings"), (11, &label)])),
            (2, &message(&[(1, b"k"), (2, b"v")])),
        ]);
        [MAGIC, &message(&[(1, &types), (2, &own)])].concat()
    }

    #[test]
    fn an_object_is_read() {
        let found = object(&config_map()).unwrap();
        assert_eq!(
            found,
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "settings", "labels": {"a": "b"}}, "data": {"k": "v"},
            })
        );
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(cut in 0_usize..60, at in 4_usize..50, byte: u8) {
            let mut bytes = config_map();
            let length = bytes.len();
            bytes[at % length] = byte;
            drop(object(&bytes[..cut.min(length)]));
        }
    }
}
