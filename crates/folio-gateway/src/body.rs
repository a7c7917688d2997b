//! Bodies on their way through the gateway: a request's with its limits, an answer's with its record.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use folio_core::ports::{Body, BodyError};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::access::Record;
use crate::problem::Problem;
use crate::settings::GatewayLimits;

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
}

impl Download {
    pub(crate) fn new(body: Body, record: Record) -> Self {
        Self { body, record }
    }
}

impl http_body::Body for Download {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(bytes) = frame.data_ref()
        {
            self.record.sent(bytes.len());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
