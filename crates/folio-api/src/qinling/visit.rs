//! One call: who comes, to what, and with what. Everything a handler needs is read here, once.

use std::borrow::Cow;

use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, Method, StatusCode, header};
use bytes::Bytes;
use folio_core::token::{self, Token};
use folio_core::view::UnitView;
use folio_core::{Caller, Folio};
use folio_model::{AppName, Kind, Right, UnitUid};
use uuid::Uuid;

use super::body::{self, Object};
use super::calls;
use super::fault::{Fault, Outcome};
use crate::decode;
use crate::encryption::Encrypted;

/// Bytes of one body: a package of 50 MiB and what is around it.
const BODY_BYTES_MAX: usize = 52 * 1024 * 1024;

/// One call.
pub(super) struct Visit {
    pub(super) folio: Folio,
    pub(super) caller: Caller,
    pub(super) app: AppName,
    pub(super) method: Method,
    /// The words of the path after `/v1`.
    pub(super) words: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    pub(super) content_type: Option<String>,
    pub(super) body: Bytes,
    /// Where the client found us.
    pub(super) origin: String,
}

impl Visit {
    /// Reads a call; whoever is not known is turned away first.
    pub(super) async fn read(folio: Folio, request: Request) -> Outcome<Self> {
        let (parts, body) = request.into_parts();
        let text = |name: header::HeaderName| {
            parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let path = parts.uri.path().strip_prefix("/v1").unwrap_or_default();
        let words = path.split('/').filter(|word| !word.is_empty());
        let words: Vec<String> = words
            .map(|word| percent_encoding::percent_decode_str(word).decode_utf8_lossy().into_owned())
            .collect();
        let given = text(header::HeaderName::from_static("x-auth-token"));
        // What is no token of ours is what clients without one send.
        let unknown = given.as_deref().is_some_and(|token| Token::parse(token).is_none());
        let given = given.filter(|_| !unknown).map(Cow::Owned);
        let token = given.or_else(|| decode::token(&parts.headers));
        let caller = match folio.authenticate(token.as_deref()).await {
            Err(token::Error::Missing) if unknown => Err(token::Error::Unknown)?,
            caller => caller?,
        };
        let app = caller.grant.app.clone().unwrap_or_else(AppName::default_app);
        caller.may(calls::needed(&parts.method, &words), Some(&app))?;
        let body = body::whole(body, BODY_BYTES_MAX).await?;
        Ok(Self {
            app,
            folio,
            caller,
            method: parts.method.clone(),
            words,
            query: body::pairs(parts.uri.query().unwrap_or_default()),
            content_type: text(header::CONTENT_TYPE),
            body,
            origin: origin(&parts.headers, &parts.extensions),
        })
    }

    /// What is not there, said as everything else is.
    pub(super) fn nowhere(&self) -> Fault {
        Fault::absent("The resource could not be found.")
    }

    /// A method that means nothing here.
    pub(super) fn no_method(&self) -> Fault {
        let text = format!("The method {} is not allowed for this resource.", self.method);
        Fault::new(StatusCode::METHOD_NOT_ALLOWED, text)
    }

    /// The body as an object.
    pub(super) fn object(&self, argument: &str, known: &[&str]) -> Outcome<Object> {
        Object::read(&self.body, argument, known)
    }

    /// A parameter of the query.
    pub(super) fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a parameter of the query says yes.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.asked(name).is_some_and(body::is_true)
    }

    /// Refuses parameters that mean nothing here.
    pub(super) fn only(&self, known: &[&str]) -> Outcome<()> {
        match self.query.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(Fault::invalid(format!("Unknown argument: \"{name}\""))),
            None => Ok(()),
        }
    }

    /// A function by its identity: in any project that one sees to be read, in one's own to be changed.
    pub(super) async fn function(&self, id: Uuid, to: To) -> Outcome<UnitView> {
        let found = self.folio.find_unit(UnitUid(id)).await?;
        let found = found.filter(|unit| unit.kind == Kind::Function);
        let found = found.filter(|unit| match to {
            To::Read => unit.app == self.app || self.is_admin(),
            To::Change => unit.app == self.app,
        });
        found.ok_or_else(|| Fault::no("Function", &id.to_string()))
    }

    /// The projects a list is about.
    pub(super) async fn projects(&self) -> Outcome<Vec<AppName>> {
        let asked = self.asked("project_id").map(|text| text.trim_start_matches("eq:"));
        // An admin who names a project means it.
        let all = self.wants("all_projects") || (asked.is_some() && self.is_admin());
        if !all {
            let other = asked.is_some_and(|asked| asked != self.app.as_str());
            return Ok(if other { Vec::new() } else { vec![self.app.clone()] });
        }
        if !self.is_admin() {
            return Err(Fault::not_allowed("Operation not allowed"));
        }
        let apps = self.sought(To::Read).await?.into_iter();
        Ok(apps.filter(|app| asked.is_none_or(|asked| asked == app.as_str())).collect())
    }

    /// The projects in which something is looked for, one's own first.
    pub(super) async fn sought(&self, to: To) -> Outcome<Vec<AppName>> {
        let mut sought = vec![self.app.clone()];
        if to == To::Read && self.is_admin() {
            let apps = self.folio.apps(&self.caller).await?.into_iter().map(|app| app.app);
            sought.extend(apps.filter(|app| *app != self.app));
        }
        Ok(sought)
    }

    /// The URL that calls a webhook.
    pub(super) fn webhook_url(&self, id: Uuid) -> String {
        let url = self.folio.webhook_url(id);
        if url.starts_with('/') { format!("{}{url}", self.origin) } else { url }
    }

    fn is_admin(&self) -> bool {
        self.caller.grant.allows(Right::Administer, None)
    }
}

/// What a function is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Read,
    Change,
}

/// Where a client found this server.
pub(super) fn origin(headers: &HeaderMap, extensions: &Extensions) -> String {
    let scheme = if extensions.get::<Encrypted>().is_some() { "https" } else { "http" };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    format!("{scheme}://{}", host.unwrap_or("127.0.0.1:7070"))
}

/// An identity in a path.
pub(super) fn identity(field: &str, text: &str) -> Outcome<Uuid> {
    text.parse().map_err(|_| {
        let why = format!("unable to convert to uuid. Error: Expected a uuid but received {text}.");
        body::wrong(field, text, &why)
    })
}

/// A version's number in a path.
pub(super) fn number(field: &str, text: &str) -> Outcome<u64> {
    // What is below zero becomes a number that no version has.
    text.parse().or_else(|_| text.parse().map(i64::cast_unsigned)).map_err(|_| {
        let why = format!("invalid literal for int() with base 10: '{text}'");
        body::wrong(field, text, &format!("unable to convert to int. Error: {why}"))
    })
}
