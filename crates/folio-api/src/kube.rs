//! The Kubernetes-style face: every object of folio for kubectl and whoever else speaks its protocol.
//!
//! Decodes a request, calls one verb of the core, encodes the answer, like every door. `resource` lists what there is,
//! `target` reads paths; start at [`routes`]. Nothing here decides what may happen to an object.

mod access;
mod body;
mod checks;
mod convert;
mod delete;
mod discovery;
mod kinds;
mod logs;
mod managed;
mod mapping;
mod object;
mod openapi;
mod paging;
mod patch;
mod plain;
mod protobuf;
mod query;
mod read;
mod repeated;
mod resource;
mod review;
mod scale;
mod selector;
mod status;
mod swagger;
mod table;
mod target;
mod watch;
mod write;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::any;
use bytes::Bytes;
use folio_core::{Caller, Folio};
use serde_json::Value;

use self::query::Query;
use self::read::Form;
use self::resource::{Resource, Source};
use self::status::Status;
use self::target::Target;
pub(crate) use self::watch::Feed;
use self::write::Write;

/// Where this face is.
const PATHS: [&str; 11] = [
    "/api",
    "/api/{*rest}",
    "/apis",
    "/apis/{*rest}",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/{*rest}",
    "/version",
    "/livez",
    "/readyz",
    "/convert",
];

/// Everything this face serves.
pub(crate) fn routes(feed: Arc<Feed>) -> Router<Folio> {
    PATHS.into_iter().fold(Router::new(), |router, path| {
        let feed = Arc::clone(&feed);
        router.route(
            path,
            any(move |State(folio): State<Folio>, request: Request| async move {
                let answered = Box::pin(answer(folio, feed, request)).await;
                answered.unwrap_or_else(IntoResponse::into_response)
            }),
        )
    })
}

/// Everything that can be asked of this face: what is fixed, and every verb of every version of every resource.
pub(crate) fn endpoints() -> Vec<(&'static str, String)> {
    let is_fixed = |path: &&str| !path.contains('*') && *path != "/convert";
    let mut all: Vec<_> =
        PATHS.into_iter().filter(is_fixed).map(|path| ("GET", path.to_owned())).collect();
    all.push(("POST", "/convert".to_owned()));
    let mut versions = vec![("", "v1")];
    for (group, own) in discovery::all_groups() {
        all.push(("GET", format!("/apis/{group}")));
        versions.extend(own.into_iter().map(|version| (group, version)));
    }
    for (group, version) in versions {
        let root = root(group, version);
        all.push(("GET", format!("/openapi/v3{root}")));
        all.push(("GET", root.clone()));
        for resource in Resource::of(group, version) {
            all.extend(resource.endpoints(&root));
        }
        let reviews = review::of(group, version);
        all.extend(reviews.map(|review| ("POST", format!("{root}/{}", review.plural))));
    }
    all
}

/// Where the resources of a version are.
fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

async fn answer(folio: Folio, feed: Arc<Feed>, request: Request) -> Result<Response, Status> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().trim_end_matches('/').to_owned();
    if matches!(path.as_str(), "/livez" | "/readyz") {
        return Ok("ok".into_response());
    }
    if path == "/convert" {
        let bytes = body::read(&folio, body).await?;
        return convert::convert(&parts, &bytes);
    }
    let caller = folio.authenticate(crate::decode::token(&parts.headers).as_deref()).await?;
    access::refuse_disguise(&parts.headers)?;
    if let Some(found) = fixed(&path, &parts)? {
        return Ok(found);
    }
    if let Some(asked) = review::find(&path) {
        let bytes = body::read(&folio, body).await?;
        return review::answer(&caller, asked, &parts, &bytes);
    }
    let pieces: Vec<_> = path.splitn(5, '/').collect();
    let target = match &pieces[..] {
        [_, "api", version, ..] => {
            let rest = path.strip_prefix(&format!("/api/{version}/"));
            Target::parse("", version, rest.ok_or_else(Status::no_such_path)?)?
        }
        [_, "apis", group, version, rest] => Target::parse(group, version, rest)?,
        _ => return Err(Status::no_such_path()),
    };
    access::allow(&caller, &target, verb(&parts.method, &target).unwrap_or("update"))?;
    let query = Query::parse(parts.uri.query())?;
    let bytes = body::read(&folio, body).await?;
    Box::pin(dispatch(Asked { folio, feed, caller, target, query, parts, bytes })).await
}

/// A request about objects.
struct Asked {
    folio: Folio,
    feed: Arc<Feed>,
    caller: Caller,
    target: Target,
    query: Query,
    parts: Parts,
    bytes: Bytes,
}

