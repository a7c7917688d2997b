//! Manifests that say something impossible are refused with the place, and nothing else happens.

use folio_kinds::spec::{self, Contents};
use folio_kinds::{Manifest, convert, explain};

fn refused(text: &str, to: &str) -> String {
    let manifests = match Manifest::parse_all(text) {
        Ok(manifests) => manifests,
        Err(error) => return error.to_string(),
    };
    convert(&manifests[0], to).unwrap_err().to_string()
}

fn check(text: &str, expected: &str) {
    let error = refused(text, "folio.dev/v1");
    assert!(error.contains(expected), "{text}\ngives: {error}\nnot: {expected}");
}

#[test]
fn what_is_no_manifest_is_refused() {
    check("[1, 2]", "is not an object");
    check("a: [", "it is no manifest");
    check("kind: Function", "it has no `apiVersion`");
    check("apiVersion: folio.dev/v1", "it has no `kind`");
    check("apiVersion: folio.dev/v1\nkind: Pod", "there is no kind `Pod`");
    check("apiVersion: folio.dev/v1\nkind: function", "there is no kind `function`");
}

#[test]
fn an_unknown_version_names_those_there_are() {
    check(
        "{apiVersion: fission.io/v2, kind: Function, metadata: {}, spec: {}}",
        "Function is not served in `fission.io/v2`, only in fission.io/v1, folio.dev/v1beta1, \
         folio.dev/v1",
    );
    let tag = "{apiVersion: folio.dev/v1, kind: Tag, metadata: {}, spec: {members: []}}";
    let error = refused(tag, "fission.io/v1");
    assert_eq!(error, "Tag is not served in `fission.io/v1`, only in folio.dev/v1");
}

#[test]
fn wrong_types_are_named_with_their_place() {
    let function = |spec: &str| {
        format!("{{apiVersion: folio.dev/v1, kind: Function, metadata: {{}}, spec: {spec}}}")
    };
    let check = |spec: &str, expected: &str| check(&function(spec), expected);
    check("7", "spec: expected an object, found 7");
    check("{environment: 3, package: {name: p}}", "spec.environment: expected a string, found 3");
    check("{environment: a}", "spec.package: expected an object, found nothing");
    check(
        "{environment: a, package: {name: p}, run: {timeoutMs: soon}}",
        "spec.run.timeoutMs: expected a whole number, found \"soon\"",
    );
    check(
        "{environment: a, package: {name: p}, run: {variables: {A: 1}}}",
        "spec.run.variables[\"A\"]: expected a string, found 1",
    );
    check(
        "{environment: null, package: []}",
        "spec.environment: expected a string, found null; spec.package: expected an object, found \
         a list",
    );
    check(
        "{environment: a, package: {name: p}, run: {timeoutMs: 99999999999999999999}}",
        "spec.run.timeoutMs: expected a whole number",
    );
}

#[test]
fn items_of_lists_are_counted() {
    check(
        "{apiVersion: folio.dev/v1, kind: HTTPTrigger, metadata: {}, spec: {path: {exact: /}, \
         targets: [{function: a, weight: 10000}, {function: b, weight: half}]}}",
        "spec.targets[1].weight: expected a whole number, found \"half\"",
    );
}

#[test]
fn what_a_version_cannot_say_is_refused_with_the_place() {
    let route = "{apiVersion: folio.dev/v1, kind: HTTPTrigger, metadata: {}, spec: {path: \
                 {exact: '/a/*'}, targets: []}}";
    let error = refused(route, "folio.dev/v1beta1");
    assert!(error.contains("cannot be written as folio.dev/v1beta1"), "{error}");
    assert!(error.contains("spec.path"), "{error}");
}

#[test]
fn what_cannot_be_explained_says_what_can() {
    let error = explain("pod", None).unwrap_err();
    assert_eq!(error.to_string(), "there is no kind `pod`");
    assert!(error.hint().contains("Function"), "{}", error.hint());
    let error = explain("fn.spec.runs", None).unwrap_err();
    assert_eq!(error.to_string(), "Function of folio.dev/v1 has no property `spec.runs`");
    assert!(error.hint().contains("run"), "{}", error.hint());
    let error = explain("tag", Some("fission.io/v1")).unwrap_err();
    assert_eq!(error.to_string(), "Tag is not served in `fission.io/v1`, only in folio.dev/v1");
}

