//! Webhooks: URLs that run a function, whoever calls them.

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse as _;
use folio_core::Folio;
use folio_core::binding::{
    BindingFields, BindingKind, BindingView, Error, NewBinding, NewTerms, SIGNATURE_HEADERS,
    WebhookCall,
};
use folio_model::{BindingTerms, BoundTo, Webhook};
use serde_json::{Value, json};
use uuid::Uuid;

use super::body::{self, Object};
use super::fault::{Fault, Outcome, empty, found, made};
use super::showing::moment;
use super::visit::{self, To, Visit};
use super::{aliases, versions};

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

/// Runs what a webhook leads to.
pub(super) async fn invoke(folio: &Folio, id: &str, request: Request) -> Outcome {
    let id: Uuid = id.parse().map_err(|_| Fault::no("Webhook", id))?;
    let (parts, body) = request.into_parts();
    let max = usize::try_from(folio.limits().execution_input_bytes_max).unwrap_or(usize::MAX);
    let body = body::whole(body, max).await?;
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let content_type = header(header::CONTENT_TYPE.as_str());
    let call = WebhookCall {
        // The original reads JSON whatever a body says that it is, and takes what it cannot read for none.
        content_type: content_type.filter(|kind| !kind.to_ascii_lowercase().contains("json")),
        query: parts.uri.query().unwrap_or_default(),
        body: &body,
        signature: SIGNATURE_HEADERS.into_iter().find_map(header),
    };
    let started = folio.call_webhook(id, call).await;
    let started = started.map_err(|error| match error {
        Error::NotFound { .. } => Fault::no("Webhook", &id.to_string()),
        Error::TooOften(_) => Fault::new(StatusCode::TOO_MANY_REQUESTS, error.to_string()),
        error => error.into(),
    })?;
    let body = axum::Json(json!({ "execution_id": started.id }));
    Ok((StatusCode::ACCEPTED, body).into_response())
}

async fn list(visit: &Visit) -> Outcome {
    visit.only(&["all_projects", "project_id"])?;
    let mut webhooks = Vec::new();
    for app in visit.projects().await? {
        let all = visit.folio.bindings(&app, BindingKind::Webhook).await?;
        webhooks.extend(all.iter().map(|webhook| shown(visit, webhook)));
    }
    Ok(found(json!({ "webhooks": webhooks })))
}

fn read(visit: &Visit) -> Outcome<Object> {
    let known = ["function_id", "function_alias", "function_version", "description"];
    let read_only = ["id", "webhook_url", "project_id", "created_at", "updated_at"];
    Object::read_with(&visit.body, "webhook", &known, &read_only)
}

async fn create(visit: &Visit) -> Outcome {
    let body = read(visit)?;
    let version_unsaid = body.number("function_version")?.is_none();
    let new = NewBinding {
        to: target(visit, &body).await?,
        name: None,
        description: body.text("description")?,
        terms: NewTerms::Webhook(Webhook { version_unsaid, ..Webhook::default() }),
    };
    let done = visit.folio.bind(&visit.caller, &visit.app, new).await?;
    Ok(made(shown(visit, &done.result)))
}

/// What a new job or webhook leads to: an alias, or a version of a function.
pub(super) async fn target(visit: &Visit, body: &Object) -> Outcome<BoundTo> {
    if let Some(alias) = body.text("function_alias")? {
        aliases::target(visit, &alias).await?;
        let absent = || Fault::absent(format!("FunctionAlias not found [name={alias}]"));
        return alias.parse().map(BoundTo::Alias).map_err(|_| absent());
    }
    let Some(id) = body.uuid("function_id")? else {
        let text = "Either function_alias or function_id must be provided.";
        return Err(Fault::invalid(text));
    };
    let number = body.number("function_version")?.unwrap_or_default();
    let unit = visit.function(id, To::Change).await?;
    versions::known(visit, &unit, number).await?;
    Ok(BoundTo::Function { unit: unit.uid, number: folio_model::Number::new(number) })
}

async fn show(visit: &Visit, id: &str) -> Outcome {
    Ok(found(shown(visit, &one(visit, id, To::Read).await?)))
}

async fn update(visit: &Visit, id: &str) -> Outcome {
    let webhook = one(visit, id, To::Change).await?;
    let body = read(visit)?;
    let function = body.uuid("function_id")?;
    let number = body.number("function_version")?;
    let to = if body.has("function_alias") {
        Some(target(visit, &body).await?)
    } else if function.is_some() || number.is_some() {
        let (unit, before) = match webhook.binding.to {
            BoundTo::Function { unit, number } => (Some(unit.0), number),
            BoundTo::FunctionAlias { unit, .. } => (Some(unit.0), None),
            BoundTo::Alias(_) => (None, None),
        };
        let id = function.or(unit).ok_or_else(|| Fault::no("Function", "None"))?;
        let number = match (number, function) {
            (Some(number), _) => number,
            (None, None) => before.map_or(0, folio_model::Number::get),
            (None, Some(_)) => 0,
        };
        let unit = visit.function(id, To::Change).await?;
        versions::known(visit, &unit, number).await?;
        let number = folio_model::Number::new(number);
        Some(BoundTo::Function { unit: unit.uid, number })
    } else {
        None
    };
    let description = body.text("description")?;
    let version_unsaid = number.is_none() && is_unsaid(&webhook);
    let webhook_fields = Webhook { version_unsaid, ..Webhook::default() };
    let fields =
        BindingFields { to, description, webhook: webhook_fields, ..BindingFields::default() };
    let at = (&visit.app, webhook.id);
    let done = visit.folio.rebind(&visit.caller, at, BindingKind::Webhook, fields).await?;
    Ok(found(shown(visit, &done.result)))
}

async fn delete(visit: &Visit, id: &str) -> Outcome {
    let webhook = one(visit, id, To::Change).await?;
    visit.folio.unbind(&visit.caller, (&visit.app, webhook.id), BindingKind::Webhook).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

async fn one(visit: &Visit, id: &str, to: To) -> Outcome<BindingView> {
    let id = visit::identity("id", id)?;
    for app in visit.sought(to).await? {
        match visit.folio.show_binding((&app, id), BindingKind::Webhook).await {
            Err(Error::NotFound { .. }) => {}
            found => return Ok(found?),
        }
    }
    Err(Fault::no("Webhook", &id.to_string()))
}

/// The function, version and alias of what a job or webhook leads to.
pub(super) fn bound(view: &BindingView) -> (Value, Value, Value) {
    match &view.binding.to {
        BoundTo::Function { unit, number } => {
            (json!(unit), json!(number.map_or(0, folio_model::Number::get)), Value::Null)
        }
        BoundTo::Alias(alias) | BoundTo::FunctionAlias { alias, .. } => {
            (Value::Null, Value::Null, json!(alias))
        }
    }
}

/// Whether nobody ever said which version is meant, which the original shows as none.
fn is_unsaid(view: &BindingView) -> bool {
    matches!(&view.binding.terms, BindingTerms::Webhook(webhook) if webhook.version_unsaid)
}

fn shown(visit: &Visit, view: &BindingView) -> Value {
    let (function, version, alias) = bound(view);
    let version = if version == 0 && is_unsaid(view) { Value::Null } else { version };
    json!({
        "id": view.id,
        "function_id": function,
        "function_alias": alias,
        "function_version": version,
        "description": view.binding.description,
        "project_id": view.app,
        "created_at": moment(view.binding.created_at),
        "updated_at": view.binding.updated_at.map(moment),
        "webhook_url": visit.webhook_url(view.id),
    })
}
