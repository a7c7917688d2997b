//! The namespaces in which manifests look for what they name. An app is a namespace of its own, so that a reference
//! into another one would be taken for something else of the same name.

use hub::Value;

use crate::manifest::Manifest;

/// A reference that leads out of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// The field that says so.
    pub path: String,
    /// The namespace it names.
    pub namespace: String,
}

/// Where manifests name something together with its namespace. `[]` is every item of a list.
const REFERENCES: [&[&str]; 5] = [
    &["environment"],
    &["package", "packageref"],
    &["secrets", "[]"],
    &["configmaps", "[]"],
    &["functionref"],
];

/// The references of a manifest that lead out of a namespace. Those that name none mean the manifest's own.
pub fn strays(manifest: &Manifest, own: &str) -> Vec<Stray> {
    let mut value = manifest.as_value();
    let mut found = Vec::new();
    each(&mut value, &mut |path, namespace| {
        let Some(text) = namespace.as_str().filter(|text| !text.is_empty() && *text != own) else {
            return;
        };
        found.push(Stray { path, namespace: text.to_owned() });
    });
    found
}

/// Puts a manifest, and everything that it names, into a namespace.
pub fn move_into(manifest: &mut Value, namespace: &str) {
    manifest["metadata"]["namespace"] = namespace.into();
    each(manifest, &mut |_, found| *found = namespace.into());
}

fn each(manifest: &mut Value, act: &mut dyn FnMut(String, &mut Value)) {
    let Some(spec) = manifest.get_mut("spec") else { return };
    for steps in REFERENCES {
        visit(spec, "spec".to_owned(), steps, act);
    }
}

fn visit(value: &mut Value, path: String, steps: &[&str], act: &mut dyn FnMut(String, &mut Value)) {
    let Some((step, rest)) = steps.split_first() else {
        if let Some(namespace) = value.get_mut("namespace") {
            act(format!("{path}.namespace"), namespace);
        }
        return;
    };
    if *step == "[]" {
        for (at, item) in value.as_array_mut().into_iter().flatten().enumerate() {
            visit(item, format!("{path}[{at}]"), rest, act);
        }
    } else if let Some(next) = value.get_mut(*step) {
        visit(next, format!("{path}.{step}"), rest, act);
    }
}

#[cfg(test)]
mod tests {
    use hub::serde_json::json;

    use super::*;
    use crate::spec::written;

    fn check(kind: &str, spec: Value, expected: &[&str]) {
        let value = json!({ "kind": kind, "metadata": { "name": "a" }, "spec": spec });
        let mut manifest = written(value).unwrap().expect("it is a kind").manifest;
        let found: Vec<_> = strays(&manifest, "shop").into_iter().map(|stray| stray.path).collect();
        assert_eq!(found, expected);
        let mut value = manifest.as_value();
        move_into(&mut value, "shop");
        manifest = Manifest::new(value).unwrap();
        assert_eq!(strays(&manifest, "shop"), []);
        assert_eq!(manifest.namespace(), Some("shop"));
    }

    #[test]
    fn what_leads_into_another_namespace_is_found_and_moved() {
        let function = json!({
            "Environment": { "name": "nodejs", "Namespace": "other" },
            "package": { "packageref": { "name": "p", "namespace": "other" } },
            "secrets": [{ "name": "s", "namespace": "shop" }, { "name": "t", "namespace": "x" }],
            "configmaps": [{ "name": "c", "namespace": "x" }, { "name": "d" }],
        });
        let strays = [
            "spec.environment.namespace",
            "spec.package.packageref.namespace",
            "spec.secrets[1].namespace",
            "spec.configmaps[0].namespace",
        ];
        check("Function", function, &strays);
        let package = json!({ "environment": { "name": "nodejs", "namespace": "" } });
        check("Package", package, &[]);
        let route = json!({
            "relativeurl": "/a", "functionref": { "type": "name", "name": "f", "namespace": "x" },
        });
        check("HTTPTrigger", route, &["spec.functionref.namespace"]);
    }

    #[test]
    fn what_a_watch_looks_at_is_no_reference() {
        let watch = json!({ "namespace": "x", "type": "POD", "functionref": { "name": "f" } });
        check("KubernetesWatchTrigger", watch, &[]);
    }
}
