//! What browsers on other sites may do, as headers worked out when the table is built.

use std::collections::BTreeSet;

use folio_model::Cors;
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method};

/// The headers of a route's answers to other sites.
#[derive(Debug)]
pub(crate) struct CorsHeaders {
    origins: BTreeSet<String>,
    any_origin: bool,
    methods: Option<HeaderValue>,
    headers: Option<HeaderValue>,
    any_header: bool,
    expose: Option<HeaderValue>,
    credentials: bool,
    max_age: Option<HeaderValue>,
}

/// The method that a browser asks leave for, if the request does that.
pub(crate) fn preflight_method(method: &Method, headers: &HeaderMap) -> Option<Method> {
    if *method != Method::OPTIONS || !headers.contains_key(ORIGIN) {
        return None;
    }
    let wanted = headers.get(ACCESS_CONTROL_REQUEST_METHOD)?;
    Method::from_bytes(wanted.as_bytes()).ok()
}

impl CorsHeaders {
    pub(crate) fn new(cors: &Cors, methods: &BTreeSet<String>) -> Self {
        let methods = if cors.allow_methods.is_empty() { methods } else { &cors.allow_methods };
        let any_origin = cors.allow_origins.contains("*");
        Self {
            origins: cors.allow_origins.clone(),
            any_origin,
            methods: list(methods),
            headers: list(&cors.allow_headers),
            any_header: cors.allow_headers.contains("*"),
            expose: list(&cors.expose_headers),
            // Every site with its visitors' cookies is never what anyone means.
            credentials: cors.allow_credentials && !any_origin,
            max_age: (cors.max_age_seconds > 0).then(|| HeaderValue::from(cors.max_age_seconds)),
        }
    }

    /// Adds to the headers of any answer what the browser needs to hand it to the site that asked.
    pub(crate) fn answer(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        for name in [&ACCESS_CONTROL_ALLOW_ORIGIN, &ACCESS_CONTROL_ALLOW_CREDENTIALS] {
            headers.remove(name);
        }
        if !self.any_origin {
            headers.append(VARY, HeaderValue::from_static("origin"));
        }
        let Some(allowed) = self.allowed(origin) else { return };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        if self.credentials {
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        if let Some(expose) = &self.expose {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, expose.clone());
        }
    }

    /// Adds to the headers of the answer to a preflight, beside what any answer has, what is allowed.
    pub(crate) fn preflight(&self, request: &HeaderMap, wanted: &Method, headers: &mut HeaderMap) {
        if self.allowed(request.get(ORIGIN)).is_none() {
            return;
        }
        // A route for all methods allows the one that was asked for.
        let methods = self.methods.clone().or_else(|| HeaderValue::from_str(wanted.as_str()).ok());
        let wanted = request.get(ACCESS_CONTROL_REQUEST_HEADERS);
        let allowed = if self.any_header { wanted.cloned() } else { self.headers.clone() };
        let lines = [
            (ACCESS_CONTROL_ALLOW_METHODS, methods),
            (ACCESS_CONTROL_ALLOW_HEADERS, allowed),
            (ACCESS_CONTROL_MAX_AGE, self.max_age.clone()),
        ];
        for (name, value) in lines {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
    }

    fn allowed(&self, origin: Option<&HeaderValue>) -> Option<HeaderValue> {
        let origin = origin?;
        if self.any_origin {
            return Some(HeaderValue::from_static("*"));
        }
        let known = origin.to_str().is_ok_and(|text| self.origins.contains(text));
        known.then(|| origin.clone())
    }
}

fn list(words: &BTreeSet<String>) -> Option<HeaderValue> {
    let joined = words.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    HeaderValue::from_str(&joined).ok().filter(|_| !joined.is_empty())
}
