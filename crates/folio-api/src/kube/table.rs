//! Objects as rows, for people. A column says where in an object its value is; every version of a kind may have it
//! elsewhere.

use folio_model::Timestamp;
use serde_json::{Value, json};

use super::resource::{Resource, Source};

/// One column.
pub(crate) struct Column {
    name: &'static str,
    /// Where its value may be, as JSON pointers; the first that is there is shown.
    places: &'static [&'static str],
    /// Whether it is only shown to those who ask for more.
    wide: bool,
}

pub(crate) const fn column(name: &'static str, places: &'static [&'static str]) -> Column {
    Column { name, places, wide: false }
}

pub(crate) const fn wide(name: &'static str, places: &'static [&'static str]) -> Column {
    Column { name, places, wide: true }
}

const NAME: Column = column("Name", &["/metadata/name"]);
pub(crate) const AGE: Column = column("Age", &["/metadata/creationTimestamp"]);
pub(crate) const VERSIONS: Column = column("Versions", &["/status/versions"]);
pub(crate) const LATEST: Column = column("Latest", &["/status/latest"]);
const LIVE: Column = column("Live", &["/status/live"]);
const BUILD: Column = column("Build", &["/status/buildstatus"]);
const DRAFT: Column = wide("Draft", &["/status/draft"]);
const ENVIRONMENT: Column = wide("Environment", &["/spec/environment/name", "/spec/environment"]);

fn columns(resource: &Resource) -> Vec<Column> {
    let mut columns = match resource.source {
        // An event is not known by its name.
        Source::Mapped(mapping) if resource.kind == "Event" => return mapping.columns(),
        Source::Mapped(mapping) => mapping.columns(),
        Source::Unit(..) => of_unit(resource.kind),
    };
    columns.insert(0, NAME);
    columns
}

fn of_unit(kind: &str) -> Vec<Column> {
    match kind {
        "Function" => vec![
            VERSIONS,
            LATEST,
            LIVE,
            BUILD,
            AGE,
            DRAFT,
            ENVIRONMENT,
            wide("Package", &["/spec/package/packageref/name", "/spec/package/name"]),
        ],
        "Package" => vec![VERSIONS, LATEST, LIVE, BUILD, AGE, DRAFT, ENVIRONMENT],
        "Environment" => {
            vec![VERSIONS, LATEST, AGE, wide("Runtime", &["/spec/runtime/image", "/spec/runtime"])]
        }
        "HTTPTrigger" => vec![
            column(
                "Path",
                &[
                    "/spec/prefix",
                    "/spec/relativeurl",
                    "/spec/path/exact",
                    "/spec/path/prefix/path",
                    "/spec/path",
                ],
            ),
            column("Methods", &["/spec/methods", "/spec/method"]),
            column("Function", &["/spec/functionref/name", "/spec/targets/0/function"]),
            AGE,
            wide("Host", &["/spec/host"]),
        ],
        "TimeTrigger" => vec![column("Cron", &["/spec/cron"]), AGE],
        "MessageQueueTrigger" => vec![column("Topic", &["/spec/topic"]), AGE],
        "StaticAsset" => vec![column("Path", &["/spec/path"]), VERSIONS, LATEST, AGE],
        _ => vec![VERSIONS, LATEST, AGE],
    }
}

/// What rows carry besides their cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carry {
    Metadata,
    Whole,
}

/// Objects as a table.
pub(crate) fn table(
    resource: &Resource,
    objects: Vec<Value>,
    now: Timestamp,
    carry: Carry,
) -> Value {
    let columns = columns(resource);
    let definitions: Vec<_> = columns
        .iter()
        .map(|Column { name, wide, .. }| {
            let format = if *name == "Name" { "name" } else { "" };
            json!({
                "name": name, "type": "string", "format": format, "description": "",
                "priority": u8::from(*wide),
            })
        })
        .collect();
    let mut table = json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {},
        "columnDefinitions": definitions,
    });
    // Moved, as `json!` would copy them.
    table["rows"] = objects.into_iter().map(|object| row(&columns, object, now, carry)).collect();
    table
}

fn row(columns: &[Column], object: Value, now: Timestamp, carry: Carry) -> Value {
    let mut row = json!({});
    row["cells"] = columns.iter().map(|column| cell(column, &object, now)).collect();
    row["object"] = match carry {
        Carry::Whole => object,
        Carry::Metadata => partial(object),
    };
    row
}

/// The metadata of an object alone.
pub(crate) fn partial(mut object: Value) -> Value {
    let mut partial = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1" });
    partial["metadata"] = object["metadata"].take();
    partial
}

fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let found = column.places.iter().find_map(|place| object.pointer(place));
    let is_time = matches!(column.name, "Age" | "Last Seen");
    let text = match found {
        None | Some(Value::Null) => "<none>".to_owned(),
        Some(Value::String(text)) if is_time => {
            text.parse().map_or_else(|_| "<unknown>".to_owned(), |since: Timestamp| age(now, since))
        }
        Some(Value::String(text)) if text.is_empty() => "<none>".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            let texts: Vec<_> = items.iter().map(|item| item.as_str().unwrap_or("?")).collect();
            if texts.is_empty() { "<none>".to_owned() } else { texts.join(",") }
        }
        Some(Value::Object(entries)) if column.name == "Object" => {
            let text = |key: &str| entries.get(key).and_then(Value::as_str).unwrap_or_default();
            format!("{}/{}", text("kind").to_lowercase(), text("name"))
        }
        Some(Value::Object(entries)) => entries.len().to_string(),
        Some(other) => other.to_string(),
    };
    text.into()
}

/// A duration as people read it: the larger of its units.
pub(crate) fn age(now: Timestamp, since: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(since.as_second()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let two = |whole: i64, unit: &str, rest: i64, small: &str| match rest {
        0 => format!("{whole}{unit}"),
        rest => format!("{whole}{unit}{rest}{small}"),
    };
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=599 => two(minutes, "m", seconds % 60, "s"),
        600..=10_799 => format!("{minutes}m"),
        10_800..=28_799 => two(hours, "h", minutes % 60, "m"),
        28_800..=172_799 => format!("{hours}h"),
        172_800..=691_199 => two(days, "d", hours % 24, "h"),
        691_200..=63_071_999 => format!("{days}d"),
        _ => two(days / 365, "y", days % 365, "d"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let check = |seconds: i64, expected: &str| {
            let now = Timestamp::from_second(1_000_000_000).unwrap();
            let since = Timestamp::from_second(1_000_000_000 - seconds).unwrap();
            assert_eq!(age(now, since), expected);
        };
        check(0, "0s");
        check(-5, "0s");
        check(119, "119s");
        check(150, "2m30s");
        check(700, "11m");
        check(3 * 3600 + 60, "3h1m");
        check(9 * 3600, "9h");
        check(3 * 86400, "3d");
        check(800 * 86400, "2y70d");
    }
}
