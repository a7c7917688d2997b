//! Core modules with WASI preview 1: one run for each request, as CGI has it. The request is in the environment
//! and on standard input; what is printed is the answer, after an optional block of headers.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use folio_core::logs::Stream;
use folio_core::ports::runtime::CallError;
use http_body_util::BodyExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use wasmtime::{Engine, InstancePre, Linker, Module, Store, UpdateDeadline};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi::cli::{IsTerminal, StdinStream, StdoutStream};
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::p2::pipe::ClosedInputStream;
use wasmtime_wasi::p2::{InputStream, OutputStream};
use wasmtime_wasi_http::p2::body::{
    HostIncomingBody, HostOutgoingBody, HyperOutgoingBody, StreamContext,
};

use super::failure::{self, Failure};
use super::limits::Limits;
use super::loaded::Host;
use super::output::Output;
use super::request::{self, Caller, Incoming};
use crate::binary::cgi::{self, Beginning};

/// Pieces of the answer that wait for the client before the guest has to, and their size.
const PIECES_WAITING: usize = 15;
const PIECE_BYTES_MAX: usize = 64 * 1024;

/// What a module's store holds.
pub(super) struct Process {
    host: Arc<Host>,
    wasi: WasiP1Ctx,
    limits: Limits,
}

/// Everything the host offers to modules.
pub(super) fn linker(engine: &Engine) -> wasmtime::Result<Linker<Process>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p1::add_to_linker_async(&mut linker, |process: &mut Process| &mut process.wasi)?;
    Ok(linker)
}

/// Links a module, once for all its runs.
pub(super) fn link(
    linker: &Linker<Process>,
    module: &Module,
) -> Result<InstancePre<Process>, CallError> {
    if module.get_export("_start").is_none() {
        let text = "the module has no `_start`: build it as a WASI command, or as a component";
        return Err(CallError::Load(text.to_owned()));
    }
    linker.instantiate_pre(module).map_err(|error| CallError::Load(format!("{error:#}")))
}

/// A run that has not started.
pub(super) struct Start {
    store: Store<Process>,
    output: Output,
    body: HostOutgoingBody,
}

/// Prepares a run, and what reads its answer.
pub(super) fn prepare(
    engine: &Engine,
    host: &Arc<Host>,
    caller: &Caller,
    request: http::Request<Incoming>,
) -> (Start, Reader) {
    let context = StreamContext::Response;
    let (mut body, answer) = HostOutgoingBody::new(context, None, PIECES_WAITING, PIECE_BYTES_MAX);
    let output = Output::new(host.journal.clone(), caller);
    let mut wasi = request::surroundings(&caller.plan, host.files.as_deref());
    for (name, value) in cgi::variables(&request) {
        wasi.env(name.to_string_lossy(), value.to_string_lossy());
    }
    let input = HostIncomingBody::new(request.into_body().boxed_unsync()).take_stream();
    wasi.stdin(Once::new(input.map(|input| Box::new(input) as Box<dyn InputStream>)));
    wasi.stdout(Once::new(body.take_output_stream()));
    wasi.stderr(output.stream(Stream::Stderr));
    let limits = Limits::new(caller.plan.limits.memory_bytes, Arc::clone(host));
    let process = Process { host: Arc::clone(host), wasi: wasi.build_p1(), limits };
    let mut store = Store::new(engine, process);
    store.limiter(|process| &mut process.limits);
    store.epoch_deadline_callback(|store| {
        store.data().host.ticker.wake();
        Ok(UpdateDeadline::Yield(1))
    });
    (Start { store, output, body }, Reader { body: Some(answer), seen: BytesMut::new() })
}

/// Runs a module to its end.
pub(super) async fn run(pre: InstancePre<Process>, start: Start) -> Result<(), Failure> {
    let Start { mut store, output, body } = start;
    let ended = enter(&pre, &mut store).await;
    output.end();
    match ended {
        Err(error) if !matches!(error.downcast_ref(), Some(I32Exit(0))) => {
            Err(Failure::of(&error, store.data().limits.out_of_memory()))
        }
        Ok(()) | Err(_) => {
            // The stream has to be gone before the body is told that it is complete.
            drop(store);
            if let Err(code) = body.finish(None) {
                tracing::debug!(?code, "A command's answer could not be finished");
            }
            Ok(())
        }
    }
}

async fn enter(pre: &InstancePre<Process>, store: &mut Store<Process>) -> wasmtime::Result<()> {
    store.set_epoch_deadline(1);
    let instance = pre.instantiate_async(&mut *store).await.map_err(failure::while_starting)?;
    let start = instance.get_typed_func::<(), ()>(&mut *store, "_start");
    start.map_err(failure::while_starting)?.call_async(store, ()).await
}

/// Finds the head in what a command prints.
pub(super) struct Reader {
    body: Option<HyperOutgoingBody>,
    seen: BytesMut,
}

impl Reader {
    /// The answer, once its head is complete.
    pub(super) fn poll_head(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<http::Response<HyperOutgoingBody>> {
        loop {
            let Some(body) = &mut self.body else { return Poll::Pending };
            let ended = match super::answer::next(body, context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(frame))) => {
                    self.seen.extend_from_slice(&frame.into_data().unwrap_or_default());
                    false
                }
                Poll::Ready(Some(Err(_)) | None) => true,
            };
            let (head, bytes) = match cgi::beginning(&self.seen) {
                Beginning::Unfinished if !ended => continue,
                Beginning::Unfinished | Beginning::Body => (http::Response::new(()), 0),
                Beginning::Head(head, bytes) => (*head, bytes),
            };
            let Some(rest) = self.body.take() else { return Poll::Pending };
            let first = self.seen.split_off(bytes).freeze();
            return Poll::Ready(head.map(|()| prefixed(first, rest)));
        }
    }
}

/// A body that begins with what was read of it.
fn prefixed(first: Bytes, rest: HyperOutgoingBody) -> HyperOutgoingBody {
    use futures::StreamExt as _;
    if first.is_empty() {
        return rest;
    }
    let first = futures::stream::iter([Ok(http_body::Frame::data(first))]);
    let rest = http_body_util::BodyStream::new(rest);
    http_body_util::StreamBody::new(first.chain(rest)).boxed_unsync()
}

/// A standard stream that is there for whoever asks first.
struct Once<S: ?Sized>(Mutex<Option<Box<S>>>);

impl<S: ?Sized> Once<S> {
    fn new(stream: Option<Box<S>>) -> Self {
        Self(Mutex::new(stream))
    }

    fn take(&self) -> Option<Box<S>> {
        self.0.lock().expect("no holder panics").take()
    }
}

impl<S: ?Sized> IsTerminal for Once<S> {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdinStream for Once<dyn InputStream> {
    fn async_stream(&self) -> Box<dyn AsyncRead + Send + Sync> {
        Box::new(tokio::io::empty())
    }

    fn p2_stream(&self) -> Box<dyn InputStream> {
        self.take().unwrap_or_else(|| Box::new(ClosedInputStream))
    }
}

impl StdoutStream for Once<dyn OutputStream> {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        self.take().unwrap_or_else(|| Box::new(wasmtime_wasi::p2::pipe::SinkOutputStream))
    }
}
