//! Bodies on their way through the gateway: a request's with its limits, an answer's with its record.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use folio_core::ports::{Body, BodyError};
use http::Version;
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::access::Record;
use crate::problem::Problem;
use crate::settings::GatewayLimits;
use crate::streams;

/// A request's body: ends with an error once it is over its limit or too slow. Trailers are dropped.
pub(crate) struct Upload {
    body: Incoming,
    limits: GatewayLimits,
    breach: Arc<Breach>,
    received: u64,
    /// Time spent waiting for the client, without the wait that is going on.
    waited: Duration,
    wait: Option<Wait>,
}

struct Wait {
    since: Instant,
    timer: Pin<Box<Sleep>>,
}

/// Which limit a body broke, for whoever writes the answer.
#[derive(Debug, Default)]
pub(crate) struct Breach(AtomicU8);

/// Bytes of one frame of HTTP/2 where nobody agreed on more.
const FRAME_BYTES: usize = 16 * 1024;

const TOO_LARGE: u8 = 1;
const TOO_SLOW: u8 = 2;

impl Breach {
    /// The reason to refuse the request, if its body broke a limit.
    pub(crate) fn problem(&self, limits: &GatewayLimits) -> Option<Problem> {
        match self.0.load(Ordering::Relaxed) {
            TOO_LARGE => Some(Problem::body_too_large(limits.body_bytes_max)),
            TOO_SLOW => Some(Problem::slow_body()),
            _ => None,
        }
    }
}

/// The body that a function gets, and what it may break. Fails if the client says that it is too large.
pub(crate) fn upload(
    body: Incoming,
    limits: &GatewayLimits,
) -> Result<(Body, Option<Arc<Breach>>), Problem> {
    if body.is_end_stream() {
        return Ok((Body::Empty, None));
    }
    if body.size_hint().exact().is_some_and(|bytes| bytes > limits.body_bytes_max) {
        return Err(Problem::body_too_large(limits.body_bytes_max));
    }
    let breach = Arc::new(Breach::default());
    let upload = Upload {
        body,
        limits: *limits,
        breach: Arc::clone(&breach),
        received: 0,
        waited: Duration::ZERO,
        wait: None,
    };
    Ok((Body::Stream(Box::pin(upload)), Some(breach)))
}

impl Upload {
    fn fail(&self, how: u8, why: &str) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.breach.0.store(how, Ordering::Relaxed);
        Poll::Ready(Some(Err(BodyError(why.to_owned()))))
    }

    /// What is left of the time the client may take: a start, and more with each byte.
    fn patience(&self) -> Duration {
        let earned = Duration::from_secs(self.received / self.limits.body_rate_min.max(1));
        let left = (self.limits.header_timeout + earned).saturating_sub(self.waited);
        left.min(self.limits.idle_timeout)
    }

    fn wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let patience = self.patience();
        let wait = self.wait.get_or_insert_with(|| Wait {
            since: Instant::now(),
            timer: Box::pin(tokio::time::sleep(patience)),
        });
        wait.timer.as_mut().poll(context)
    }
}

impl http_body::Body for Upload {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
                return match self.wait(context) {
                    Poll::Ready(()) => self.fail(TOO_SLOW, "it arrives too slowly"),
                    Poll::Pending => Poll::Pending,
                };
            };
            if let Some(wait) = self.wait.take() {
                self.waited += wait.since.elapsed();
            }
            match frame {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(BodyError(error.to_string())))),
                Some(Ok(frame)) => {
                    let Ok(bytes) = frame.into_data() else { continue };
                    self.received += bytes.len() as u64;
                    if self.received > self.limits.body_bytes_max {
                        return self.fail(TOO_LARGE, "it has more bytes than allowed");
                    }
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body with the record of its request, which ends with it.
pub(crate) struct Download {
    body: Body,
    record: Record,
    /// What the client is given at once.
    piece_max: usize,
    /// What is left of a frame that was larger.
    rest: Bytes,
}

impl Download {
    /// Pieces of an answer over HTTP/2 are as small as its frames: the client asks for each, and how it does is seen.
    pub(crate) fn new(body: Body, record: Record, version: Version) -> Self {
        let piece_max = if version == Version::HTTP_2 { FRAME_BYTES } else { usize::MAX };
        Self { body, record, piece_max, rest: Bytes::new() }
    }

    fn hand_over(&mut self, mut bytes: Bytes) -> Frame<Bytes> {
        if bytes.len() > self.piece_max {
            self.rest = bytes.split_off(self.piece_max);
        }
        self.record.sent(bytes.len());
        streams::handed_over(bytes.len());
        Frame::data(bytes)
    }
}

impl http_body::Body for Download {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if !self.rest.is_empty() {
            let rest = std::mem::take(&mut self.rest);
            return Poll::Ready(Some(Ok(self.hand_over(rest))));
        }
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(match frame.into_data() {
                Ok(bytes) => self.hand_over(bytes),
                Err(frame) => frame,
            }))),
            Poll::Pending => {
                streams::nothing_yet();
                Poll::Pending
            }
            ended @ Poll::Ready(_) => ended,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (hint, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut whole = SizeHint::new();
        whole.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            whole.set_upper(upper + rest);
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;
    use crate::settings::AccessLog;
    use crate::wire::Wire;

    #[tokio::test]
    async fn answers_over_http2_come_in_pieces_and_are_whole() {
        let check = async |version, expected: &[usize]| {
            let peer = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
            let wire = Arc::new(Wire::new(peer, false, None, Arc::default()));
            let (parts, ()) = http::Request::new(()).into_parts();
            let id = folio_core::ports::runtime::RequestId(1);
            let record = Record::begin(id, wire.begin(), AccessLog::Off, &parts);
            let whole = Bytes::from((0..40_000_u32).map(|at| at as u8).collect::<Vec<_>>());
            let mut body = Download::new(Body::Full(whole.clone()), record, version);
            let (mut pieces, mut bytes) = (Vec::new(), Vec::new());
            while !body.is_end_stream() {
                let left = (whole.len() - bytes.len()) as u64;
                assert_eq!(body.size_hint().exact(), Some(left));
                let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
                pieces.push(piece.len());
                bytes.extend_from_slice(&piece);
            }
            assert_eq!((pieces.as_slice(), bytes == whole), (expected, true));
            assert!(body.frame().await.is_none());
        };
        check(Version::HTTP_11, &[40_000]).await;
        check(Version::HTTP_2, &[16_384, 16_384, 7_232]).await;
    }
}
