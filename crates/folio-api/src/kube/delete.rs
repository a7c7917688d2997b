//! Deletes objects, by the same guards as every other delete. Whether it is only rehearsed may be said in the body.

use axum::response::{IntoResponse, Json, Response};
use folio_core::Caller;
use folio_core::request::{Cascade, Run};
use folio_model::{AppName, Kind, Name, UnitKey};
use serde_json::{Value, json};

use super::query::is_dry;
use super::read;
use super::resource::Source;
use super::status::Status;
use super::{Asked, body, by, plain, pointers};

/// `DELETE` of an object, or of all that are selected.
pub(super) async fn delete(asked: Asked) -> Result<Response, Status> {
    let options = body::options(&asked.parts.headers, &asked.bytes)?;
    let dry = options["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let dry =
        dry.map(is_dry).collect::<Result<Vec<_>, _>>()?.contains(&true) || asked.query.dry_run;
    let mut caller = by(asked.caller.clone(), &asked.parts);
    caller.run = if dry { Run::Dry } else { Run::Real };
    let policy = options["propagationPolicy"].as_str().or(asked.query.propagation.as_deref());
    // Who waits for everything below to go wants it gone.
    let cascade = if policy == Some("Foreground") { Cascade::Yes } else { Cascade::No };
    match asked.target.name.clone() {
        Some(name) => {
            let found = read::one(&asked.folio, &asked.target, &name).await?;
            check(&asked, &options, &found)?;
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
            let listed = read::list(&asked.folio, &asked.target, &asked.query).await?;
            for item in &listed.items {
                let name = item["metadata"]["name"].as_str().unwrap_or_default();
                remove(&asked, &caller, name, cascade).await?;
            }
            Ok(read::page(&asked.target, listed, read::Form::Plain, asked.folio.now()))
        }
    }
}

/// Whether the object is the one that is meant.
fn check(asked: &Asked, options: &Value, found: &Value) -> Result<(), Status> {
    for key in ["uid", "resourceVersion"] {
        let (wanted, is) = (&options["preconditions"][key], &found["metadata"][key]);
        if wanted.is_string() && wanted != is {
            let name = asked.target.name.as_deref().unwrap_or_default();
            let what = format!(
                "Operation cannot be fulfilled on {} \"{name}\": the {key} in the precondition ({wanted}) does not match the {key} in record ({is})",
                asked.target.resource.qualified()
            );
            return Err(Status::new(409, "Conflict", what));
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
    let parsed = || name.parse::<Name>().map_err(|_| target.not_found(name));
    let about = |status: Status| status.about(target.resource.group, target.resource.plural, name);
    let mut caller = caller.clone();
    if target.resource.source != Source::Namespaces
        && !matches!(target.resource.source, Source::Unit(..))
    {
        caller.marking = Some(plain::forgotten(target, name)?);
    }
    let caller = &caller;
    match target.resource.source {
        Source::Namespaces => {
            let app: AppName = name.parse().map_err(|_| target.not_found(name))?;
            folio
                .delete_app(caller, &app, Cascade::Yes)
                .await
                .map_err(|error| about(error.into()))?;
        }
        Source::Unit(kind, _) => {
            let key = UnitKey { app: target.app()?.clone(), kind, name: parsed()? };
            folio.delete(caller, &key, cascade, None).await.map_err(|error| about(error.into()))?;
        }
        Source::ConfigMaps => {
            let key = UnitKey { app: target.app()?.clone(), kind: Kind::Config, name: parsed()? };
            folio.delete_config(caller, &key, None).await.map_err(|error| about(error.into()))?;
        }
        Source::Secrets => {
            let key = UnitKey { app: target.app()?.clone(), kind: Kind::Secret, name: parsed()? };
            folio.delete_secret(caller, &key, None).await.map_err(|error| about(error.into()))?;
        }
        Source::View => pointers::remove(asked, caller, name).await.map_err(about)?,
        Source::Events => return Err(Status::method_not_allowed(target.resource.kind)),
    }
    Ok(())
}
