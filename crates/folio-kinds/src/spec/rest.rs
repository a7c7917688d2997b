//! What is left of a manifest of which some values are wrong, so that the others can be checked together with them.

use crate::manifest::{Manifest, Mismatch};

/// A manifest without what is wrong with it; nothing if it makes no sense without.
pub fn without(manifest: &Manifest, wrong: &[Mismatch]) -> Option<Manifest> {
    let mut value = manifest.as_value();
    for mismatch in wrong {
        // A list without one of its items would be another list.
        let path = mismatch.path.split('[').next().unwrap_or_default();
        let (above, name) = path.rsplit_once('.')?;
        let above = above.split('.').try_fold(&mut value, |value, step| value.get_mut(step))?;
        above.as_object_mut()?.remove(name);
    }
    let rest = Manifest::new(value).ok()?;
    rest.check().is_ok().then_some(rest)
}

#[cfg(test)]
mod tests {
    use hub::Value;
    use hub::serde_json::json;

    use super::*;
    use crate::ManifestError;
    use crate::spec::{checked, written};

    fn check(spec: Value, expected: Option<Value>) {
        let value = json!({ "kind": "Function", "metadata": { "name": "a" }, "spec": spec });
        let manifest = written(value).unwrap().expect("it is a kind").manifest;
        let Err(ManifestError::Mismatches { mismatches, .. }) = checked(&manifest) else {
            panic!("something is wrong with it")
        };
        let left = without(&manifest, &mismatches);
        assert_eq!(left.map(|left| left.as_value()["spec"]["secrets"].clone()), expected);
    }

    #[test]
    fn what_is_right_is_left() {
        let mut spec = json!({
            "environment": { "name": "nodejs" }, "package": { "packageref": { "name": "p" } },
            "secrets": [{ "name": "s" }], "functionTimeout": "soon", "concurrency": -1,
        });
        check(spec.clone(), Some(json!([{ "name": "s", "namespace": "" }])));
        spec["secrets"] = json!([{ "name": "s" }, 5]);
        check(spec.clone(), Some(Value::Null));
        spec["environment"] = json!(1);
        check(spec, None);
    }
}
