//! The real deployment schemas of six providers, where this machine has them.

use std::path::Path;

use serde_json::Value;

use crate::kit::{contents, directory, hubgen, real_schemas, text};

pub(crate) const PROVIDERS: [&str; 6] =
    ["Batch", "Cache", "EventHub", "Search", "ServiceBus", "ServiceFabric"];

pub(crate) fn config(provider: &str, more: &str) -> String {
    format!(
        "group = \"Microsoft.{provider}\"\nformat = \"arm\"\n{more}\n\
         [remote]\n\"https://schema.management.azure.com/schemas/\" = \"_shared\"\n\
         [[schema]]\npath = \"Microsoft.{provider}\"\n"
    )
}

/// The rows of the report on `ClusterProperties`, from 2016-03-01 to 2016-09-01.
fn cluster_properties(schemas: &Path, config: &str) -> Vec<[String; 5]> {
    let here = directory(&[("hubgen.toml", config)]);
    let config = text(&here.path().join("hubgen.toml"));
    let schemas = text(schemas);
    let printed = hubgen(&[
        "report",
        &config,
        "--schemas",
        &schemas,
        "--resource",
        "clusters",
        "--spoke",
        "2016-03-01",
        "--hub",
        "2016-09-01",
        "--type",
        "ClusterProperties",
        "-o",
        "json",
    ]);
    let report: Value = serde_json::from_str(&printed.unwrap()).unwrap();
    let types = report["types"].as_array().unwrap();
    assert_eq!(types.len(), 1, "one pair of types has the name");
    let rows = types[0]["rows"].as_array().unwrap().iter();
    let cell = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    rows.map(|row| ["property", "spoke", "hub", "change", "handler"].map(|name| cell(row, name)))
        .collect()
}

#[rustfmt::skip]
const BY_NAME: [[&str; 5]; 15] = [
    ["azureActiveDirectory", "*AzureActiveDirectory", "*AzureActiveDirectory", "None", "Copy value"],
    ["certificate", "*CertificateDescription", "*CertificateDescription", "None", "Copy value"],
    ["clientCertificateCommonNames", "*[]ClientCertificateCommonName", "*[]ClientCertificateCommonName", "None", "Copy value"],
    ["clientCertificateThumbprints", "*[]ClientCertificateThumbprint", "*[]ClientCertificateThumbprint", "None", "Copy value"],
    ["clusterCodeVersion", "", "*string", "New Property", "Skip"],
    ["diagnosticsStorageAccountConfig", "*DiagnosticsStorageAccountConfig", "*DiagnosticsStorageAccountConfig", "None", "Copy value"],
    ["fabricSettings", "*[]SettingsSectionDescription", "*[]SettingsSectionDescription", "None", "Copy value"],
    ["httpApplicationGatewayCertificate", "*CertificateDescription", "", "Property Removed", "Property Bag"],
    ["managementEndpoint", "string", "string", "None", "Copy value"],
    ["nodeTypes", "[]NodeTypes", "[]NodeTypeDescription", "Change of Type", "Property Bag"],
    ["reliabilityLevel", "*Level", "*ClusterPropertiesReliabilityLevel", "Change of Type", "Property Bag"],
    ["reverseProxyCertificate", "", "*CertificateDescription", "New Property", "Skip"],
    ["upgradeDescription", "*PaasClusterUpgradePolicy", "*ClusterUpgradePolicy", "Change of Type", "Property Bag"],
    ["upgradeMode", "", "*ClusterPropertiesUpgradeMode", "New Property", "Skip"],
    ["vmImage", "*string", "*string", "None", "Copy value"],
];

const RENAMES: &str = r#"
[[rename_type]]
from = "NodeTypes"
to = "NodeTypeDescription"
because = "the same node types, described"

[[rename_type]]
from = "Ports"
to = "EndpointRangeDescription"
because = "a range of ports"

