//! Executions, as Qinling shows them: the result is a JSON text, and what was cancelled has failed.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use folio_core::execution::{Listing, NewExecution};
use folio_model::{
    Execution, ExecutionId, ExecutionMode, ExecutionOrigin, ExecutionStatus, Qualifier, Reference,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::aliases;
use super::fault::{Fault, Outcome, empty, found, made};
use super::showing::moment;
use super::versions;
use super::visit::{self, To, Visit};

/// Executions that are read at a time.
const PAGE: usize = 1000;

pub(super) async fn dispatch(visit: &Visit, rest: &[&str]) -> Outcome {
    match (visit.method.as_str(), rest) {
        ("GET", []) => list(visit).await,
        ("POST", []) => create(visit).await,
        ("GET", [id]) => show(visit, id).await,
        ("DELETE", [id]) => delete(visit, id).await,
        ("GET", [id, "log"]) => log(visit, id).await,
        _ => Err(visit.nowhere()),
    }
}

async fn create(visit: &Visit) -> Outcome {
    let known =
        ["function_id", "function_alias", "function_version", "sync", "input", "description"];
    let read_only = ["id", "status", "result", "project_id", "created_at", "updated_at"];
    let body = super::body::Object::read_with(&visit.body, "body", &known, &read_only)?;
    let number = body.number("function_version")?;
    let function = match (body.text("function_alias")?, body.uuid("function_id")?) {
        (Some(alias), _) => aliases::target(visit, &alias).await?,
        (None, Some(id)) => reference(visit, id, number.unwrap_or_default()).await?,
        (None, None) => {
            let text = "Either function_alias or function_id must be provided.";
            return Err(Fault::invalid(text));
        }
    };
    let mode = match body.truth("sync")? {
        Some(false) => ExecutionMode::Async,
        _ => ExecutionMode::Sync,
    };
    let new = NewExecution {
        function,
        input: body.text("input")?.filter(|input| !input.is_empty() && input != "null"),
        mode,
        description: body.text("description")?.unwrap_or_default(),
        origin: ExecutionOrigin::Request,
    };
    let started = visit.folio.start_execution(&visit.caller, &visit.app, new).await?;
    Ok(made(shown(&started)))
}

/// A function's version as folio writes it; 0 is its draft, or else its latest.
pub(super) async fn reference(visit: &Visit, id: Uuid, number: u64) -> Outcome<Reference> {
    let unit = visit.function(id, To::Change).await?;
    versions::known(visit, &unit, number).await?;
    let function = Reference::to(unit.name.clone());
    Ok(match number {
        0 => function,
        number => function.at(Qualifier::Number(versions::as_number(&unit, number)?)),
    })
}

async fn show(visit: &Visit, id: &str) -> Outcome {
    Ok(found(shown(&one(visit, id, To::Read).await?)))
}

async fn delete(visit: &Visit, id: &str) -> Outcome {
    let execution = one(visit, id, To::Change).await?;
    visit.folio.delete_execution(&execution.app, execution.id).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

async fn log(visit: &Visit, id: &str) -> Outcome {
    let execution = one(visit, id, To::Read).await?;
    let mut response: Response =
        visit.folio.execution_log(&execution.app, execution.id).await?.into_response();
    let plain = HeaderValue::from_static("text/plain; charset=UTF-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    Ok(response)
}

async fn one(visit: &Visit, id: &str, to: To) -> Outcome<Execution> {
    let id = visit::identity("id", id)?;
    for app in visit.sought(to).await? {
        match visit.folio.show_execution(&app, ExecutionId(id)).await {
            Err(folio_core::execution::Error::NotFound(_)) => {}
            found => return Ok(found?),
        }
    }
    Err(Fault::no("Execution", &id.to_string()))
}

async fn list(visit: &Visit) -> Outcome {
    visit.only(&["function_id", "status", "description", "project_id", "all_projects"])?;
    let wanted = |execution: &Value| {
        ["function_id", "status", "description"].into_iter().all(|field| {
            visit.asked(field).is_none_or(|asked| fits(asked, execution[field].as_str()))
        })
    };
    let max = visit.folio.limits().qinling_executions_max;
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    // Each is kept as its text, which is a tenth of the value in memory: there may be very many.
    let mut executions = Vec::new();
    for app in visit.projects().await? {
        let (mut below, mut of_app) = (None, Vec::new());
        loop {
            let listing = Listing { below, limit: PAGE, ..Listing::default() };
            let page = visit.folio.executions(&app, listing).await?;
            below = page.last().map(|execution| execution.seq);
            let fit = page.iter().map(shown).filter(&wanted).map(|one| one.to_string());
            of_app.extend(fit.take(max - of_app.len()));
            if page.len() < PAGE || of_app.len() == max {
                break;
            }
        }
        executions.extend(of_app.into_iter().rev());
    }
    let body = format!("{{\"executions\":[{}]}}", executions.join(","));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// Whether a value is what a filter asks for: `has:text`, `in:a,b`, or a value itself.
fn fits(asked: &str, value: Option<&str>) -> bool {
    let value = value.unwrap_or_default();
    let (how, what) = asked.split_once(':').unwrap_or(("eq", asked));
    let listed = || what.split(',').any(|one| one == value);
    match how {
        "eq" => value == what,
        "neq" => value != what,
        "gt" => value > what,
        "gte" => value >= what,
        "lt" => value < what,
        "lte" => value <= what,
        "has" => value.contains(what),
        "in" => listed(),
        "nin" => !listed(),
        _ => value == asked,
    }
}

/// An execution with every field there is.
fn shown(execution: &Execution) -> Value {
    let status = match execution.status {
        ExecutionStatus::Cancelled => ExecutionStatus::Failed,
        status => status,
    };
    let ended = execution.status != ExecutionStatus::Running;
    let result = ended.then(|| {
        let ms = u32::try_from(execution.duration_ms.unwrap_or_default()).unwrap_or(u32::MAX);
        let duration = f64::from(ms) / 1000.0;
        json!({ "output": execution.output, "duration": duration }).to_string()
    });
    let version = execution.number.filter(|_| execution.asked.pinned);
    let by_job = matches!(execution.asked.origin, ExecutionOrigin::Job(_));
    let description = Some(&execution.asked.description).filter(|text| !text.is_empty());
    json!({
        "id": execution.id,
        "function_id": execution.unit,
        "function_version": version.map_or(0, folio_model::Number::get),
        "function_alias": execution.asked.alias.as_ref().filter(|_| !by_job),
        "description": description,
        "status": status.as_str(),
        "sync": execution.asked.mode == ExecutionMode::Sync,
        "input": execution.input,
        "result": result,
        "project_id": execution.app,
        "created_at": moment(execution.created_at),
        "updated_at": execution.ended_at.map(moment),
    })
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn filters_compare_as_they_say() {
        let check = |asked: &str, value: &str, expected: bool| {
            assert_eq!(fits(asked, Some(value)), expected, "{asked} {value}");
        };
        check("running", "running", true);
        check("neq:running", "running", false);
        check("has:Job 7", "Created by Job 7", true);
        check("in:a,b", "b", true);
        check("nin:a,b", "b", false);
        check("gte:b", "b", true);
        check("lt:b", "b", false);
    }
}
