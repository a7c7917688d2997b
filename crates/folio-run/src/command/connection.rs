//! HTTP/1.1 to one server: connections that are kept for the next request, each with one request at a time.

use std::any::Any;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll};

use folio_core::ports::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::task::JoinSet;

/// Connections that wait for the next request.
const IDLE_MAX: usize = 64;

/// The largest head of an answer.
const HEAD_BYTES_MAX: usize = 128 * 1024;

/// Where a server is reached: the first of these that is there.
pub(super) struct Connections {
    sockets: Vec<PathBuf>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    idle: Vec<Sender>,
    tasks: JoinSet<()>,
}

/// A connection on which a request can be sent.
pub(super) type Sender = SendRequest<Body>;

/// Why a request was not answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("the server cannot be reached: {0}")]
    Connect(#[from] io::Error),
    #[error("{0}")]
    Exchange(#[from] hyper::Error),
}

impl Connections {
    pub(super) fn new(sockets: Vec<PathBuf>) -> Self {
        Self { sockets, inner: Mutex::default() }
    }

    /// Sends a request and waits for its answer to begin. The connection is given back with [`Self::keep`] when
    /// the answer is over.
    pub(super) async fn send(
        &self,
        request: Request<Body>,
    ) -> Result<(Response<Incoming>, Sender), Error> {
        let mut request = request;
        // Waiting connections may have been closed meanwhile. What was not sent is sent on another.
        while let Some(mut sender) = self.take_idle() {
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((response, sender)),
                Err(mut unsent) => match unsent.take_message() {
                    Some(message) => request = message,
                    None => return Err(unsent.into_error().into()),
                },
            }
        }
        let mut sender = self.open(None).await?;
        let response = sender.send_request(request).await?;
        Ok((response, sender))
    }

    /// Sends a request that may turn its connection into something else, and holds `held` while that lasts.
    pub(super) async fn send_alone(
        &self,
        request: Request<Body>,
        held: Box<dyn Any + Send>,
    ) -> Result<Response<Incoming>, Error> {
        let mut sender = self.open(Some(held)).await?;
        Ok(sender.send_request(request).await?)
    }

    /// Keeps a connection for the next request.
    pub(super) fn keep(&self, sender: Sender) {
        let mut inner = self.inner();
        if inner.idle.len() < IDLE_MAX && !sender.is_closed() {
            inner.idle.push(sender);
        }
    }

    async fn open(&self, held: Option<Box<dyn Any + Send>>) -> Result<Sender, Error> {
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        for socket in &self.sockets {
            match crate::socket::connect(socket).await {
                Ok(stream) => return self.shake_hands(Held { stream, _held: held }).await,
                Err(error) => failure = error,
            }
        }
        Err(failure.into())
    }

    async fn shake_hands(&self, io: Held) -> Result<Sender, Error> {
        let mut client = http1::Builder::new();
        client.max_buf_size(HEAD_BYTES_MAX);
        let (sender, connection) = client.handshake(TokioIo::new(io)).await?;
        let mut inner = self.inner();
        while inner.tasks.try_join_next().is_some() {}
        inner.tasks.spawn(async move {
            // Whoever waits for an answer on it is told.
            drop(connection.with_upgrades().await);
        });
        Ok(sender)
    }

    fn take_idle(&self) -> Option<Sender> {
        let mut inner = self.inner();
        while let Some(sender) = inner.idle.pop() {
            if !sender.is_closed() {
                return Some(sender);
            }
        }
        None
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no holder panics")
    }
}

/// A connection and what must not end before it.
struct Held {
    stream: UnixStream,
    _held: Option<Box<dyn Any + Send>>,
}

impl AsyncRead for Held {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Held {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
