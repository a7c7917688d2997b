//! folio's kinds as a cluster declares them: custom resources with all their versions, converted by folio.

use hub::Value;
use hub::serde_json::json;

/// The declarations as they are written.
const WRITTEN: &[&str] = &[
    include_str!("../schemas/fission.io/canaryconfigs.yaml"),
    include_str!("../schemas/fission.io/environments.yaml"),
    include_str!("../schemas/fission.io/functionaliases.yaml"),
    include_str!("../schemas/fission.io/functions.yaml"),
    include_str!("../schemas/fission.io/functionversions.yaml"),
    include_str!("../schemas/fission.io/httptriggers.yaml"),
    include_str!("../schemas/fission.io/kuberneteswatchtriggers.yaml"),
    include_str!("../schemas/fission.io/messagequeuetriggers.yaml"),
    include_str!("../schemas/fission.io/packages.yaml"),
    include_str!("../schemas/fission.io/timetriggers.yaml"),
    include_str!("../schemas/folio.dev/aliases.yaml"),
    include_str!("../schemas/folio.dev/apps.yaml"),
    include_str!("../schemas/folio.dev/appversions.yaml"),
    include_str!("../schemas/folio.dev/canaryconfigs.yaml"),
    include_str!("../schemas/folio.dev/configs.yaml"),
    include_str!("../schemas/folio.dev/domains.yaml"),
    include_str!("../schemas/folio.dev/environments.yaml"),
    include_str!("../schemas/folio.dev/executions.yaml"),
    include_str!("../schemas/folio.dev/functions.yaml"),
    include_str!("../schemas/folio.dev/functionversions.yaml"),
    include_str!("../schemas/folio.dev/functionversiontrackers.yaml"),
    include_str!("../schemas/folio.dev/groupversiontrackers.yaml"),
    include_str!("../schemas/folio.dev/httptriggers.yaml"),
    include_str!("../schemas/folio.dev/jobs.yaml"),
    include_str!("../schemas/folio.dev/kuberneteswatchtriggers.yaml"),
    include_str!("../schemas/folio.dev/messagequeuetriggers.yaml"),
    include_str!("../schemas/folio.dev/packages.yaml"),
    include_str!("../schemas/folio.dev/packageversions.yaml"),
    include_str!("../schemas/folio.dev/packageversiontrackers.yaml"),
    include_str!("../schemas/folio.dev/releases.yaml"),
    include_str!("../schemas/folio.dev/staticassets.yaml"),
    include_str!("../schemas/folio.dev/tags.yaml"),
    include_str!("../schemas/folio.dev/timetriggers.yaml"),
    include_str!("../schemas/folio.dev/webhooks.yaml"),
];

/// Who converts for a cluster.
#[derive(Debug, Clone, Copy)]
pub struct Converter<'a> {
    /// Where it is; a cluster takes only https.
    pub url: &'a str,
    /// The authority it is known by, PEM in base64; none for one that the cluster trusts anyway.
    pub ca: Option<&'a str>,
}

/// Every declaration. Where a kind has several versions, whoever is named converts them.
pub fn crds(convert: Option<Converter<'_>>) -> Vec<Value> {
    let parsed = WRITTEN.iter().map(|text| {
        let value: Value = serde_saphyr::from_str(text).expect("a declaration is YAML");
        value
    });
    parsed.map(|declared| completed(declared, convert)).collect()
}