#[test]
fn a_property_is_explained_in_any_version() {
    let explained = explain("Function.spec.run", None).unwrap();
    assert_eq!((explained.version, explained.ty.as_str()), ("folio.dev/v1", "object"));
    let timeout = explained.fields.iter().find(|field| field.name == "timeoutMs").unwrap();
    assert_eq!((timeout.ty.as_str(), timeout.is_required), ("integer", false));
    assert_eq!(timeout.description, "How long one request may take.");
    let old = explain("httptriggers.spec.path", Some("folio.dev/v1beta1")).unwrap();
    assert_eq!(old.ty, "string");
    let list = explain("route.spec.targets", None).unwrap();
    assert_eq!(list.ty, "[]object");
    assert_eq!(list.fields.len(), 2);
}

#[test]
fn what_a_manifest_of_fission_lacks_is_said_by_its_own_fields() {
    let says = |kind: &str, spec: &str, expected: &str| {
        let text =
            format!("apiVersion: fission.io/v1\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}");
        let manifest = Manifest::parse_all(&text).unwrap().remove(0);
        let error = spec::unit(&manifest, Contents::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\ngives: {error}\nnot: {expected}");
    };
    let to = "functionref: {type: name, name: hello}";
    let route = format!("{{relativurl: /a, {to}}}");
    says("HTTPTrigger", &route, "it has neither `relativeurl` nor `prefix`");
    let environment = "{version: 2, runtime: {image: acme/cobol}}";
    says("Environment", environment, "spec.runtime.image: `acme/cobol` is no image");
}

fn written(text: &str) -> Result<serde_json::Value, String> {
    let value = spec::split(text)[0].parse().unwrap();
    let written = spec::written(value).map_err(|error| error.to_string())?;
    let manifest = written.expect("it is a kind").manifest;
    spec::checked(&manifest).map_err(|error| error.to_string())?;
    Ok(manifest.as_value())
}

#[test]
fn a_document_of_a_version_that_nobody_knows_is_not_taken_for_another() {
    let document = |version: &str| {
        format!(
            "{version}kind: Environment\nmetadata: {{name: a}}\nspec: {{version: 3, runtime: {{image: fission/node-env}}}}\n"
        )
    };
    for version in ["fission.io/v9", "fission.io/v0", "folio.dev/v9", "1"] {
        let error = written(&document(&format!("apiVersion: {version}\n"))).unwrap_err();
        let expected = format!(
            "Environment is not served in `{version}`, only in fission.io/v1, folio.dev/v1"
        );
        assert_eq!(error, expected);
    }
    for none in ["", "apiVersion:\n", "apiVersion: ''\n", "apiVersion: fission.io/v1\n"] {
        assert_eq!(written(&document(none)).unwrap()["apiVersion"], "fission.io/v1", "{none}");
    }
}

#[test]
fn labels_and_annotations_are_texts() {
    let document = |metadata: &str| {
        format!(
            "kind: Environment\nmetadata: {{name: a, {metadata}}}\nspec: {{version: 3, runtime: {{image: fission/node-env}}}}\n"
        )
    };
    let found =
        written(&document("labels: {tier: 1, on: true, none: null, a.b/c: d}, annotations: null"))
            .unwrap();
    let expected =
        serde_json::json!({"name": "a", "labels": {"tier": "1", "on": "true", "a.b/c": "d"}});
    assert_eq!(found["metadata"], expected);
    for (metadata, expected) in [
        ("labels: {a.b/c: [1]}", "metadata.labels.a.b/c: expected a string, found a list"),
        ("annotations: {x: {y: z}}", "metadata.annotations.x: expected a string, found an object"),
        ("labels: [a]", "metadata.labels: expected an object, found a list"),
        ("annotations: x", "metadata.annotations: expected an object, found \"x\""),
    ] {
        let error = written(&document(metadata)).unwrap_err();
        assert!(error.ends_with(expected), "{error}");
    }
}
