//! From the hub to the model and back: the only place that knows both.
//!
//! A snapshot's body is the spec of the hub with the unit's kind on it. Beside what folio acts on,
//! its `$bag` holds everything else there was to the object: what the spec's own bag keeps by
//! `property@version`; the bags of its parts, and properties that were `null`, by their JSON
//! pointer; `metadata` but for the name; and `object`, the bag of the whole. The status is not
//! kept: it is what a platform reports, never what it is told.

use folio_model::{Name, Snapshot, TriggerSpec};
use hub::Value;
use hub::serde_json::{Map, from_slice, from_value, json, to_value};

use crate::HUB_VERSION;
use crate::registry::Stored;

/// Where an object keeps what it has no property for.
const BAG: &str = "$bag";

/// Where the bag keeps the metadata of the manifest.
const METADATA: &str = "metadata";

/// Where the bag keeps the bag of the whole object.
const OBJECT: &str = "object";

/// The kind whose spec has a word that says in a body what the body is: there it has another.
const WATCH: &str = "KubernetesWatchTrigger";

/// Why an object is no snapshot, or a stored body cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// A kind that has no snapshots.
    #[error("{0} is not a unit that folio versions")]
    NotAUnit(&'static str),
    /// A value that folio needs is missing or not of its type.
    #[error("the {kind} is not complete: {why}")]
    Incomplete {
        /// The kind.
        kind: &'static str,
        /// What is missing or wrong.
        why: String,
    },
    /// A body of a version that this program does not know.
    #[error("its body is of version `{0}`, which this program does not know")]
    UnknownVersion(String),
    /// A body that is not what its version says.
    #[error("its body cannot be read: {0}")]
    Unreadable(String),
}

/// The snapshot of a stored object.
pub fn snapshot(stored: &Stored) -> Result<Snapshot, MappingError> {
    let kind = stored.kind().name;
    let tags = tags(kind).ok_or(MappingError::NotAUnit(kind))?;
    let incomplete = |why: String| MappingError::Incomplete { kind, why };
    let Value::Object(mut object) = stored.to_value() else {
        return Err(incomplete("it is no object".to_owned()));
    };
    let Some(Value::Object(mut spec)) = object.remove("spec") else {
        return Err(incomplete("it has no `spec`".to_owned()));
    };
    let mut bag = taken(&mut spec, BAG);
    lift(&mut spec, "", &mut bag);
    let mut metadata = taken(&mut object, METADATA);
    metadata.remove("name");
    let mut whole = taken(&mut object, BAG);
    whole.retain(|key, _| !key.starts_with("status@"));
    for (key, part) in [(METADATA, metadata), (OBJECT, whole)] {
        if !part.is_empty() {
            bag.insert(key.to_owned(), Value::Object(part));
        }
    }
    if !bag.is_empty() {
        spec.insert(BAG.to_owned(), Value::Object(bag));
    }
    if kind == WATCH {
        rename(&mut spec, "kind", "objectType");
    }
    for (tag, value) in tags {
        spec.insert((*tag).to_owned(), (*value).into());
    }
    from_value(Value::Object(spec)).map_err(|error| incomplete(error.to_string()))
}

/// The object that a unit's snapshot was made from.
pub fn stored(snapshot: &Snapshot, name: &Name) -> Result<Stored, MappingError> {
    let kind = kind_of(snapshot);
    let body = to_value(snapshot).map_err(|error| MappingError::Unreadable(error.to_string()))?;
    let mut object = unlifted(body)?;
    let metadata = object.entry(METADATA).or_insert_with(|| json!({}));
    metadata["name"] = name.as_str().into();
    Stored::of_value(kind, Value::Object(object)).map_err(MappingError::Unreadable)
}

/// Reads the body of a snapshot that was written in any version of the hub.
pub fn read_body(version: &str, body: &[u8]) -> Result<Snapshot, MappingError> {
    let unreadable = |error: String| MappingError::Unreadable(error);
    if version == HUB_VERSION {
        return from_slice(body).map_err(|error| unreadable(error.to_string()));
    }
    let body: Value = from_slice(body).map_err(|error| unreadable(error.to_string()))?;
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let kind = match (text("kind"), text("trigger")) {
        (Some("function"), _) => "Function",
        (Some("package"), _) => "Package",
        (Some("environment"), _) => "Environment",
        (Some("trigger"), Some("http")) => "HTTPTrigger",
        (Some("trigger"), Some("timer")) => "TimeTrigger",
        (Some("trigger"), Some("queue")) => "MessageQueueTrigger",
        (Some("trigger"), Some("watch")) => WATCH,
        (Some("static"), _) => "StaticAsset",
        (Some("config"), _) => "Config",
        (kind, _) => return Err(unreadable(format!("it is of the kind {kind:?}"))),
    };
    let mut object = unlifted(body)?;
    object.entry(METADATA).or_insert_with(|| json!({}));
    let read = Stored::read(kind, version, Value::Object(object));
    let read = read.ok_or_else(|| MappingError::UnknownVersion(version.to_owned()))?;
    let read = read.map_err(|error| unreadable(error.to_string()))?;
    let mut value = read.to_value();
    hoist(&mut value, &format!("*@{version}"));
    snapshot(&Stored::of_value(kind, value).map_err(unreadable)?)
}