[[rename_type]]
from = "PaasClusterUpgradePolicy"
to = "ClusterUpgradePolicy"
because = "the policy no longer says which kind of cluster it is for"

[[rename_property]]
type = "ClusterProperties"
from = "httpApplicationGatewayCertificate"
to = "reverseProxyCertificate"
because = "the gateway became the reverse proxy"

[[rename_property]]
type = "NodeTypes"
from = "httpApplicationGatewayEndpointPort"
to = "reverseProxyEndpointPort"
because = "the gateway became the reverse proxy"
"#;

#[test]
fn by_names_alone_three_types_change_and_one_property_is_gone() {
    let Some(schemas) = real_schemas() else { return };
    let rows = cluster_properties(&schemas, &config("ServiceFabric", "structural = false"));
    assert_eq!(rows, BY_NAME.map(|row| row.map(str::to_owned)));
}

#[test]
fn five_renames_and_the_rule_for_equal_enums_turn_the_bag_into_conversions() {
    let Some(schemas) = real_schemas() else { return };
    let said = config("ServiceFabric", "structural = false\nequal_enums = true");
    let rows = cluster_properties(&schemas, &(said + RENAMES));
    let changed: Vec<_> = rows.iter().filter(|row| row[3] != "None").collect();
    #[rustfmt::skip]
    let expected = [
        ["clusterCodeVersion", "", "*string", "New Property", "Skip"],
        ["httpApplicationGatewayCertificate → reverseProxyCertificate", "*CertificateDescription", "*CertificateDescription", "Property Renamed", "Copy value"],
        ["nodeTypes", "[]NodeTypes", "[]NodeTypeDescription", "Change of Type", "Convert (list of object)"],
        ["reliabilityLevel", "*Level", "*ClusterPropertiesReliabilityLevel", "Change of Type", "Convert (enum)"],
        ["upgradeDescription", "*PaasClusterUpgradePolicy", "*ClusterUpgradePolicy", "Change of Type", "Convert (object)"],
        ["upgradeMode", "", "*ClusterPropertiesUpgradeMode", "New Property", "Skip"],
    ];
    assert_eq!(
        changed,
        expected
            .iter()
            .map(|row| row.map(str::to_owned))
            .collect::<Vec<_>>()
            .iter()
            .collect::<Vec<_>>()
    );
    assert_eq!(rows.len(), 14);
}

#[test]
fn with_shapes_the_same_renames_leave_nothing_in_the_bag() {
    let Some(schemas) = real_schemas() else { return };
    let rows = cluster_properties(&schemas, &(config("ServiceFabric", "") + RENAMES));
    assert!(rows.iter().all(|row| row[4] != "Property Bag"), "{rows:?}");
}

#[test]
fn every_version_of_every_provider_is_generated_the_same_from_a_copy() {
    let Some(schemas) = real_schemas() else { return };
    let configs: Vec<_> =
        PROVIDERS.iter().map(|name| (format!("{name}.toml"), config(name, ""))).collect();
    let configs: Vec<_> =
        configs.iter().map(|(path, said)| (path.as_str(), said.as_str())).collect();
    let (here, there) = (directory(&configs), directory(&configs));
    let copied = there.path().join("copied");
    crate::kit::copy(&schemas, &copied);
    for (directory, schemas) in [(&here, &schemas), (&there, &copied)] {
        let paths: Vec<_> =
            configs.iter().map(|(path, _)| text(&directory.path().join(path))).collect();
        let schemas = text(schemas);
        let mut arguments = vec!["generate", "--schemas", &schemas];
        arguments.extend(paths.iter().map(String::as_str));
        hubgen(&arguments).unwrap();
    }
    let (here, there) = (here.path().join("generated"), there.path().join("generated"));
    let made = contents(&here);
    assert!(made == contents(&there), "a copy of the schemas makes other files");
    let versions = made.iter().filter(|(path, _)| path.starts_with("microsoft_cache/blessed"));
    assert_eq!(versions.count(), 40, "every version of Microsoft.Cache is published");
}
