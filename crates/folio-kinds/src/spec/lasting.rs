//! What lasts of a manifest's metadata. A server adds to it and tools leave notes in it; none of that is what a user
//! wrote, so none of it makes a version.

use hub::Value;

use crate::manifest::Manifest;

/// Metadata that a server sets, or that says where the object is.
const OF_THE_SERVER: [&str; 9] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The annotation in which kubectl keeps what was last applied.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The manifest with the metadata that a user wrote, and no status.
pub fn lasting(manifest: &Manifest) -> Manifest {
    let mut value = manifest.as_value();
    if let Some(object) = value.as_object_mut() {
        object.remove("status");
    }
    if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
        metadata.retain(|key, _| !OF_THE_SERVER.contains(&key.as_str()));
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(LAST_APPLIED);
        }
        let says = |value: &Value| match value {
            Value::Object(entries) => !entries.is_empty(),
            Value::Array(items) => !items.is_empty(),
            value => !value.is_null(),
        };
        metadata.retain(|_, value| says(value));
    }
    Manifest::new(value).unwrap_or_else(|_| manifest.clone())
}

#[cfg(test)]
mod tests {
    use hub::serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_or_a_tool_adds_does_not_last() {
        let written = json!({
            "apiVersion": "fission.io/v1", "kind": "Function", "spec": {},
            "metadata": {"name": "hello", "labels": {"a": "b"}},
        });
        let mut read = written.clone();
        read["status"] = json!({"x": 1});
        for key in OF_THE_SERVER {
            read["metadata"][key] = json!("x");
        }
        read["metadata"]["annotations"] = json!({LAST_APPLIED: "{}"});
        read["metadata"]["finalizers"] = Value::Null;
        let lasts = lasting(&Manifest::new(read).unwrap());
        assert_eq!(lasts.as_value(), written);
    }
}
