//! The schemas as OpenAPI writes them, for clients that ask a server what its kinds are made of.

use hub::Value;
use hub::serde_json::{Map, json};

use crate::registry::KINDS;
use crate::schema::Schema;

/// The kinds that have versions, drafts and builds.
const STANDING_KINDS: [&str; 9] = [
    "Config",
    "Environment",
    "Function",
    "HTTPTrigger",
    "KubernetesWatchTrigger",
    "MessageQueueTrigger",
    "Package",
    "StaticAsset",
    "TimeTrigger",
];

/// The name under which a definition of a version goes: `dev.folio.v1.Function`.
pub fn definition_name(version: &str, name: &str) -> String {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let reversed: Vec<_> = group.split('.').rev().collect();
    format!("{}.{version}.{name}", reversed.join("."))
}

/// Every definition of a version; `refer` writes a reference to one of them.
pub fn definitions(version: &str, refer: &dyn Fn(&str) -> String) -> Map<String, Value> {
    let mut found = Map::new();
    let Some(document) = Schema::document(version) else { return found };
    let refer = |name: &str| refer(&definition_name(version, name));
    for (name, own) in document["$defs"].as_object().into_iter().flatten() {
        found.insert(definition_name(version, name), written(own, &refer));
    }
    for kind in KINDS.iter().filter(|kind| kind.versions.contains(&version)) {
        let status = STANDING_KINDS.contains(&kind.name).then(|| {
            let own = &document["$defs"][kind.name]["properties"]["status"]["$ref"];
            let own = own.as_str().and_then(|text| text.strip_prefix("#/$defs/"));
            let own = own.and_then(|own| found.get(&definition_name(version, own)));
            standing(own.map_or(&Value::Null, |own| &own["properties"]))
        });
        if let Some(definition) = found.get_mut(&definition_name(version, kind.name)) {
            as_object(definition, kind.name, version);
            if let Some(status) = status {
                definition["properties"]["status"] = status;
            }
        }
    }
    found
}

/// How a unit stands, besides what its version knows of that.
fn standing(own: &Value) -> Value {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let mut properties = own.as_object().cloned().unwrap_or_default();
    for (name, schema) in [
        ("buildstatus", text("How its build stands: none, pending, running, succeeded or failed.")),
        ("latest", text("The id of its newest version.")),
        ("live", text("The id of the version that is live.")),
        ("draft", json!({ "type": "boolean", "description": "Whether it has a draft." })),
        ("versions", json!({ "type": "integer", "description": "How many versions it has." })),
        (
            "conditions",
            json!({
                "type": "array", "items": { "type": "object" },
                "description": "`Ready` is true when what is shown has been built.",
            }),
        ),
    ] {
        properties.entry(name).or_insert(schema);
    }
    json!({ "type": "object", "description": "How it stands.", "properties": properties })
}

/// What identifies and marks any object.
pub fn metadata() -> Value {
    let text = |what: &str| json!({ "type": "string", "description": what });
    json!({
        "type": "object",
        "description": "The name and what else identifies and marks the object.",
        "properties": {
            "name": text("The name, unique in its namespace."),
            "namespace": text("The namespace, which is the app."),
            "labels": { "type": "object", "additionalProperties": { "type": "string" },
                        "description": "What it can be selected by." },
            "annotations": { "type": "object", "additionalProperties": { "type": "string" },
                             "description": "What tools and people note about it." },
        },
    })
}

/// Adds what every object has.
fn as_object(definition: &mut Value, kind: &str, version: &str) {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let own = definition["properties"].take();
    let mut properties = Map::new();
    let text = |what: &str| json!({ "type": "string", "description": what });
    properties.insert("apiVersion".to_owned(), text("The group and version of the object."));
    properties.insert("kind".to_owned(), text("The kind of the object."));
    for (name, schema) in own.as_object().into_iter().flatten() {
        properties.insert(name.clone(), schema.clone());
    }
    properties.insert("metadata".to_owned(), metadata());
    properties
        .entry("status")
        .or_insert_with(|| json!({ "type": "object", "description": "How it stands." }));
    definition["properties"] = Value::Object(properties);
    definition["x-kubernetes-group-version-kind"] =
        json!([{ "group": group, "version": version, "kind": kind }]);
}

/// A schema without what OpenAPI has no word for.
fn written(own: &Value, refer: &dyn Fn(&str) -> String) -> Value {
    let Value::Object(entries) = own else { return own.clone() };
    let mut out = Map::new();
    for (key, value) in entries {
        match key.as_str() {
            "$ref" => {
                let name = value.as_str().and_then(|text| text.strip_prefix("#/$defs/"));
                let reference = json!({ "$ref": refer(name.unwrap_or_default()) });
                out.insert("allOf".to_owned(), json!([reference]));
            }
            "anyOf" => {
                let first =
                    value.as_array().and_then(|all| all.first()).map(|own| written(own, refer));
                out.extend(first.as_ref().and_then(Value::as_object).cloned().unwrap_or_default());
            }
            "properties" => {
                let each = value.as_object().into_iter().flatten();
                let each = each.map(|(name, own)| (name.clone(), written(own, refer)));
                out.insert(key.clone(), Value::Object(each.collect()));
            }
            "items" | "additionalProperties" => {
                out.insert(key.clone(), written(value, refer));
            }
            "type" | "description" | "required" | "format" => {
                out.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_definition() {
        for version in ["fission.io/v1", "folio.dev/v1", "folio.dev/v1beta1"] {
            let found = definitions(version, &str::to_owned);
            assert!(found.contains_key(&definition_name(version, "Function")), "{version}");
            let text = Value::Object(found.clone()).to_string();
            let mut references = 0;
            for part in text.split("\"$ref\":\"").skip(1) {
                let name = part.split('"').next().unwrap();
                assert!(found.contains_key(name), "{name}");
                references += 1;
            }
            assert!(references > 5, "{references}");
        }
    }

    #[test]
    fn a_kind_is_named_in_its_definition() {
        assert_eq!(definition_name("fission.io/v1", "Function"), "io.fission.v1.Function");
        let found = definitions("fission.io/v1", &str::to_owned);
        let own = &found["io.fission.v1.Package"];
        assert_eq!(own["x-kubernetes-group-version-kind"][0]["kind"], "Package");
        assert!(own["properties"]["spec"].is_object(), "{own}");
    }
}
