//! One request and its answer, as the caller sees them. Whoever polls also feeds the request's body to the
//! worker, so that a body needs no task; dropping it at any time tells the worker that nobody waits.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, CallError};
use http::Response;
use http_body::{Body as _, Frame};
use tokio::time::Instant;

use super::head;
use super::link::{Link, Opening};
use super::table::Piece;
use crate::frames::{Header, Kind, PIECE, WINDOW};

/// A request that was sent. Holds what the worker needs until it is done with it.
pub(crate) struct Sent<G> {
    exchange: Exchange,
    guard: G,
}

/// Sends a request, or the beginning of it.
pub(super) fn send<G>(
    link: &Arc<Link>,
    (call, of_function): (Call, &str),
    timeout: Duration,
    guard: G,
) -> Result<Sent<G>, CallError> {
    let head = head::encode(&call, of_function);
    let (first, rest) = match call.request.into_body() {
        Body::Empty => (Bytes::new(), None),
        Body::Full(bytes) if bytes.len() <= WINDOW => (bytes, None),
        body => (Bytes::new(), Some(body)),
    };
    let stream = link.open(Opening {
        request: call.id,
        timeout,
        head: &head,
        body: &first,
        last: rest.is_none(),
    })?;
    let upload = rest.map(Upload::new);
    Ok(Sent { exchange: Exchange { link: Arc::clone(link), stream, timeout, upload }, guard })
}

impl<G: Send + Unpin + 'static> Sent<G> {
    /// Returns when the answer begins.
    pub(crate) async fn answer(mut self) -> Result<Response<Body>, CallError> {
        let (payload, whole) =
            std::future::poll_fn(|context| self.exchange.poll_answer(context)).await?;
        let (response, first) = head::decode(&payload).map_err(|nonsense| {
            let error = CallError::Garbled(nonsense);
            // Whoever garbles one answer is not believed any other.
            self.exchange.link.close(&error);
            error
        })?;
        let body = if whole {
            Body::from(first)
        } else {
            let first = Some(first).filter(|bytes| !bytes.is_empty());
            let Self { exchange, guard } = self;
            Body::stream(Incoming { exchange, first, over: false, _guard: guard })
        };
        Ok(response.map(|()| body))
    }
}

struct Exchange {
    link: Arc<Link>,
    stream: u32,
    timeout: Duration,
    upload: Option<Upload>,
}

// What is left of a request's body.
struct Upload {
    body: Pin<Box<Body>>,
    piece: Bytes,
}

impl Upload {
    fn new(body: Body) -> Self {
        Self { body: Box::pin(body), piece: Bytes::new() }
    }
}

impl Exchange {
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Result<(Bytes, bool), CallError>> {
        self.poll_upload(context)?;
        let mut inner = self.link.lock();
        let Some(slot) = inner.table.find(self.stream) else {
            return Poll::Ready(Err(CallError::Timeout(self.timeout)));
        };
        match slot.take_answer() {
            Some(Ok(answer)) => Poll::Ready(Ok((answer.payload, answer.whole))),
            Some(Err(error)) => Poll::Ready(Err(error)),
            None => {
                slot.wait(context.waker());
                Poll::Pending
            }
        }
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Piece> {
        if let Err(error) = self.poll_upload(context) {
            return Poll::Ready(Piece::End(Err(error)));
        }
        let mut inner = self.link.lock();
        let Some(slot) = inner.table.find(self.stream) else {
            return Poll::Ready(Piece::End(Err(CallError::Timeout(self.timeout))));
        };
        let (piece, taken) = slot.take_piece();
        if piece.is_none() {
            slot.wait(context.waker());
        }
        if let Ok(taken @ 1..) = u32::try_from(taken) {
            let header = Header { kind: Kind::Credit, last: false, stream: self.stream };
            self.link.queue(&mut inner, header, &taken.to_le_bytes());
        }
        piece.map_or(Poll::Pending, Poll::Ready)
    }

    // Sends as much of the request's body as there is and as the worker wants. Pending is no answer here: the
    // waker is kept by the body or by the slot.
    fn poll_upload(&mut self, context: &mut Context<'_>) -> Result<(), CallError> {
        while let Some(upload) = &mut self.upload {
            if upload.piece.is_empty() {
                match upload.body.as_mut().poll_frame(context) {
                    Poll::Pending => return Ok(()),
                    Poll::Ready(Some(Ok(frame))) => {
                        upload.piece = frame.into_data().unwrap_or_default();
                        continue;
                    }
                    Poll::Ready(Some(Err(error))) => return Err(CallError::Body(error.0)),
                    Poll::Ready(None) => {
                        self.upload = None;
                        self.link.send(self.piece_header(true), &[]);
                        return Ok(());
                    }
                }
            }
            let mut inner = self.link.lock();
            let Some(slot) = inner.table.find(self.stream) else { return Ok(()) };
            let size = slot.credit().min(PIECE).min(upload.piece.len());
            if size == 0 {
                slot.wait(context.waker());
                return Ok(());
            }
            slot.spend(size, Instant::now());
            let piece = upload.piece.split_to(size);
            let header = self.piece_header(false);
            self.link.queue(&mut inner, header, &piece);
        }
        Ok(())
    }

    fn piece_header(&self, last: bool) -> Header {
        Header { kind: Kind::Body, last, stream: self.stream }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.link.forget(self.stream);
    }
}

// An answer's body as it comes. The guard keeps what the worker needs until the end.
struct Incoming<G> {
    exchange: Exchange,
    first: Option<Bytes>,
    over: bool,
    _guard: G,
}

impl<G: Send + Unpin + 'static> http_body::Body for Incoming<G> {
    type Data = Bytes;
    type Error = CallError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CallError>>> {
        if self.over {
            return Poll::Ready(None);
        }
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        match ready!(self.exchange.poll_piece(context)) {
            Piece::Bytes(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            Piece::End(outcome) => {
                self.over = true;
                Poll::Ready(outcome.err().map(Err))
            }
        }
    }
}
