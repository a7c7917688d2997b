//! Carries what a trigger has to say to a function, by the way every call takes, and brings the whole answer
//! back.

use std::sync::Arc;

use bytes::Bytes;
use folio_model::{AppName, Digest, Reference, Target, draw, drawn};
use http::header::{HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Limited};

use crate::ports::Body;
use crate::ports::runtime::{Call, RequestId};
use crate::serving::Shown;
use crate::{Folio, invoke, route};

/// A request that a trigger makes.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    method: http::Method,
    path: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
}

impl Envelope {
    /// A request without a body. What a method or path cannot be was refused with the trigger.
    pub(crate) fn new(method: &str, path: &str) -> Self {
        let method = method.parse().unwrap_or(http::Method::POST);
        Self { method, path: path.to_owned(), headers: Vec::new(), body: Bytes::new() }
    }

    /// With a header; what cannot be one is left out.
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            self.headers.push((name, value));
        }
        self
    }

    /// With a body of a type.
    pub(crate) fn body(self, content_type: &str, body: Bytes) -> Self {
        let typed = self.header("content-type", content_type);
        Self { body, ..typed }
    }

    fn request(self) -> http::Request<Body> {
        let body = if self.body.is_empty() { Body::Empty } else { Body::Full(self.body) };
        let mut request = http::Request::new(body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.path.parse().unwrap_or_default();
        request.headers_mut().extend(self.headers.into_iter().map(|(name, at)| (Some(name), at)));
        request
    }
}

/// The whole answer to a trigger.
#[derive(Debug)]
pub(crate) struct Delivered {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Bytes,
}

/// Why there is no whole answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undelivered {
    #[error(transparent)]
    Call(#[from] invoke::Error),
    #[error("its answer broke off: {0}")]
    Answer(String),
}

impl Folio {
    /// Calls a function for a trigger, as a release has it; `id` names the call, the same for the same thing to say.
    pub(crate) async fn deliver(
        &self,
        (app, function): (&AppName, &Reference),
        id: &str,
        envelope: Envelope,
        release: Option<&Arc<Shown>>,
    ) -> Result<Delivered, Undelivered> {
        let (request, release) = (envelope.request(), release.cloned());
        let id = Digest::of(format!("{id} {function}").as_bytes());
        let (half, _) = id.as_bytes().split_at(16);
        let id = RequestId(half.iter().fold(0, |id, byte| id << 8 | u128::from(*byte)));
        let call = Call { id, request, parameters: Vec::new(), original: None, hops: 0, release };
        let (_, answer) = self.invoke_within(app, &route::served(function), call).await?;
        let (head, body) = answer.into_parts();
        let max = usize::try_from(self.limits().request_bytes_max).unwrap_or(usize::MAX);
        let whole = Limited::new(body, max).collect().await;
        let whole = whole.map_err(|error| Undelivered::Answer(error.to_string()))?;
        let content_type = head.headers.get(http::header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Delivered { status: head.status.as_u16(), content_type, body: whole.to_bytes() })
    }

    /// One of several targets, by their shares.
    pub(crate) fn one_of(&self, targets: &[Target]) -> Option<Reference> {
        if let [only] = targets {
            return Some(only.function.clone());
        }
        let [a, b, c, d, ..] = self.clock.chance();
        let draw = draw(u32::from_le_bytes([a, b, c, d]));
        let at = drawn(draw, targets.iter().map(|target| target.weight))?;
        Some(targets[at].function.clone())
    }
}
