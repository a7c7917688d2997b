//! Reads objects: one, or a page of those that are selected, as they are, as rows, or as their metadata alone.

use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use folio_core::Folio;
use folio_core::object::{ObjectPage, ObjectView};
use folio_model::{AppName, Timestamp, UnitKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::query::Query;
use super::resource::Source;
use super::status::Status;
use super::table::{self, Carry};
use super::target::Target;
use super::{mapping, object};

/// Entries after which a page can no longer be continued, or a watch begun.
pub(crate) const ENTRIES_MAX: u64 = 10_000;

const NO_CONTINUE_KEY: &str = "continue key is not valid";

/// How a client wants objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Table(&'static str, Carry),
    Metadata,
}

impl Form {
    /// The first form of those a client takes that is known here.
    pub(crate) fn of(headers: &HeaderMap, query: &Query) -> Result<Self, Status> {
        let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        let accept = accept.unwrap_or("*/*");
        for one in accept.split(',') {
            let mut parts = one.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let parts: Vec<_> = parts.collect();
            if !matches!(media, "application/json" | "application/*" | "*/*" | "") {
                continue;
            }
            let carry = if query.whole_rows { Carry::Whole } else { Carry::Metadata };
            match parts.iter().find_map(|part| part.strip_prefix("as=")) {
                Some("Table") if parts.contains(&"v=v1beta1") => {
                    return Ok(Self::Table("v1beta1", carry));
                }
                Some("Table") => return Ok(Self::Table("v1", carry)),
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") => {
                    return Ok(Self::Metadata);
                }
                Some(_) => {}
                None => return Ok(Self::Plain),
            }
        }
        let what = "only the following media types are accepted: application/json";
        Err(Status::new(406, "NotAcceptable", what))
    }
}

/// Objects of a page.
pub(crate) struct Listed {
    pub(crate) revision: u64,
    pub(crate) items: Vec<Value>,
    pub(crate) next: Option<String>,
}

/// Where a page goes on.
#[derive(Debug, Serialize, Deserialize)]
struct Continued {
    revision: u64,
    app: AppName,
    name: String,
}

/// Finds a unit.
pub(crate) async fn find(
    folio: &Folio,
    target: &Target,
    name: &str,
) -> Result<Option<(ObjectView, Value)>, Status> {
    let Source::Unit(kind, trigger) = target.resource.source else { return Ok(None) };
    let Ok(parsed) = name.parse() else { return Ok(None) };
    let key = UnitKey { app: target.app()?.clone(), kind, name: parsed };
    let view = folio.object(&key).await?;
    let Some(view) = view.filter(|view| trigger.is_none_or(|own| own.has(&view.spec))) else {
        return Ok(None);
    };
    let value = object::show(folio, &view, target.resource, &target.version).await?;
    Ok(Some((view, value)))
}

/// Shows one object.
pub(crate) async fn one(folio: &Folio, target: &Target, name: &str) -> Result<Value, Status> {
    let found = match target.resource.source {
        Source::Unit(..) => find(folio, target, name).await?.map(|(_, value)| value),
        Source::Mapped(_) => {
            let found = mapping::one(folio, target, name).await?;
            found.map(|(head, item)| item.object(target, head))
        }
    };
    found.ok_or_else(|| target.not_found(name))
}

/// Lists the objects that are selected.
pub(crate) async fn list(folio: &Folio, target: &Target, query: &Query) -> Result<Listed, Status> {
    let head = *folio.head().borrow();
    let continued = query.continued.as_deref().map(|text| continued(text, head)).transpose()?;
    let mut listed = match target.resource.source {
        Source::Unit(..) => units(folio, target, query, continued.as_ref()).await?,
        Source::Mapped(_) => {
            let (head, items) = mapping::list(folio, target).await?;
            let mut items: Vec<_> = items.iter().map(|item| item.object(target, head)).collect();
            items.retain(|item| query.labels.select(item) && query.fields.select(item));
            items.sort_by_cached_key(place);
            if let Some(after) = &continued {
                items.retain(|item| place(item) > (after.app.to_string(), after.name.clone()));
            }
            Listed { revision: head, items, next: None }
        }
    };
    if let Some(limit) = query.limit
        && listed.items.len() > limit
    {
        listed.items.truncate(limit);
        let revision = continued.as_ref().map_or(listed.revision, |continued| continued.revision);
        listed.next = listed.items.last().and_then(|last| token(last, revision));
    }
    if let Some(continued) = continued {
        // What changed since the first page is seen by whoever watches from its revision.
        listed.revision = continued.revision;
    }
    Ok(listed)
}

