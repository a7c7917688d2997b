//! What Fission refuses in manifests that are formed as its schema says: numbers out of their range, words nobody
//! knows, and what a pod may not ask for. Only manifests of Fission's version are looked at.

use hub::Value;
use hub::serde_json::json;

use crate::FISSION_VERSION;
use crate::manifest::Mismatch;
use crate::schema::{brief, join};

/// Bytes that an archive inside a manifest has at most, as in Fission.
pub const LITERAL_BYTES_MAX: usize = 256 * 1024;

/// The words that a property of a kind may have. It may be empty as well.
const WORDS: [(&str, &str, &[&str]); 8] = [
    ("Function", "/spec/InvokeStrategy/StrategyType", &["execution"]),
    (
        "Function",
        "/spec/InvokeStrategy/ExecutionStrategy/ExecutorType",
        &["poolmgr", "newdeploy", "container"],
    ),
    ("Function", "/spec/versioning/mode", &["auto", "manual"]),
    ("Function", "/spec/streaming/protocol", &["auto", "sse", "chunked", "websocket"]),
    ("Environment", "/spec/allowedFunctionsPerContainer", &["single", "infinite"]),
    ("HTTPTrigger", "/spec/invocationMode", &["async"]),
    ("Package", "/spec/source/checksum/type", &["sha256"]),
    ("Package", "/spec/deployment/checksum/type", &["sha256"]),
];

/// The metadata that holds texts by name.
pub(super) const MARKS: [&str; 2] = ["labels", "annotations"];

/// What a pod of a function may not ask for, because it would leave its own.
const POD_FORBIDDEN: [&str; 5] =
    ["hostNetwork", "hostPID", "hostIPC", "serviceAccount", "serviceAccountName"];

/// Adds what is wrong with a manifest.
pub(crate) fn check(kind: &str, version: &str, manifest: &Value, found: &mut Vec<Mismatch>) {
    if version != FISSION_VERSION {
        return;
    }
    for (_, pointer, words) in WORDS.iter().filter(|(of, ..)| *of == kind) {
        let text = manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if !text.is_empty() && !words.contains(&text) {
            let expected = one_of(words);
            found.push(Mismatch { path: dotted(pointer), expected, found: format!("\"{text}\"") });
        }
    }
    match kind {
        "Environment" => between(manifest, "/spec/version", (1, 3), found),
        "Function" => function(manifest, found),
        "Package" => {
            ["source", "deployment"].iter().for_each(|side| archive(manifest, side, found));
        }
        "HTTPTrigger" | "TimeTrigger" | "MessageQueueTrigger" | "KubernetesWatchTrigger" => {
            found.extend(reference(manifest));
        }
        _ => {}
    }
}

/// What is wrong with the function that a trigger names.
fn reference(manifest: &Value) -> Option<Mismatch> {
    let reference = manifest.pointer("/spec/functionref")?;
    let text = |key: &str| reference[key].as_str().filter(|text| !text.is_empty());
    let path = |key: &str| format!("spec.functionref.{key}");
    if text("type") == Some("function-weights") {
        let weights = reference["functionweights"].as_object().into_iter().flatten();
        let weights: Vec<_> = weights.filter_map(|(_, weight)| weight.as_i64()).collect();
        let sum = weights.iter().fold(0_i64, |sum, weight| sum.saturating_add(*weight));
        let is_whole = sum == 100 && weights.iter().all(|weight| (0..=100).contains(weight));
        return (!is_whole).then(|| Mismatch {
            path: path("functionweights"),
            expected: "percents between 0 and 100 that sum to 100".to_owned(),
            found: format!("a sum of {sum}"),
        });
    }
    let (alias, version) = (text("alias")?, text("version")?);
    Some(Mismatch {
        path: path("version"),
        expected: format!("nothing, since `alias` says `{alias}` already"),
        found: format!("\"{version}\""),
    })
}

/// Adds what is wrong with the labels and annotations of a manifest, of whatever version.
pub(crate) fn check_marks(manifest: &Value, found: &mut Vec<Mismatch>) {
    let wrong = |path: String, expected: &str, value: &Value| Mismatch {
        path,
        expected: expected.to_owned(),
        found: brief(value),
    };
    for marks in MARKS {
        let path = format!("metadata.{marks}");
        match &manifest["metadata"][marks] {
            Value::Null => {}
            Value::Object(entries) => {
                for (key, value) in entries.iter().filter(|(_, value)| !value.is_string()) {
                    found.push(wrong(join(&path, key), "a string", value));
                }
            }
            other => found.push(wrong(path, "an object", other)),
        }
    }
}

