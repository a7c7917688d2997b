//! Who wrote which field, and what that decides: server-side apply.
//!
//! A field is a path to a leaf: maps are taken apart, lists are whole. An apply conflicts where somebody else has a field
//! and it would become something else; what a manager applied before and no longer does goes, unless somebody else has
//! it too. Start at [`apply`] and [`update`].

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::status::{Cause, Status};

/// A path to a field.
type Path = Vec<String>;

/// What somebody wrote.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    manager: String,
    operation: String,
    version: String,
    time: String,
    fields: BTreeSet<Path>,
}

/// Who writes, in which version, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Author<'a> {
    pub(crate) manager: &'a str,
    pub(crate) version: &'a str,
    pub(crate) now: &'a str,
}

/// What becomes of fields that somebody else has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    Refuse,
    TakeOver,
}

/// Metadata that nobody owns.
const NOBODYS: [&str; 9] = [
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Lays what a manager applies over an object, or over nothing, and notes what it owns then.
pub(crate) fn apply(
    current: Option<&Value>,
    applied: &Value,
    author: Author<'_>,
    others: Others,
) -> Result<Value, Status> {
    let empty = json!({});
    let base = current.unwrap_or(&empty);
    let mut entries = read(base);
    let wanted = leaves(applied);
    let before = leaves(base);
    let conflicts = conflicts(&entries, (&before, &wanted), author.manager);
    if !conflicts.is_empty() && others == Others::Refuse {
        return Err(refusal(&conflicts));
    }
    let mut object = base.clone();
    overlay(&mut object, applied);
    let own = |entry: &Entry| entry.manager == author.manager && entry.operation == "Apply";
    let mine = entries.iter().find(|entry| own(entry)).cloned();
    for path in mine.iter().flat_map(|mine| &mine.fields) {
        let elsewhere = entries.iter().any(|entry| !own(entry) && entry.fields.contains(path));
        if !wanted.contains_key(path) && !elsewhere {
            remove(&mut object, path);
        }
    }
    for (_, path) in &conflicts {
        for entry in entries.iter_mut().filter(|entry| !own(entry)) {
            entry.fields.remove(path);
        }
    }
    entries.retain(|entry| !own(entry));
    let fields: BTreeSet<Path> = wanted.into_keys().collect();
    let same = mine.as_ref().is_some_and(|mine| mine.fields == fields);
    let time = mine.filter(|_| same).map_or_else(|| author.now.to_owned(), |mine| mine.time);
    entries.insert(0, entry(author, "Apply", time, fields));
    write(&mut object, entries);
    Ok(object)
}

/// Notes what a manager changed from one object to another. A client may rewrite who owns what; what it writes is not
/// believed unless all of it makes sense.
pub(crate) fn update(current: Option<&Value>, changed: &mut Value, author: Author<'_>) {
    let empty = json!({});
    let base = current.unwrap_or(&empty);
    let given = changed["metadata"]["managedFields"].as_array();
    let given = given.is_some_and(|entries| entries.iter().all(is_entry));
    let mut entries = if given { read(changed) } else { read(base) };
    let (before, after) = (leaves(base), leaves(changed));
    let touched: BTreeSet<Path> = after
        .iter()
        .filter(|(path, value)| before.get(*path) != Some(value))
        .map(|(path, _)| path.clone())
        .collect();
    for entry in &mut entries {
        // A field that was not kept when it was written was not removed now.
        let stays = |path: &Path| after.contains_key(path) || !before.contains_key(path);
        entry.fields.retain(|path| stays(path) && !touched.contains(path));
    }
    if !touched.is_empty() {
        let own = |entry: &&mut Entry| {
            entry.manager == author.manager
                && entry.operation == "Update"
                && entry.version == author.version
        };
        match entries.iter_mut().find(own) {
            Some(mine) => {
                mine.fields.extend(touched);
                author.now.clone_into(&mut mine.time);
            }
            None => entries.push(entry(author, "Update", author.now.to_owned(), touched)),
        }
    }
    write(changed, entries);
}

fn entry(author: Author<'_>, operation: &str, time: String, fields: BTreeSet<Path>) -> Entry {
    let (manager, version) = (author.manager.to_owned(), author.version.to_owned());
    Entry { manager, operation: operation.to_owned(), version, time, fields }
}

/// Fields that others have and that would become something else, with who has them.
fn conflicts(
    entries: &[Entry],
    (before, wanted): (&BTreeMap<Path, Value>, &BTreeMap<Path, Value>),
    manager: &str,
) -> Vec<(String, Path)> {
    let mut found = Vec::new();
    for (path, value) in wanted {
        if before.get(path) == Some(value) {
            continue;
        }
        for entry in entries {
            let mine = entry.manager == manager && entry.operation == "Apply";
            if !mine && entry.fields.contains(path) {
                let whose = match entry.operation.as_str() {
                    "Apply" => format!("\"{}\"", entry.manager),
                    _ => format!("\"{}\" using {}", entry.manager, entry.version),
                };
                found.push((whose, path.clone()));
            }
        }
    }
    found
}

fn refusal(conflicts: &[(String, Path)]) -> Status {
    let text = |(whose, path): &(String, Path)| format!("conflict with {whose}: {}", dotted(path));
    let message = match conflicts {
        [only] => format!("Apply failed with 1 conflict: {}", text(only)),
        several => {
            let each: Vec<_> = several.iter().map(text).collect();
            format!("Apply failed with {} conflicts: {}", several.len(), each.join("; "))
        }
    };
    let causes = conflicts.iter().map(|(whose, path)| Cause {
        reason: "FieldManagerConflict",
        message: format!("conflict with {whose}"),
        field: dotted(path),
    });
    Status::new(409, "Conflict", message).because(causes)
}

fn dotted(path: &[String]) -> String {
    path.iter().map(|step| format!(".{step}")).collect()
}

/// The fields of an object that somebody may own.
fn leaves(object: &Value) -> BTreeMap<Path, Value> {
    let mut found = BTreeMap::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        match key.as_str() {
            "apiVersion" | "kind" | "status" => {}
            "metadata" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    if !NOBODYS.contains(&key.as_str()) {
                        collect(value, vec!["metadata".to_owned(), key.clone()], &mut found);
                    }
                }
            }
            key => collect(value, vec![key.to_owned()], &mut found),
        }
    }
    found
}

