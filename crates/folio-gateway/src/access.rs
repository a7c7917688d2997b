//! The access log: one event of target `folio::access` per request, when its answer has been handed over. Where
//! nobody wants the events, nothing is remembered for them. Queries are left out, because they hold secrets.

use std::net::SocketAddr;

use folio_core::ports::runtime::RequestId;
use http::{HeaderValue, Method, Uri};
use tokio::time::Instant;

use crate::problem::Problem;
use crate::settings::AccessLog;
use crate::wire::Turn;

/// The status that the log gives a request whose client left before it was answered.
const CLIENT_LEFT: u16 = 499;

/// One request from its head to the end of its answer. Dropping it ends the request's turn.
pub(crate) struct Record {
    pub(crate) id: RequestId,
    line: Option<Box<Line>>,
    turn: Turn,
}

struct Line {
    started: Instant,
    method: Method,
    uri: Uri,
    host: Option<HeaderValue>,
    status: u16,
    version: Option<HeaderValue>,
    code: Option<&'static str>,
    detail: Option<String>,
    bytes: u64,
}

impl Record {
    pub(crate) fn begin(
        id: RequestId,
        turn: Turn,
        log: AccessLog,
        parts: &http::request::Parts,
    ) -> Self {
        let wanted = log == AccessLog::On
            && tracing::enabled!(target: "folio::access", tracing::Level::INFO);
        let line = wanted.then(|| {
            Box::new(Line {
                started: Instant::now(),
                method: parts.method.clone(),
                uri: parts.uri.clone(),
                host: parts.headers.get(http::header::HOST).cloned(),
                status: CLIENT_LEFT,
                version: None,
                code: None,
                detail: None,
                bytes: 0,
            })
        });
        Self { id, line, turn }
    }

    /// Notes why there is no answer.
    pub(crate) fn problem(&mut self, problem: &Problem) {
        if let Some(line) = &mut self.line {
            line.code = Some(problem.code.0);
            line.detail.clone_from(&problem.detail);
        }
    }

    /// Notes the answer's head.
    pub(crate) fn answered(&mut self, status: http::StatusCode, version: Option<&HeaderValue>) {
        if let Some(line) = &mut self.line {
            line.status = status.as_u16();
            line.version = version.cloned();
        }
    }

    /// Counts bytes of the answer's body.
    pub(crate) fn sent(&mut self, bytes: usize) {
        if let Some(line) = &mut self.line {
            line.bytes += bytes as u64;
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let Some(line) = self.line.take() else { return };
        let text = |value: &Option<HeaderValue>| {
            value.as_ref().and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        let host = line.uri.host().map_or_else(|| text(&line.host), str::to_owned);
        tracing::info!(
            target: "folio::access",
            { request.id = %self.id,
            client.address = %self.turn.wire().peer.ip(),
            method = %line.method,
            host = %host.escape_default(),
            path = %line.uri.path().escape_default(),
            status = line.status,
            version = text(&line.version),
            duration_us = u64::try_from(line.started.elapsed().as_micros()).unwrap_or(u64::MAX),
            bytes = line.bytes,
            code = line.code.unwrap_or_default(),
            detail = line.detail.as_deref().unwrap_or_default() },
            "{} {} {}", line.method, line.uri.path().escape_default(), line.status
        );
    }
}

/// Logs something that never became a request.
pub(crate) fn refused(peer: SocketAddr, id: RequestId, problem: &Problem) {
    let status = problem.status().as_u16();
    tracing::info!(
        target: "folio::access",
        { request.id = %id,
        client.address = %peer.ip(),
        status,
        code = problem.code.0 },
        "Refused what is no request: {}", problem.code.0
    );
}