fn function(manifest: &Value, found: &mut Vec<Mismatch>) {
    const STRATEGY: &str = "/spec/InvokeStrategy/ExecutionStrategy";
    let at = |key: &str| format!("{STRATEGY}/{key}");
    let executor = manifest.pointer(&at("ExecutorType")).and_then(Value::as_str);
    let executor = executor.unwrap_or_default();
    between(manifest, &at("TargetCPUPercent"), (0, 100), found);
    if ["newdeploy", "container"].contains(&executor) {
        let number = |key: &str| manifest.pointer(&at(key)).and_then(Value::as_i64);
        let least = number("MinScale").unwrap_or_default().max(1);
        if let Some(most) = number("MaxScale").filter(|most| *most < least) {
            let path = dotted(&at("MaxScale"));
            let expected = format!("at least {least}, which `MinScale` needs");
            found.push(Mismatch { path, expected, found: most.to_string() });
        }
    }
    between(manifest, "/spec/versioning/retain", (1, i64::MAX), found);
    between(manifest, "/spec/provisionedConcurrency/target", (1, i64::MAX), found);
    let pod = manifest.pointer("/spec/podspec").unwrap_or(&Value::Null);
    if executor == "container" && pod.is_null() {
        let expected = "a pod spec, which the executor `container` needs".to_owned();
        let (path, nothing) = ("spec.podspec".to_owned(), "nothing".to_owned());
        found.push(Mismatch { path, expected, found: nothing });
    }
    for key in POD_FORBIDDEN {
        let value = pod.get(key).unwrap_or(&Value::Null);
        if !value.is_null() && *value != json!(false) && *value != json!("") {
            let expected =
                "nothing, because it would lead out of the function's own pod".to_owned();
            let path = format!("spec.podspec.{key}");
            found.push(Mismatch { path, expected, found: value.to_string() });
        }
    }
}

fn archive(manifest: &Value, side: &str, found: &mut Vec<Mismatch>) {
    let Some(part) = manifest.pointer(&format!("/spec/{side}")) else { return };
    let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
    found.extend(check_literal(side, text("literal")).err());
    let kinds = ["literal", "url", "oci"];
    if !text("type").is_empty() && !kinds.contains(&text("type")) {
        let (path, expected) = (format!("spec.{side}.type"), one_of(&kinds));
        found.push(Mismatch { path, expected, found: format!("\"{}\"", text("type")) });
    }
}

/// Refuses an archive inside a manifest, in base64, that is larger than one may be. For whoever takes it out of its
/// manifest before that is checked.
pub fn check_literal(side: &str, literal: &str) -> Result<(), Mismatch> {
    let bytes = decoded_bytes(literal);
    if bytes <= LITERAL_BYTES_MAX {
        return Ok(());
    }
    Err(Mismatch {
        path: format!("spec.{side}.literal"),
        expected: format!("at most {LITERAL_BYTES_MAX} bytes; put more into an archive"),
        found: format!("{bytes} bytes"),
    })
}

/// How many bytes a text in base64 stands for. Whether it is one is found out by whoever reads it.
fn decoded_bytes(text: &str) -> usize {
    let letters = text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').count();
    letters / 4 * 3 + (letters % 4).saturating_sub(1)
}

fn between(manifest: &Value, pointer: &str, (least, most): (i64, i64), found: &mut Vec<Mismatch>) {
    let Some(number) = manifest.pointer(pointer).and_then(Value::as_i64) else { return };
    // That no number is negative is a rule of its own.
    if number < 0 || (least..=most).contains(&number) {
        return;
    }
    let expected = match most {
        i64::MAX => format!("at least {least}"),
        most => format!("a number from {least} to {most}"),
    };
    found.push(Mismatch { path: dotted(pointer), expected, found: number.to_string() });
}