fn completed(mut declared: Value, convert: Option<Converter<'_>>) -> Value {
    let versions = declared["spec"]["versions"].as_array_mut();
    let mut several = false;
    for version in versions.into_iter().flatten() {
        several |= version["storage"] == false;
        let schema = &mut version["schema"]["openAPIV3Schema"];
        // What folio has no word for comes back as it was, in a cluster too.
        for part in ["spec", "status"] {
            if schema["properties"][part].is_object() {
                schema["properties"][part]["x-kubernetes-preserve-unknown-fields"] = true.into();
            }
        }
        version["subresources"] = json!({ "status": {} });
    }
    if let Some(Converter { url, ca }) = convert.filter(|_| several) {
        let mut client = json!({ "url": url });
        if let Some(ca) = ca {
            client["caBundle"] = ca.into();
        }
        declared["spec"]["conversion"] = json!({
            "strategy": "Webhook",
            "webhook": { "clientConfig": client, "conversionReviewVersions": ["v1"] },
        });
    }
    declared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::KINDS;

    fn converter() -> Converter<'static> {
        Converter { url: "https://folio.example/convert", ca: Some("UEVN") }
    }

    #[test]
    fn a_converter_is_named_with_its_authority() {
        let all = crds(Some(converter()));
        let function = all.iter().find(|crd| crd["metadata"]["name"] == "functions.folio.dev");
        let webhook = &function.unwrap()["spec"]["conversion"]["webhook"];
        assert_eq!(
            *webhook,
            json!({
                "clientConfig": { "url": "https://folio.example/convert", "caBundle": "UEVN" },
                "conversionReviewVersions": ["v1"],
            })
        );
        let plain = crds(None);
        assert!(plain.iter().all(|crd| crd["spec"].get("conversion").is_none()));
    }

    /// What a cluster asks of a schema: <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>.
    fn unstructural(schema: &Value, at: &str, problems: &mut Vec<String>) {
        const FORBIDDEN: [&str; 11] = [
            "$ref",
            "$schema",
            "$defs",
            "definitions",
            "const",
            "dependencies",
            "deprecated",
            "discriminator",
            "id",
            "patternProperties",
            "readOnly",
        ];
        let mut say = |what: String| problems.push(format!("{at}: {what}"));
        let Some(entries) = schema.as_object() else { return say("is no schema".to_owned()) };
        for key in FORBIDDEN.iter().filter(|key| entries.contains_key(**key)) {
            say(format!("has `{key}`"));
        }
        let is_set = |key: &str| schema[key] == true;
        let is_free =
            is_set("x-kubernetes-int-or-string") || is_set("x-kubernetes-preserve-unknown-fields");
        let kind = schema["type"].as_str();
        if kind.is_none() && !is_free {
            say("has no type".to_owned());
        }
        let known = ["object", "array", "string", "integer", "number", "boolean"];
        if let Some(kind) = kind.filter(|kind| !known.contains(kind)) {
            say(format!("is of type `{kind}`"));
        }
        if is_set("x-kubernetes-int-or-string") && kind.is_some() {
            say("is an integer or a string, and of one type".to_owned());
        }
        if schema["properties"].is_object() && schema["additionalProperties"].is_object() {
            say("has properties and additionalProperties".to_owned());
        }
        if schema["additionalProperties"] == false || is_set("uniqueItems") {
            say("closes itself".to_owned());
        }
        if kind == Some("array") && !schema["items"].is_object() {
            say("has no items".to_owned());
        }
        if schema["nullable"] == true
            && schema["default"].is_null()
            && entries.contains_key("default")
        {
            say("is null by default".to_owned());
        }
        let required = schema["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if schema["properties"].get(name).is_none() {
                problems.push(format!("{at}: requires `{name}`, which it does not have"));
            }
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            unstructural(property, &format!("{at}.{name}"), problems);
        }
        for part in ["items", "additionalProperties"] {
            if schema[part].is_object() {
                unstructural(&schema[part], &format!("{at}.{part}"), problems);
            }
        }
        conditions(schema, at, problems);
    }

    /// What stands below a choice only narrows what is said above it.
    fn conditions(schema: &Value, at: &str, problems: &mut Vec<String>) {
        for part in ["allOf", "anyOf", "oneOf", "not"] {
            let inner = match &schema[part] {
                Value::Array(all) => all.iter().collect(),
                Value::Null => Vec::new(),
                single => vec![single],
            };
            for one in inner {
                for key in ["type", "description", "default", "nullable", "additionalProperties"] {
                    let of_either = part == "anyOf" && schema["x-kubernetes-int-or-string"] == true;
                    if one.get(key).is_some() && !(of_either && key == "type") {
                        problems.push(format!("{at}.{part}: has `{key}`"));
                    }
                }
            }
        }
    }

    #[test]
    fn every_schema_is_structural() {
        let mut problems = Vec::new();
        for crd in crds(Some(converter())) {
            let name = crd["metadata"]["name"].as_str().unwrap();
            for version in crd["spec"]["versions"].as_array().unwrap() {
                let at = format!("{name} {}", version["name"].as_str().unwrap());
                let schema = &version["schema"]["openAPIV3Schema"];
                assert_eq!(schema["type"], "object", "{at}");
                let metadata = &schema["properties"]["metadata"];
                if metadata.is_object() && metadata["type"] != "object" {
                    problems.push(format!("{at}: metadata is no object"));
                }
                unstructural(schema, &at, &mut problems);
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn every_declaration_is_named_as_a_cluster_wants_it() {
        for crd in crds(None) {
            assert_eq!(crd["apiVersion"], "apiextensions.k8s.io/v1");
            assert_eq!(crd["kind"], "CustomResourceDefinition");
            let spec = &crd["spec"];
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let (plural, group) = (text(&spec["names"]["plural"]), text(&spec["group"]));
            assert_eq!(text(&crd["metadata"]["name"]), format!("{plural}.{group}"));
            assert!(["Namespaced", "Cluster"].contains(&spec["scope"].as_str().unwrap()));
            assert_eq!(plural, plural.to_lowercase());
            let versions = spec["versions"].as_array().unwrap();
            let names: std::collections::BTreeSet<_> =
                versions.iter().map(|version| text(&version["name"])).collect();
            assert_eq!(names.len(), versions.len(), "{plural}");
            assert!(versions.iter().any(|version| version["served"] == true), "{plural}");
        }
    }

    #[test]
    fn every_version_of_every_kind_is_declared_once_and_stored_in_one() {
        let all = crds(Some(converter()));
        for kind in KINDS {
            for version in kind.versions {
                let (group, version) = version.split_once('/').unwrap();
                let of_kind: Vec<_> = all
                    .iter()
                    .filter(|crd| {
                        crd["spec"]["group"] == group && crd["spec"]["names"]["kind"] == kind.name
                    })
                    .collect();
                assert_eq!(of_kind.len(), 1, "{} {group}", kind.name);
                let versions = of_kind[0]["spec"]["versions"].as_array().unwrap();
                assert!(
                    versions.iter().any(|own| own["name"] == version),
                    "{} {version}",
                    kind.name
                );
                let stored = versions.iter().filter(|own| own["storage"] == true).count();
                assert_eq!(stored, 1, "{}", kind.name);
                let converted = of_kind[0]["spec"]["conversion"]["strategy"] == "Webhook";
                assert_eq!(converted, versions.len() > 1, "{}", kind.name);
            }
        }
    }
}
