//! Reads requests: who asks first, then names, query, headers and body. What is refused here never reaches a verb.
//!
//! A handler takes one of six types: [`Anyone`] needs no token, [`Anybody`] any token, [`Ask`] reads, [`Change`] changes something,
//! [`Upload`] and [`Bundle`] bring bytes. Each also says what it reads, for the document.

mod body;
mod bundle;
mod headers;
mod invocation;
mod path;
mod query;

use axum::extract::{
    FromRequest, FromRequestParts, Path, Query, RawPathParams, Request, rejection::PathRejection,
};
use axum::http::request::Parts;
use bytes::Bytes;
use folio_core::ports::Node;
use folio_core::request::{Expect, Repeat};
use folio_core::{Caller, Folio};
use folio_model::{AppName, Digest, Right};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub(crate) use self::body::{Given, Maybe, Payload};
pub(crate) use self::bundle::Bundle;
pub use self::bundle::MEDIA_TYPE as BUNDLE_MEDIA_TYPE;
use self::headers::IfMatch;
pub(crate) use self::headers::token;
pub(crate) use self::invocation::Invocation;
pub(crate) use self::path::*;
pub(crate) use self::query::*;
use crate::failure::Failure;
use crate::frames::{self, Frames};
use crate::openapi::Schemas;
use crate::operation::{Decode, Inputs, Needs};
use crate::refusal::Refusal;

/// Names in a path or a query.
pub(crate) trait Names: DeserializeOwned + JsonSchema + Send + 'static {}
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Names for T {}

/// A request that needs no token.
pub(crate) struct Anyone;

/// A request of someone known, whatever they may do.
pub(crate) struct Anybody {
    pub(crate) caller: Caller,
}

/// A request of someone known that changes nothing in an app.
pub(crate) struct Ask<P = Nothing, Q = Nothing, B = ()> {
    pub(crate) caller: Caller,
    pub(crate) path: P,
    pub(crate) query: Q,
    pub(crate) body: B,
}

/// A request to change something.
pub(crate) struct Change<P, Q = Nothing, B = ()> {
    pub(crate) caller: Caller,
    pub(crate) path: P,
    pub(crate) query: Q,
    pub(crate) body: B,
    if_match: Option<IfMatch>,
}

/// A batch of nodes.
pub(crate) struct Upload {
    pub(crate) nodes: Vec<Node>,
}

impl<P, Q, B> Change<P, Q, B> {
    /// The revision the caller has seen, where the thing may not exist yet.
    pub(crate) fn revision(&self) -> Result<Option<u64>, Failure> {
        match self.if_match {
            None => Ok(None),
            Some(IfMatch::Revision(revision)) => Ok(Some(revision)),
            Some(IfMatch::Any) => Err(Refusal::bad(
                "`If-Match: *` has no meaning here",
                "send `If-Match: \"<revision>\"`, or leave it out",
            )
            .into()),
        }
    }

    /// The revision the caller has seen, where the verb refuses what does not exist anyway.
    pub(crate) fn revision_of_existing(&self) -> Option<u64> {
        match self.if_match {
            Some(IfMatch::Revision(revision)) => Some(revision),
            Some(IfMatch::Any) | None => None,
        }
    }

    /// What must hold for a pointer that exists.
    pub(crate) fn expect(&self) -> Expect {
        match self.if_match {
            Some(IfMatch::Revision(revision)) => Expect::Revision(revision),
            Some(IfMatch::Any) | None => Expect::Present,
        }
    }

    /// Refuses a condition that would not be looked at.
    pub(crate) fn unconditional(&self) -> Result<(), Failure> {
        match self.if_match {
            None => Ok(()),
            Some(_) => Err(Refusal::bad("`If-Match` has no meaning here", "leave it out").into()),
        }
    }
}

impl FromRequest<Folio> for Anyone {
    type Rejection = Failure;
    async fn from_request(_: Request, _: &Folio) -> Result<Self, Failure> {
        Ok(Self)
    }
}

impl FromRequest<Folio> for Anybody {
    type Rejection = Failure;
    async fn from_request(request: Request, folio: &Folio) -> Result<Self, Failure> {
        let caller = folio.authenticate(headers::token(request.headers()).as_deref()).await?;
        Ok(Self { caller })
    }
}

impl<P: Names, Q: Names, B: Payload> FromRequest<Folio> for Ask<P, Q, B> {
    type Rejection = Failure;
    async fn from_request(request: Request, folio: &Folio) -> Result<Self, Failure> {
        let read = Read::<P, Q>::new(request, folio, Right::View).await?;
        let (body, _) = body::read(&read.parts.headers, read.body, folio).await?;
        Ok(Self { caller: read.caller, path: read.path, query: read.query, body })
    }
}

impl<P: Names, Q: Names, B: Payload> FromRequest<Folio> for Change<P, Q, B> {
    type Rejection = Failure;
    async fn from_request(request: Request, folio: &Folio) -> Result<Self, Failure> {
        let Read { mut caller, path, query, parts, body } =
            Read::<P, Q>::new(request, folio, Right::Deploy).await?;
        caller.reason = headers::reason(&parts.headers)?;
        caller.git = headers::git(&parts.headers)?;
        caller.releasing = headers::releasing(&parts.headers)?;
        let if_match = headers::if_match(&parts.headers)?;
        let key = headers::idempotency_key(&parts.headers)?;
        let (body, bytes) = body::read(&parts.headers, body, folio).await?;
        let request = digest(&caller, &parts, &bytes);
        caller.repeat = key.map(|key| Repeat { key, request });
        Ok(Self { caller, path, query, body, if_match })
    }
}

