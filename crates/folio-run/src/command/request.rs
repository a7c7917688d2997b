//! A call as the request that Fission's router would send: headers say who is called, by which path and how.

use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, Plan};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, header};

use crate::headers;

/// A request for a server, and whether it asks to turn the connection into something else.
pub(crate) struct Outgoing {
    pub(crate) request: Request<Body>,
    pub(crate) upgrades: bool,
}

/// Makes the request.
pub(crate) fn outgoing(plan: &Plan, call: Call) -> Outgoing {
    let (mut parts, body) = call.request.into_parts();
    let target = parts.uri.path_and_query().cloned();
    let target = target.unwrap_or_else(|| PathAndQuery::from_static("/"));
    let host = host(&parts.uri, &parts.headers);
    let upgrade = upgrade(&parts.headers);
    headers::drop_hop_by_hop(&mut parts.headers);
    if let Some(protocol) = &upgrade {
        parts.headers.insert(header::UPGRADE, protocol.clone());
        parts.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
    let full = call.original.as_ref().unwrap_or(&target);
    let version = plan.at.to_string();
    let uid = plan.unit.to_string();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            parts.headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("x-fission-function-uid", &uid);
    set("x-fission-function-name", plan.function.as_str());
    set("x-fission-function-namespace", plan.app.as_str());
    set("x-fission-function-resourceversion", &version);
    set("x-fission-full-url", full.as_str());
    set("x-fission-request-id", &call.id.to_string());
    set("folio-request-id", &call.id.to_string());
    set("x-forwarded-host", &host);
    set("forwarded", &format!("host={host};"));
    set("host", &host);
    for (name, value) in &call.parameters {
        let name = HeaderName::try_from(format!("x-fission-params-{name}"));
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            parts.headers.insert(name, value);
        }
    }
    parts.uri = Uri::from(target);
    parts.version = http::Version::HTTP_11;
    // What the caller's connection left here is not this one's.
    parts.extensions.clear();
    Outgoing { request: Request::from_parts(parts, body), upgrades: upgrade.is_some() }
}

fn host(uri: &Uri, headers: &HeaderMap) -> String {
    let written = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = written.or_else(|| uri.authority().map(http::uri::Authority::as_str));
    host.unwrap_or("localhost").to_owned()
}

/// The protocol a request wants to change to.
fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let wanted = headers.get_all(header::CONNECTION).iter().any(|value| {
        let words = value.to_str().unwrap_or_default().split(',');
        words.into_iter().any(|word| word.trim().eq_ignore_ascii_case("upgrade"))
    });
    headers.get(header::UPGRADE).filter(|_| wanted).cloned()
}
