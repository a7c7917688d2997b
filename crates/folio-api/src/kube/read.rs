//! Reads objects: one, or a page of those that are selected, as they are, as rows, or as their metadata alone.

use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use folio_core::Folio;
use folio_core::object::{ObjectPage, ObjectView};
use folio_model::{Timestamp, UnitKey};
use serde_json::{Value, json};

use super::paging::{Continued, ENTRIES_MAX, Pages, expired};
use super::query::Query;
use super::resource::Source;
use super::status::Status;
use super::table::{self, Carry};
use super::target::Target;
use super::watch::selected;
use super::{mapping, object};

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

/// Lists the objects that are selected. The pages after the first show what was at the revision of the first.
pub(crate) async fn list(
    folio: &Folio,
    pages: &Pages,
    target: &Target,
    query: &Query,
) -> Result<Listed, Status> {
    let head = *folio.head().borrow();
    let of = selected(target, query);
    let continued = match &query.continued {
        Some(token) => Some(pages.read(folio, &of, token)?),
        None => None,
    };
    refuse_future(query.from.unwrap_or(0), head)?;
    let at = match (&continued, query.from.filter(|_| query.exact)) {
        (Some(continued), _) => Some(continued.revision),
        (None, exact) => exact,
    };
    let too_old = || match continued {
        Some(_) => expired(),
        None => {
            let what = "The resourceVersion for the provided list is too old.";
            Status::new(410, "Expired", what)
        }
    };
    if at.is_some_and(|at| at.saturating_add(ENTRIES_MAX) < head) {
        return Err(too_old());
    }
    let (mut listed, mut last) = match target.resource.source {
        Source::Unit(..) => units(folio, target, query, (at, continued.as_ref())).await?,
        Source::Mapped(_) => {
            let found = mapped(folio, pages, target, query, at).await?.ok_or_else(too_old)?;
            (rest(found, continued.as_ref()), None)
        }
    };
    if let Some(limit) = query.limit
        && listed.items.len() > limit
    {
        if continued.is_none() && matches!(target.resource.source, Source::Mapped(_)) {
            pages.keep(of.clone(), listed.revision, &listed.items);
        }
        listed.items.truncate(limit);
        last = listed.items.last().map(place);
    }
    let revision = listed.revision;
    listed.next =
        last.and_then(|(app, name)| pages.token(folio, &of, &Continued { revision, app, name }));
    Ok(listed)
}

/// Refuses a revision that is still to come.
pub(crate) fn refuse_future(revision: u64, head: u64) -> Result<(), Status> {
    if revision <= head {
        return Ok(());
    }
    let what = format!("Too large resource version: {revision}, current: {head}");
    Err(Status::new(504, "Timeout", what).retry_after(1))
}

/// Lists objects that are no units, by place. None if it is no longer known what they were at the revision.
async fn mapped(
    folio: &Folio,
    pages: &Pages,
    target: &Target,
    query: &Query,
    at: Option<u64>,
) -> Result<Option<Listed>, Status> {
    let Source::Mapped(mapping) = target.resource.source else {
        return Err(Status::no_such_path());
    };
    if let Some(revision) = at {
        if let Some(kept) = pages.kept(&selected(target, query), revision) {
            return Ok(Some(Listed { revision, items: kept.to_vec(), next: None }));
        }
        let moved = folio.last_entry(target.namespace.as_ref()).await?;
        if moved > revision || mapping.is_lively() {
            return Ok(None);
        }
    }
    let (head, items) = mapping::list(folio, target).await?;
    let mut items: Vec<_> = items.iter().map(|item| item.object(target, head)).collect();
    items.retain(|item| query.labels.select(item) && query.fields.select(item));
    items.sort_by_cached_key(place);
    Ok(Some(Listed { revision: at.unwrap_or(head), items, next: None }))
}

/// What comes after the pages that were read.
fn rest(mut listed: Listed, continued: Option<&Continued>) -> Listed {
    if let Some(Continued { app, name, .. }) = continued {
        let last = (app.clone(), name.clone());
        listed.items.retain(|item| place(item) > last);
    }
    listed
}

fn place(item: &Value) -> (String, String) {
    let text = |key: &str| item["metadata"][key].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

/// Lists units. Where only so many of them were read, also says which was the last.
async fn units(
    folio: &Folio,
    target: &Target,
    query: &Query,
    (at, continued): (Option<u64>, Option<&Continued>),
) -> Result<(Listed, Option<(String, String)>), Status> {
    let Source::Unit(kind, trigger) = target.resource.source else {
        return Err(Status::no_such_path());
    };
    if let (Some(name), Some(_), None) = (query.fields.name(), &target.namespace, at) {
        let found = find(folio, target, name).await?;
        let revision = *folio.head().borrow();
        let items = found.into_iter().map(|(_, value)| value);
        let selected = |item: &Value| query.labels.select(item) && query.fields.select(item);
        let items = items.filter(selected).collect();
        return Ok((Listed { revision, items, next: None }, None));
    }
    let all = query.labels.is_empty() && query.fields == Default::default() && trigger.is_none();
    let after = match continued {
        Some(Continued { app, name, .. }) => {
            let app = app.parse().map_err(|_| expired())?;
            Some((app, name.parse().map_err(|_| expired())?))
        }
        None => None,
    };
    let limit = query.limit.filter(|_| all);
    let page = ObjectPage { at, after, limit: limit.map(|limit| limit.saturating_add(1)) };
    let mut objects = folio.objects(target.namespace.as_ref(), kind, page).await?;
    let cut = limit.filter(|limit| objects.items.len() > *limit);
    objects.items.truncate(cut.unwrap_or(usize::MAX));
    let last = objects.items.last().filter(|_| cut.is_some());
    let last = last.map(|view| (view.key.app.to_string(), view.key.name.to_string()));
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
    Ok((Listed { revision: objects.revision, items, next: None }, last))
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
