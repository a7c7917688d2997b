//! What a client is told when there is no answer. One table gives every failure its status; nothing else in the
//! gateway names one.

use std::borrow::Cow;

use bytes::Bytes;
use folio_core::ports::runtime::{CallError, RequestId};
use folio_core::ports::{Body, StoreError};
use folio_core::serving::Unresolved;
use folio_core::{Class, Code, Explain as _, binding, release, token};
use http::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, LINK, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::matcher::Methods;

/// Why there is no answer.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) code: Code,
    message: Cow<'static, str>,
    hint: Option<Cow<'static, str>>,
    /// What only the log is told.
    pub(crate) detail: Option<String>,
    class: Class,
    allow: Option<Methods>,
    /// Where what is live can be found instead.
    link: Option<Box<HeaderValue>>,
    /// Whether the rest of the connection can no longer be trusted.
    closes: bool,
}

/// Codes for which HTTP has a more exact status than for their class.
const BY_CODE: [(Code, StatusCode); 16] = [
    (Code("webhook_too_often"), StatusCode::TOO_MANY_REQUESTS),
    (Code("method_not_allowed"), StatusCode::METHOD_NOT_ALLOWED),
    (Code("misdirected_request"), StatusCode::MISDIRECTED_REQUEST),
    (Code("header_too_large"), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
    (Code("request_timeout"), StatusCode::REQUEST_TIMEOUT),
    (Code("upgrade_refused"), StatusCode::NOT_IMPLEMENTED),
    (Code("function_load_failed"), StatusCode::BAD_GATEWAY),
    (Code("function_crashed"), StatusCode::BAD_GATEWAY),
    (Code("function_garbled"), StatusCode::BAD_GATEWAY),
    (Code("build_failed"), StatusCode::BAD_GATEWAY),
    (Code("function_failed"), StatusCode::INTERNAL_SERVER_ERROR),
    (Code("function_busy"), StatusCode::TOO_MANY_REQUESTS),
    (Code("function_timeout"), StatusCode::GATEWAY_TIMEOUT),
    (Code("call_loop"), StatusCode::LOOP_DETECTED),
    (Code("route_broken"), StatusCode::INTERNAL_SERVER_ERROR),
    (Code("build_pending"), StatusCode::SERVICE_UNAVAILABLE),
];

/// Where to see which releases there are.
const RELEASES: &str = "`folio release list` shows what exists";

impl Problem {
    fn new(code: Code, class: Class, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        let (hint, detail, allow, link) = (None, None, None, None);
        Self { code, message, hint, detail, class, allow, link, closes: false }
    }

    fn hint(self, hint: impl Into<Cow<'static, str>>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    fn closing(self) -> Self {
        Self { closes: true, ..self }
    }

    /// The request makes no sense.
    pub(crate) fn bad(why: &'static str) -> Self {
        Self::new(Code("bad_request"), Class::Invalid, why)
    }

    pub(crate) fn head_too_large() -> Self {
        let message = "the head of the request is too large, or has too many headers";
        Self::new(Code("header_too_large"), Class::TooLarge, message).closing()
    }

    pub(crate) fn slow_head() -> Self {
        let message = "the head of the request did not arrive in time";
        Self::new(Code("request_timeout"), Class::Invalid, message).closing()
    }

    pub(crate) fn slow_body() -> Self {
        let message = "the body of the request arrives too slowly";
        Self::new(Code("request_timeout"), Class::Invalid, message).closing()
    }

    pub(crate) fn body_too_large(max: u64) -> Self {
        let message = format!("the body of the request has more than the {max} bytes allowed");
        Self::new(Code("body_too_large"), Class::TooLarge, message).closing()
    }

    pub(crate) fn no_host() -> Self {
        Self::new(Code("host_not_found"), Class::NotFound, "no app answers to this host")
    }

    pub(crate) fn misdirected() -> Self {
        let message = "the connection was made for another host";
        Self::new(Code("misdirected_request"), Class::Invalid, message)
    }

    pub(crate) fn no_release() -> Self {
        Self::new(Code("release_not_found"), Class::NotFound, "there is no such release")
            .hint(RELEASES)
    }

    /// Why the core says that a release cannot be reached; `live` is where the app can be.
    pub(crate) fn absent(error: &release::Error, live: &str) -> Self {
        let problem = Self::new(error.code(), error.class(), error.to_string());
        let link = HeaderValue::from_str(&format!("<{live}>; rel=\"latest-version\"")).ok();
        let link = link.filter(|_| error.class() == Class::Gone).map(Box::new);
        let hint = match error {
            // Which names are like it is nobody's business who only calls the app.
            release::Error::NotFound { .. } => Some(Cow::Borrowed(RELEASES)),
            error => error.hint().map(Cow::Owned),
        };
        Self { link, hint, ..problem }
    }

    /// Why a webhook was not called. What its function is, is nobody's business.
    pub(crate) fn webhook(error: &binding::Error) -> Self {
        let message = match error {
            binding::Error::NotFound { .. } => "there is no such webhook",
            binding::Error::TooOften(_) => "the webhook was called too often",
            binding::Error::Unsigned(_) => "the call is not signed with the webhook's secret",
            binding::Error::NotObject(_) => "the body says that it is JSON, and is no object",
            _ => "the webhook leads nowhere",
        };
        Self { detail: Some(error.to_string()), ..Self::new(error.code(), error.class(), message) }
    }

    /// Why the core does not let someone in.
    pub(crate) fn refused(error: &token::Refused) -> Self {
        Self::new(error.code(), error.class(), error.to_string())
    }

    /// A static file that cannot be read.
    pub(crate) fn unread(error: &StoreError) -> Self {
        // Whatever the store lacks, the request is not to blame.
        let class = if error.is_lasting() { Class::Broken } else { error.class() };
        let problem = Self::new(error.code(), class, "the file cannot be read");
        Self { detail: Some(error.to_string()), ..problem }
    }

    /// Something of a release that could not be read when it was to be shown.
    pub(crate) fn unreadable(what: &str) -> Self {
        Self::new(Code("content_unreadable"), Class::Broken, format!("{what} cannot be read"))
            .hint("`folio check` shows what is damaged")
    }

    pub(crate) fn no_live() -> Self {
        let message = "the app has no release that can be reached";
        Self::new(Code("no_live_release"), Class::NotFound, message)
            .hint("deploy something, or `folio release create`")
    }

    pub(crate) fn no_route() -> Self {
        Self::new(Code("route_not_found"), Class::NotFound, "no route leads here")
    }

    pub(crate) fn other_methods(methods: Methods) -> Self {
        let message = "the routes that lead here take other methods";
        let problem = Self::new(Code("method_not_allowed"), Class::Invalid, message);
        Self { allow: Some(methods), ..problem }.hint("the header `Allow` lists them")
    }

    pub(crate) fn broken_route() -> Self {
        let message = "the route's path holds a pattern that is no regular expression";
        Self::new(Code("route_broken"), Class::Broken, message).hint("mend the route")
    }

    pub(crate) fn no_upgrade() -> Self {
        let message = "the function's environment cannot take over a connection";
        Self::new(Code("upgrade_refused"), Class::Invalid, message)
            .hint("only a server that stays can speak WebSocket: a `command` environment, or `serve:NAME` as the entry point")
    }

    /// Where a route leads to nothing that can be called.
    pub(crate) fn unresolved(unresolved: Unresolved) -> Self {
        Self::new(unresolved.code, unresolved.class, unresolved.message)
    }

    /// Where a function gave no answer. What it says about its code stays in the log.
    pub(crate) fn call(error: &CallError) -> Self {
        let message = match error {
            CallError::Load(_) => "the function's code could not be loaded",
            CallError::Damaged(_) => "the function's code cannot be read",
            CallError::Failed => "the function failed",
            CallError::Timeout(_) => "the function did not answer in time",
            CallError::Crashed(_) => "the function's worker ended before it answered",
            CallError::Garbled(_) => "the function's answer makes no sense",
            CallError::Busy => "all workers of the function are busy",
            CallError::Full => "the server has no place for another worker of the function",
            CallError::Loop(_) => "functions called one another too often to answer this request",
            CallError::Unavailable(_) => "the function's environment cannot run here",
            CallError::Body(_) => "the body of the request broke off",
            CallError::Stopping => "the server is stopping",
        };
        let problem = Self::new(error.code(), error.class(), message);
        let problem = match error {
            CallError::Busy | CallError::Full | CallError::Stopping => problem.hint("try again"),
            CallError::Load(_)
            | CallError::Damaged(_)
            | CallError::Failed
            | CallError::Crashed(_)
            | CallError::Garbled(_)
            | CallError::Timeout(_)
            | CallError::Unavailable(_) => {
                problem.hint("the function's log has more, under the id of this request")
            }
            CallError::Body(_) => problem.closing(),
            CallError::Loop(_) => problem,
        };
        Self { detail: Some(error.to_string()), ..problem }
    }

    pub(crate) fn status(&self) -> StatusCode {
        let exact = BY_CODE.iter().find(|(code, _)| *code == self.code).map(|row| row.1);
        exact.unwrap_or(match self.class {
            Class::Invalid => StatusCode::BAD_REQUEST,
            Class::Unauthenticated => StatusCode::UNAUTHORIZED,
            Class::Forbidden => StatusCode::FORBIDDEN,
            Class::NotFound => StatusCode::NOT_FOUND,
            Class::Gone => StatusCode::GONE,
            Class::Conflict => StatusCode::CONFLICT,
            Class::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Class::Full => StatusCode::INSUFFICIENT_STORAGE,
            Class::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Class::Late => StatusCode::GATEWAY_TIMEOUT,
            Class::Failed => StatusCode::BAD_GATEWAY,
            Class::Broken => StatusCode::INTERNAL_SERVER_ERROR,
        })
    }

    /// Whether the same request may work a little later.
    fn is_passing(&self) -> bool {
        matches!(self.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
    }

    /// The answer, in the form that the client prefers.
    pub(crate) fn to_response(
        &self,
        id: RequestId,
        accept: Option<&HeaderValue>,
    ) -> Response<Body> {
        let html = accept.is_some_and(prefers_html);
        let (kind, body) = match html {
            true => ("text/html; charset=utf-8", self.html(id)),
            false => ("application/json", self.json(id)),
        };
        let mut response = Response::new(Body::Full(Bytes::from(body)));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        // What is refused now may be answered after the next deploy, or to somebody else.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(methods) = self.allow
            && let Ok(allow) = HeaderValue::from_str(&methods.allow())
        {
            headers.insert(ALLOW, allow);
        }
        if let Some(link) = &self.link {
            headers.insert(LINK, HeaderValue::clone(link));
        }
        if self.class == Class::Unauthenticated {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.is_passing() {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.closes {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// The whole answer as it goes over a connection that is closed after it.
    pub(crate) fn to_http1(&self, id: RequestId) -> Vec<u8> {
        let (status, body) = (self.status(), self.json(id));
        let head = format!(
            "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             cache-control: no-store\r\nfolio-request-id: {id}\r\nconnection: close\r\n\r\n",
            status.as_u16(),
            status.canonical_reason().unwrap_or_default(),
            body.len(),
        );
        [head.into_bytes(), body.into_bytes()].concat()
    }

    fn json(&self, id: RequestId) -> String {
        let mut error = serde_json::json!({
            "code": self.code.0,
            "message": self.message,
            "requestId": id.to_string(),
        });
        if let Some(hint) = &self.hint {
            error["hint"] = hint.as_ref().into();
        }
        serde_json::json!({ "error": error }).to_string()
    }

    fn html(&self, id: RequestId) -> String {
        let status = self.status();
        let (title, message) = (escape(&status.to_string()), escape(&self.message));
        format!(
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\n\
             <h1>{title}</h1>\n<p>{message}</p>\n<p><small>{} · request {id}</small></p>\n</html>\n",
            self.code.0
        )
    }
}

/// What of a request decides the form of an error.
pub(crate) fn accept(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(ACCEPT).cloned()
}

fn prefers_html(accept: &HeaderValue) -> bool {
    let Ok(text) = accept.to_str() else { return false };
    let place = |kind: &str| text.find(kind).unwrap_or(usize::MAX);
    place("text/html") < place("application/json")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use folio_model::Digest;

    use super::*;

    #[test]
    fn every_status_of_its_own_is_in_the_documentation() {
        let page = include_str!("../../../docs/running.md");
        for (code, status) in BY_CODE {
            let (link, status) = (format!("(errors/{}.md)", code.0), status.as_u16().to_string());
            let mut rows =
                page.lines().filter(|line| line.starts_with('|') && line.contains(&link));
            let told = rows.any(|row| row.split('|').nth(1).is_some_and(|at| at.contains(&status)));
            assert!(told, "{} with {status}", code.0);
        }
    }

    #[test]
    fn every_way_not_to_answer_has_its_status() {
        let text = String::new;
        let table = [
            (CallError::Load(text()), 502),
            (CallError::Damaged(text()), 500),
            (CallError::Failed, 500),
            (CallError::Timeout(Duration::ZERO), 504),
            (CallError::Crashed(text()), 502),
            (CallError::Garbled(text()), 502),
            (CallError::Busy, 429),
            (CallError::Full, 503),
            (CallError::Loop(9), 508),
            (CallError::Unavailable(text()), 503),
            (CallError::Body(text()), 400),
            (CallError::Stopping, 503),
        ];
        for (error, status) in table {
            assert_eq!(Problem::call(&error).status().as_u16(), status, "{error}");
        }
        let table = [
            (Problem::bad(""), 400),
            (Problem::head_too_large(), 431),
            (Problem::slow_head(), 408),
            (Problem::slow_body(), 408),
            (Problem::body_too_large(1), 413),
            (Problem::no_host(), 404),
            (Problem::no_release(), 404),
            (Problem::no_live(), 404),
            (Problem::no_route(), 404),
            (Problem::misdirected(), 421),
            (Problem::other_methods(Methods::NONE), 405),
            (Problem::broken_route(), 500),
            (Problem::unreadable(""), 500),
            (Problem::unread(&StoreError::MissingBlob { digest: Digest::of(b"") }), 500),
            (Problem::no_upgrade(), 501),
        ];
        for (problem, status) in table {
            assert_eq!(problem.status().as_u16(), status, "{}", problem.code.0);
        }
    }

    #[test]
    fn what_a_function_says_about_itself_stays_inside() {
        let problem = Problem::call(&CallError::Load("SyntaxError: secret".to_owned()));
        let id = RequestId(1);
        for body in [problem.json(id), problem.html(id)] {
            assert!(!body.contains("secret"), "{body}");
            assert!(body.contains("00000000000000000000000000000001"), "{body}");
        }
        assert!(problem.detail.unwrap().contains("secret"));
    }

    #[test]
    fn a_page_cannot_be_made_to_hold_markup() {
        let unresolved = Unresolved {
            code: Code("unit_not_found"),
            class: Class::NotFound,
            message: "<script>".to_owned(),
            hint: None,
        };
        assert!(!Problem::unresolved(unresolved).html(RequestId(1)).contains("<script>"));
    }

    #[test]
    fn browsers_get_a_page_and_programs_do_not() {
        let check = |accept: &'static str, html: bool| {
            assert_eq!(prefers_html(&HeaderValue::from_static(accept)), html, "{accept}");
        };
        check("text/html,application/xhtml+xml,*/*;q=0.8", true);
        check("application/json, text/html", false);
        check("*/*", false);
    }
}
