//! Webhooks: the only thing of folio itself that the world may call. Whoever knows one's name runs its function, later.

use bytes::Bytes;
use folio_core::Folio;
use folio_core::binding::{SIGNATURE_HEADERS, WebhookCall};
use folio_core::ports::Body;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use http_body::Body as _;
use uuid::Uuid;

use crate::problem::Problem;

const PATH: &str = "/_folio/webhooks/";

/// A call of a webhook.
pub(crate) struct Call {
    id: Uuid,
    parts: Box<Parts>,
    body: Body,
}

/// Which webhook a request calls, if it calls one.
pub(crate) fn named(parts: &Parts) -> Option<Uuid> {
    let id = parts.uri.path().strip_prefix(PATH)?;
    let id = id.strip_suffix("/invoke").unwrap_or(id);
    if parts.method == Method::POST { id.parse().ok() } else { None }
}

impl Call {
    pub(crate) fn new(id: Uuid, parts: Parts, body: Body) -> Self {
        Self { id, parts: Box::new(parts), body }
    }

    /// Accepts the call, or says why not.
    pub(crate) async fn accept(self, folio: &Folio) -> Result<Response<Body>, Problem> {
        let Self { id, parts, body } = self;
        let max = usize::try_from(folio.limits().execution_input_bytes_max).unwrap_or(usize::MAX);
        let body = whole(body, max).await?;
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let call = WebhookCall {
            content_type: header(CONTENT_TYPE.as_str()),
            query: parts.uri.query().unwrap_or_default(),
            body: &body,
            signature: SIGNATURE_HEADERS.into_iter().find_map(header),
        };
        let started = folio.call_webhook(id, call).await;
        let started = started.map_err(|error| Problem::webhook(&error))?;
        let answer = serde_json::json!({ "execution_id": started.id }).to_string();
        let mut answer = Response::new(Body::Full(Bytes::from(answer)));
        *answer.status_mut() = StatusCode::ACCEPTED;
        let json = HeaderValue::from_static("application/json");
        answer.headers_mut().insert(CONTENT_TYPE, json);
        Ok(answer)
    }
}

/// The whole of a body, within a limit.
async fn whole(body: Body, max: usize) -> Result<Vec<u8>, Problem> {
    let mut body = std::pin::pin!(body);
    let mut bytes = Vec::new();
    while let Some(frame) = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await
    {
        let frame = frame.map_err(|_| Problem::bad("the body broke off"))?;
        bytes.extend_from_slice(&frame.into_data().unwrap_or_default());
        if bytes.len() > max {
            return Err(Problem::body_too_large(max as u64));
        }
    }
    Ok(bytes)
}
