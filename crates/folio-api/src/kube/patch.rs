//! Patches: merge patches (RFC 7396) and JSON patches (RFC 6902). A strategic merge patch is taken as a merge patch:
//! the kinds here have no lists that are merged. What comes out is an object with metadata, whatever the patch says.

use serde_json::{Map, Value};

use super::status::Status;

/// Operations a JSON patch may have, as Kubernetes has it.
const STEPS_MAX: usize = 10_000;

/// Bytes that all `copy` operations of a JSON patch may add together: each could double what is there.
const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// What to do where a JSON patch is too much.
const INSTEAD: &str = "send a merge patch, or replace the object";

/// Lays a merge patch over an object: `null` removes.
pub(crate) fn merge(target: &Value, patch: &Value) -> Result<Value, Status> {
    let mut changed = target.clone();
    lay(&mut changed, patch);
    sound(changed)
}

fn lay(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(entries) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            entries.remove(key);
        } else {
            lay(entries.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Takes the steps of a JSON patch, all or none.
pub(crate) fn steps(target: &Value, patch: &Value) -> Result<Value, Status> {
    let Value::Array(steps) = patch else {
        return Err(Status::bad_request("a JSON patch is a list of operations"));
    };
    if steps.len() > STEPS_MAX {
        let what = format!(
            "the allowed maximum operations in a JSON patch is {STEPS_MAX}, got {}; {INSTEAD}",
            steps.len()
        );
        return Err(Status::new(413, "RequestEntityTooLarge", what));
    }
    let (mut changed, mut room) = (target.clone(), COPIED_BYTES_MAX);
    for (index, step) in steps.iter().enumerate() {
        take(&mut changed, step, &mut room).map_err(|what| {
            let text = format!("operation {index} of the patch: {what}");
            Status::invalid("patch", text)
        })?;
    }
    sound(changed)
}

/// Refuses what is no object with metadata any more.
fn sound(object: Value) -> Result<Value, Status> {
    if object.get("metadata").is_some_and(Value::is_object) {
        return Ok(object);
    }
    let what = "the patch leaves no object with `metadata`, which has to be a map";
    Err(Status::invalid("metadata", what))
}

/// About how many bytes a value takes.
fn bytes(value: &Value) -> usize {
    let own = 8;
    own + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes).sum(),
        Value::Object(entries) => entries.iter().map(|(key, value)| key.len() + bytes(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn take(target: &mut Value, step: &Value, room: &mut usize) -> Result<(), String> {
    let text = |key: &str| step.get(key).and_then(Value::as_str);
    let path = text("path").ok_or("it has no `path`")?;
    let value = || step.get("value").cloned().ok_or("it has no `value`");
    match text("op").ok_or("it has no `op`")? {
        "add" => add(target, path, value()?),
        "remove" => remove(target, path).map(|_| ()),
        "replace" => {
            let place = target.pointer_mut(path).ok_or_else(|| missing(path))?;
            *place = value()?;
            Ok(())
        }
        "test" => match target.pointer(path) {
            Some(found) if *found == value()? => Ok(()),
            _ => Err(format!("testing value {path} failed")),
        },
        "move" => {
            let from = text("from").ok_or("it has no `from`")?;
            if path.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
                return Err(format!("`{from}` cannot be moved into itself"));
            }
            let value = remove(target, from)?;
            add(target, path, value)
        }
        "copy" => {
            let from = text("from").ok_or("it has no `from`")?;
            let value = target.pointer(from).ok_or_else(|| missing(from))?;
            *room = room.checked_sub(bytes(value)).ok_or_else(|| {
                format!("all copies together have more than {COPIED_BYTES_MAX} bytes; {INSTEAD}")
            })?;
            add(target, path, value.clone())
        }
        other => Err(format!("`{other}` is no operation")),
    }
}

fn missing(path: &str) -> String {
    format!("there is nothing at `{path}`")
}

/// Where something is: what holds it, and its name there.
fn split(path: &str) -> Result<(&str, String), String> {
    let (parent, name) = path.rsplit_once('/').ok_or_else(|| format!("`{path}` is no path"))?;
    Ok((parent, name.replace("~1", "/").replace("~0", "~")))
}

fn index(name: &str) -> Option<usize> {
    let plain = name == "0" || !name.starts_with('0') && name.bytes().all(|b| b.is_ascii_digit());
    name.parse().ok().filter(|_| plain)
}

fn add(target: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        *target = value;
        return Ok(());
    }
    let (parent, name) = split(path)?;
    match target.pointer_mut(parent) {
        Some(Value::Object(entries)) => {
            entries.insert(name, value);
            Ok(())
        }
        Some(Value::Array(items)) if name == "-" => {
            items.push(value);
            Ok(())
        }
        Some(Value::Array(items)) => match index(&name).filter(|at| *at <= items.len()) {
            Some(at) => {
                items.insert(at, value);
                Ok(())
            }
            None => Err(missing(path)),
        },
        _ => Err(missing(parent)),
    }
}

fn remove(target: &mut Value, path: &str) -> Result<Value, String> {
    let (parent, name) = split(path)?;
    let found = match target.pointer_mut(parent) {
        Some(Value::Object(entries)) => entries.remove(&name),
        Some(Value::Array(items)) => {
            index(&name).filter(|at| *at < items.len()).map(|at| items.remove(at))
        }
        _ => None,
    };
    found.ok_or_else(|| missing(path))
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use axum::response::IntoResponse as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn null_removes() {
        let value = json!({"metadata": {}, "a": {"b": 1, "c": 2}, "d": [1]});
        let patched = merge(&value, &json!({"a": {"b": null, "e": {"f": null}}, "d": [2]}));
        assert_eq!(patched.ok(), Some(json!({"metadata": {}, "a": {"c": 2, "e": {}}, "d": [2]})));
    }

    #[test]
    fn what_is_patched_stays_an_object() {
        let value = json!({"metadata": {"name": "a"}});
        for patch in [json!(5), json!([]), json!({"metadata": 5}), json!({"metadata": null})] {
            assert!(merge(&value, &patch).is_err(), "{patch}");
        }
        for (path, put) in
            [("", json!(5)), ("", json!([])), ("", json!({})), ("/metadata", json!(5))]
        {
            let patch = json!([{"op": "replace", "path": path, "value": put}]);
            assert!(steps(&value, &patch).is_err(), "{patch}");
        }
        assert!(steps(&value, &json!([{"op": "remove", "path": "/metadata"}])).is_err());
    }

    #[test]
    fn a_small_patch_cannot_make_something_huge() {
        let value = json!({"metadata": {}, "spec": {"a": "x".repeat(1000)}});
        let copy = |at| json!({"op": "copy", "from": "/spec", "path": format!("/spec/k{at}")});
        let bomb: Value = (0..64).map(copy).collect();
        assert!(steps(&value, &bomb).is_err());
        let some: Value = (0..8).map(copy).collect();
        assert!(steps(&value, &some).is_ok());
        let test = json!({"op": "test", "path": "/spec/none", "value": null});
        let long: Value = std::iter::repeat_n(test, STEPS_MAX + 1).collect();
        let refused = steps(&value, &long).map_err(|status| status.into_response().status());
        assert_eq!(refused.err(), Some(StatusCode::PAYLOAD_TOO_LARGE));
    }

    #[test]
    fn steps_are_taken_in_order_or_not_at_all() {
        let value = json!({"metadata": {}, "a": [1, 2], "b": {"c": 1}});
        let check = |patch: Value, expected: Option<Value>| {
            let expected = expected.map(|mut expected| {
                expected["metadata"] = json!({});
                expected
            });
            assert_eq!(steps(&value, &patch).ok(), expected, "{patch}");
        };
        check(
            json!([{"op": "add", "path": "/a/-", "value": 3}, {"op": "remove", "path": "/b/c"}]),
            Some(json!({"a": [1, 2, 3], "b": {}})),
        );
        check(
            json!([{"op": "move", "from": "/b/c", "path": "/a/0"}]),
            Some(json!({"a": [1, 1, 2], "b": {}})),
        );
        check(
            json!([{"op": "copy", "from": "/a", "path": "/b/d~1e"}]),
            Some(json!({"a": [1, 2], "b": {"c": 1, "d/e": [1, 2]}})),
        );
        for bad in [
            json!({}),
            json!([{"op": "replace", "path": "/x", "value": 1}]),
            json!([{"op": "test", "path": "/b/c", "value": 2}]),
            json!([{"op": "add", "path": "/a/7", "value": 2}]),
            json!([{"op": "add", "path": "/a/01", "value": 2}]),
            json!([{"op": "move", "from": "/b", "path": "/b/c"}]),
            json!([{"op": "add", "path": "nowhere", "value": 2}]),
            json!([{"op": "fly", "path": "/a"}]),
        ] {
            check(bad, None);
        }
    }
}
