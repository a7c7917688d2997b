//! Holds answers against the OpenAPI document: the status must be listed, the body must fit its schema, and
//! no field may be there that the schema does not name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex};

use axum::http::StatusCode;
use serde_json::{Value, json};

pub(crate) static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(folio_api::document()).unwrap());

/// Every `(method, path)` of the document.
pub(crate) fn operations() -> Vec<(String, String)> {
    let paths = DOCUMENT["paths"].as_object().unwrap().iter();
    let methods = |(path, methods): (&String, &Value)| {
        let names = methods.as_object().unwrap().keys();
        names.map(|method| (method.clone(), path.clone())).collect::<Vec<_>>()
    };
    paths.flat_map(methods).collect()
}

/// The operation a request is for, as the document names its path; None where nothing is served.
pub(crate) fn operation(method: &str, path: &str) -> Option<(String, String)> {
    let method = if method == "HEAD" { "get".to_owned() } else { method.to_lowercase() };
    let asked: Vec<_> = path.split('/').collect();
    let fits = |template: &str| {
        let wanted: Vec<_> = template.split('/').collect();
        let same = |(wanted, asked): (&&str, &&str)| {
            wanted.starts_with('{') && !asked.is_empty() || wanted == asked
        };
        wanted.len() == asked.len() && wanted.iter().zip(&asked).all(same)
    };
    let literal = |path: &str| path.split('/').filter(|part| !part.starts_with('{')).count();
    let fitting = operations().into_iter().filter(|(_, template)| fits(template));
    let best = fitting.max_by_key(|(found, template)| (literal(template), *found == method))?;
    (best.0 == method).then_some(best)
}

/// Panics if an answer is not what the document promises.
pub(crate) fn check(method: &str, path: &str, status: StatusCode, body: &[u8]) {
    if path == "/" || path == "/v1" || path.starts_with("/v1/") {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let is_fault = status.as_u16() >= 400;
        assert!(!is_fault || body["faultstring"].is_string(), "{method} {path}: {status} {body}");
        return;
    }
    let failure = json!({ "$ref": "#/components/responses/Failure" });
    let responses = match operation(method, path) {
        Some((method, path)) => DOCUMENT["paths"][path][method]["responses"].clone(),
        None => json!({ "default": failure }),
    };
    let listed = responses.get(status.as_str());
    assert!(listed.is_some() || !status.is_success(), "{method} {path}: {status} is not listed");
    let response = listed.unwrap_or(&responses["default"]);
    let response = match response["$ref"].as_str() {
        Some(pointer) => DOCUMENT.pointer(&pointer[1..]).unwrap(),
        None => response,
    };
    let Some(schema) = response["content"]["application/json"].get("schema") else { return };
    let body: Value = serde_json::from_slice(body).unwrap_or_else(|error| {
        panic!("{method} {path}: {status} is not JSON: {error}\n{}", String::from_utf8_lossy(body))
    });
    let problems = problems(schema, &body);
    assert!(problems.is_empty(), "{method} {path}: {status}\n{problems:#?}\n{body:#}");
}

/// What about a value does not fit a schema of the document.
pub(crate) fn problems(schema: &Value, value: &Value) -> Vec<String> {
    static VALIDATORS: Mutex<BTreeMap<String, jsonschema::Validator>> = Mutex::new(BTreeMap::new());
    let mut validators = VALIDATORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let validator = validators.entry(schema.to_string()).or_insert_with(|| {
        let mut root = json!({
            "$schema": DOCUMENT["jsonSchemaDialect"],
            "allOf": [schema],
            "components": { "schemas": DOCUMENT["components"]["schemas"] },
        });
        close(&mut root);
        jsonschema::options().should_validate_formats(true).build(&root).unwrap()
    });
    validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// Forbids fields that are not named, everywhere but in schemas that others add fields to. The document itself
/// leaves room for more.
fn close(root: &mut Value) {
    let mut added_to = BTreeSet::new();
    find_added_to(root, &mut added_to);
    close_all(root);
    for name in added_to {
        let open = root["components"]["schemas"].get_mut(&name).and_then(Value::as_object_mut);
        open.map(|open| open.remove("additionalProperties"));
    }
}

/// The names of schemas that another refers to and adds fields to.
fn find_added_to(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let refers = fields.get("$ref").and_then(Value::as_str);
            if let (Some(refers), true) = (refers, fields.contains_key("properties")) {
                names.extend(refers.rsplit('/').next().map(str::to_owned));
            }
            fields.values().for_each(|field| find_added_to(field, names));
        }
        Value::Array(items) => items.iter().for_each(|item| find_added_to(item, names)),
        _ => {}
    }
}

fn close_all(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let names_fields = fields.get("properties").is_some_and(Value::is_object);
            let adds = fields.contains_key("$ref");
            if names_fields && !adds && !fields.contains_key("additionalProperties") {
                fields.insert("additionalProperties".to_owned(), false.into());
            }
            fields.values_mut().for_each(close_all);
        }
        Value::Array(items) => items.iter_mut().for_each(close_all),
        _ => {}
    }
}

#[test]
fn a_wrong_missing_or_unknown_field_is_seen() {
    let schema = json!({ "$ref": "#/components/schemas/Uploaded" });
    assert_eq!(problems(&schema, &json!({ "added": 1, "reused": 0 })), Vec::<String>::new());
    for wrong in [
        json!({ "added": 1 }),
        json!({ "added": "1", "reused": 0 }),
        json!({ "added": -1, "reused": 0 }),
        json!({ "added": 1, "reused": 0, "more": 0 }),
    ] {
        assert!(!problems(&schema, &wrong).is_empty(), "{wrong}");
    }
}
