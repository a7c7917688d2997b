//! How many workers of a function are kept ready, as Kubernetes' scale of it. Setting it is a change of the function
//! like any other: its draft changes, or it gets a version.

use axum::http::header;
use axum::response::{IntoResponse, Json, Response};
use serde_json::{Value, json};

use super::body::{self, PatchKind};
use super::kinds::pod::workers;
use super::resource::Resource;
use super::status::Status;
use super::target::Target;
use super::write::Write;
use super::{Asked, by, patch, read};

/// The version of a function's kind that is read and changed, whichever is asked for.
const VERSION: (&str, &str) = ("folio.dev", "v1");

/// The most workers that can be asked for.
const REPLICAS_MAX: u64 = u32::MAX as u64;

/// `GET` of the scale of a function.
pub(super) async fn show(asked: Asked) -> Result<Response, Status> {
    let (target, function) = found(&asked).await?;
    Ok(Json(scale(&asked, &target, &function)).into_response())
}

/// `PUT` or `PATCH` of the scale of a function.
pub(super) async fn change(asked: Asked, verb: &str) -> Result<Response, Status> {
    let (target, function) = found(&asked).await?;
    let before = scale(&asked, &target, &function);
    let headers = &asked.parts.headers;
    let after = match verb {
        "update" => body::object(headers, &asked.bytes)?,
        _ => match body::patch(headers, &asked.bytes)? {
            (PatchKind::Steps, steps) => patch::steps(&before, &steps)?,
            (_, over) => patch::merge(&before, &over)?,
        },
    };
    let replicas = after["spec"]["replicas"].as_u64().filter(|replicas| *replicas <= REPLICAS_MAX);
    let replicas = replicas.ok_or_else(|| {
        let found = &after["spec"]["replicas"];
        let sort = if found.is_number() { "Invalid value" } else { "Invalid type" };
        let what = format!("spec.replicas: {sort}: {found}");
        Status::invalid("spec.replicas", what)
    })?;
    let mut wanted = json!({ "spec": { "run": { "scaleMin": replicas } } });
    if replicas == 0 {
        wanted["spec"]["run"]["scaleMin"] = Value::Null;
    }
    let max = function["spec"]["run"]["scaleMax"].as_u64();
    if max.is_some_and(|max| max < replicas) {
        wanted["spec"]["run"]["scaleMax"] = replicas.into();
    }
    let (seen, now) =
        (&after["metadata"]["resourceVersion"], &before["metadata"]["resourceVersion"]);
    if verb == "update" && seen.as_str().is_some_and(|seen| !seen.is_empty()) || seen != now {
        wanted["metadata"]["resourceVersion"] = seen.clone();
    }
    put(asked, &target, wanted).await
}

/// Changes the function and answers with its scale.
async fn put(asked: Asked, target: &Target, wanted: Value) -> Result<Response, Status> {
    let write = Write {
        folio: &asked.folio,
        caller: by(asked.caller.clone(), &asked.parts),
        target,
        query: &asked.query,
        headers: &asked.parts.headers,
        bytes: asked.bytes.clone(),
    };
    let (function, warnings) = write.merge(wanted).await?;
    let mut response = Json(scale(&asked, target, &function)).into_response();
    for warning in warnings {
        response.headers_mut().append(header::WARNING, warning);
    }
    Ok(response)
}

/// The function, in the version that is changed.
async fn found(asked: &Asked) -> Result<(Target, Value), Status> {
    let (group, version) = VERSION;
    let resource = Resource::find(group, version, asked.target.resource.plural);
    let resource = resource.ok_or_else(Status::no_such_path)?;
    let target =
        Target { resource, version: version.to_owned(), part: None, ..asked.target.clone() };
    let name = target.name.clone().unwrap_or_default();
    let found = read::find(&asked.folio, &target, &name).await?;
    let (_, value) = found.ok_or_else(|| asked.target.not_found(&name))?;
    Ok((target, value))
}

fn scale(asked: &Asked, target: &Target, function: &Value) -> Value {
    let metadata = &function["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let all = target.namespace.as_ref().map(|app| workers(&asked.folio, app)).unwrap_or_default();
    let own = all.iter().filter(|worker| worker.function.as_str() == name).count();
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": name, "namespace": metadata["namespace"], "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": { "replicas": function["spec"]["run"]["scaleMin"].as_u64().unwrap_or(0) },
        "status": { "replicas": own, "selector": format!("function={name}") },
    })
}
