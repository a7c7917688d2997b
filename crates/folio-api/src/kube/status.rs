//! What a client of this face is told when something failed: a Status with a reason. One table gives every class its
//! reason and code; no handler chooses either.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use folio_core::{Class, Code, Explain};
use serde_json::{Value, json};

use super::target::Target;

/// The reason and code of each class.
const BY_CLASS: [(Class, &str, u16); 12] = [
    (Class::Invalid, "Invalid", 422),
    (Class::Unauthenticated, "Unauthorized", 401),
    (Class::Forbidden, "Forbidden", 403),
    (Class::NotFound, "NotFound", 404),
    (Class::Gone, "Gone", 410),
    (Class::Conflict, "Conflict", 409),
    (Class::TooLarge, "RequestEntityTooLarge", 413),
    (Class::Full, "ServiceUnavailable", 503),
    (Class::Broken, "InternalError", 500),
    (Class::Unavailable, "ServiceUnavailable", 503),
    (Class::Failed, "InternalError", 500),
    (Class::Late, "Timeout", 504),
];

/// Codes for which this face has a reason of their own.
const BY_CODE: [(Code, &str, u16); 3] = [
    (Code("unit_exists"), "AlreadyExists", 409),
    (Code("app_exists"), "AlreadyExists", 409),
    (Code("alias_exists"), "AlreadyExists", 409),
];

/// The reason of a cause by the words with which it begins, which are those of Kubernetes.
const BY_WORDS: [(&str, &str); 8] = [
    ("Required value", "FieldValueRequired"),
    ("Unsupported value", "FieldValueNotSupported"),
    ("Duplicate value", "FieldValueDuplicate"),
    ("Not found", "FieldValueNotFound"),
    ("Forbidden", "FieldValueForbidden"),
    ("Too long", "FieldValueTooLong"),
    ("Too many", "FieldValueTooMany"),
    ("Invalid type", "FieldValueTypeInvalid"),
];

/// The reason of a cause by what the core says in it, which has words of its own.
const BY_PHRASE: [(&str, &str); 9] = [
    ("is taken by route", "FieldValueDuplicate"),
    ("does not exist", "FieldValueNotFound"),
    ("doesn't exist", "FieldValueNotFound"),
    ("is neither in the specs nor in the app", "FieldValueNotFound"),
    ("has no version or alias", "FieldValueNotFound"),
    ("missing field", "FieldValueRequired"),
    ("it has neither", "FieldValueRequired"),
    ("invalid type", "FieldValueTypeInvalid"),
    ("unknown variant", "FieldValueNotSupported"),
];

/// The reason of a cause by what a schema or a rule of a kind expects: `expected at least 1, found 0`. A value of another
/// type than these is expected otherwise.
const BY_EXPECTATION: [(&str, &str); 6] = [
    ("nothing, ", "FieldValueForbidden"),
    ("`", "FieldValueNotSupported"),
    ("a number that is not negative", "FieldValueInvalid"),
    ("a number from ", "FieldValueInvalid"),
    ("at least ", "FieldValueInvalid"),
    ("at most ", "FieldValueTooLong"),
];

/// Codes that say that something moved since it was looked at.
const STALE: [Code; 2] = [Code("stale"), Code("conflict")];

/// A failure, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Status(Box<Told>);

#[derive(Debug, Clone)]
struct Told {
    code: u16,
    reason: &'static str,
    message: String,
    details: Option<Details>,
    causes: Vec<Cause>,
    retry_after_seconds: Option<u32>,
    is_stale: bool,
}

#[derive(Debug, Clone)]
struct Details {
    group: &'static str,
    kind: &'static str,
    name: String,
}

/// One of the things that are wrong.
#[derive(Debug, Clone)]
pub(crate) struct Cause {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) field: String,
}

impl Cause {
    /// What is wrong with a field. Its words say which sort of wrong it is.
    pub(crate) fn of(field: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { reason: sort(&message), message, field: field.to_owned() }
    }
}

/// The sort of a fault of a field.
fn sort(message: &str) -> &'static str {
    let by_words = BY_WORDS.iter().find(|row| message.starts_with(row.0));
    let by_phrase = || BY_PHRASE.iter().find(|row| message.contains(row.0));
    if let Some((_, reason)) = by_words.or_else(by_phrase) {
        return reason;
    }
    let Some(rest) = message.strip_prefix("expected ") else { return "FieldValueInvalid" };
    // In YAML a field with nothing behind it is null.
    if rest.ends_with(", found nothing") || rest.ends_with(", found null") {
        return "FieldValueRequired";
    }
    let by_expectation = BY_EXPECTATION.iter().find(|row| rest.starts_with(row.0));
    by_expectation.map_or("FieldValueTypeInvalid", |row| row.1)
}

