//! What jobs and webhooks have in common as objects: what they are called, and what they lead to.
//!
//! An object has the name its binding was given, if that is a name and nothing older of the kind has it; else its id. So
//! whatever was made by other means can be read, changed and deleted as well.

use std::collections::HashSet;

use folio_core::binding::{BindingKind, BindingView};
use folio_model::{BoundTo, Name, Pointer, Reference};
use serde_json::Value;
use uuid::Uuid;

use crate::kube::mapping::{Item, Listing, Put};
use crate::kube::status::Status;

/// The bindings of a kind as objects, whose bodies are made by `body`.
pub(super) async fn list(
    of: &Listing<'_>,
    kind: BindingKind,
    body: fn(&BindingView) -> Value,
) -> Result<Vec<Item>, Status> {
    let found = of.folio.bindings(of.app, kind).await?;
    let mut taken: HashSet<String> = found.iter().map(|view| view.id.to_string()).collect();
    let each = found.iter().map(|view| {
        let given = view.binding.name.as_deref().filter(|name| name.parse::<Name>().is_ok());
        let own = given.filter(|name| taken.insert((*name).to_owned()));
        let name = own.map_or_else(|| view.id.to_string(), str::to_owned);
        let function = view.function.as_ref().map(|function| function.name.as_str().to_owned());
        Item {
            own: Some(view.id),
            pointers: vec![(pointer(view), view.revision)],
            created_at: Some(view.binding.created_at),
            labels: function.map(|name| ("function", name)).into_iter().collect(),
            ..Item::new(of.app, name, body(view))
        }
    });
    Ok(each.collect())
}

fn pointer(view: &BindingView) -> Pointer {
    Pointer::Binding { app: view.app.clone(), id: view.id }
}

/// The binding that an object shows.
pub(super) fn id(item: &Item) -> Option<Uuid> {
    item.pointers.iter().find_map(|(pointer, _)| match pointer {
        Pointer::Binding { id, .. } => Some(*id),
        _ => None,
    })
}

/// What a function in the words of a spec means, if whoever says it may name it.
pub(super) async fn to(put: &Put<'_>, function: &Reference) -> Result<BoundTo, Status> {
    Ok(put.folio.bound_to(put.caller, put.app()?, function).await?)
}

/// Whether a part of the spec is to be other than it is.
pub(super) fn differs(put: &Put<'_>, before: &Item, part: &str) -> bool {
    before.body["spec"][part] != put.after["spec"][part]
}

/// Refuses to change parts of the spec that are said once.
pub(super) fn refuse_changed(
    put: &Put<'_>,
    before: &Item,
    parts: &[&str],
    what: &str,
) -> Result<(), Status> {
    match parts.iter().find(|part| differs(put, before, part)) {
        Some(part) => Err(forbidden(part, what)),
        None => Ok(()),
    }
}

/// Refuses to take away parts of the spec, which can only become something else.
pub(super) fn refuse_removed(
    put: &Put<'_>,
    before: &Item,
    parts: &[&str],
    what: &str,
) -> Result<(), Status> {
    let is_removed = |part: &&&str| {
        !before.body["spec"][**part].is_null() && put.after["spec"][**part].is_null()
    };
    match parts.iter().find(is_removed) {
        Some(part) => Err(forbidden(part, what)),
        None => Ok(()),
    }
}

pub(super) fn forbidden(part: &str, what: &str) -> Status {
    let field = format!("spec.{part}");
    Status::invalid(&field, format!("{field}: Forbidden: {what}"))
}
