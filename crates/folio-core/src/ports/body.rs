//! A request's or an answer's body: nothing, one piece, or a stream of pieces with backpressure.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// Bytes on their way to or from a function.
#[derive(Default)]
pub enum Body {
    /// Nothing.
    #[default]
    Empty,
    /// One piece, all there.
    Full(Bytes),
    /// Pieces as they come.
    Stream(Pin<Box<dyn http_body::Body<Data = Bytes, Error = BodyError> + Send>>),
}

/// Why a body broke off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BodyError(pub String);

impl Body {
    /// Takes any body of bytes.
    pub fn stream<B, E>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes, Error = E> + Send + 'static,
        E: std::fmt::Display + 'static,
    {
        use http_body_util::BodyExt as _;
        Self::Stream(Box::pin(body.map_err(|error| BodyError(error.to_string()))))
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Full(_) => "Full",
            Self::Stream(_) => "Stream",
        })
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        if bytes.is_empty() { Self::Empty } else { Self::Full(bytes) }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Full(bytes) => {
                let frame = Frame::data(std::mem::take(bytes));
                *self = Self::Empty;
                Poll::Ready(Some(Ok(frame)))
            }
            Self::Stream(body) => body.as_mut().poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Full(_) => false,
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(body) => body.size_hint(),
        }
    }
}
