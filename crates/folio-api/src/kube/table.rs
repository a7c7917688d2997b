//! Objects as rows, for people. A column says where in an object its value is; every version of a kind may have it
//! elsewhere.

use folio_model::Timestamp;
use serde_json::{Value, json};

use super::resource::Resource;

/// One column.
struct Column {
    name: &'static str,
    /// Where its value may be, as JSON pointers; the first that is there is shown.
    places: &'static [&'static str],
    /// Whether it is only shown to those who ask for more.
    wide: bool,
}

const fn column(name: &'static str, places: &'static [&'static str]) -> Column {
    Column { name, places, wide: false }
}

const fn wide(name: &'static str, places: &'static [&'static str]) -> Column {
    Column { name, places, wide: true }
}

const NAME: Column = column("Name", &["/metadata/name"]);
const AGE: Column = column("Age", &["/metadata/creationTimestamp"]);
const VERSIONS: Column = column("Versions", &["/status/versions"]);
const LATEST: Column = column("Latest", &["/status/latest"]);
const LIVE: Column = column("Live", &["/status/live"]);
const BUILD: Column = column("Build", &["/status/buildstatus"]);
const DRAFT: Column = wide("Draft", &["/status/draft"]);
const ENVIRONMENT: Column = wide("Environment", &["/spec/environment/name", "/spec/environment"]);

fn columns(kind: &str) -> Vec<Column> {
    match kind {
        "Function" => vec![
            NAME,
            VERSIONS,
            LATEST,
            LIVE,
            BUILD,
            AGE,
            DRAFT,
            ENVIRONMENT,
            wide("Package", &["/spec/package/packageref/name", "/spec/package/name"]),
        ],
        "Package" => vec![NAME, VERSIONS, LATEST, LIVE, BUILD, AGE, DRAFT, ENVIRONMENT],
        "Environment" => vec![
            NAME,
            VERSIONS,
            LATEST,
            AGE,
            wide("Runtime", &["/spec/runtime/image", "/spec/runtime"]),
        ],
        "HTTPTrigger" => vec![
            NAME,
            column("Path", &["/spec/prefix", "/spec/relativeurl", "/spec/path"]),
            column("Methods", &["/spec/methods", "/spec/method"]),
            column("Function", &["/spec/functionref/name", "/spec/targets/0/function"]),
            AGE,
            wide("Host", &["/spec/host"]),
        ],
        "TimeTrigger" => vec![NAME, column("Cron", &["/spec/cron"]), AGE],
        "MessageQueueTrigger" => vec![NAME, column("Topic", &["/spec/topic"]), AGE],
        other => shown_columns(other),
    }
}

/// The columns of what is no unit.
fn shown_columns(kind: &str) -> Vec<Column> {
    match kind {
        "FunctionVersion" | "PackageVersion" => vec![
            NAME,
            column("Of", &["/spec/function", "/spec/functionName", "/spec/package"]),
            column("Number", &["/spec/number"]),
            column("By", &["/spec/createdBy"]),
            AGE,
            wide("Description", &["/spec/description"]),
        ],
        "FunctionVersionTracker" | "PackageVersionTracker" => {
            vec![
                NAME,
                column("Latest", &["/spec/latest"]),
                column("Versions", &["/status/versions"]),
                AGE,
            ]
        }
        "Alias" => {
            vec![NAME, column("Function", &["/spec/function"]), column("To", &["/status/to"]), AGE]
        }
        "Tag" => vec![NAME, column("Members", &["/status/members"]), AGE],
        "GroupVersionTracker" => vec![
            NAME,
            column("Members", &["/status/members"]),
            column("Commit", &["/spec/commit"]),
            column("Clean", &["/spec/clean"]),
            AGE,
            wide("Branch", &["/spec/branch"]),
        ],
        "AppVersion" => vec![
            NAME,
            column("Number", &["/spec/number"]),
            column("Message", &["/spec/message"]),
            column("By", &["/spec/by"]),
            AGE,
            wide("Commit", &["/spec/git/commit"]),
        ],
        "Release" => vec![
            NAME,
            column("Version", &["/spec/appVersion"]),
            column("State", &["/status/state"]),
            column("Live", &["/status/live"]),
            AGE,
        ],
        "App" => vec![NAME, column("Version", &["/spec/appVersion"]), AGE],
        "Namespace" => vec![NAME, column("Status", &["/status/phase"]), AGE],
        "ConfigMap" => vec![NAME, column("Data", &["/data"]), AGE],
        "Secret" => vec![NAME, column("Type", &["/type"]), column("Data", &["/data"]), AGE],
        "Event" => vec![
            column("Last Seen", &["/lastTimestamp"]),
            column("Type", &["/type"]),
            column("Reason", &["/reason"]),
            column("Object", &["/involvedObject/name"]),
            column("Message", &["/message"]),
        ],
        _ => vec![NAME, AGE],
    }
}

/// What rows carry besides their cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carry {
    Metadata,
    Whole,
}

/// Objects as a table.
pub(crate) fn table(resource: &Resource, objects: &[Value], now: Timestamp, carry: Carry) -> Value {
    let columns = columns(resource.kind);
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
    let rows: Vec<_> = objects.iter().map(|object| row(&columns, object, now, carry)).collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {},
        "columnDefinitions": definitions, "rows": rows,
    })
}

fn row(columns: &[Column], object: &Value, now: Timestamp, carry: Carry) -> Value {
    let cells: Vec<_> = columns.iter().map(|column| cell(column, object, now)).collect();
    let carried = match carry {
        Carry::Whole => object.clone(),
        Carry::Metadata => json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": object["metadata"],
        }),
    };
    json!({ "cells": cells, "object": carried })
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