/// What is the same for all who may ask: what is served, and what it is made of.
fn fixed(path: &str, parts: &Parts) -> Result<Option<Response>, Status> {
    let headers = &parts.headers;
    let json = |body: Option<Value>| {
        body.map(|body| Json(body).into_response()).ok_or_else(Status::no_such_path)
    };
    let found = match path.split('/').collect::<Vec<_>>()[..] {
        [_, "version"] => Json(discovery::version()).into_response(),
        [_, "api"] => discovery::core(headers),
        [_, "api", version] => json(discovery::resources("", version))?,
        [_, "apis"] => discovery::groups(headers),
        [_, "apis", group] => json(discovery::one_group(group))?,
        [_, "apis", group, version] => json(discovery::resources(group, version))?,
        [_, "openapi", "v2"] => openapi::second(),
        [_, "openapi", "v3"] => Json(openapi::index()).into_response(),
        [_, "openapi", "v3", ..] => {
            let document = path.trim_start_matches("/openapi/v3/");
            openapi::third(document, headers, parts.uri.query())?
        }
        _ => return Ok(None),
    };
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return Err(Status::method_not_allowed("it is only read"));
    }
    Ok(Some(found))
}

/// What a method asks for, if it asks for anything there.
fn verb(method: &Method, target: &Target) -> Option<&'static str> {
    match (method, &target.name) {
        (&Method::GET | &Method::HEAD, Some(_)) => Some("get"),
        (&Method::GET | &Method::HEAD, None) => Some("list"),
        (&Method::POST, None) => Some("create"),
        (&Method::PUT, Some(_)) => Some("update"),
        (&Method::PATCH, Some(_)) => Some("patch"),
        (&Method::DELETE, Some(_)) => Some("delete"),
        (&Method::DELETE, None) => Some("deletecollection"),
        _ => None,
    }
}

async fn dispatch(asked: Asked) -> Result<Response, Status> {
    let resource = asked.target.resource;
    let verb = match verb(&asked.parts.method, &asked.target) {
        Some("list") if asked.query.watch => "watch",
        Some(verb) => verb,
        None => return Err(Status::method_not_allowed(resource.kind)),
    };
    if !resource.allows(verb) {
        return Err(Status::method_not_allowed(&format!(
            "{} cannot be asked to {verb}",
            resource.qualified()
        )));
    }
    if let Some(part) = &asked.target.part {
        let parts = discovery::parts(resource);
        let own = parts.iter().find(|own| own.name == part).ok_or_else(Status::no_such_path)?;
        if !own.verbs.contains(&verb) {
            return Err(Status::method_not_allowed(&format!("{part} cannot be asked to {verb}")));
        }
    }
    match (asked.target.part.as_deref(), verb) {
        (Some("log"), _) => logs::show(asked).await,
        (Some("scale"), "get") => scale::show(asked).await,
        (_, "get" | "list" | "watch") => show(asked, verb).await,
        (_, "delete" | "deletecollection") => delete::delete(asked).await,
        (part, verb) => {
            let repeated = checks::repeated_fields(&asked.target, &asked.query, &asked.bytes)?;
            let changed = match part {
                Some("scale") => Box::pin(scale::change(asked, verb)).await?,
                _ => change(asked, verb).await?,
            };
            Ok(write::with_warnings(changed, &repeated))
        }
    }
}

async fn show(asked: Asked, verb: &str) -> Result<Response, Status> {
    let Asked { folio, feed, target, query, parts, .. } = asked;
    let form = Form::of(&parts.headers, &query)?;
    match (verb, target.name.clone()) {
        ("watch", _) => watch::watch((folio, feed), target, query, form).await,
        (_, Some(name)) => {
            let found = read::one(&folio, &target, &name).await?;
            Ok(Json(read::shown(&target, found, form, folio.now())).into_response())
        }
        _ => {
            let listed = read::list(&folio, &feed.pages, &target, &query).await?;
            feed.remember(&target, &query, &listed);
            Ok(read::page(&target, listed, form, folio.now()))
        }
    }
}

async fn change(asked: Asked, verb: &str) -> Result<Response, Status> {
    match asked.target.resource.source {
        Source::Unit(..) => {
            let Asked { folio, caller, target, query, parts, bytes, .. } = asked;
            let write = Write {
                folio: &folio,
                caller: by(caller, &parts),
                target: &target,
                query: &query,
                headers: &parts.headers,
                bytes,
            };
            match verb {
                "create" => write.create().await,
                "update" => write.replace().await,
                _ => write.patch().await,
            }
        }
        Source::Mapped(mapping) => plain::change(asked, verb, mapping).await,
    }
}

/// Who asks, with the tool that they use as the reason.
fn by(mut caller: Caller, parts: &Parts) -> Caller {
    let command = parts.headers.get("kubectl-command").and_then(|command| command.to_str().ok());
    let agent = parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let tool = command.or_else(|| agent.and_then(|agent| agent.split(' ').next()));
    caller.reason = tool.map(|tool| tool.chars().take(200).collect());
    caller
}
