//! The OpenAPI document of the second version, which older clients read: kinds with their properties, and which
//! requests take `dryRun`. It is only taken as protocol buffers, so it is written as those, by hand.

use std::sync::LazyLock;

use bytes::Bytes;
use folio_kinds::openapi::definitions;
use serde_json::{Map, Value, json};

use super::resource::Resource;

/// The document. The numbers below are those of the fields of gnostic's `OpenAPIv2.proto`.
pub(crate) static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
    let mut paths = Message::default();
    let mut schemas = Message::default();
    for (group, versions) in Resource::groups() {
        for version in versions {
            let whole = format!("{group}/{version}");
            for (name, schema) in definitions(&whole, &|name| format!("#/definitions/{name}")) {
                schemas.message(1, named(&name, written(&schema, Some((group, version)))));
            }
            for resource in Resource::of(group, version) {
                let path = format!(
                    "/apis/{group}/{version}/namespaces/{{namespace}}/{}/{{name}}",
                    resource.plural
                );
                let mut item = Message::default();
                item.message(8, patch((group, version), resource.kind));
                paths.message(2, named(&path, item));
            }
        }
    }
    let mut info = Message::default();
    info.text(1, "folio");
    info.text(2, env!("CARGO_PKG_VERSION"));
    let mut document = Message::default();
    document.text(1, "2.0");
    document.message(2, info);
    document.message(8, paths);
    document.message(9, schemas);
    document.0.into()
});

/// A message in the making.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: usize) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn bytes(&mut self, field: usize, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: usize, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: usize, message: Self) {
        self.bytes(field, &message.0);
    }
}

fn named(name: &str, value: Message) -> Message {
    let mut pair = Message::default();
    pair.text(1, name);
    pair.message(2, value);
    pair
}

/// An extension, whose value is YAML.
fn extension(name: &str, yaml: &str) -> Message {
    let mut any = Message::default();
    any.text(2, yaml);
    named(name, any)
}

fn kind_of((group, version): (&str, &str), kind: &str) -> String {
    format!("group: {group}\nkind: {kind}\nversion: {version}\n")
}

/// The operation that changes an object, and that it can be rehearsed.
fn patch(of: (&str, &str), kind: &str) -> Message {
    let mut query = Message::default();
    query.text(2, "query");
    query.text(4, "dryRun");
    query.text(6, "string");
    let parameter = [3, 2, 1].into_iter().fold(query, |inner, field| {
        let mut outer = Message::default();
        outer.message(field, inner);
        outer
    });
    let mut operation = Message::default();
    operation.message(8, parameter);
    operation.message(13, extension("x-kubernetes-group-version-kind", &kind_of(of, kind)));
    operation
}

/// A schema. What is required is left to the server, which takes older manifests that lack some of it.
fn written(schema: &Value, of: Option<(&str, &str)>) -> Message {
    let mut out = Message::default();
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let reference = schema["allOf"][0]["$ref"].as_str();
    if let Some(reference) = reference {
        out.text(1, reference);
    }
    if let Some(description) = text("description") {
        out.text(4, description);
    }
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        let mut item = Message::default();
        item.message(1, written(values, None));
        out.message(21, item);
    }
    if let Some(own) = text("type") {
        let mut item = Message::default();
        item.text(1, own);
        out.message(22, item);
    }
    if let Some(items) = schema.get("items") {
        let mut item = Message::default();
        item.message(1, written(items, None));
        out.message(23, item);
    }
    let mut properties = Message::default();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        // Older clients refuse what a schema does not list.
        let property = match name.as_str() {
            "metadata" if of.is_some() => metadata(&property["description"]),
            "status" if of.is_some() => {
                json!({ "type": "object", "description": property["description"] })
            }
            _ => property.clone(),
        };
        properties.message(1, named(name, written(&property, None)));
    }
    if !properties.0.is_empty() {
        out.message(25, properties);
    }
    if let (Some(of), Some(kind)) =
        (of, schema["x-kubernetes-group-version-kind"][0]["kind"].as_str())
    {
        let (group, version) = of;
        let yaml = format!("- group: {group}\n  kind: {kind}\n  version: {version}\n");
        out.message(31, extension("x-kubernetes-group-version-kind", &yaml));
    }
    out
}

/// All metadata that there is, for tools write what no server asks for: `creationTimestamp: null`.
fn metadata(description: &Value) -> Value {
    const FREE: [&str; 14] = [
        "clusterName",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "initializers",
        "managedFields",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
        "namespace",
    ];
    let free = FREE.iter().map(|name| ((*name).to_owned(), json!({})));
    let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let mut properties: Map<String, Value> = free.collect();
    properties.insert("name".to_owned(), json!({ "type": "string" }));
    properties.insert("labels".to_owned(), texts.clone());
    properties.insert("annotations".to_owned(), texts);
    json!({ "type": "object", "description": description, "properties": properties })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_seven_bits_at_a_time() {
        let mut message = Message::default();
        message.text(1, &"x".repeat(300));
        assert_eq!(message.0[..3], [0x0a, 0xac, 0x02]);
        assert_eq!(message.0.len(), 303);
    }

    #[test]
    fn every_kind_is_in_the_document() {
        for resource in super::super::resource::RESOURCES.iter().filter(|own| !own.group.is_empty())
        {
            let version = format!("{}/{}", resource.group, resource.versions[0]);
            let name = folio_kinds::openapi::definition_name(&version, resource.kind);
            let found = DOCUMENT.windows(name.len()).any(|window| window == name.as_bytes());
            assert!(found, "{name}");
        }
    }
}
