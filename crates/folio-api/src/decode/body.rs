//! Bodies: read once, up to the limit, and not waited for endlessly.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::http::HeaderMap;
use bytes::{Bytes, BytesMut};
use folio_core::Folio;
use http_body_util::BodyExt;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::headers;
use crate::failure::Failure;
use crate::openapi::Schemas;
use crate::refusal::Refusal;

/// How long to wait for the next bytes of a body.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// A body on its way in.
pub(super) struct Incoming(Body);

impl Incoming {
    pub(super) fn new(body: Body) -> Self {
        Self(body)
    }

    /// The next bytes, None at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        loop {
            let stalled = |_| Refusal::BodyBroke { why: "no bytes came for a while".to_owned() };
            let frame = tokio::time::timeout(PAUSE_MAX, self.0.frame()).await.map_err(stalled)?;
            let broke = |error: axum::Error| Refusal::BodyBroke { why: error.to_string() };
            match frame.transpose().map_err(broke)?.map(|frame| frame.into_data()) {
                None => return Ok(None),
                Some(Ok(bytes)) => return Ok(Some(bytes)),
                Some(Err(_trailers)) => {}
            }
        }
    }
}

/// What a body can be read as.
pub(crate) trait Payload: Sized + Send + 'static {
    /// Reads it.
    fn decode(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Failure>;

    /// Describes it for the document; none takes none.
    fn describe(schemas: &mut Schemas) -> Option<Value>;
}

/// No body at all.
impl Payload for () {
    fn decode(_: &HeaderMap, bytes: &Bytes) -> Result<Self, Failure> {
        match bytes.len() {
            0 => Ok(()),
            _ => Err(Refusal::bad("this request takes no body", "send it without one").into()),
        }
    }

    fn describe(_: &mut Schemas) -> Option<Value> {
        None
    }
}

/// A JSON body.
pub(crate) struct Given<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Payload for Given<T> {
    fn decode(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Failure> {
        headers::media_type(headers, "application/json")?;
        // Serde would read a list as the fields in order.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(Refusal::bad("the body is a list", "send a JSON object").into());
        }
        let decoded = Json::from_bytes(bytes).map_err(|rejection| {
            Refusal::bad(rejection.body_text(), "`GET /folio/v1/openapi.json` has every body")
        });
        let Json(decoded) = decoded?;
        Ok(Self(decoded))
    }

    fn describe(schemas: &mut Schemas) -> Option<Value> {
        let schema = schemas.request::<T>();
        Some(json!({ "required": true, "content": { "application/json": { "schema": schema } } }))
    }
}

/// A JSON body that may be left out.
pub(crate) struct Maybe<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema + Default + Send + 'static> Payload for Maybe<T> {
    fn decode(headers: &HeaderMap, bytes: &Bytes) -> Result<Self, Failure> {
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        Given::decode(headers, bytes).map(|Given(decoded)| Self(decoded))
    }

    fn describe(schemas: &mut Schemas) -> Option<Value> {
        let schema = schemas.request::<T>();
        Some(json!({ "required": false, "content": { "application/json": { "schema": schema } } }))
    }
}

/// Reads a whole body and what it means.
pub(super) async fn read<B: Payload>(
    headers: &HeaderMap,
    body: Body,
    folio: &Folio,
) -> Result<(B, Bytes), Failure> {
    let max = folio.limits().request_bytes_max;
    let mut incoming = Incoming::new(body);
    let mut whole = BytesMut::new();
    while let Some(bytes) = incoming.next().await? {
        if whole.len() as u64 + bytes.len() as u64 > max {
            return Err(Refusal::BodyTooLarge { max }.into());
        }
        whole.extend_from_slice(&bytes);
    }
    let whole = whole.freeze();
    Ok((B::decode(headers, &whole)?, whole))
}
