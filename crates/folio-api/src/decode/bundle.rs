//! The body of an import: a bundle, handed on as it comes. It may be far larger than any other body.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use folio_core::bundle::BrokenOff;
use folio_core::request::Repeat;
use folio_core::{Caller, Folio};
use folio_model::{AppName, Right};
use futures::stream::{self, BoxStream, StreamExt as _};
use serde_json::json;

use super::body::Incoming;
use super::{AppPath, Ask, Nothing, Read, digest, headers};
use crate::failure::Failure;
use crate::openapi::Schemas;
use crate::operation::{Decode, Inputs};

/// What `Content-Type` has to say.
pub const MEDIA_TYPE: &str = "application/vnd.folio.bundle";

/// A bundle on its way in, and the app it is to be.
pub(crate) struct Bundle {
    pub(crate) caller: Caller,
    pub(crate) app: AppName,
    pub(crate) file: BoxStream<'static, Result<Bytes, BrokenOff>>,
}

impl FromRequest<Folio> for Bundle {
    type Rejection = Failure;
    async fn from_request(request: Request, folio: &Folio) -> Result<Self, Failure> {
        let Read { mut caller, path, parts, body, .. } =
            Read::<AppPath, Nothing>::new(request, folio, Right::Deploy).await?;
        headers::media_type(&parts.headers, MEDIA_TYPE)?;
        caller.reason = headers::reason(&parts.headers)?;
        caller.releasing = headers::releasing(&parts.headers)?;
        // What the file holds belongs to the request as well; the verb adds it.
        let request = digest(&caller, &parts, &Bytes::new());
        let key = headers::idempotency_key(&parts.headers)?;
        caller.repeat = key.map(|key| Repeat { key, request });
        let pieces = stream::try_unfold(Incoming::new(body), async |mut incoming| {
            match incoming.next().await {
                Ok(piece) => Ok(piece.map(|piece| (piece, incoming))),
                Err(refusal) => Err(BrokenOff(refusal.to_string())),
            }
        });
        Ok(Self { caller, app: path.app, file: pieces.boxed() })
    }
}

impl Decode for Bundle {
    fn describe(schemas: &mut Schemas) -> Inputs {
        let mut inputs = Ask::<AppPath>::describe(schemas);
        inputs.parameters.extend(Schemas::change_headers());
        inputs.body = Some(json!({ "required": true, "content": { MEDIA_TYPE: {} } }));
        inputs
    }
}
