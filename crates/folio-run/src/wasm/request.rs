//! A request on its way into a guest: its body, and the surroundings every guest gets.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, Plan, RequestId};
use http::HeaderValue;
use http::header::{HOST, HeaderName};
use http_body::{Frame, SizeHint};
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};
use wasmtime_wasi_http::Error;

use super::network;
use crate::invoke::Lineage;

/// Where a guest finds the files of its package.
const FILES: &str = "/code";

const REQUEST_ID: HeaderName = HeaderName::from_static("folio-request-id");

/// Whose request it is.
#[derive(Clone)]
pub(super) struct Caller {
    /// Under which plan the guest was called.
    pub(super) plan: Arc<Plan>,
    /// The request.
    pub(super) id: RequestId,
    /// Where the request comes from.
    pub(super) lineage: Lineage,
}

/// Adds to a request what the guest could not know otherwise. The gateway took every header of these names away.
pub(super) fn complete(call: &mut Call) {
    let headers = call.request.headers_mut();
    headers.insert(REQUEST_ID, written(call.id));
    for (name, value) in &call.parameters {
        let name = HeaderName::try_from(format!("x-fission-params-{name}"));
        if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    if let Some(original) = &call.original
        && let Ok(value) = HeaderValue::try_from(original.as_str())
    {
        headers.insert(HeaderName::from_static("x-fission-full-url"), value);
    }
    let named = headers.get(HOST).is_some_and(|host| host.to_str().is_ok());
    if !named && call.request.uri().authority().is_none() {
        call.request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
    }
}

fn written(id: RequestId) -> HeaderValue {
    let mut text = [0; 32];
    hex(id.0, &mut text);
    HeaderValue::from_bytes(&text).expect("hex digits are a value")
}

fn hex(number: u128, text: &mut [u8; 32]) {
    for (at, digit) in text.iter_mut().enumerate() {
        let nibble = (number >> (124 - 4 * at)) & 0xf;
        *digit = b"0123456789abcdef"[usize::try_from(nibble).expect("four bits fit")];
    }
}

/// What a guest finds around it: its variables, its files, the sockets it is allowed.
pub(super) fn surroundings(plan: &Plan, files: Option<&Path>) -> WasiCtxBuilder {
    let mut wasi = WasiCtxBuilder::new();
    for (name, value) in plan.variables.iter() {
        wasi.env(name, value);
    }
    wasi.arg(plan.function.as_str());
    network::sockets(plan, &mut wasi);
    if let Some(files) = files
        && let Err(error) = wasi.preopened_dir(files, FILES, FsPerms::ReadOnly)
    {
        tracing::warn!(%error, path = %files.display(), "A wasm function does not see its files");
    }
    wasi
}

/// Where it is written down that a request's body broke off.
pub(super) type Broken = Arc<OnceLock<String>>;

/// A request's body as the guest reads it.
pub(super) struct Incoming {
    body: Body,
    broken: Option<Broken>,
}

impl Incoming {
    /// Takes a body. Only streams can break off, and then the second value says so.
    pub(super) fn new(body: Body) -> (Self, Option<Broken>) {
        let broken = matches!(body, Body::Stream(_)).then(Broken::default);
        (Self { body, broken: broken.clone() }, broken)
    }
}

impl http_body::Body for Incoming {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        frame.map_err(|error| {
            if let Some(broken) = &self.broken {
                // Only the first word counts.
                broken.get_or_init(|| error.0.clone());
            }
            Error::InternalError(Some(error.0))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
