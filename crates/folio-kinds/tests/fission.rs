//! What a user of Fission brings comes back as it was, and has a clean form.

use folio_kinds::generated::kinds::{fission_io_v1, storage};
use folio_kinds::{Manifest, convert, mapping};
use folio_model::{Digest, Name, Snapshot};
use hub::Spoke as _;
use serde_json::{Value, json};

pub(crate) fn manifest() -> Manifest {
    let text = include_str!("manifests/fission.yaml");
    Manifest::parse_all(text).unwrap().remove(0)
}

/// The manifest as it would be stored, with the package it is published with.
pub(crate) fn snapshot() -> Snapshot {
    let mut clean = convert(&manifest(), "folio.dev/v1").unwrap().manifest.as_value();
    let pin = Digest::of(b"the package").to_string();
    clean["spec"]["package"]["snapshot"] = pin.as_str().into();
    let pinned = Manifest::new(clean).unwrap().store().unwrap().to_value();
    let mut stored = manifest().store().unwrap().to_value();
    stored["spec"]["package"] = pinned["spec"]["package"].clone();
    let stored = serde_json::from_value(stored).unwrap();
    mapping::snapshot(&folio_kinds::Stored::Function(stored)).unwrap()
}

#[test]
fn a_function_with_a_pod_spec_comes_back_in_every_field() {
    let name: Name = "resize".parse().unwrap();
    let stored = mapping::stored(&snapshot(), &name).unwrap();
    let back = Manifest::of(stored, "fission.io/v1").unwrap();
    assert_eq!(back.as_value(), manifest().as_value());
}

#[test]
fn its_clean_form_has_what_folio_acts_on() {
    let name: Name = "resize".parse().unwrap();
    let stored = mapping::stored(&snapshot(), &name).unwrap();
    let clean = Manifest::of(stored, "folio.dev/v1").unwrap().as_value();
    let expected = json!({
        "environment": "nodejs",
        "package": {"name": "resize-pkg", "snapshot": Digest::of(b"the package").to_string()},
        "entrypoint": "resize.handler",
        "run": {
            "timeoutMs": 90_000,
            "idleMs": 120_000,
            "concurrency": 4,
            "scaleMin": 1,
            "scaleMax": 4,
        },
    });
    assert_eq!(clean["spec"], expected);
    assert_eq!(clean["metadata"]["labels"], json!({"team": "pictures"}));
}

#[test]
fn what_folio_acts_on_is_typed() {
    let Snapshot::Function(spec) = snapshot() else { panic!("it is a function") };
    assert_eq!(spec.environment.as_str(), "nodejs");
    assert_eq!(spec.run.timeout_ms, Some(90_000));
    assert_eq!(spec.run.scale_max, Some(4));
    assert!(spec.bag.contains_key("podspec@fission.io/v1"), "{:?}", spec.bag.keys());
}

#[test]
fn a_pod_spec_is_moved_and_never_copied() {
    let mut value = manifest().as_value();
    value.as_object_mut().unwrap().retain(|key, _| key != "apiVersion" && key != "kind");
    let function: fission_io_v1::Function = serde_json::from_value(value).unwrap();
    let address = |function: &fission_io_v1::Function| {
        let podspec = function.spec.podspec.value().unwrap();
        podspec["containers"][0]["image"].as_str().unwrap().as_ptr()
    };
    let before = address(&function);
    let stored: storage::Function = function.into_hub().unwrap();
    let back = fission_io_v1::Function::from_hub(stored).unwrap();
    assert_eq!(address(&back), before);
}