fn collect(value: &Value, path: Path, found: &mut BTreeMap<Path, Value>) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                let path = path.iter().cloned().chain([key.clone()]).collect();
                collect(value, path, found);
            }
        }
        // Nothing is said by these.
        Value::Null | Value::Object(_) => {}
        leaf => {
            found.insert(path, leaf.clone());
        }
    }
}

/// Lays one object over another: maps are merged, everything else is replaced.
fn overlay(target: &mut Value, over: &Value) {
    match (target, over) {
        (Value::Object(target), Value::Object(over)) => {
            for (key, value) in over.iter().filter(|(_, value)| !value.is_null()) {
                overlay(target.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (target, over) => *target = over.clone(),
    }
}

/// Removes a field, and what held only it.
fn remove(object: &mut Value, path: &[String]) {
    let Some((name, above)) = path.split_last() else { return };
    let held = above.iter().try_fold(&mut *object, |value, step| value.get_mut(step));
    if let Some(Value::Object(entries)) = held {
        entries.remove(name);
        if entries.is_empty() && above.len() > 1 {
            remove(object, above);
        }
    }
}

/// Whether an entry says everything that one has to. An empty one says nothing, which is how entries are taken back.
fn is_entry(entry: &Value) -> bool {
    let said = |key: &str| entry[key].as_str().is_some_and(|text| !text.is_empty());
    let is_empty = entry.as_object().is_some_and(Map::is_empty);
    let is_whole = ["manager", "apiVersion", "time"].into_iter().all(said)
        && matches!(entry["operation"].as_str(), Some("Apply" | "Update"))
        && is_tree(&entry["fieldsV1"]);
    is_empty || is_whole
}

fn is_tree(fields: &Value) -> bool {
    fields.as_object().is_some_and(|fields| fields.values().all(is_tree))
}

fn read(object: &Value) -> Vec<Entry> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    entries
        .filter(|entry| entry["manager"].is_string())
        .map(|entry| {
            let mut fields = BTreeSet::new();
            of_tree(&entry["fieldsV1"], &mut Vec::new(), &mut fields);
            Entry {
                manager: text(entry, "manager"),
                operation: text(entry, "operation"),
                version: text(entry, "apiVersion"),
                time: text(entry, "time"),
                fields,
            }
        })
        .collect()
}

fn write(object: &mut Value, entries: Vec<Entry>) {
    let entries = entries.into_iter().filter(|entry| !entry.fields.is_empty()).map(|entry| {
        json!({
            "manager": entry.manager, "operation": entry.operation, "apiVersion": entry.version,
            "time": entry.time, "fieldsType": "FieldsV1", "fieldsV1": tree(&entry.fields),
        })
    });
    let entries: Vec<_> = entries.collect();
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    if entries.is_empty() {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
    } else {
        object["metadata"]["managedFields"] = entries.into();
    }
}

/// Paths as those who share an object write them: each step below the one before, under `f:`.
fn tree(paths: &BTreeSet<Path>) -> Value {
    let mut root = Map::new();
    for path in paths {
        let mut at = &mut root;
        for step in path {
            let next = at.entry(format!("f:{step}")).or_insert_with(|| json!({}));
            at = next.as_object_mut().expect("every step is a map");
        }
    }
    Value::Object(root)
}

fn of_tree(tree: &Value, path: &mut Path, found: &mut BTreeSet<Path>) {
    let entries = tree.as_object().into_iter().flatten();
    let mut steps = entries.filter(|(key, _)| key.starts_with("f:")).peekable();
    if steps.peek().is_none() && !path.is_empty() {
        found.insert(path.clone());
    }
    for (key, below) in steps {
        path.push(key[2..].to_owned());
        of_tree(below, path, found);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-01T00:00:00Z";

    fn by(manager: &str) -> Author<'_> {
        Author { manager, version: "fission.io/v1", now: NOW }
    }

    fn object(spec: Value) -> Value {
        json!({"apiVersion": "fission.io/v1", "kind": "Function", "metadata": {"name": "a"}, "spec": spec})
    }

    fn applied(current: Option<&Value>, spec: Value, manager: &str) -> Value {
        apply(current, &object(spec), by(manager), Others::Refuse).unwrap()
    }

    #[test]
    fn what_is_no_longer_applied_goes() {
        let one = applied(None, json!({"a": 1, "b": {"c": 2, "d": [3]}}), "x");
        let two = applied(Some(&one), json!({"a": 1}), "x");
        assert_eq!(two["spec"], json!({"a": 1}));
    }

    #[test]
    fn what_somebody_else_has_too_stays() {
        let one = applied(None, json!({"a": 1, "b": 2}), "x");
        let two = applied(Some(&one), json!({"a": 1}), "y");
        let three = applied(Some(&two), json!({"b": 2}), "x");
        assert_eq!(three["spec"], json!({"a": 1, "b": 2}));
        let four = applied(Some(&three), json!({"c": 1}), "y");
        assert_eq!(four["spec"], json!({"b": 2, "c": 1}));
    }

    #[test]
    fn a_field_of_somebody_else_is_not_changed_without_force() {
        let one = applied(None, json!({"a": 1}), "x");
        let refused =
            apply(Some(&one), &object(json!({"a": 2})), by("y"), Others::Refuse).unwrap_err();
        let body = refused.body();
        assert_eq!(body["details"]["causes"][0]["reason"], "FieldManagerConflict");
        assert_eq!(body["details"]["causes"][0]["field"], ".spec.a");
        let forced =
            apply(Some(&one), &object(json!({"a": 2})), by("y"), Others::TakeOver).unwrap();
        assert_eq!(forced["spec"]["a"], 2);
        assert_eq!(forced["metadata"]["managedFields"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn an_update_owns_what_it_changes() {
        let one = applied(None, json!({"a": 1, "b": 1}), "x");
        let mut two = one.clone();
        two["spec"]["a"] = 2.into();
        update(Some(&one), &mut two, by("edit"));
        let refused = apply(Some(&two), &object(json!({"a": 1, "b": 1})), by("x"), Others::Refuse);
        assert!(refused.is_err());
    }

    #[test]
    fn applying_the_same_again_changes_nothing() {
        let one = applied(None, json!({"a": 1}), "x");
        let later = Author { now: "2027-01-01T00:00:00Z", ..by("x") };
        let two = apply(Some(&one), &object(json!({"a": 1})), later, Others::Refuse).unwrap();
        assert_eq!(one, two);
        let mut three = two.clone();
        update(Some(&two), &mut three, later);
        assert_eq!(three, two);
    }

    #[test]
    fn a_client_may_rewrite_who_owns_what() {
        let one = applied(None, json!({"a": 1}), "x");
        let mut two = one.clone();
        two["metadata"]["managedFields"][0]["manager"] = "y".into();
        update(Some(&one), &mut two, by("z"));
        assert_eq!(two["metadata"]["managedFields"][0]["manager"], "y");
    }
}
