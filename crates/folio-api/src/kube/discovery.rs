//! What is served: groups, versions and resources, in the one form that newer clients ask for and in the older one.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use folio_model::Kind;
use serde_json::{Value, json};

use super::resource::{Resource, Source};
use super::review;

/// The version that is claimed: what clients of that age expect is served.
const KUBERNETES_MINOR: &str = "33";

pub(crate) fn version() -> Value {
    json!({
        "major": "1", "minor": KUBERNETES_MINOR,
        "gitVersion": format!("v1.{KUBERNETES_MINOR}.0+folio.{}", env!("CARGO_PKG_VERSION")),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none", "compiler": "rustc", "platform": "linux/amd64",
    })
}

/// The version of the aggregated form that a client takes, if it takes one.
fn aggregated(headers: &HeaderMap) -> Option<&'static str> {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok())?;
    accept.split(',').find_map(|one| {
        let has = |wanted: &str| one.split(';').any(|part| part.trim() == wanted);
        let asked = has("g=apidiscovery.k8s.io") && has("as=APIGroupDiscoveryList");
        match asked {
            true if has("v=v2") => Some("v2"),
            true if has("v=v2beta1") => Some("v2beta1"),
            _ => None,
        }
    })
}

/// `GET /api`.
pub(crate) fn core(headers: &HeaderMap) -> Response {
    match aggregated(headers) {
        Some(version) => list(version, vec![group("", &["v1"])]),
        None => axum::Json(json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [],
        }))
        .into_response(),
    }
}

/// The groups of folio's objects, and those that callers ask about themselves in.
pub(super) fn all_groups() -> Vec<(&'static str, Vec<&'static str>)> {
    Resource::groups().into_iter().chain(review::groups()).collect()
}

/// `GET /apis`.
pub(crate) fn groups(headers: &HeaderMap) -> Response {
    let all = all_groups();
    match aggregated(headers) {
        Some(version) => {
            list(version, all.iter().map(|(name, versions)| group(name, versions)).collect())
        }
        None => {
            let groups: Vec<_> =
                all.iter().map(|(name, versions)| plain_group(name, versions)).collect();
            let body = json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups });
            axum::Json(body).into_response()
        }
    }
}

/// `GET /apis/{group}`.
pub(crate) fn one_group(name: &str) -> Option<Value> {
    let all = all_groups();
    let (name, versions) = all.iter().find(|(own, _)| *own == name)?;
    let mut body = plain_group(name, versions);
    body["kind"] = "APIGroup".into();
    body["apiVersion"] = "v1".into();
    Some(body)
}

/// `GET /apis/{group}/{version}` and `GET /api/v1`.
pub(crate) fn resources(group: &str, version: &str) -> Option<Value> {
    let own: Vec<_> = Resource::of(group, version).collect();
    let mut resources: Vec<_> = review::of(group, version).map(review::listed).collect();
    if own.is_empty() && resources.is_empty() {
        return None;
    }
    for resource in own {
        resources.push(json!({
            "name": resource.plural, "singularName": resource.singular,
            "namespaced": resource.namespaced, "kind": resource.kind, "verbs": resource.verbs,
            "shortNames": resource.short, "categories": resource.categories,
        }));
        for Part { name, kind, of, verbs } in parts(resource) {
            let mut part = json!({
                "name": format!("{}/{name}", resource.plural), "singularName": "",
                "namespaced": resource.namespaced, "kind": kind, "verbs": verbs,
            });
            if let Some((group, version)) = of {
                (part["group"], part["version"]) = (group.into(), version.into());
            }
            resources.push(part);
        }
    }
    let version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources,
    }))
}

/// A part of the objects of a resource that can be asked for by itself.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    kind: &'static str,
    /// The group and version of its kind, where that is not the resource's.
    of: Option<(&'static str, &'static str)>,
    pub(crate) verbs: &'static [&'static str],
}

/// The parts that the objects of a resource have.
pub(crate) fn parts(resource: &Resource) -> Vec<Part> {
    let verbs: &[&str] = &["get", "patch", "update"];
    let status = Part { name: "status", kind: resource.kind, of: None, verbs };
    let scale = Part { name: "scale", kind: "Scale", of: Some(("autoscaling", "v1")), verbs };
    match resource.source {
        Source::Unit(Kind::Function, _) => vec![status, scale],
        Source::Unit(..) => vec![status],
        Source::Mapped(_) if resource.kind == "Pod" => {
            vec![Part { name: "log", kind: "Pod", of: None, verbs: &["get"] }]
        }
        Source::Mapped(_) => Vec::new(),
    }
}

fn plain_group(name: &str, versions: &[&str]) -> Value {
    let version =
        |version: &&str| json!({ "groupVersion": format!("{name}/{version}"), "version": version });
    let all: Vec<_> = versions.iter().map(version).collect();
    json!({ "name": name, "versions": all, "preferredVersion": all[0] })
}

fn list(version: &str, items: Vec<Value>) -> Response {
    let body = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {}, "items": items,
    });
    let media =
        format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    let mut response = axum::Json(body).into_response();
    if let Ok(media) = HeaderValue::try_from(media) {
        response.headers_mut().insert(header::CONTENT_TYPE, media);
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn group(name: &str, versions: &[&str]) -> Value {
    let versions: Vec<_> = versions
        .iter()
        .map(|version| {
            let own =
                Resource::of(name, version).map(|resource| discovered(name, version, resource));
            let reviews = review::of(name, version).map(|own| review::discovered(own, version));
            let own: Vec<_> = own.chain(reviews).collect();
            json!({ "version": version, "resources": own, "freshness": "Current" })
        })
        .collect();
    json!({ "metadata": { "name": name }, "versions": versions })
}

fn discovered(group: &str, version: &str, resource: &Resource) -> Value {
    let kind = |(group, version): (&str, &str), kind: &str| json!({ "group": group, "version": version, "kind": kind });
    let below = parts(resource).into_iter().map(|part| {
        let of = part.of.unwrap_or((group, version));
        json!({
            "subresource": part.name, "responseKind": kind(of, part.kind), "verbs": part.verbs,
        })
    });
    json!({
        "resource": resource.plural, "responseKind": kind((group, version), resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular, "verbs": resource.verbs,
        "shortNames": resource.short, "categories": resource.categories,
        "subresources": below.collect::<Vec<_>>(),
    })
}
