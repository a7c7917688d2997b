//! JSON Schema, from draft-04 to 2020-12: one file describes one resource, or lists several under
//! `x-resources` as the blessed schemas do.

use serde_json::Value;

use crate::error::Error;
use crate::schema::documents::Node;
use crate::schema::lower::Root;

/// The resources of a file. Without a `kind`, its title names the one it describes.
pub fn roots<'a>(file: &Node<'a>, kind: Option<&str>) -> Result<Vec<Root<'a>>, Error> {
    let listed = file.table("x-resources");
    if !listed.is_empty() {
        return Ok(listed.into_iter().map(|(kind, node)| listed_root(kind, node)).collect());
    }
    let title = Some(file.text("title")).filter(|title| !title.is_empty());
    let Some(kind) = kind.or(title) else {
        return Err(Error::schema(
            &file.place,
            "nothing says which kind of resource this schema describes",
            "add `kind = \"…\"` to its [[schema]] entry, or a `title` to the schema",
        ));
    };
    Ok(vec![Root {
        kind: kind.to_owned(),
        node: file.clone(),
        identity: Vec::new(),
        without: Vec::new(),
    }])
}

fn listed_root<'a>(kind: &str, node: Node<'a>) -> Root<'a> {
    let identity = node.table("x-identity").into_iter();
    let identity = identity.map(|(name, value)| {
        (name.to_owned(), value.value.as_str().unwrap_or_default().to_owned())
    });
    Root { kind: kind.to_owned(), identity: identity.collect(), without: Vec::new(), node }
}

/// Whether a schema is of a draft that is understood; one that does not say is.
pub fn is_known_draft(file: &Value) -> bool {
    const KNOWN: &[&str] = &["draft-04", "draft-06", "draft-07", "2019-09", "2020-12"];
    match file.get("$schema").and_then(Value::as_str) {
        None => true,
        Some(draft) => KNOWN.iter().any(|known| draft.contains(known)),
    }
}