/// What says in a body which kind it is of.
fn tags(kind: &str) -> Option<&'static [(&'static str, &'static str)]> {
    Some(match kind {
        "Function" => &[("kind", "function")],
        "Package" => &[("kind", "package")],
        "Environment" => &[("kind", "environment")],
        "HTTPTrigger" => &[("kind", "trigger"), ("trigger", "http")],
        "TimeTrigger" => &[("kind", "trigger"), ("trigger", "timer")],
        "MessageQueueTrigger" => &[("kind", "trigger"), ("trigger", "queue")],
        WATCH => &[("kind", "trigger"), ("trigger", "watch")],
        "StaticAsset" => &[("kind", "static")],
        "Config" => &[("kind", "config")],
        _ => return None,
    })
}

fn kind_of(snapshot: &Snapshot) -> &'static str {
    match snapshot {
        Snapshot::Function(_) => "Function",
        Snapshot::Package(_) => "Package",
        Snapshot::Environment(_) => "Environment",
        Snapshot::Trigger(TriggerSpec::Http(_)) => "HTTPTrigger",
        Snapshot::Trigger(TriggerSpec::Timer(_)) => "TimeTrigger",
        Snapshot::Trigger(TriggerSpec::Queue(_)) => "MessageQueueTrigger",
        Snapshot::Trigger(TriggerSpec::Watch(_)) => WATCH,
        Snapshot::Config(_) => "Config",
        Snapshot::Secret(_) => "Secret",
        Snapshot::Static(_) => "StaticAsset",
    }
}

/// The whole object of a body, with every bag where it belongs.
fn unlifted(body: Value) -> Result<Map<String, Value>, MappingError> {
    let Value::Object(mut spec) = body else {
        return Err(MappingError::Unreadable("it is no object".to_owned()));
    };
    spec.remove("kind");
    if spec.remove("trigger").is_some_and(|tag| tag == "watch") {
        rename(&mut spec, "objectType", "kind");
    }
    let mut bag = taken(&mut spec, BAG);
    let mut object = Map::new();
    let metadata = taken(&mut bag, METADATA);
    if !metadata.is_empty() {
        object.insert(METADATA.to_owned(), Value::Object(metadata));
    }
    let whole = taken(&mut bag, OBJECT);
    if !whole.is_empty() {
        object.insert(BAG.to_owned(), Value::Object(whole));
    }
    let (parts, own): (Vec<_>, Vec<_>) = bag.into_iter().partition(|(key, _)| key.starts_with('/'));
    let own: Map<String, Value> = own.into_iter().collect();
    if !own.is_empty() {
        spec.insert(BAG.to_owned(), Value::Object(own));
    }
    let mut spec = Value::Object(spec);
    for (pointer, part) in parts {
        put_back(&mut spec, &pointer, part);
    }
    object.insert("spec".to_owned(), spec);
    Ok(object)
}

/// Puts a bag or a `null` back where it was. A part that is gone takes it along.
fn put_back(spec: &mut Value, pointer: &str, part: Value) {
    if part.is_null() {
        let Some((parent, name)) = pointer.rsplit_once('/') else { return };
        if let Some(Value::Object(parent)) = spec.pointer_mut(parent) {
            let name = name.replace("~1", "/").replace("~0", "~");
            parent.entry(name).or_insert(Value::Null);
        }
    } else if let Some(Value::Object(object)) = spec.pointer_mut(pointer) {
        object.insert(BAG.to_owned(), part);
    }
}

/// Takes the bags of an object's parts, and properties that are `null`, out of it.
fn lift(object: &mut Map<String, Value>, path: &str, lifted: &mut Map<String, Value>) {
    let nulls: Vec<_> =
        object.iter().filter(|(_, value)| value.is_null()).map(|(key, _)| key.clone()).collect();
    for key in nulls {
        object.remove(&key);
        lifted.insert(pointer(path, &key), Value::Null);
    }
    for (key, value) in object.iter_mut() {
        lift_part(value, &pointer(path, key), lifted);
    }
}

fn lift_part(value: &mut Value, path: &str, lifted: &mut Map<String, Value>) {
    match value {
        Value::Object(part) => {
            let bag = taken(part, BAG);
            if !bag.is_empty() {
                lifted.insert(path.to_owned(), Value::Object(bag));
            }
            lift(part, path, lifted);
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                lift_part(item, &pointer(path, &index.to_string()), lifted);
            }
        }
        _ => {}
    }
}

/// Moves bags that an older hub had, and its version took for properties it does not know, to
/// where this hub has its bags.
fn hoist(value: &mut Value, unknown: &str) {
    match value {
        Value::Object(object) => {
            let older = hoisted(object, unknown);
            if !older.is_empty() {
                let bag = object.entry(BAG).or_insert_with(|| json!({}));
                bag.as_object_mut().into_iter().for_each(|bag| bag.extend(older.clone()));
            }
            for (key, part) in object.iter_mut() {
                if key != BAG {
                    hoist(part, unknown);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hoist(item, unknown)),
        _ => {}
    }
}

fn hoisted(object: &mut Map<String, Value>, unknown: &str) -> Map<String, Value> {
    let Some(Value::Object(bag)) = object.get_mut(BAG) else { return Map::new() };
    let Some(Value::Object(rest)) = bag.get_mut(unknown) else { return Map::new() };
    let older = taken(rest, BAG);
    if rest.is_empty() {
        bag.remove(unknown);
    }
    if bag.is_empty() {
        object.remove(BAG);
    }
    older
}

/// Gives a property another name.
fn rename(object: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = object.remove(from) {
        object.insert(to.to_owned(), value);
    }
}

/// Takes an object out of another; empty if there is none.
fn taken(object: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    match object.remove(key) {
        Some(Value::Object(taken)) => taken,
        _ => Map::new(),
    }
}

fn pointer(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}
