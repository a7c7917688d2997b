//! Core modules with WASI preview 1: one run for each request, as CGI has it. The request is in the environment
//! and on standard input; what is printed is the answer, after an optional block of headers.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use folio_core::logs::Stream;
use folio_core::ports::runtime::{CallError, Plan, RequestId};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http_body_util::BodyExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use wasmtime::{Engine, InstancePre, Linker, Module, Store, UpdateDeadline};
use wasmtime_wasi::cli::{IsTerminal, StdinStream, StdoutStream};
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::p2::pipe::ClosedInputStream;
use wasmtime_wasi::p2::{InputStream, OutputStream};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder};
use wasmtime_wasi_http::p2::body::{
    HostIncomingBody, HostOutgoingBody, HyperOutgoingBody, StreamContext,
};

use super::cgi;
use super::failure::{self, Failure};
use super::limits::Limits;
use super::loaded::Host;
use super::output::Output;
use super::request::{self, Incoming};

/// Bytes of a head, at most; what is longer without an end is body.
const HEAD_BYTES_MAX: usize = 64 * 1024;

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
    plan: &Arc<Plan>,
    id: RequestId,
    request: http::Request<Incoming>,
) -> (Start, Reader) {
    let context = StreamContext::Response;
    let (mut body, answer) =
        HostOutgoingBody::new(context, None, PIECES_WAITING, PIECE_BYTES_MAX);
    let output = Output::new(host.journal.clone(), Arc::clone(plan), id);
    let mut wasi = request::surroundings(plan, host.files.as_deref());
    let (parts, input) = request.into_parts();
    variables(&parts, id, &mut wasi);
    let input = HostIncomingBody::new(input.boxed_unsync()).take_stream();
    wasi.stdin(Once::new(input.map(|input| Box::new(input) as Box<dyn InputStream>)));
    wasi.stdout(Once::new(body.take_output_stream()));
    wasi.stderr(output.stream(Stream::Stderr));
    let limits = Limits::new(plan.limits.memory_bytes, Arc::clone(host));
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

/// The request as RFC 3875 puts it into the environment.
fn variables(parts: &http::request::Parts, id: RequestId, wasi: &mut WasiCtxBuilder) {
    let headers = &parts.headers;
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    wasi.env("GATEWAY_INTERFACE", "CGI/1.1")
        .env("SERVER_PROTOCOL", "HTTP/1.1")
        .env("SERVER_SOFTWARE", "folio")
        .env("SERVER_NAME", text(HOST))
        .env("REQUEST_METHOD", parts.method.as_str())
        .env("SCRIPT_NAME", "")
        .env("PATH_INFO", parts.uri.path())
        .env("QUERY_STRING", parts.uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", text(CONTENT_TYPE))
        .env("CONTENT_LENGTH", text(CONTENT_LENGTH))
        .env("FOLIO_REQUEST_ID", id.to_string());
    for (name, value) in headers {
        // HTTP_PROXY would be taken for a setting of the guest's own client.
        if name != "proxy"
            && let Ok(value) = value.to_str()
        {
            let name = name.as_str().to_ascii_uppercase().replace('-', "_");
            wasi.env(format!("HTTP_{name}"), value);
        }
    }
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
    ) -> Result<Poll<http::Response<HyperOutgoingBody>>, CallError> {
        loop {
            let Some(body) = &mut self.body else { return Ok(Poll::Pending) };
            let frame = super::answer::next(body, context);
            let ended = match frame {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(Some(Ok(frame))) => {
                    self.seen.extend_from_slice(&frame.into_data().unwrap_or_default());
                    false
                }
                Poll::Ready(Some(Err(_)) | None) => true,
            };
            let found = cgi::head(&self.seen, ended || self.seen.len() > HEAD_BYTES_MAX)?;
            let Some(head) = found else { continue };
            let Some(rest) = self.body.take() else { return Ok(Poll::Pending) };
            let first = self.seen.split_off(head.bytes).freeze();
            return Ok(Poll::Ready(head.response.map(|()| prefixed(first, rest))));
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