impl FromRequest<Folio> for Upload {
    type Rejection = Failure;
    async fn from_request(request: Request, folio: &Folio) -> Result<Self, Failure> {
        let read = Read::<Nothing, Nothing>::new(request, folio, Right::Deploy).await?;
        headers::media_type(&read.parts.headers, frames::MEDIA_TYPE)?;
        let mut frames = Frames::new(*folio.limits());
        let mut body = body::Incoming::new(read.body);
        while let Some(bytes) = body.next().await.map_err(as_bad_upload)? {
            frames.push(&bytes)?;
        }
        Ok(Self { nodes: frames.finish()? })
    }
}

fn as_bad_upload(refusal: Refusal) -> Refusal {
    Refusal::BadUpload { what: refusal.to_string() }
}

/// What every request of someone known has.
struct Read<P, Q> {
    caller: Caller,
    path: P,
    query: Q,
    parts: Parts,
    body: axum::body::Body,
}

impl<P: Names, Q: Names> Read<P, Q> {
    /// Says who asks, and whether they may, before anything else is looked at. They need the right that the table
    /// says, or else the usual one; in the app that the path names, or where it names none, in any.
    async fn new(request: Request, folio: &Folio, usual: Right) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let caller = folio.authenticate(headers::token(&parts.headers).as_deref()).await?;
        let needs = parts.extensions.get::<Needs>().copied().unwrap_or(Needs::Here(usual));
        match (needs, app(&mut parts).await) {
            (Needs::Server, _) => caller.may(Right::Administer, None)?,
            (Needs::Everywhere(right), _) => caller.may(right, None)?,
            (Needs::Here(right), Some(app)) => caller.may(right, Some(&app))?,
            (Needs::Here(right), None) => caller.may_somewhere(right)?,
        }
        let path = Path::<P>::from_request_parts(&mut parts, &()).await;
        let Path(path) = path.map_err(|rejection| bad_path(&rejection))?;
        let query = Query::<Q>::try_from_uri(&parts.uri);
        let Query(query) = query.map_err(|rejection| {
            Refusal::bad(
                rejection.body_text(),
                "`GET /folio/v1/openapi.json` lists every parameter",
            )
        })?;
        Ok(Self { caller, path, query, parts, body })
    }
}

/// The app that the path names. One that is not well formed is refused for that, later.
async fn app(parts: &mut Parts) -> Option<AppName> {
    let names = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let named = names.iter().find(|(name, _)| *name == "app");
    named.and_then(|(_, app)| app.parse().ok())
}

fn bad_path(rejection: &PathRejection) -> Refusal {
    use axum::extract::path::ErrorKind;
    let kind = match rejection {
        PathRejection::FailedToDeserializePathParams(inner) => Some(inner.kind()),
        _ => None,
    };
    let what = match kind {
        Some(ErrorKind::DeserializeError { key, message, .. }) => {
            format!("`{key}` in the path: {message}")
        }
        Some(ErrorKind::InvalidUtf8InPathParam { key }) => {
            format!("`{key}` in the path is not UTF-8")
        }
        Some(ErrorKind::Message(message)) => message.clone(),
        _ => rejection.body_text(),
    };
    Refusal::bad(what, "mend the path; `GET /folio/v1/openapi.json` lists what is served")
}

/// The digest of everything that decides what a request does, so that a key cannot stand for two of them.
fn digest(caller: &Caller, parts: &Parts, body: &Bytes) -> Digest {
    let if_match = parts.headers.get(axum::http::header::IF_MATCH);
    let releasing = parts.headers.get(headers::RELEASING);
    let decisive = [
        caller.actor.as_str().as_bytes(),
        parts.method.as_str().as_bytes(),
        parts.uri.path().as_bytes(),
        parts.uri.query().unwrap_or_default().as_bytes(),
        if_match.map_or(&[][..], |value| value.as_bytes()),
        releasing.map_or(&[][..], |value| value.as_bytes()),
        body,
    ];
    let mut text = Vec::with_capacity(body.len() + 256);
    for part in decisive {
        // Lengths keep two neighbours from being read as one.
        text.extend((part.len() as u64).to_be_bytes());
        text.extend(part);
    }
    Digest::of(&text)
}

impl Decode for Anyone {
    fn describe(_: &mut Schemas) -> Inputs {
        Inputs { is_open: true, ..Inputs::default() }
    }
}

impl Decode for Anybody {
    fn describe(_: &mut Schemas) -> Inputs {
        Inputs::default()
    }
}

impl<P: Names, Q: Names, B: Payload> Decode for Ask<P, Q, B> {
    fn describe(schemas: &mut Schemas) -> Inputs {
        let mut parameters = schemas.parameters::<P>("path");
        parameters.extend(schemas.parameters::<Q>("query"));
        Inputs { is_open: false, parameters, body: B::describe(schemas) }
    }
}

impl<P: Names, Q: Names, B: Payload> Decode for Change<P, Q, B> {
    fn describe(schemas: &mut Schemas) -> Inputs {
        let mut inputs = Ask::<P, Q, B>::describe(schemas);
        inputs.parameters.extend(Schemas::change_headers());
        inputs
    }
}

impl Decode for Upload {
    fn describe(_: &mut Schemas) -> Inputs {
        let body = serde_json::json!({ "required": true, "content": { frames::MEDIA_TYPE: {} } });
        Inputs { body: Some(body), ..Inputs::default() }
    }
}
