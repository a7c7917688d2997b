//! Jobs: set times at which a function is run.

use std::time::Duration;

use axum::http::StatusCode;
use folio_core::binding::{
    BindingFields, BindingKind, BindingView, Error, JobFields, NewBinding, NewJob, NewTerms,
};
use folio_model::{BindingTerms, BoundTo, JobStatus, Misfire, Timestamp};
use serde_json::{Value, json};

use super::body::Object;
use super::fault::{Fault, Outcome, empty, found, made};
use super::showing::moment;
use super::visit::{self, To, Visit};
use super::webhooks::{bound, target};

/// How far ahead a time has to be.
const AHEAD: Duration = Duration::from_secs(60);

pub(super) async fn dispatch(visit: &Visit, rest: &[&str]) -> Outcome {
    match (visit.method.as_str(), rest) {
        ("GET", []) => list(visit).await,
        ("POST", []) => create(visit).await,
        ("GET", [id]) => show(visit, id).await,
        ("PUT", [id]) => update(visit, id).await,
        ("DELETE", [id]) => delete(visit, id).await,
        _ => Err(visit.nowhere()),
    }
}

async fn list(visit: &Visit) -> Outcome {
    visit.only(&["all_projects", "project_id"])?;
    let mut jobs = Vec::new();
    for app in visit.projects().await? {
        let all = visit.folio.bindings(&app, BindingKind::Job).await?;
        jobs.extend(all.iter().map(shown));
    }
    Ok(found(json!({ "jobs": jobs })))
}

const KNOWN: [&str; 12] = [
    "name",
    "function_id",
    "function_alias",
    "function_version",
    "function_input",
    "status",
    "pattern",
    "count",
    "first_execution_time",
    "next_execution_time",
    "description",
    "id",
];

async fn create(visit: &Visit) -> Outcome {
    let body = Object::read_with(&visit.body, "job", &KNOWN, &["project_id", "created_at"])?;
    let pattern = body.text("pattern")?.filter(|pattern| !pattern.is_empty());
    let first = body.text("first_execution_time")?.filter(|time| !time.is_empty());
    if pattern.is_none() && first.is_none() {
        return Err(Fault::invalid("pattern or first_execution_time must be specified."));
    }
    let first = first.map(|first| ahead(visit, &first)).transpose()?;
    pattern.as_deref().map(five_fields).transpose()?;
    let count = body.number("count")?;
    if pattern.is_none() && count.is_some_and(|count| count > 1) {
        return Err(Fault::invalid("pattern must be provided if count is greater than 1."));
    }
    let (input, misfire) = (body.text("function_input")?, Misfire::default());
    let new = NewBinding {
        to: target(visit, &body).await?,
        name: body.text("name")?,
        description: None,
        terms: NewTerms::Job(NewJob { pattern: pattern.clone(), first, count, input, misfire }),
    };
    let done = visit.folio.bind(&visit.caller, &visit.app, new).await;
    let done = done.map_err(|error| worded(error, pattern.as_deref()))?;
    Ok(made(shown(&one(visit, &done.result.id.to_string(), To::Change).await?)))
}

/// Refuses patterns with seconds, which the original does not know.
fn five_fields(pattern: &str) -> Outcome<()> {
    match pattern.split_whitespace().count() {
        5 => Ok(()),
        _ => Err(Fault::invalid(format!("The specified pattern is not valid: {pattern}"))),
    }
}

/// What a job is refused for, in the words of the original.
fn worded(error: Error, pattern: Option<&str>) -> Fault {
    match error {
        Error::Schedule(_) | Error::Never(_) => {
            let pattern = pattern.unwrap_or_default();
            Fault::invalid(format!("The specified pattern is not valid: {pattern}"))
        }
        Error::OtherKind => Fault::invalid("Can not change job type."),
        Error::Over => Fault::invalid("Can not update a finished job."),
        error => error.into(),
    }
}