impl Status {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        let (details, causes, retry_after_seconds) = (None, Vec::new(), None);
        let message = message.into();
        let is_stale = false;
        Self(Box::new(Told {
            code,
            reason,
            message,
            details,
            causes,
            retry_after_seconds,
            is_stale,
        }))
    }

    /// The request cannot be read.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The request can be read and makes no sense.
    pub(crate) fn invalid(field: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let what = message.strip_prefix(&format!("{field}: ")).unwrap_or(&message).to_owned();
        Self::new(422, "Invalid", message).because([Cause::of(field, what)])
    }

    /// Nothing is served there.
    pub(crate) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
    }

    /// An object is not there.
    pub(crate) fn not_found(plural: &str, group: &str, name: &str) -> Self {
        let resource =
            if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
        Self::new(404, "NotFound", format!("{resource} \"{name}\" not found"))
    }

    /// A verb that a resource does not have.
    pub(crate) fn method_not_allowed(what: &str) -> Self {
        let message =
            format!("the server does not allow this method on the requested resource: {what}");
        Self::new(405, "MethodNotAllowed", message)
    }

    /// An object is no longer what the client has seen.
    pub(crate) fn modified(target: &Target, name: &str) -> Self {
        let what = format!(
            "Operation cannot be fulfilled on {} \"{name}\": the object has been modified; please apply your changes to the latest version and try again",
            target.resource.qualified()
        );
        let mut status = Self::new(409, "Conflict", what);
        status.0.is_stale = true;
        status
    }

    /// What it is for whoever wrote the object: that something it names is not there is a fault of what it says.
    pub(crate) fn of_written(self) -> Self {
        match self.0.code {
            404 => Self::invalid("spec", format!("spec: Not found: {}", self.0.message)),
            _ => self,
        }
    }

    /// Says what it is about.
    pub(crate) fn about(mut self, group: &'static str, kind: &'static str, name: &str) -> Self {
        self.0.details = Some(Details { group, kind, name: name.to_owned() });
        self
    }

    /// Adds what is wrong.
    pub(crate) fn because(mut self, causes: impl IntoIterator<Item = Cause>) -> Self {
        self.0.causes.extend(causes);
        self
    }

    /// Says when to try again.
    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.0.retry_after_seconds = Some(seconds);
        self
    }

    /// Whether it is because something is not there.
    pub(crate) fn is_missing(&self) -> bool {
        self.0.code == 404
    }

    /// Whether it is because something changed meanwhile.
    pub(crate) fn is_stale(&self) -> bool {
        self.0.is_stale
    }

    pub(crate) fn body(&self) -> Value {
        let mut details = json!({});
        if let Some(Details { group, kind, name }) = &self.0.details {
            details = json!({ "name": name, "group": group, "kind": kind });
        }
        if !self.0.causes.is_empty() {
            let causes = self.0.causes.iter().map(|Cause { reason, message, field }| {
                json!({ "reason": reason, "message": message, "field": field })
            });
            details["causes"] = causes.collect();
        }
        if let Some(seconds) = self.0.retry_after_seconds {
            details["retryAfterSeconds"] = seconds.into();
        }
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.0.message, "reason": self.0.reason, "details": details, "code": self.0.code,
        })
    }
}

impl<E: Explain> From<E> for Status {
    fn from(error: E) -> Self {
        let by_code = BY_CODE.iter().find(|row| row.0 == error.code()).map(|row| (row.1, row.2));
        let by_class = BY_CLASS.iter().find(|row| row.0 == error.class()).map(|row| (row.1, row.2));
        let (reason, code) = by_code.or(by_class).unwrap_or(("InternalError", 500));
        if code == 500 {
            tracing::error!(error.code = error.code().0, "A request failed: {error}");
        }
        let mut message = error.to_string();
        let wrong = error.causes().into_iter().map(|cause| {
            let field = if cause.path.is_empty() { "spec" } else { cause.path.as_str() };
            let message = cause.what.strip_prefix(&format!("{field}: ")).unwrap_or(&cause.what);
            Cause::of(field, message.to_owned())
        });
        let mut causes: Vec<_> = wrong.collect();
        let said: Vec<_> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        if !said.is_empty() {
            message = format!("{message}: {}", said.join("; "));
        }
        causes.extend(error.referrers().into_iter().map(|referrer| Cause {
            reason: "InUse",
            message: format!("{} `{}` uses it", referrer.kind, referrer.name),
            field: String::new(),
        }));
        if code == 422 && causes.is_empty() {
            // Clients show the causes of what is invalid and nothing else.
            causes.push(Cause::of("spec", message.clone()));
        }
        let mut status = Self::new(code, reason, message).because(causes);
        status.0.is_stale = STALE.contains(&error.code());
        if code == 503 { status.retry_after(1) } else { status }
    }
}

impl IntoResponse for Status {
    fn into_response(self) -> Response {
        let code = StatusCode::from_u16(self.0.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (code, axum::Json(self.body())).into_response();
        if code == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        if let Some(seconds) = self.0.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_the_reason_of_its_words() {
        for (message, reason) in [
            ("Required value: name or generateName is required", "FieldValueRequired"),
            ("expected a string, found nothing", "FieldValueRequired"),
            ("expected a string, found 5", "FieldValueTypeInvalid"),
            ("expected an object, found null", "FieldValueRequired"),
            ("expected a number that is not negative, found -5", "FieldValueInvalid"),
            ("expected a number from 0 to 100, found 500", "FieldValueInvalid"),
            ("expected at least 3, which `MinScale` needs, found 2", "FieldValueInvalid"),
            ("expected at most 5 bytes; put more into an archive, found 6", "FieldValueTooLong"),
            ("expected `a`, `b` or `c`, found \"d\"", "FieldValueNotSupported"),
            ("expected nothing, because it would lead out, found true", "FieldValueForbidden"),
            ("Unsupported value: \"x\": supported values: \"All\"", "FieldValueNotSupported"),
            ("Forbidden: a release is never edited", "FieldValueForbidden"),
            ("Duplicate value: \"a\"", "FieldValueDuplicate"),
            ("package 'none' does not exist in the app", "FieldValueNotFound"),
            ("Invalid value: missing field `weights`", "FieldValueRequired"),
            ("Invalid value: \"A B\": it is no name", "FieldValueInvalid"),
        ] {
            assert_eq!(sort(message), reason, "{message}");
        }
    }
}
