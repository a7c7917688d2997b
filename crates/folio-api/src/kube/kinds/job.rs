//! Jobs: set times at which a function is run.

use async_trait::async_trait;
use folio_core::binding::{
    BindingFields, BindingKind, BindingView, JobFields, NewBinding, NewJob, NewTerms,
};
use folio_model::{BindingTerms, JobStatus, Misfire, Name, Reference, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use super::binding::{self, differs, forbidden};
use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::object::written;
use crate::kube::resource::WRITE;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column, wide};

/// `Job` of `folio.dev`.
#[derive(Debug)]
pub(crate) struct Jobs;

#[derive(Deserialize)]
struct JobSpec {
    function: Reference,
    pattern: Option<String>,
    first: Option<Timestamp>,
    next: Option<Timestamp>,
    count: Option<u64>,
    #[serde(default)]
    input: Value,
    misfire: Option<Misfire>,
    state: Option<JobStatus>,
    description: Option<String>,
}

#[async_trait]
impl Mapping for Jobs {
    fn verbs(&self) -> &'static [&'static str] {
        WRITE
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            column("Function", &["/spec/function"]),
            column("Pattern", &["/spec/pattern"]),
            column("State", &["/status/state"]),
            AGE,
            wide("Next", &["/status/next"]),
            wide("Left", &["/status/left"]),
            wide("Description", &["/spec/description"]),
        ]
    }

    // When one comes next is known to the queue, not to the ledger.
    fn is_lively(&self) -> bool {
        true
    }

    /// A job that has ended by itself is still what was asked for.
    fn still_says(&self, shown: &Item, asked: &Value, since: u64) -> bool {
        let is_as_written = shown.revision().is_some_and(|revision| revision <= since);
        let same = |part: &&str| shown.body["spec"][*part] == asked[*part];
        is_as_written
            || shown.body["status"]["state"] == JobStatus::Done.as_str()
                && ["function", "pattern", "input", "misfire", "description"].iter().all(same)
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        binding::list(of, BindingKind::Job, body).await
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        let spec: JobSpec = put.spec()?;
        match put.before {
            Some(before) => change(put, before, spec).await?,
            None => make(put, spec).await?,
        }
        Ok(Made::default())
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let (found, target) = (remove.found, remove.target);
        let id = binding::id(found).ok_or_else(|| target.not_found(&found.name))?;
        remove.folio.unbind(remove.caller, (target.app()?, id), BindingKind::Job).await?;
        Ok(())
    }
}

async fn make(put: &Put<'_>, spec: JobSpec) -> Result<(), Status> {
    if spec.state.is_some_and(|state| state != JobStatus::Running) {
        return Err(forbidden("state", "a new job runs; set it once the job is there"));
    }
    if spec.next.is_some() {
        return Err(forbidden("next", "a new job has no next time yet; give `first`"));
    }
    let name: Name = put.named()?;
    let JobSpec { pattern, first, count, description, .. } = spec;
    let (input, misfire) = (text(&spec.input), spec.misfire.unwrap_or_default());
    let terms = NewTerms::Job(NewJob { pattern, first, count, input, misfire });
    let to = binding::to(put, &spec.function).await?;
    let new = NewBinding { to, name: Some(name.to_string()), description, terms };
    put.folio.bind(put.caller, put.app()?, new).await?;
    Ok(())
}

async fn change(put: &Put<'_>, before: &Item, spec: JobSpec) -> Result<(), Status> {
    let what = "it is said when a job is made; delete the job and make it anew";
    binding::refuse_changed(put, before, &["first", "count"], what)?;
    binding::refuse_removed(put, before, &["input"], "it can be changed, not taken away")?;
    let differs = |part| differs(put, before, part);
    let mut fields = BindingFields::default();
    if differs("function") {
        fields.to = Some(binding::to(put, &spec.function).await?);
    }
    if differs("description") {
        fields.description = Some(spec.description.clone().unwrap_or_default());
    }
    fields.job = JobFields {
        // One that becomes empty is refused by what it would mean.
        pattern: differs("pattern").then(|| spec.pattern.clone().unwrap_or_default()),
        next: spec.next.filter(|_| differs("next")),
        input: text(&spec.input).filter(|_| differs("input")),
        misfire: differs("misfire").then(|| spec.misfire.unwrap_or_default()),
        status: state(before, &spec)?,
    };
    let id = binding::id(before).ok_or_else(|| put.target.not_found(put.name))?;
    put.folio.rebind(put.caller, (put.app()?, id), BindingKind::Job, fields).await?;
    Ok(())
}

/// Whether the job is to go on, if that is to be another than it is. One that says nothing runs.
fn state(before: &Item, spec: &JobSpec) -> Result<Option<JobStatus>, Status> {
    let is = before.body["status"]["state"].as_str().unwrap_or_default();
    let wanted = spec.state.unwrap_or(JobStatus::Running);
    match (is, wanted) {
        (is, wanted) if is == wanted.as_str() => Ok(None),
        // It ran as often as it was to.
        ("done", JobStatus::Running) => Ok(None),
        (_, JobStatus::Done) => {
            Err(forbidden("state", "a job is done when it has run as often as it was to"))
        }
        _ => Ok(Some(wanted)),
    }
}

/// An input as the function is given it.
fn text(input: &Value) -> Option<String> {
    match input {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn body(view: &BindingView) -> Value {
    let BindingTerms::Job(job) = &view.binding.terms else { return json!({}) };
    let mut spec = json!({
        "function": view.function, "first": written(job.first), "state": job.status.as_str(),
    });
    if let Some(pattern) = &job.pattern {
        spec["pattern"] = pattern.as_str().into();
    }
    // Of one that is done it is no longer known.
    if let Some(count) = job.count.filter(|_| job.status != JobStatus::Done) {
        spec["count"] = count.into();
    }
    if let Some(input) = &job.input {
        spec["input"] = serde_json::from_str(input).unwrap_or_else(|_| input.as_str().into());
    }
    if job.misfire != Misfire::default() {
        spec["misfire"] = json!(job.misfire);
    }
    if let Some(text) = view.binding.description.as_deref().filter(|text| !text.is_empty()) {
        spec["description"] = text.into();
    }
    let mut status = json!({ "id": view.id, "state": job.status.as_str() });
    if let Some(next) = view.next.filter(|_| job.status == JobStatus::Running) {
        status["next"] = written(next).into();
    }
    if let Some(left) = view.left {
        status["left"] = left.into();
    }
    json!({ "spec": spec, "status": status })
}
