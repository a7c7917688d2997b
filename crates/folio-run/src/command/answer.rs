//! An answer's body on its way out. Gives the connection back when it ends, the seat when it is dropped, and breaks
//! off where the server pauses for too long.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use folio_core::ports::runtime::CallError;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use super::connection::Sender;
use super::server::Server;

/// The body of an answer, and everything that has to last as long.
pub(super) struct Answer<G> {
    incoming: Incoming,
    sender: Option<Sender>,
    server: Arc<Server>,
    timeout: Duration,
    deadline: Pin<Box<Sleep>>,
    guard: Option<G>,
}

impl<G> Answer<G> {
    pub(super) fn new(
        incoming: Incoming,
        sender: Option<Sender>,
        server: Arc<Server>,
        timeout: Duration,
        guard: G,
    ) -> Self {
        let deadline = Box::pin(tokio::time::sleep(timeout));
        Self { incoming, sender, server, timeout, deadline, guard: Some(guard) }
    }

    /// The answer is complete: its connection takes the next request, and its seat is free.
    fn finish(&mut self) {
        if let Some(sender) = self.sender.take() {
            self.server.connections().keep(sender);
        }
        self.guard = None;
    }
}

impl<G: Send + Unpin + 'static> Body for Answer<G> {
    type Data = Bytes;
    type Error = CallError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CallError>>> {
        let this = &mut *self;
        match Pin::new(&mut this.incoming).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.deadline.as_mut().reset(Instant::now() + this.timeout);
                if this.incoming.is_end_stream() {
                    this.finish();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                let error = CallError::Crashed(format!("its answer broke off: {error}"));
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => {
                this.finish();
                Poll::Ready(None)
            }
            Poll::Pending => {
                ready!(this.deadline.as_mut().poll(context));
                this.server.give_up();
                Poll::Ready(Some(Err(CallError::Timeout(this.timeout))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
