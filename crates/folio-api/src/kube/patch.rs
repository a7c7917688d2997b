//! Patches: merge patches (RFC 7396) and JSON patches (RFC 6902). A strategic merge patch is taken as a merge patch:
//! the kinds here have no lists that are merged.

use serde_json::{Map, Value};

use super::status::Status;

/// Lays a merge patch over a value: `null` removes.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
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
            merge(entries.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Takes the steps of a JSON patch, all or none.
pub(crate) fn steps(target: &Value, patch: &Value) -> Result<Value, Status> {
    let Value::Array(steps) = patch else {
        return Err(Status::bad_request("a JSON patch is a list of operations"));
    };
    let mut changed = target.clone();
    for (index, step) in steps.iter().enumerate() {
        take(&mut changed, step).map_err(|what| {
            let text = format!("operation {index} of the patch: {what}");
            Status::invalid("patch", text)
        })?;
    }
    Ok(changed)
}

fn take(target: &mut Value, step: &Value) -> Result<(), String> {
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
            let value = target.pointer(from).cloned().ok_or_else(|| missing(from))?;
            add(target, path, value)
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
    use serde_json::json;

    use super::*;

    #[test]
    fn null_removes() {
        let mut value = json!({"a": {"b": 1, "c": 2}, "d": [1]});
        merge(&mut value, &json!({"a": {"b": null, "e": {"f": null}}, "d": [2]}));
        assert_eq!(value, json!({"a": {"c": 2, "e": {}}, "d": [2]}));
    }

    #[test]
    fn steps_are_taken_in_order_or_not_at_all() {
        let value = json!({"a": [1, 2], "b": {"c": 1}});
        let check = |patch: Value, expected: Option<Value>| {
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
