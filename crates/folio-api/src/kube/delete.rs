//! Deletes objects, by the same guards as every other delete. Whether it is only rehearsed may be said in the body.

use axum::response::{IntoResponse, Json, Response};
use folio_core::Caller;
use folio_core::request::{Cascade, Run};
use folio_model::{Kind, Name, UnitKey};
use serde_json::{Value, json};

use super::mapping::{self, Remove};
use super::query::is_dry;
use super::read;
use super::resource::Source;
use super::status::Status;
use super::{Asked, body, by, plain};

/// What may become of what an object holds.
const POLICIES: [&str; 3] = ["Background", "Foreground", "Orphan"];

/// An option: where it is, whether a value fits it, and what such a value is called.
type Typed = (&'static str, fn(&Value) -> bool, &'static str);

/// The types of the options.
const TYPES: [Typed; 8] = [
    ("/kind", Value::is_string, "text"),
    ("/apiVersion", Value::is_string, "text"),
    ("/propagationPolicy", Value::is_string, "text"),
    ("/gracePeriodSeconds", Value::is_i64, "whole number"),
    ("/orphanDependents", Value::is_boolean, "boolean"),
    ("/preconditions", Value::is_object, "map"),
    ("/preconditions/uid", Value::is_string, "text"),
    ("/preconditions/resourceVersion", Value::is_string, "text"),
];

/// `DELETE` of an object, or of all that are selected.
pub(super) async fn delete(asked: Asked) -> Result<Response, Status> {
    let options = body::options(&asked.parts.headers, &asked.bytes)?;
    sound(&options)?;
    let dry = rehearses(&options)? || asked.query.dry_run;
    let mut caller = by(asked.caller.clone(), &asked.parts);
    caller.run = if dry { Run::Dry } else { Run::Real };
    let policy = options["propagationPolicy"].as_str().or(asked.query.propagation.as_deref());
    if let Some(policy) = policy.filter(|policy| !POLICIES.contains(policy)) {
        let what = format!(
            "propagationPolicy: Unsupported value: \"{policy}\": supported values: \"Background\", \"Foreground\", \"Orphan\""
        );
        return Err(Status::invalid("propagationPolicy", what));
    }
    // Who waits for everything below to go wants it gone.
    let cascade = if policy == Some("Foreground") { Cascade::Yes } else { Cascade::No };
    match asked.target.name.clone() {
        Some(name) => {
            let found = read::one(&asked.folio, &asked.target, &name).await?;
            check(&asked, &options, &found, &name)?;
            remove(&asked, &caller, &name, cascade).await?;
            let details = json!({
                "name": name, "group": asked.target.resource.group, "kind": asked.target.resource.plural,
                "uid": found["metadata"]["uid"],
            });
            Ok(Json(json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                "details": details,
            }))
            .into_response())
        }
        None => {
            let pages = &asked.feed.pages;
            let listed = read::list(&asked.folio, pages, &asked.target, &asked.query).await?;
            for found in &listed.items {
                let name = found["metadata"]["name"].as_str().unwrap_or_default();
                check(&asked, &options, found, name)?;
            }
            // A refusal changes nothing, so what is in the way of one is found before the first goes.
            let rehearsal = Caller { run: Run::Dry, ..caller.clone() };
            remove_all(&asked, &rehearsal, &listed.items, cascade).await?;
            if !dry {
                remove_all(&asked, &caller, &listed.items, cascade).await?;
            }
            Ok(read::page(&asked.target, listed, read::Form::Plain, asked.folio.now()))
        }
    }
}

/// Refuses options that make no sense: whoever misspells a condition wants nothing deleted without it.
fn sound(options: &Value) -> Result<(), Status> {
    if !matches!(options["kind"].as_str().unwrap_or_default(), "" | "DeleteOptions") {
        return Err(Status::bad_request("the body of a DELETE is a DeleteOptions"));
    }
    for (pointer, fits, what) in TYPES {
        let found = options.pointer(pointer).filter(|found| !found.is_null() && !fits(found));
        if let Some(found) = found {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            let message = format!("`{field}` of the options of a DELETE is no {what}: {found}");
            return Err(Status::bad_request(message));
        }
    }
    Ok(())
}

/// Whether the options want the deletion rehearsed only.
fn rehearses(options: &Value) -> Result<bool, Status> {
    let wrong = || Status::bad_request("`dryRun` is a list of words, of which there is `All`");
    match &options["dryRun"] {
        Value::Null => Ok(false),
        Value::Array(words) => words
            .iter()
            .try_fold(false, |dry, word| Ok(dry | is_dry(word.as_str().ok_or_else(wrong)?)?)),
        _ => Err(wrong()),
    }
}

/// Whether the object is the one that is meant.
fn check(asked: &Asked, options: &Value, found: &Value, name: &str) -> Result<(), Status> {
    for key in ["uid", "resourceVersion"] {
        let (wanted, is) = (&options["preconditions"][key], &found["metadata"][key]);
        if wanted.is_string() && wanted != is {
            let what = format!(
                "Operation cannot be fulfilled on {} \"{name}\": the {key} in the precondition ({wanted}) does not match the {key} in record ({is})",
                asked.target.resource.qualified()
            );
            return Err(Status::new(409, "Conflict", what));
        }
    }
    Ok(())
}

async fn remove_all(
    asked: &Asked,
    caller: &Caller,
    items: &[Value],
    cascade: Cascade,
) -> Result<(), Status> {
    for item in items {
        let name = item["metadata"]["name"].as_str().unwrap_or_default();
        match remove(asked, caller, name, cascade).await {
            // Somebody else was faster.
            Err(status) if status.is_missing() => {}
            removed => removed?,
        }
    }
    Ok(())
}

async fn remove(
    asked: &Asked,
    caller: &Caller,
    name: &str,
    cascade: Cascade,
) -> Result<(), Status> {
    let (folio, target) = (&asked.folio, &asked.target);
    let about = |status: Status| status.about(target.resource.group, target.resource.plural, name);
    match target.resource.source {
        Source::Unit(kind, _) => {
            let unit: Name = name.parse().map_err(|_| target.not_found(name))?;
            let key = UnitKey { app: target.app()?.clone(), kind, name: unit };
            match kind {
                // A config has guards of its own.
                Kind::Config => {
                    folio.delete_config(caller, &key, None).await.map(drop).map_err(Status::from)
                }
                _ => {
                    folio.delete(caller, &key, cascade, None).await.map(drop).map_err(Status::from)
                }
            }
            .map_err(about)?;
        }
        Source::Mapped(mapping) => {
            let found = mapping::one(folio, target, name).await?;
            let (_, found) = found.ok_or_else(|| target.not_found(name))?;
            let mut caller = caller.clone();
            if target.resource.namespaced {
                caller.marking = Some(plain::forgotten(asked, name, &found));
            }
            let remove = Remove { folio, caller: &caller, target, found: &found };
            mapping.remove(&remove).await.map_err(about)?;
        }
    }
    Ok(())
}
