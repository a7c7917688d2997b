//! Lines of a log, one JSON value each, for as long as somebody listens. An empty line now and then shows that
//! the server is still there.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use folio_core::logs::Line;
use futures::stream::{self, BoxStream, StreamExt as _};
use serde_json::json;

use crate::openapi::Schemas;
use crate::operation::{Encode, Output};

const MEDIA_TYPE: &str = "application/jsonl";

/// How long nothing may be said.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// Lines as they come.
pub(crate) struct Lines(BoxStream<'static, Line>);

impl Lines {
    /// Takes lines.
    pub(crate) fn new(lines: impl futures::Stream<Item = Line> + Send + 'static) -> Self {
        Self(lines.boxed())
    }
}

impl IntoResponse for Lines {
    fn into_response(self) -> Response {
        let pieces = stream::unfold(self.0, async |mut lines| {
            let piece = match tokio::time::timeout(SILENCE_MAX, lines.next()).await {
                Ok(Some(line)) => encode(&line),
                Ok(None) => return None,
                Err(_) => Bytes::from_static(b"\n"),
            };
            Some((Ok::<_, std::convert::Infallible>(piece), lines))
        });
        ([(header::CONTENT_TYPE, MEDIA_TYPE)], Body::from_stream(pieces)).into_response()
    }
}

fn encode(line: &Line) -> Bytes {
    let mut text = serde_json::to_vec(line).expect("a line has string keys");
    text.push(b'\n');
    text.into()
}

impl Encode for Lines {
    fn describe(schemas: &mut Schemas) -> Vec<Output> {
        let content = json!({ MEDIA_TYPE: { "schema": schemas.response::<Line>() } });
        vec![Output { status: 200, says: "A line each.", content, headers: &[] }]
    }
}
