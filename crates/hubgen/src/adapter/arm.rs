//! Azure Resource Manager deployment schemas: one file holds some resources of one API version.
//!
//! Resources lie in `resourceDefinitions` and its relatives for other scopes. A child resource is
//! listed again under its parent as `…_childResource`; those copies and the `resources` property
//! that leads to them are left out.

use serde_json::Value;

use crate::error::Error;
use crate::schema::documents::Node;
use crate::schema::lower::Root;

/// What the key of a copy under a parent ends in.
const CHILD: &str = "_childResource";

/// The tables that hold resources end in this, whatever their scope.
const TABLE: &str = "esourceDefinitions";

/// The resources of a file.
pub fn roots<'a>(file: &Node<'a>) -> Result<Vec<Root<'a>>, Error> {
    let tables = file.value.as_object().into_iter().flat_map(|table| table.keys());
    let tables: Vec<_> = tables.filter(|name| name.ends_with(TABLE)).collect();
    if tables.is_empty() {
        return Err(Error::schema(
            &file.place,
            "there are no `resourceDefinitions`, so this is no deployment schema",
            "name only deployment schemas under [[schema]], or change `format`",
        ));
    }
    let mut roots = Vec::new();
    for table in tables {
        for (name, node) in file.table(table) {
            if !name.ends_with(CHILD) {
                roots.push(root(name, node));
            }
        }
    }
    Ok(roots)
}

/// A resource: its kind is its type without the provider, `managedClusters/applications`.
fn root<'a>(name: &str, node: Node<'a>) -> Root<'a> {
    let fixed = |property: &str| {
        let pointer = format!("/properties/{property}/enum/0");
        node.value.pointer(&pointer).and_then(Value::as_str).map(str::to_owned)
    };
    let full = fixed("type");
    let kind = full.as_deref().and_then(|full| full.split_once('/')).map(|(_, kind)| kind);
    let kind = kind.map_or_else(|| name.replace('_', "/"), str::to_owned);
    let identity = [("type", full), ("apiVersion", fixed("apiVersion"))];
    let identity = identity
        .into_iter()
        .filter_map(|(property, value)| value.map(|value| (property.to_owned(), value)));
    let without = if has_children(&node) { vec!["resources".to_owned()] } else { Vec::new() };
    Root { kind, identity: identity.collect(), without, node }
}

/// Whether `resources` is the list of copies of child resources.
fn has_children(node: &Node<'_>) -> bool {
    let items = node.value.pointer("/properties/resources/items");
    let choices = items.and_then(|items| items.get("oneOf").or_else(|| items.get("anyOf")));
    let choices: Vec<_> = match (choices, items) {
        (Some(choices), _) => choices.as_array().into_iter().flatten().collect(),
        (None, Some(only)) => vec![only],
        (None, None) => return false,
    };
    let leads_to_child = |choice: &&Value| {
        choice.get("$ref").and_then(Value::as_str).is_some_and(|target| target.ends_with(CHILD))
    };
    choices.iter().any(leads_to_child)
}
