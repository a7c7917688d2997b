//! Executions: making one runs a function, deleting one forgets it and ends it if it still runs. folio names them.

use async_trait::async_trait;
use folio_core::execution::{self, NewExecution};
use folio_model::{
    Execution, ExecutionId, ExecutionMode, ExecutionOrigin, ExecutionStatus, Reference, Right,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::NEWEST;
use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::object::written;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column, wide};

/// `Execution` of `folio.dev`.
#[derive(Debug)]
pub(crate) struct Executions;

#[derive(Deserialize)]
struct ExecutionSpec {
    function: Reference,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    mode: Option<ExecutionMode>,
    #[serde(default)]
    description: String,
}

#[async_trait]
impl Mapping for Executions {
    fn verbs(&self) -> &'static [&'static str] {
        &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            column("Function", &["/spec/function"]),
            column("Version", &["/status/version"]),
            column("Status", &["/status/status"]),
            AGE,
            wide("Ms", &["/status/durationMs"]),
            wide("By", &["/status/by"]),
            wide("Description", &["/spec/description"]),
        ]
    }

    fn needs(&self, verb: &str) -> Right {
        if verb == "create" { Right::Invoke } else { Right::Deploy }
    }

    fn is_lively(&self) -> bool {
        true
    }

    fn draws_names(&self) -> bool {
        true
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let newest = execution::Listing { limit: NEWEST, ..execution::Listing::default() };
        let found = match of.folio.executions(of.app, newest).await {
            // Where nothing is recorded, there are none.
            Err(execution::Error::Unavailable) => Vec::new(),
            found => found?,
        };
        Ok(found.iter().map(item).collect())
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        match put.before {
            Some(before) => cancel(put, before).await,
            None => start(put).await,
        }
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let id =
            id(&remove.found.name).ok_or_else(|| remove.target.not_found(&remove.found.name))?;
        if remove.caller.run == folio_core::request::Run::Real {
            remove.folio.delete_execution(remove.target.app()?, id).await?;
        }
        Ok(())
    }
}

async fn start(put: &Put<'_>) -> Result<Made, Status> {
    let ExecutionSpec { function, input, mode, description } = put.spec()?;
    let input = match input {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    let mode = mode.unwrap_or(ExecutionMode::Async);
    let elsewhere = function.app.clone().filter(|app| put.app().is_ok_and(|own| own != app));
    if put.is_dry() || elsewhere.is_some() {
        put.folio.check_execution(put.caller, put.app()?, &function, input.as_deref()).await?;
    }
    // An object is in the namespace that it is made in, and an execution in the app of its function.
    if let Some(app) = elsewhere {
        let what = format!(
            "\"{function}\": a function of another app runs there; make it with `-n {app}`"
        );
        return Err(Put::wrong("spec.function", what));
    }
    if put.is_dry() {
        return Ok(Made::default());
    }
    let origin = ExecutionOrigin::Request;
    let new = NewExecution { function, input, mode, description, origin };
    let started = put.folio.start_execution(put.caller, put.app()?, new).await?;
    Ok(Made { name: Some(started.id.to_string()), ..Made::default() })
}

/// Ends an execution: all that can be said to one that is there.
async fn cancel(put: &Put<'_>, before: &Item) -> Result<Made, Status> {
    let mut wanted = put.after["spec"].clone();
    let cancelled = wanted.as_object_mut().and_then(|spec| spec.remove("cancelled"));
    let mut was = before.body["spec"].clone();
    let before_cancelled = was.as_object_mut().and_then(|spec| spec.remove("cancelled"));
    if wanted != was {
        let what =
            "spec: Forbidden: an execution is a record; all that can be set is `cancelled: true`";
        return Err(Status::invalid("spec", what));
    }
    let is_new = cancelled == Some(true.into()) && before_cancelled != Some(true.into());
    if let Some(id) = id(put.name).filter(|_| is_new && !put.is_dry()) {
        put.folio.cancel_execution(put.app()?, id).await?;
    }
    Ok(Made::default())
}

fn id(name: &str) -> Option<ExecutionId> {
    name.parse().ok()
}

fn item(execution: &Execution) -> Item {
    let asked = &execution.asked;
    let function = match (&asked.alias, &asked.version, asked.pinned) {
        (Some(alias), ..) => format!("{}@{alias}", asked.function),
        (None, Some(version), true) => format!("{}@{version}", asked.function),
        _ => asked.function.to_string(),
    };
    let mut spec = json!({ "function": function, "mode": asked.mode });
    if let Some(input) = &execution.input {
        spec["input"] = serde_json::from_str(input).unwrap_or_else(|_| input.as_str().into());
    }
    if !asked.description.is_empty() {
        spec["description"] = asked.description.as_str().into();
    }
    if execution.status == ExecutionStatus::Cancelled {
        spec["cancelled"] = true.into();
    }
    let mut labels = vec![("function", asked.function.to_string())];
    labels.extend(asked.version.as_ref().map(|version| ("version", version.to_string())));
    Item {
        uid: Some(execution.id.0),
        created_at: Some(execution.created_at),
        labels,
        ..Item::new(
            &execution.app,
            execution.id.to_string(),
            json!({ "spec": spec, "status": status(execution) }),
        )
    }
}

fn status(execution: &Execution) -> Value {
    let asked = &execution.asked;
    let (complete, failed) = match execution.status {
        ExecutionStatus::Running => ("False", "False"),
        ExecutionStatus::Success => ("True", "False"),
        _ => ("False", "True"),
    };
    let mut status = json!({
        "status": execution.status, "by": asked.by,
        "version": asked.version.as_ref().map_or("draft", |version| version.as_str()),
        "conditions": [
            { "type": "Complete", "status": complete }, { "type": "Failed", "status": failed },
        ],
    });
    if let Some(output) = &execution.output {
        status["output"] = output.clone();
    }
    if let Some(at) = execution.ended_at {
        status["endedAt"] = written(at).into();
    }
    if let Some(ms) = execution.duration_ms {
        status["durationMs"] = ms.into();
    }
    status
}
