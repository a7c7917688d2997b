//! A guest's answer on its way out: headers that are not the guest's to set are dropped, and the body is given
//! whole where the guest has ended, or streams while reading it runs the guest.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use folio_core::ports::runtime::CallError;
use folio_core::ports::{Body, BodyError};
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use http_body::{Body as _, Frame, SizeHint};
use tokio::task::unconstrained;
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;

use super::guest::Guest;

/// Makes what goes to the caller.
pub(super) fn respond(
    guest: Guest,
    answer: http::Response<HyperOutgoingBody>,
    method: &Method,
) -> Result<http::Response<Body>, CallError> {
    let (mut parts, body) = answer.into_parts();
    if parts.status.is_informational() {
        return Err(CallError::Garbled(format!("its status is {}", parts.status)));
    }
    let length = tidy(&mut parts.headers);
    let never = matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if never || method == Method::HEAD {
        // The length of what a GET would give may be told without giving it.
        if let Some(length) = length.filter(|_| parts.status != StatusCode::NO_CONTENT) {
            parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        drop(body);
        guest.leave()?;
        return Ok(http::Response::from_parts(parts, Body::Empty));
    }
    let body = if guest.has_ended() {
        whole(guest, body)?
    } else {
        let streaming = Streaming { guest: Some(guest), body, left: length };
        Body::Stream(Box::pin(streaming))
    };
    Ok(http::Response::from_parts(parts, body))
}

/// Drops what the server decides itself. Gives the length the guest announced.
fn tidy(headers: &mut HeaderMap) -> Option<u64> {
    if headers.is_empty() {
        return None;
    }
    crate::headers::drop_hop_by_hop(headers);
    let length = headers.remove(CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// Gathers the body of a guest that has ended.
fn whole(mut guest: Guest, mut body: HyperOutgoingBody) -> Result<Body, CallError> {
    // Nearly every answer is one piece.
    let Some(first) = left_behind(&mut guest, &mut body)? else {
        guest.leave()?;
        return Ok(Body::Empty);
    };
    let mut pieces = VecDeque::new();
    while let Some(frame) = left_behind(&mut guest, &mut body)? {
        pieces.push_back(frame);
    }
    guest.leave()?;
    if pieces.is_empty() && first.is_data() {
        return Ok(Body::from(data(first)));
    }
    pieces.push_front(first);
    if pieces.iter().any(Frame::is_trailers) {
        return Ok(Body::stream(Pieces(pieces)));
    }
    let mut joined = BytesMut::new();
    pieces.into_iter().for_each(|piece| joined.extend_from_slice(&data(piece)));
    Ok(Body::from(joined.freeze()))
}

/// The next piece of what a guest that has ended left.
fn left_behind(
    guest: &mut Guest,
    body: &mut HyperOutgoingBody,
) -> Result<Option<Frame<Bytes>>, CallError> {
    let mut context = Context::from_waker(std::task::Waker::noop());
    loop {
        match next(body, &mut context) {
            Poll::Ready(Some(Ok(frame))) => return Ok(Some(frame)),
            Poll::Ready(Some(Err(_))) => {
                return Err(CallError::Garbled("it broke off its answer".to_owned()));
            }
            Poll::Ready(None) => return Ok(None),
            // The guest ended without ending its answer: what it holds open goes with it.
            Poll::Pending if guest.discard() => {}
            Poll::Pending => return Ok(None),
        }
    }
}

fn data(frame: Frame<Bytes>) -> Bytes {
    frame.into_data().unwrap_or_default()
}

/// The next piece of a body, if it is there. Outside tokio's budget, which would make pieces that are there look
/// as if they were not.
pub(super) fn next(
    body: &mut HyperOutgoingBody,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
    let frame = pin!(unconstrained(poll_fn(|context| Pin::new(&mut *body).poll_frame(context))));
    frame.poll(context)
}

/// Pieces that are all there.
struct Pieces(VecDeque<Frame<Bytes>>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

/// The body of a guest that still runs.
struct Streaming {
    guest: Option<Guest>,
    body: HyperOutgoingBody,
    /// What is left of the length the guest announced.
    left: Option<u64>,
}

impl Streaming {
    fn deliver(
        &mut self,
        frame: Option<Result<Frame<Bytes>, Error>>,
    ) -> Option<Result<Frame<Bytes>, BodyError>> {
        match frame {
            Some(Ok(frame)) => {
                if let (Some(left), Some(data)) = (&mut self.left, frame.data_ref()) {
                    *left = left.saturating_sub(data.len() as u64);
                }
                if let Some(guest) = &mut self.guest {
                    guest.rest();
                }
                Some(Ok(frame))
            }
            Some(Err(_)) => Some(self.give_up("the function broke off its answer")),
            None => {
                let left = self.guest.take().map(Guest::leave);
                let error = left.and_then(Result::err)?;
                Some(Err(BodyError(error.to_string())))
            }
        }
    }

    fn give_up(&mut self, why: impl std::fmt::Display) -> Result<Frame<Bytes>, BodyError> {
        self.guest = None;
        Err(BodyError(why.to_string()))
    }
}

impl http_body::Body for Streaming {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if this.guest.is_none() {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = next(&mut this.body, context) {
            return Poll::Ready(this.deliver(frame));
        }
        let Some(guest) = &mut this.guest else { return Poll::Ready(None) };
        let ended = guest.poll_run(context).is_ready();
        if let Poll::Ready(frame) = next(&mut this.body, context) {
            return Poll::Ready(this.deliver(frame));
        }
        if !ended {
            let given_up = guest.poll_patience(context);
            return given_up.map(|error| Some(this.give_up(error)));
        }
        guest.discard();
        match next(&mut this.body, context) {
            Poll::Ready(frame) => Poll::Ready(this.deliver(frame)),
            Poll::Pending => Poll::Ready(this.deliver(None)),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        // A server that knows the length does not ask for the end: the guest may go on. Otherwise nobody wants
        // the rest, and the guest ends here.
        if self.left == Some(0)
            && let Some(guest) = self.guest.take()
            && let Err(error) = guest.leave()
        {
            tracing::debug!(%error, "A guest failed after its answer was complete");
        }
    }
}
