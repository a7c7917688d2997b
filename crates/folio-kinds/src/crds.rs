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
    include_str!("../schemas/folio.dev/environments.yaml"),
    include_str!("../schemas/folio.dev/executions.yaml"),
    include_str!("../schemas/folio.dev/functions.yaml"),
    include_str!("../schemas/folio.dev/functionversions.yaml"),
    include_str!("../schemas/folio.dev/functionversiontrackers.yaml"),
    include_str!("../schemas/folio.dev/groupversiontrackers.yaml"),
    include_str!("../schemas/folio.dev/httptriggers.yaml"),
    include_str!("../schemas/folio.dev/kuberneteswatchtriggers.yaml"),
    include_str!("../schemas/folio.dev/messagequeuetriggers.yaml"),
    include_str!("../schemas/folio.dev/packages.yaml"),
    include_str!("../schemas/folio.dev/packageversions.yaml"),
    include_str!("../schemas/folio.dev/packageversiontrackers.yaml"),
    include_str!("../schemas/folio.dev/releases.yaml"),
    include_str!("../schemas/folio.dev/staticassets.yaml"),
    include_str!("../schemas/folio.dev/tags.yaml"),
    include_str!("../schemas/folio.dev/timetriggers.yaml"),
];

/// Every declaration. Where a kind has several versions, whoever is at the address converts them.
pub fn crds(convert: Option<&str>) -> Vec<Value> {
    let parsed = WRITTEN.iter().map(|text| {
        let value: Value = serde_saphyr::from_str(text).expect("a declaration is YAML");
        value
    });
    parsed.map(|declared| completed(declared, convert)).collect()
}

fn completed(mut declared: Value, convert: Option<&str>) -> Value {
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
    if let Some(url) = convert.filter(|_| several) {
        declared["spec"]["conversion"] = json!({
            "strategy": "Webhook",
            "webhook": { "clientConfig": { "url": url }, "conversionReviewVersions": ["v1"] },
        });
    }
    declared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::KINDS;

    #[test]
    fn every_version_of_every_kind_is_declared_once_and_stored_in_one() {
        let all = crds(Some("https://folio.example/convert"));
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
