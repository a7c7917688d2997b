//! Questions that callers ask about themselves, and nobody else: whether they may do something, all that they may do, and
//! who they are. Nothing is kept of them.

use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use bytes::Bytes;
use folio_core::Caller;
use folio_model::{AppName, Grant};
use serde_json::{Value, json};

use super::status::Status;
use super::{access, body};

/// A kind of question.
pub(super) struct Reviewed {
    pub(super) group: &'static str,
    pub(super) versions: &'static [&'static str],
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    about: About,
}

/// What is asked.
#[derive(Clone, Copy)]
enum About {
    /// Whether somebody may do something.
    Access,
    /// All that they may do in a namespace.
    Rules,
    /// Who they are.
    Myself,
}

/// The questions.
pub(super) static REVIEWS: [Reviewed; 3] = [
    Reviewed {
        group: "authentication.k8s.io",
        // Clients before 1.28 know only the later two.
        versions: &["v1", "v1beta1", "v1alpha1"],
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        about: About::Myself,
    },
    Reviewed {
        group: "authorization.k8s.io",
        versions: &["v1"],
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        about: About::Access,
    },
    Reviewed {
        group: "authorization.k8s.io",
        versions: &["v1"],
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        about: About::Rules,
    },
];

/// The groups that the questions are in, with their versions.
pub(super) fn groups() -> [(&'static str, Vec<&'static str>); 2] {
    [
        (REVIEWS[0].group, REVIEWS[0].versions.to_vec()),
        (REVIEWS[1].group, REVIEWS[1].versions.to_vec()),
    ]
}

/// The questions of a version of a group.
pub(super) fn of(group: &str, version: &str) -> impl Iterator<Item = &'static Reviewed> {
    REVIEWS.iter().filter(move |own| own.group == group && own.versions.contains(&version))
}

/// A question as older clients are told of it.
pub(super) fn listed(review: &Reviewed) -> Value {
    json!({
        "name": review.plural, "singularName": review.kind.to_lowercase(), "namespaced": false,
        "kind": review.kind, "verbs": ["create"],
    })
}

/// A question as newer clients are told of it.
pub(super) fn discovered(review: &Reviewed, version: &str) -> Value {
    let kind = json!({ "group": review.group, "version": version, "kind": review.kind });
    json!({
        "resource": review.plural, "responseKind": kind, "scope": "Cluster",
        "singularResource": review.kind.to_lowercase(), "verbs": ["create"],
    })
}

/// The question that a path asks.
pub(super) fn find(path: &str) -> Option<(&'static Reviewed, &str)> {
    let [_, "apis", group, version, plural] = path.split('/').collect::<Vec<_>>()[..] else {
        return None;
    };
    of(group, version).find(|own| own.plural == plural).map(|own| (own, version))
}

/// Answers what a caller asks about itself.
pub(super) fn answer(
    caller: &Caller,
    (review, version): (&Reviewed, &str),
    parts: &Parts,
    bytes: &Bytes,
) -> Result<Response, Status> {
    if parts.method != Method::POST {
        return Err(Status::method_not_allowed("it is only posted to"));
    }
    let mut object = body::object(&parts.headers, bytes)?;
    let whole = format!("{}/{version}", review.group);
    for (key, expected) in [("apiVersion", whole.as_str()), ("kind", review.kind)] {
        let found = object[key].as_str().unwrap_or_default();
        if !found.is_empty() && found != expected {
            let what = format!("the {key} in the data ({found}) does not match `{expected}`");
            return Err(Status::bad_request(what));
        }
        object[key] = expected.into();
    }
    let spec = &object["spec"];
    let status = match review.about {
        About::Myself => json!({ "userInfo": about(caller) }),
        About::Rules => access::rules(&caller.grant, spec)?,
        About::Access => {
            let reason = access::decide(caller, spec)?.err();
            let mut status = json!({ "allowed": reason.is_none() });
            if let Some(reason) = reason {
                status["reason"] = reason.into();
            }
            status
        }
    };
    object["status"] = status;
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    Ok((StatusCode::CREATED, Json(object)).into_response())
}

/// A caller in the words of Kubernetes.
fn about(caller: &Caller) -> Value {
    let Grant { role, app } = &caller.grant;
    let place = app.as_ref().map_or("*", AppName::as_str);
    json!({
        "username": caller.actor.as_str(), "groups": [format!("folio:{role}")],
        "extra": { "folio.dev/app": [place], "folio.dev/role": [role.to_string()] },
    })
}