fn place(item: &Value) -> (String, String) {
    let text = |key: &str| item["metadata"][key].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

fn token(last: &Value, revision: u64) -> Option<String> {
    let (app, name) = place(last);
    let app = if app.is_empty() { AppName::default_app() } else { app.parse().ok()? };
    serde_json::to_vec(&Continued { revision, app, name }).ok().map(|json| BASE64.encode(json))
}

fn continued(text: &str, head: u64) -> Result<Continued, Status> {
    let bytes = BASE64.decode(text).ok();
    let found: Option<Continued> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let found = found.filter(|found| found.revision <= head);
    let found = found.ok_or_else(|| Status::bad_request(NO_CONTINUE_KEY))?;
    if found.revision + ENTRIES_MAX < head {
        let what = "The provided continue parameter is too old to display a consistent list result. \
                    You can start a new list without the continue parameter.";
        return Err(Status::new(410, "Expired", what));
    }
    Ok(found)
}

async fn units(
    folio: &Folio,
    target: &Target,
    query: &Query,
    continued: Option<&Continued>,
) -> Result<Listed, Status> {
    let Source::Unit(kind, trigger) = target.resource.source else {
        return Err(Status::no_such_path());
    };
    if let (Some(name), Some(_)) = (query.fields.name(), &target.namespace) {
        let found = find(folio, target, name).await?;
        let revision = *folio.head().borrow();
        let items = found.into_iter().map(|(_, value)| value);
        let selected = |item: &Value| query.labels.select(item) && query.fields.select(item);
        return Ok(Listed { revision, items: items.filter(selected).collect(), next: None });
    }
    let all = query.labels.is_empty() && query.fields == Default::default() && trigger.is_none();
    let after = match continued {
        Some(Continued { app, name, .. }) => {
            let name = name.parse().map_err(|_| Status::bad_request(NO_CONTINUE_KEY))?;
            Some((app.clone(), name))
        }
        None => None,
    };
    let page = ObjectPage {
        after,
        limit: query.limit.filter(|_| all).map(|limit| limit.saturating_add(1)),
    };
    let objects = folio.objects(target.namespace.as_ref(), kind, page).await?;
    let mut items = Vec::with_capacity(objects.items.len());
    for view in &objects.items {
        if trigger.is_some_and(|own| !own.has(&view.spec)) {
            continue;
        }
        // What this version has no word for is not in its list.
        let Ok(value) = object::show(folio, view, target.resource, &target.version).await else {
            continue;
        };
        if query.labels.select(&value) && query.fields.select(&value) {
            items.push(value);
        }
    }
    Ok(Listed { revision: objects.revision, items, next: None })
}

/// Writes a page as a client wants it.
pub(crate) fn page(target: &Target, listed: Listed, form: Form, now: Timestamp) -> Response {
    let Listed { revision, mut items, next } = listed;
    let metadata =
        json!({ "resourceVersion": revision.to_string(), "continue": next.unwrap_or_default() });
    let body = match form {
        Form::Table(version, carry) => {
            let mut table = table::table(target.resource, items, now, carry);
            table["apiVersion"] = format!("meta.k8s.io/{version}").into();
            table["metadata"] = metadata;
            table
        }
        Form::Metadata => {
            let items = items.into_iter().map(table::partial).collect();
            whole("PartialObjectMetadataList", "meta.k8s.io/v1", metadata, items)
        }
        Form::Plain => {
            for item in &mut items {
                // Whoever has the list knows what its items are; kubectl wants it said nevertheless.
                item["apiVersion"] = target.api_version().into();
                item["kind"] = target.resource.kind.into();
            }
            let kind = format!("{}List", target.resource.kind);
            whole(&kind, &target.api_version(), metadata, items)
        }
    };
    axum::Json(body).into_response()
}

/// A list. Its items are moved: `json!` would copy them, which takes longer than writing them.
fn whole(kind: &str, api_version: &str, metadata: Value, items: Vec<Value>) -> Value {
    let mut list = json!({ "kind": kind, "apiVersion": api_version });
    list["metadata"] = metadata;
    list["items"] = Value::Array(items);
    list
}

/// Writes one object as a client wants it.
pub(crate) fn shown(target: &Target, value: Value, form: Form, now: Timestamp) -> Value {
    match form {
        Form::Plain => value,
        Form::Metadata => table::partial(value),
        Form::Table(version, carry) => {
            let revision = value["metadata"]["resourceVersion"].clone();
            let mut table = table::table(target.resource, vec![value], now, carry);
            table["apiVersion"] = format!("meta.k8s.io/{version}").into();
            table["metadata"] = json!({ "resourceVersion": revision });
            table
        }
    }
}
