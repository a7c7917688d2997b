//! Creates and changes objects that are no units of manifests: configs, secrets, and pointers. What is said about them
//! goes into the same entry.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use folio_core::request::{Marking, Run};
use folio_model::{Kind, Labels, NameError, UnitKey};
use serde_json::Value;

use super::body::{self, PatchKind};
use super::managed::{self, Author, Others};
use super::query::revision;
use super::resource::Source;
use super::status::Status;
use super::target::Target;
use super::{Asked, by, checks, object, patch, pointers, read, settings, views};

/// Creates or changes an object.
pub(super) async fn change(asked: Asked, verb: &str) -> Result<Response, Status> {
    let (folio, target) = (&asked.folio, &asked.target);
    let mut before = match &target.name {
        Some(name) => match read::one(folio, target, name).await {
            Err(status) if status.is_not_found() && verb == "patch" => None,
            found => Some(found?),
        },
        None => None,
    };
    let after = wanted(&asked, verb, before.as_ref())?;
    let name = checks::name(&after)?.to_owned();
    checks::identity(target, target.name.as_deref().unwrap_or(&name), &after)?;
    checks::metadata(&after)?;
    if verb == "create" {
        before = read::one(folio, target, &name).await.ok();
        if before.is_some() {
            let what = format!("{} \"{name}\" already exists", target.resource.qualified());
            let status = Status::new(409, "AlreadyExists", what);
            return Err(status.about(target.resource.group, target.resource.plural, &name));
        }
    }
    unmoved(&asked, before.as_ref(), &after)?;
    let mut caller = by(asked.caller.clone(), &asked.parts);
    caller.run = if asked.query.dry_run { Run::Dry } else { Run::Real };
    caller.marking = Some(marking(target, &name, &after)?);
    let unit = |kind| {
        let parsed = name.parse().map_err(|error: NameError| {
            let what = format!("metadata.name: Invalid value: \"{name}\": {error}");
            Status::invalid("metadata.name", what)
        })?;
        Ok::<_, Status>(UnitKey { app: target.app()?.clone(), kind, name: parsed })
    };
    match target.resource.source {
        Source::ConfigMaps => {
            settings::set_config(folio, &caller, &unit(Kind::Config)?, &after).await?;
        }
        Source::Secrets => {
            let key = unit(Kind::Secret)?;
            settings::set_secret(folio, &caller, (&key, before.as_ref()), &after).await?;
        }
        _ => pointers::set(&asked, &caller, before.as_ref(), &after).await?,
    }
    let shown = match asked.query.dry_run {
        true => after,
        false => read::one(folio, target, &name).await?,
    };
    let code = if before.is_none() { StatusCode::CREATED } else { StatusCode::OK };
    Ok((code, Json(shown)).into_response())
}

/// What a request wants an object to be, with who wrote what.
fn wanted(asked: &Asked, verb: &str, before: Option<&Value>) -> Result<Value, Status> {
    let headers = &asked.parts.headers;
    let now = object::written(asked.folio.now());
    let (manager, version) = (asked.query.manager(headers), asked.target.api_version());
    let author = Author { manager: &manager, version: &version, now: &now };
    let name = asked.target.name.as_deref().unwrap_or_default();
    let mut after = if verb == "patch" {
        match (body::patch(headers, &asked.bytes)?, before) {
            ((PatchKind::Apply, _), _) if asked.query.manager.is_none() => {
                let what = "fieldManager: Required value: is required for apply patch";
                return Err(Status::invalid("fieldManager", what));
            }
            ((PatchKind::Apply, applied), _) => {
                let others = if asked.query.force { Others::TakeOver } else { Others::Refuse };
                return managed::apply(before, &applied, author, others);
            }
            (_, None) => return Err(asked.target.not_found(name)),
            ((PatchKind::Merge, patch), Some(before)) => {
                let mut after = before.clone();
                patch::merge(&mut after, &patch);
                after
            }
            ((PatchKind::Steps, steps), Some(before)) => patch::steps(before, &steps)?,
        }
    } else {
        body::object(headers, &asked.bytes)?
    };
    managed::update(before, &mut after, author);
    Ok(after)
}

/// Refuses to change what the client has not seen.
fn unmoved(asked: &Asked, before: Option<&Value>, after: &Value) -> Result<(), Status> {
    let of =
        |value: &Value| revision(value["metadata"]["resourceVersion"].as_str().unwrap_or_default());
    let (Some(before), Some(seen)) = (before, of(after)?) else { return Ok(()) };
    if of(before)?.is_some_and(|now| now > seen) {
        let name = asked.target.name.as_deref().unwrap_or_default();
        let what = format!(
            "Operation cannot be fulfilled on {} \"{name}\": the object has been modified; please apply your changes to the latest version and try again",
            asked.target.resource.qualified()
        );
        return Err(Status::new(409, "Conflict", what));
    }
    Ok(())
}

fn marking(target: &Target, name: &str, object: &Value) -> Result<Marking, Status> {
    let labels = |of: &str| {
        let entries = object["metadata"][of].as_object().into_iter().flatten();
        let text =
            |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        entries.filter_map(text).collect::<Labels>()
    };
    let managers = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let said = Some((labels("labels"), labels("annotations"), managers));
    Ok(Marking { said, ..forgotten(target, name)? })
}

/// That nothing is said about an object any more.
pub(super) fn forgotten(target: &Target, name: &str) -> Result<Marking, Status> {
    let object = views::identity(&[target.resource.kind, target.app()?.as_str(), name]);
    Ok(Marking { object, said: None })
}
