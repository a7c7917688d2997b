//! One connection, from its first byte to its end: encrypted or not, HTTP/1.1 or HTTP/2, and what it becomes when
//! it stops being HTTP.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::gate::{Gate, PREFACE};
use crate::handle::Gateway;
use crate::streams::Streams;
use crate::wire::{Tunnel, Wire};

/// Bytes that hyper holds of one HTTP/1 connection in each direction.
const BUFFER_BYTES_MAX: usize = 128 * 1024;
/// How much larger than allowed a head over HTTP/2 may be to be told so.
const HEADS_FACTOR: usize = 4;
/// Requests that one HTTP/2 connection may have in hand.
const STREAMS_MAX: u32 = 128;
/// Streams that may be reset before they were taken, and that were reset because of the client's mistakes.
const RESETS_MAX: usize = 32;

/// Serves one connection until it ends, or until everything admitted was answered after `stopping` turned true.
pub(crate) async fn serve(
    gateway: Arc<Gateway>,
    stream: TcpStream,
    peer: SocketAddr,
    stopping: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("Cannot turn off delays on a connection: {error}");
    }
    let limits = gateway.settings.limits;
    let totals = Arc::clone(&gateway.settings.totals);
    let Some(tls) = gateway.settings.tls.clone() else {
        let wire = Arc::new(Wire::new(peer, false, None, totals));
        return plain(gateway, stream, wire, stopping).await;
    };
    let shaken = tokio::time::timeout(limits.header_timeout, tls.acceptor().accept(stream)).await;
    let stream = match shaken {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            return tracing::debug!("A client could not agree on encryption: {error}");
        }
        Err(_) => return tracing::debug!("A client took too long to agree on encryption"),
    };
    let (_, session) = stream.get_ref();
    let is_http2 = session.alpn_protocol() == Some(b"h2");
    let server_name = session.server_name().map(|name| name.to_ascii_lowercase().into());
    let wire = Arc::new(Wire::new(peer, true, server_name, totals));
    match is_http2 {
        true => speak_http2(gateway, stream, wire, Vec::new(), stopping).await,
        false => speak_http1(gateway, stream, wire, Vec::new(), stopping).await,
    }
}

/// Finds out which protocol a client speaks that was not asked.
async fn plain(
    gateway: Arc<Gateway>,
    mut stream: TcpStream,
    wire: Arc<Wire>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut ahead = Vec::new();
    let idle = gateway.settings.limits.idle_timeout;
    let looked = tokio::select! {
        looked = tokio::time::timeout(idle, look_ahead(&mut stream, &mut ahead)) => looked,
        () = told(&mut stopping, &gateway) => return,
    };
    match looked {
        Ok(Ok(true)) => speak_http2(gateway, stream, wire, ahead, stopping).await,
        Ok(Ok(false)) => speak_http1(gateway, stream, wire, ahead, stopping).await,
        Ok(Err(_)) | Err(_) => {}
    }
}

/// Reads until it is clear whether the client begins with HTTP/2's preface.
async fn look_ahead(stream: &mut TcpStream, ahead: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut first = [0; PREFACE.len()];
    loop {
        let known = ahead.len();
        let read = stream.read(&mut first[known..]).await?;
        ahead.extend_from_slice(&first[known..known + read]);
        if !PREFACE.starts_with(ahead) || read == 0 {
            return Ok(false);
        }
        if ahead.len() == PREFACE.len() {
            return Ok(true);
        }
    }
}

async fn speak_http1<S>(
    gateway: Arc<Gateway>,
    stream: S,
    wire: Arc<Wire>,
    ahead: Vec<u8>,
    mut stopping: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = gateway.settings.limits;
    let gate = Gate::http1(stream, Arc::clone(&wire), ahead, &limits);
    // Requests borrow from the connection: counting references on every core would cost more than it tells.
    let (gateway, wire) = (&gateway, &wire);
    let service = service_fn(|request| async move {
        Ok::<_, std::convert::Infallible>(gateway.answer(wire, request).await)
    });
    let mut builder = http1::Builder::new();
    // The gate keeps the time, and has counted the headers.
    builder.max_buf_size(BUFFER_BYTES_MAX.max(limits.header_bytes_max)).header_read_timeout(None);
    if limits.headers_max > 100 {
        builder.max_headers(limits.headers_max);
    }
    let connection = builder.serve_connection(TokioIo::new(gate), service).with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = told(&mut stopping, gateway) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("A connection ended early: {error}");
    }
    if let Some(tunnel) = wire.take_tunnel() {
        carry(tunnel).await;
    }
}

async fn speak_http2<S>(
    gateway: Arc<Gateway>,
    stream: S,
    wire: Arc<Wire>,
    ahead: Vec<u8>,
    mut stopping: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = gateway.settings.limits;
    let gate = Gate::http2(stream, Arc::clone(&wire), ahead, &limits);
    let shared = Arc::clone(&gateway);
    let service = service_fn(move |request| {
        let (gateway, wire) = (Arc::clone(&shared), Arc::clone(&wire));
        async move { Ok::<_, std::convert::Infallible>(gateway.answer(&wire, request).await) }
    });
    let connection = http2::Builder::new(Streams::new(limits))
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_pending_accept_reset_streams(RESETS_MAX)
        .max_local_error_reset_streams(RESETS_MAX)
        .max_header_list_size(heads_max(limits.header_bytes_max))
        .serve_connection(TokioIo::new(gate), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = told(&mut stopping, &gateway) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("A connection ended early: {error}");
    }
}

/// What of a head HTTP/2 reads at all. It answers more without saying why, so what is only over our limit has to
/// come through.
fn heads_max(header_bytes_max: usize) -> u32 {
    u32::try_from(header_bytes_max.saturating_mul(HEADS_FACTOR)).unwrap_or(u32::MAX)
}

/// Waits until the gateway is told to stop. Asks the channel, which all connections share and which has locks, only
/// when it is new and when there is something to hear.
async fn told(stopping: &mut watch::Receiver<bool>, gateway: &Gateway) {
    let mut told = pin!(async { drop(stopping.wait_for(|stopping| *stopping).await) });
    let mut known: Option<Waker> = None;
    poll_fn(|context| {
        let is_known = known.as_ref().is_some_and(|known| known.will_wake(context.waker()));
        if is_known && !gateway.is_stopping.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        known = Some(context.waker().clone());
        told.as_mut().poll(context)
    })
    .await;
}

/// Carries bytes both ways until both ends are done.
async fn carry(tunnel: Tunnel) {
    let (client, function) = match futures::future::try_join(tunnel.client, tunnel.function).await {
        Ok(ends) => ends,
        Err(error) => return tracing::debug!("A connection could not stop being HTTP: {error}"),
    };
    let (mut client, mut function) = (TokioIo::new(client), TokioIo::new(function));
    let carried =
        tokio::io::copy_bidirectional(&mut Pin::new(&mut client), &mut Pin::new(&mut function))
            .await;
    if let Err(error) = carried {
        tracing::debug!("A connection that stopped being HTTP ended early: {error}");
    }
}