#[test]
fn what_goes_to_the_bag_is_told() {
    let converted = convert(&manifest(), "folio.dev/v1").unwrap();
    let paths: Vec<_> = converted.bagged.iter().map(|bagged| bagged.path.as_str()).collect();
    for path in ["spec.podspec", "spec.somethingNew", "spec.secrets", "spec.InvokeStrategy"] {
        assert!(paths.contains(&path), "{path} is not in {paths:?}");
    }
    assert_eq!(converted.hidden, [""; 0]);
    let back = convert(&converted.manifest, "fission.io/v1").unwrap();
    assert_eq!(back.manifest.as_value()["spec"]["functionTimeout"], 90);
    let memory = json!({"apiVersion": "folio.dev/v1", "kind": "Function", "metadata": {}, "spec": {
        "environment": "nodejs", "package": {"name": "p"}, "run": {"memoryBytes": 1024}}});
    let hidden = convert(&Manifest::new(memory).unwrap(), "fission.io/v1").unwrap().hidden;
    assert_eq!(hidden, ["spec.run"]);
}

#[test]
fn a_change_through_one_version_is_seen_in_the_other() {
    let name: Name = "resize".parse().unwrap();
    let Snapshot::Function(mut spec) = snapshot() else { panic!("it is a function") };
    spec.environment = "python".parse().unwrap();
    spec.run.timeout_ms = Some(5_000);
    spec.entrypoint = None;
    let stored = mapping::stored(&Snapshot::Function(spec), &name).unwrap();
    let back = Manifest::of(stored, "fission.io/v1").unwrap().as_value();
    let mut expected = manifest().as_value();
    expected["spec"]["environment"]["name"] = "python".into();
    expected["spec"]["functionTimeout"] = 5.into();
    expected["spec"]["package"].as_object_mut().unwrap().remove("functionName");
    assert_eq!(back, expected);
}

#[test]
fn routes_and_environments_have_a_clean_form() {
    let check = |kind: &str, spec: Value, expected: Value| {
        let manifest =
            json!({"apiVersion": "fission.io/v1", "kind": kind, "metadata": {}, "spec": spec});
        let manifest = Manifest::new(manifest).unwrap();
        let clean = convert(&manifest, "folio.dev/v1").unwrap().manifest.as_value();
        assert_eq!(clean["spec"], expected, "{kind}");
        let back = Manifest::of(manifest.store().unwrap(), "fission.io/v1").unwrap();
        assert_eq!(back, manifest);
    };
    check(
        "HTTPTrigger",
        json!({"relativeurl": "/hello/{name}", "prefix": "", "method": "GET", "createingress": true,
            "functionref": {"type": "name", "name": "hello", "alias": "prod"},
            "corsConfig": {"allowOrigins": ["*"], "maxAge": "10m"}}),
        json!({"path": {"exact": "/hello/{name}"}, "methods": ["GET"],
            "targets": [{"function": "hello@prod", "weight": 10_000}],
            "cors": {"allowOrigins": ["*"], "maxAgeSeconds": 600}}),
    );
    check(
        "HTTPTrigger",
        json!({"prefix": "/api", "keepPrefix": true, "methods": ["GET", "PUT"], "functionref":
            {"type": "function-weights", "name": "", "functionweights": {"a": 90, "b": 10}}}),
        json!({"path": {"prefix": {"path": "/api", "keep": true}}, "methods": ["GET", "PUT"],
            "targets": [{"function": "a", "weight": 9000}, {"function": "b", "weight": 1000}]}),
    );
    check(
        "Environment",
        json!({"version": 3, "poolsize": 2, "runtime": {"image": "fission/node-env:1.32"},
            "builder": {"image": "fission/node-builder", "command": "build"},
            "allowAccessToExternalNetwork": true, "keeparchive": false}),
        json!({"runtime": "nodejs", "image": "fission/node-env:1.32", "builder": "build",
            "poolsize": 2, "network": "egress"}),
    );
    check(
        "TimeTrigger",
        json!({"cron": "@hourly", "subpath": "/x", "functionref":
            {"type": "name", "name": "hello", "version": "v1"}}),
        json!({"cron": "@hourly", "path": "/x",
            "targets": [{"function": "hello@v1", "weight": 10_000}]}),
    );
}
