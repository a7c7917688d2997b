//! OpenAPI documents of this face, made from the schemas of the kinds. What clients need of them is which parameters a
//! request takes, and what `explain` shows.

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use folio_kinds::openapi::{definition_name, definitions, metadata};
use folio_model::Digest;
use serde_json::{Map, Value, json};

use super::resource::Resource;
use super::status::Status;

/// A document of one version.
struct Document {
    path: String,
    hash: String,
    body: String,
}

static DOCUMENTS: LazyLock<Vec<Document>> = LazyLock::new(|| {
    let groups = Resource::groups();
    let of_groups = groups
        .iter()
        .flat_map(|(group, versions)| versions.iter().map(move |version| (*group, *version)));
    let all = std::iter::once(("", "v1")).chain(of_groups);
    all.map(|(group, version)| {
        let body = document(group, version).to_string();
        let path = if group.is_empty() {
            format!("api/{version}")
        } else {
            format!("apis/{group}/{version}")
        };
        let hash = Digest::of(body.as_bytes()).hex()[..32].to_uppercase();
        Document { path, hash, body }
    })
    .collect()
});

/// `GET /openapi/v2`: an empty document of the only type that is taken for one. Everything is in the third version.
pub(crate) fn second() -> Response {
    const MEDIA: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    ([(header::CONTENT_TYPE, MEDIA)], super::swagger::DOCUMENT.clone()).into_response()
}

/// `GET /openapi/v3`.
pub(crate) fn index() -> Value {
    let paths = DOCUMENTS.iter().map(|document| {
        let url = format!("/openapi/v3/{}?hash={}", document.path, document.hash);
        (document.path.clone(), json!({ "serverRelativeURL": url }))
    });
    json!({ "paths": paths.collect::<Map<_, _>>() })
}

/// `GET /openapi/v3/{path}`.
pub(crate) fn third(
    path: &str,
    headers: &HeaderMap,
    query: Option<&str>,
) -> Result<Response, Status> {
    let document = DOCUMENTS.iter().find(|document| document.path == path);
    let document = document.ok_or_else(Status::no_such_path)?;
    let tag = format!("\"{}\"", document.hash);
    let asked = headers.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    let mut response = if asked == Some(&tag) {
        axum::http::StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, "application/json")], document.body.clone()).into_response()
    };
    if query == Some(&format!("hash={}", document.hash)) {
        // What is named by its digest never changes.
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(header::CACHE_CONTROL, forever);
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

fn document(group: &str, version: &str) -> Value {
    let whole = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut schemas = definitions(&whole, &|name| format!("#/components/schemas/{name}"));
    let mut paths = Map::new();
    for resource in Resource::of(group, version) {
        if group.is_empty() {
            schemas.insert(core_name(resource), core_schema(resource));
        }
        add_paths(&mut paths, (group, version), resource);
    }
    json!({
        "openapi": "3.0.0", "info": { "title": "folio", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths, "components": { "schemas": schemas },
    })
}

fn core_name(resource: &Resource) -> String {
    format!("io.k8s.api.core.v1.{}", resource.kind)
}

fn core_schema(resource: &Resource) -> Value {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let (what, own) = core_fields(resource.kind);
    let mut properties = Map::new();
    properties.insert("apiVersion".to_owned(), text("The version of the object."));
    properties.insert("kind".to_owned(), text("The kind of the object."));
    properties.insert("metadata".to_owned(), metadata());
    properties.extend(own.into_iter().map(|(name, schema)| (name.to_owned(), schema)));
    json!({
        "type": "object", "description": what, "properties": properties,
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-group-version-kind": [{ "group": "", "version": "v1", "kind": resource.kind }],
    })
}

/// What a kind that is Kubernetes' own is here, and what it says.
fn core_fields(kind: &str) -> (&'static str, Vec<(&'static str, Value)>) {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let object = |what: &str| json!({ "type": "object", "description": what });
    let texts = |what: &str| json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": what });
    match kind {
        "Namespace" => ("An app.", vec![("status", object("How it stands."))]),
        "ConfigMap" => {
            ("A config of the app.", vec![("data", texts("Its values by key, as texts."))])
        }
        "Secret" => (
            "A secret of the app.",
            vec![
                (
                    "data",
                    texts("Its values by key, in base64. What is shown of each is a fingerprint."),
                ),
                ("stringData", texts("Values by key, as texts. They become `data`.")),
                ("type", text("What it is for. It means nothing to folio.")),
            ],
        ),
        "Pod" => (
            "A worker of a function.",
            vec![
                ("spec", object("The function and environment that it runs.")),
                ("status", object("Since when it runs, and how many requests it served.")),
            ],
        ),
        "Event" => (
            "Something that happened to an object.",
            vec![
                ("involvedObject", object("The object.")),
                ("reason", text("What happened, in a word.")),
                ("message", text("What happened.")),
                ("type", text("Normal or Warning.")),
                ("lastTimestamp", text("When.")),
            ],
        ),
        _ => ("", Vec::new()),
    }
}

fn add_paths(paths: &mut Map<String, Value>, (group, version): (&str, &str), resource: &Resource) {
    let root =
        if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group}/{version}") };
    let name = match group {
        "" => core_name(resource),
        _ => definition_name(&format!("{group}/{version}"), resource.kind),
    };
    let base = match resource.namespaced {
        true => format!("{root}/namespaces/{{namespace}}/{}", resource.plural),
        false => format!("{root}/{}", resource.plural),
    };
    let kind = json!({ "group": group, "version": version, "kind": resource.kind });
    let make = |verb: &str, action: &str| operation(verb, action, &kind, &name);
    let mut collection = json!({ "get": make("get", "list") });
    let mut one = json!({ "get": make("get", "get") });
    if resource.allows("create") {
        collection["post"] = make("post", "post");
    }
    if resource.allows("update") {
        one["put"] = make("put", "put");
        one["patch"] = make("patch", "patch");
    }
    if resource.allows("delete") {
        one["delete"] = make("delete", "delete");
    }
    paths.insert(format!("{base}/{{name}}"), one);
    if resource.namespaced {
        paths.insert(format!("{root}/{}", resource.plural), json!({ "get": make("get", "list") }));
    }
    paths.insert(base, collection);
}

fn operation(verb: &str, action: &str, kind: &Value, name: &str) -> Value {
    let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
    let content = json!({ "application/json": { "schema": schema } });
    let mut operation = json!({
        "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind,
        "responses": { "200": { "description": "OK", "content": content } },
    });
    if matches!(verb, "post" | "put" | "patch") {
        let parameters = ["dryRun", "fieldManager", "fieldValidation"].map(
            |parameter| json!({ "name": parameter, "in": "query", "schema": { "type": "string" } }),
        );
        operation["parameters"] = parameters.to_vec().into();
        operation["requestBody"] = json!({ "content": content });
    }
    operation
}
