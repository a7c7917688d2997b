//! Kubernetes custom resource definitions: one document holds one kind in several versions.

use serde_json::Value;

use crate::error::Error;
use crate::schema::documents::Node;
use crate::schema::lower::Root;
use crate::version::{Spelling, Version};

/// Whether a YAML document is a custom resource definition.
pub fn is_definition(document: &Value) -> bool {
    document.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition")
}

/// The kind in each of its versions.
pub fn roots<'a>(
    document: &Node<'a>,
    spelling: Spelling,
) -> Result<Vec<(Version, Root<'a>)>, Error> {
    let missing = |what: &str| {
        Error::schema(
            &document.place,
            format!("the custom resource definition has no {what}"),
            "check the document against apiextensions.k8s.io/v1",
        )
    };
    let spec = document.get("spec").ok_or_else(|| missing("`spec`"))?;
    let group = spec.text("group");
    let kind = spec.get("names").map(|names| names.text("kind")).unwrap_or_default();
    if kind.is_empty() || group.is_empty() {
        return Err(missing("`spec.group` or `spec.names.kind`"));
    }
    let mut roots = Vec::new();
    for version in spec.list("versions") {
        let name = version.text("name");
        let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
        let node = schema.ok_or_else(|| missing("`openAPIV3Schema` in one of its versions"))?;
        let qualified = format!("{group}/{name}");
        let version = match spelling {
            Spelling::Plain => Version::new(name),
            Spelling::Qualified => Version::new(&qualified),
        };
        let identity =
            vec![("apiVersion".to_owned(), qualified), ("kind".to_owned(), kind.to_owned())];
        let root = Root { kind: kind.to_owned(), node, identity, without: Vec::new() };
        roots.push((version, root));
    }
    if roots.is_empty() {
        return Err(missing("`spec.versions`"));
    }
    Ok(roots)
}
