//! What guests print: cut into lines and given to the log, with the request they were printed for. Bounded per
//! request, so that a flood costs its own function only.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use bytes::Bytes;
use folio_core::logs::{Logs, Printer, Stream};
use folio_core::ports::Clock;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::request::Caller;

/// Bytes one request may print.
const REQUEST_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a line; longer ones are broken.
const LINE_BYTES_MAX: usize = 8 * 1024;

/// Bytes a guest may write at once.
const WRITE_BYTES_MAX: usize = 64 * 1024;

/// Where lines go, and the time they get.
#[derive(Clone)]
pub(super) struct Journal {
    /// The log of all functions.
    pub(super) logs: Arc<Logs>,
    /// Tells when.
    pub(super) clock: Arc<dyn Clock>,
}

impl Journal {
    /// Adds a line of folio's own about a request.
    pub(super) fn note(&self, caller: &Caller, text: &str) {
        for line in text.lines().filter(|line| !line.is_empty()).take(32) {
            self.add(caller, Stream::System, line);
        }
    }

    fn add(&self, caller: &Caller, stream: Stream, text: &str) {
        let printer = Printer { request: Some(caller.id), worker: None };
        self.logs.add(&caller.plan, self.clock.now(), stream, printer, text);
    }
}

/// What one instance prints.
#[derive(Clone)]
pub(super) struct Output(Arc<Mutex<Printing>>);

struct Printing {
    journal: Journal,
    caller: Caller,
    printed: usize,
    /// What has no line break yet, of standard output and standard error.
    partial: [Vec<u8>; 2],
}

impl Output {
    /// Starts with a request.
    pub(super) fn new(journal: Journal, caller: &Caller) -> Self {
        let caller = caller.clone();
        let partial = [Vec::new(), Vec::new()];
        Self(Arc::new(Mutex::new(Printing { journal, caller, printed: 0, partial })))
    }

    /// Says which request the lines belong to from now on.
    pub(super) fn begin(&self, caller: &Caller) {
        let mut printing = self.lock();
        printing.caller = caller.clone();
        printing.printed = 0;
    }

    /// Lets go of lines that never got their line break.
    pub(super) fn end(&self) {
        let mut printing = self.lock();
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = std::mem::take(printing.partial(stream));
            if !rest.is_empty() {
                printing.line(stream, &rest);
            }
        }
    }

    /// One of the two streams, as a guest is given it.
    pub(super) fn stream(&self, stream: Stream) -> Pipe {
        Pipe { output: self.clone(), stream }
    }

    fn lock(&self) -> MutexGuard<'_, Printing> {
        self.0.lock().expect("no printer panics")
    }
}

impl Printing {
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        let room = REQUEST_BYTES_MAX.saturating_sub(self.printed);
        self.printed = self.printed.saturating_add(bytes.len());
        let kept = &bytes[..bytes.len().min(room)];
        for piece in kept.split_inclusive(|byte| *byte == b'\n') {
            let mut line = std::mem::take(self.partial(stream));
            line.extend_from_slice(piece);
            if piece.ends_with(b"\n") || line.len() >= LINE_BYTES_MAX {
                self.line(stream, &line);
                line.clear();
            }
            *self.partial(stream) = line;
        }
        if room > 0 && kept.len() < bytes.len() {
            let text = "the request printed more than 1 MiB; the rest is not kept";
            self.journal.note(&self.caller, text);
        }
    }

    fn line(&self, stream: Stream, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches(['\n', '\r']);
        self.journal.add(&self.caller, stream, text);
    }

    fn partial(&mut self, stream: Stream) -> &mut Vec<u8> {
        &mut self.partial[usize::from(stream == Stream::Stderr)]
    }
}

/// A guest's standard output or standard error.
#[derive(Clone)]
pub(super) struct Pipe {
    output: Output,
    stream: Stream,
}

impl IsTerminal for Pipe {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Pipe {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for Pipe {
    async fn ready(&mut self) {}
}

impl OutputStream for Pipe {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.output.lock().write(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES_MAX)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.output.lock().write(self.stream, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
