//! Conversions of objects that somebody else stores, in one version: what that version has no word for travels with
//! the object, in an annotation, and is back in a version that has one.

use hub::Value;
use hub::serde_json::{Map, from_str, json};

use crate::manifest::{Manifest, ManifestError};
use crate::registry::Stored;

/// The annotation.
pub const KEPT: &str = "folio.dev/kept";

/// Converts an object to another version, so that converting it back gives what it was. Of its metadata only the
/// annotation differs.
pub fn convert_kept(manifest: &Manifest, to: &str) -> Result<Manifest, ManifestError> {
    let mut value = manifest.as_value();
    let kept = take(&mut value);
    let bare = Manifest::new(value.clone())?;
    let kind = bare.kind()?.name;
    let kept = kept.and_then(|text| from_str::<Value>(&text).ok()).filter(Value::is_object);
    let kept = kept.and_then(|mut kept| {
        kept["metadata"] = value["metadata"].clone();
        Stored::of_value(kind, kept).ok()
    });
    let stored = match kept {
        Some(kept) => bare.store_over(kept)?,
        None => bare.store()?,
    };
    let hub = stored.to_value();
    let converted = Manifest::of(stored, to)?;
    let is_all = converted.store()?.to_value() == hub;
    let mut converted = converted.as_value();
    converted["metadata"] = value["metadata"].take();
    if !is_all {
        put(&mut converted, hub);
    }
    Manifest::new(converted)
}

/// Takes the annotation out of an object.
fn take(object: &mut Value) -> Option<String> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
    let kept = annotations.remove(KEPT)?;
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    kept.as_str().map(str::to_owned)
}

fn put(object: &mut Value, mut hub: Value) {
    if let Some(entries) = hub.as_object_mut() {
        entries.remove("metadata");
    }
    if !object["metadata"].is_object() {
        object["metadata"] = Value::Object(Map::new());
    }
    if !object["metadata"]["annotations"].is_object() {
        object["metadata"]["annotations"] = json!({});
    }
    object["metadata"]["annotations"][KEPT] = hub.to_string().into();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(version: &str, spec: Value) -> Manifest {
        let metadata = json!({ "name": "hello", "uid": "7", "annotations": { "a": "b" } });
        let value = json!({ "apiVersion": version, "kind": "Function", "metadata": metadata, "spec": spec });
        Manifest::new(value).unwrap()
    }

    fn of_fission() -> Manifest {
        function(
            "fission.io/v1",
            json!({
                "InvokeStrategy": { "StrategyType": "execution" },
                "environment": { "name": "nodejs", "namespace": "prod" },
                "package": { "packageref": { "name": "code", "namespace": "prod" } },
                "podspec": { "hostNetwork": true }, "functionTimeout": 30,
            }),
        )
    }

    #[test]
    fn there_and_back_gives_what_it_was() {
        let there = convert_kept(&of_fission(), "folio.dev/v1").unwrap();
        assert_eq!(there.as_value()["spec"]["environment"], "nodejs");
        assert_eq!(there.as_value()["metadata"]["uid"], "7");
        let back = convert_kept(&there, "fission.io/v1").unwrap();
        assert_eq!(back.as_value(), of_fission().as_value());
    }

    #[test]
    fn what_was_changed_in_between_is_changed() {
        let mut there = convert_kept(&of_fission(), "folio.dev/v1").unwrap().as_value();
        there["spec"]["run"]["timeoutMs"] = 40_000.into();
        there["spec"]["environment"] = "python".into();
        let back =
            convert_kept(&Manifest::new(there).unwrap(), "fission.io/v1").unwrap().as_value();
        assert_eq!(back["spec"]["functionTimeout"], 40);
        assert_eq!(back["spec"]["environment"], json!({ "name": "python", "namespace": "prod" }));
        assert_eq!(back["spec"]["InvokeStrategy"]["StrategyType"], "execution");
        assert_eq!(back["spec"]["podspec"]["hostNetwork"], true);
    }

    #[test]
    fn what_says_everything_keeps_nothing_and_nonsense_is_no_hindrance() {
        let spec = json!({ "environment": "nodejs", "package": { "name": "code" } });
        let mut plain = function("folio.dev/v1", spec).as_value();
        let there = convert_kept(&Manifest::new(plain.clone()).unwrap(), "folio.dev/v1").unwrap();
        assert_eq!(there.as_value(), plain);
        plain["metadata"]["annotations"][KEPT] = "nonsense".into();
        let there = convert_kept(&Manifest::new(plain).unwrap(), "folio.dev/v1").unwrap();
        assert_eq!(there.as_value()["metadata"]["annotations"], json!({ "a": "b" }));
    }
}