/// A time that is far enough ahead.
fn ahead(visit: &Visit, text: &str) -> Outcome<Timestamp> {
    let at = time(text).ok_or_else(|| Fault::invalid(format!("Unknown string format: {text}")))?;
    if at < visit.folio.now() + AHEAD {
        return Err(Fault::invalid("Execution time must be at least 1 minute in the future."));
    }
    Ok(at)
}

/// A time as people write it, in UTC unless they say otherwise.
fn time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse() {
        return Some(at);
    }
    let plain: jiff::civil::DateTime = text.parse().ok()?;
    plain.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

async fn show(visit: &Visit, id: &str) -> Outcome {
    Ok(found(shown(&one(visit, id, To::Read).await?)))
}

async fn update(visit: &Visit, id: &str) -> Outcome {
    let job = one(visit, id, To::Change).await?;
    let body = Object::read_with(&visit.body, "job", &KNOWN, &["project_id", "created_at"])?;
    let BindingTerms::Job(before) = &job.binding.terms else { return Err(visit.nowhere()) };
    if before.status.is_over() {
        return Err(Fault::invalid("Can not update a finished job."));
    }
    let status = match body.text("status")?.as_deref() {
        None => None,
        Some("running") => Some(JobStatus::Running),
        Some("paused") => Some(JobStatus::Paused),
        Some("cancelled") => Some(JobStatus::Cancelled),
        Some(_) => return Err(Fault::invalid("Invalid status.")),
    };
    let next = body.text("next_execution_time")?.filter(|next| !next.is_empty());
    let next = next.map(|next| ahead(visit, &next)).transpose()?;
    let resumes = before.status == JobStatus::Paused && status == Some(JobStatus::Running);
    if resumes && before.pattern.is_none() && next.is_none() {
        ahead(visit, &before.next.to_string())?;
    }
    let pattern = body.text("pattern")?;
    pattern.as_deref().filter(|pattern| !pattern.is_empty()).map(five_fields).transpose()?;
    let input = body.text("function_input")?;
    let job_fields = JobFields { pattern: pattern.clone(), next, input, misfire: None, status };
    let fields =
        BindingFields { name: body.text("name")?, job: job_fields, ..BindingFields::default() };
    let at = (&visit.app, job.id);
    let done = visit.folio.rebind(&visit.caller, at, BindingKind::Job, fields).await;
    done.map_err(|error| worded(error, pattern.as_deref()))?;
    Ok(found(shown(&one(visit, id, To::Change).await?)))
}

async fn delete(visit: &Visit, id: &str) -> Outcome {
    let job = one(visit, id, To::Change).await?;
    visit.folio.unbind(&visit.caller, (&visit.app, job.id), BindingKind::Job).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

async fn one(visit: &Visit, id: &str, to: To) -> Outcome<BindingView> {
    let id = visit::identity("id", id)?;
    for app in visit.sought(to).await? {
        match visit.folio.show_binding((&app, id), BindingKind::Job).await {
            Err(Error::NotFound { .. }) => {}
            found => return Ok(found?),
        }
    }
    Err(Fault::no("Job", &id.to_string()))
}

fn shown(view: &BindingView) -> Value {
    let BindingTerms::Job(job) = &view.binding.terms else { return Value::Null };
    let (function, version, alias) = bound(view);
    let is_plain = matches!(view.binding.to, BoundTo::Function { .. });
    let version = if is_plain { version } else { json!(0) };
    let left = if job.status.is_over() { job.count } else { view.left };
    json!({
        "id": view.id,
        "name": view.binding.name,
        "function_id": function,
        "function_alias": alias,
        "function_version": version,
        "function_input": job.input,
        "status": job.status.as_str(),
        "pattern": job.pattern,
        "count": left,
        "first_execution_time": moment(job.first),
        "next_execution_time": view.next.map(moment),
        "project_id": view.app,
        "created_at": moment(view.binding.created_at),
        "updated_at": view.binding.updated_at.map(moment),
    })
}