fn one_of(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// A JSON pointer as places are written.
fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{checked, written};

    #[track_caller]
    fn check(kind: &str, spec: Value, expected: &[&str]) {
        let value = json!({ "kind": kind, "metadata": { "name": "a" }, "spec": spec });
        let written = written(value).unwrap().expect("it is a kind");
        let found = match checked(&written.manifest) {
            Ok(()) => Vec::new(),
            Err(crate::ManifestError::Mismatches { mismatches, .. }) => mismatches,
            Err(other) => panic!("{other}"),
        };
        let found: Vec<_> = found.iter().map(Mismatch::to_string).collect();
        assert_eq!(found, expected);
    }

    fn function(more: &Value) -> Value {
        let mut spec = json!({
            "environment": { "name": "nodejs" }, "package": { "packageref": { "name": "p" } },
        });
        let parts = more.as_object().expect("parts").clone();
        spec.as_object_mut().expect("an object").extend(parts);
        spec
    }

    fn strategy(parts: &Value) -> Value {
        function(&json!({ "InvokeStrategy": { "ExecutionStrategy": parts } }))
    }

    #[test]
    fn an_environment_has_one_of_three_versions() {
        let environment = |version: i64| json!({ "version": version, "runtime": { "image": "fission/node-env" } });
        for version in 1..=3 {
            check("Environment", environment(version), &[]);
        }
        check(
            "Environment",
            environment(0),
            &["spec.version: expected a number from 1 to 3, found 0"],
        );
        check(
            "Environment",
            environment(4),
            &["spec.version: expected a number from 1 to 3, found 4"],
        );
        check(
            "Environment",
            environment(-1),
            &["spec.version: expected a number that is not negative, found -1"],
        );
    }

    #[test]
    fn every_trigger_names_one_thing_or_shares_that_are_all_of_it() {
        for (kind, more) in [
            ("HTTPTrigger", json!({ "relativeurl": "/a" })),
            ("TimeTrigger", json!({ "cron": "@daily" })),
            ("MessageQueueTrigger", json!({ "messageQueueType": "nats-jetstream", "topic": "a" })),
            ("KubernetesWatchTrigger", json!({ "namespace": "default", "type": "POD" })),
        ] {
            let with = |reference: Value| {
                let mut spec = more.clone();
                spec["functionref"] = reference;
                spec
            };
            let both = json!({ "type": "name", "name": "a", "alias": "b", "version": "c" });
            let expected = "spec.functionref.version: expected nothing, since `alias` says `b` already, found \"c\"";
            check(kind, with(both), &[expected]);
            let shares = |b: u32| json!({ "type": "function-weights", "name": "", "functionweights": { "a": 60, "b": b } });
            let expected = "spec.functionref.functionweights: \
                expected percents between 0 and 100 that sum to 100, found a sum of 90";
            check(kind, with(shares(30)), &[expected]);
            check(kind, with(shares(40)), &[]);
        }
    }

    #[test]
    fn strategies_and_executors_are_known_ones() {
        let other = json!({ "InvokeStrategy": { "StrategyType": "guess" } });
        check(
            "Function",
            function(&other),
            &["spec.InvokeStrategy.StrategyType: expected `execution`, found \"guess\""],
        );
        check(
            "Function",
            strategy(&json!({ "ExecutorType": "newdeployment" })),
            &["spec.InvokeStrategy.ExecutionStrategy.ExecutorType: \
               expected `poolmgr`, `newdeploy` or `container`, found \"newdeployment\""],
        );
        for executor in ["", "poolmgr", "newdeploy"] {
            check("Function", strategy(&json!({ "ExecutorType": executor })), &[]);
        }
    }

    #[test]
    fn scales_and_processors_are_within_their_range() {
        check(
            "Function",
            strategy(&json!({ "TargetCPUPercent": 101 })),
            &["spec.InvokeStrategy.ExecutionStrategy.TargetCPUPercent: \
               expected a number from 0 to 100, found 101"],
        );
        check("Function", strategy(&json!({ "TargetCPUPercent": 100 })), &[]);
        check(
            "Function",
            strategy(&json!({ "ExecutorType": "newdeploy", "MinScale": 3, "MaxScale": 2 })),
            &["spec.InvokeStrategy.ExecutionStrategy.MaxScale: \
               expected at least 3, which `MinScale` needs, found 2"],
        );
        // What poolmgr does with them is nothing.
        check("Function", strategy(&json!({ "MinScale": 3, "MaxScale": 2 })), &[]);
    }

    #[test]
    fn a_container_needs_a_pod_and_no_pod_leaves_its_own() {
        check(
            "Function",
            strategy(&json!({ "ExecutorType": "container" })),
            &[
                "spec.podspec: expected a pod spec, which the executor `container` needs, found nothing",
            ],
        );
        let pod = json!({ "podspec": {
            "hostNetwork": true, "hostPID": false, "serviceAccountName": "root",
        } });
        check(
            "Function",
            function(&pod),
            &[
                "spec.podspec.hostNetwork: expected nothing, because it would lead out of the function's \
                 own pod, found true",
                "spec.podspec.serviceAccountName: expected nothing, because it would lead out of the \
                 function's own pod, found \"root\"",
            ],
        );
    }

    #[test]
    fn an_archive_in_a_manifest_is_small() {
        let package = |literal: String| {
            json!({
                "environment": { "name": "nodejs" },
                "deployment": { "type": "literal", "literal": literal },
            })
        };
        // Three bytes are four letters.
        let exactly = "A".repeat(LITERAL_BYTES_MAX / 3 * 4 + 2) + "==";
        check("Package", package(exactly), &[]);
        let above = "A".repeat(LITERAL_BYTES_MAX / 3 * 4 + 3) + "=";
        check(
            "Package",
            package(above),
            &["spec.deployment.literal: expected at most 262144 bytes; put more into an archive, \
               found 262145 bytes"],
        );
    }

    #[test]
    fn archives_are_of_known_kinds() {
        let package = json!({
            "environment": { "name": "nodejs" },
            "source": { "type": "ftp", "url": "ftp://x", "checksum": { "type": "md5", "sum": "0" } },
        });
        check(
            "Package",
            package,
            &[
                "spec.source.checksum.type: expected `sha256`, found \"md5\"",
                "spec.source.type: expected `literal`, `url` or `oci`, found \"ftp\"",
            ],
        );
    }
}
