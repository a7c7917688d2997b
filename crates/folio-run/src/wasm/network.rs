//! What guests reach over the network: the functions of their app, and other machines over HTTP and HTTPS where
//! the environment allows it. The machine itself and its neighbours on the link are never reached.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use folio_core::ports::Body;
use folio_core::ports::runtime::{Invoke, Plan};
use folio_model::Network;
use http::uri::Scheme;
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::sockets::SocketAddrUse;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::request::{Caller, Incoming};
use super::secure::secure;
use crate::invoke::{self, Asking};
use crate::network::denial;

/// How long a connection may take to be made, where the guest asks for no less.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Pieces of an answer that wait for the client before the guest has to.
const PIECES_WAITING: usize = 15;

/// Bytes of one such piece.
const PIECE_BYTES_MAX: usize = 64 * 1024;

type Pending<T> = Box<dyn Future<Output = Result<T, Error>> + Send>;
type Exchange = (http::Response<WasiBody>, Pending<()>);

/// Where a guest finds the functions of its app: `http://folio.invoke/hello@3/any/path`.
pub(super) const INVOKE: &str = "http://folio.invoke";
const INVOKE_HOST: &str = "folio.invoke";

/// Decides what becomes of a guest's outgoing requests.
pub(super) struct Door {
    /// Passes calls to other functions.
    pub(super) invoke: Arc<OnceLock<Invoke>>,
    /// Whose request it is.
    pub(super) caller: Caller,
}

impl Door {
    fn pass_on(&self, request: http::Request<WasiBody>) -> Pending<Exchange> {
        let (caller, invoke) = (self.caller.clone(), Arc::clone(&self.invoke));
        Box::new(async move {
            let Caller { plan, id, lineage } = &caller;
            let asks = Asking { plan, id: *id, lineage: lineage.clone().called() };
            let answer = invoke::pass_on(asks, &invoke, request.map(Body::stream)).await;
            let answer = answer.map(|body| Incoming::new(body).0.boxed_unsync());
            let rest: Pending<()> = Box::new(async { Ok(()) });
            Ok((answer, rest))
        })
    }
}

impl WasiHttpHooks for Door {
    fn is_forbidden_header(&mut self, name: &http::HeaderName) -> bool {
        // As the default has it, without building the whole list for each name.
        matches!(
            name.as_str(),
            "connection"
                | "keep-alive"
                | "proxy-authenticate"
                | "proxy-authorization"
                | "proxy-connection"
                | "transfer-encoding"
                | "upgrade"
                | "host"
                | "http2-settings"
        )
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Pending<()>,
    ) -> Pending<Exchange> {
        if request.uri().host() == Some(INVOKE_HOST) {
            return self.pass_on(request);
        }
        match denial(&self.caller.plan) {
            None => Box::new(send(request, options)),
            Some(why) => Box::new(async { Err(Error::InternalError(Some(why))) }),
        }
    }

    fn default_scheme(&mut self) -> Option<Scheme> {
        Some(Scheme::HTTP)
    }

    fn p2_outgoing_body_buffer_chunks(&mut self) -> usize {
        PIECES_WAITING
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        PIECE_BYTES_MAX
    }
}

/// Gives a guest the sockets its environment allows. Without a word from here it gets none.
pub(super) fn sockets(plan: &Plan, wasi: &mut WasiCtxBuilder) {
    if plan.spec.network == Network::Egress {
        wasi.allow_ip_name_lookup(true).allow_udp(false).socket_addr_check(|address, usage| {
            let allowed = match usage {
                SocketAddrUse::TcpConnect => is_reachable(address.ip()),
                // What the system does by itself before it connects.
                SocketAddrUse::TcpBind => address.ip().is_unspecified() && address.port() == 0,
                _ => false,
            };
            Box::pin(async move { allowed })
        });
    }
}

async fn send(
    mut request: http::Request<WasiBody>,
    options: Option<RequestOptions>,
) -> Result<Exchange, Error> {
    let options = options.unwrap_or_default();
    let connecting = connect(request.uri());
    let patience = options.connect_timeout.unwrap_or(CONNECT_MAX).min(CONNECT_MAX);
    let connection = tokio::time::timeout(patience, connecting).await;
    let connection = connection.map_err(|_| Error::ConnectionTimeout)??;
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(connection)).await;
    let (mut sender, connection) = handshake?;
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map_or_else(http::Uri::default, http::Uri::from);
    // The connection has to be driven while the answer's head is awaited, and by whoever reads its body after.
    let mut connection = Box::pin(connection);
    let answering = sender.send_request(request);
    let answer = async {
        tokio::pin!(answering);
        tokio::select! {
            biased;
            answer = &mut answering => answer,
            ended = &mut connection => match ended {
                Ok(()) => answering.await,
                Err(error) => Err(error),
            },
        }
    };
    let answer = match options.first_byte_timeout {
        None => answer.await,
        Some(limit) => {
            tokio::time::timeout(limit, answer).await.map_err(|_| Error::ConnectionReadTimeout)?
        }
    };
    let answer = answer?.map(|body| body.map_err(Error::from).boxed_unsync());
    let rest: Pending<()> = Box::new(async move {
        let ended = connection.await.map_err(Error::from);
        drop(sender);
        ended
    });
    Ok((answer, rest))
}

/// A connection, encrypted or not.
trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

async fn connect(uri: &http::Uri) -> Result<Box<dyn Connection>, Error> {
    let host = uri.host().ok_or(Error::HttpRequestUriInvalid)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16();
    if uri.scheme() == Some(&Scheme::HTTPS) {
        let stream = reach(host, port.unwrap_or(443)).await?;
        return Ok(Box::new(secure(stream, host).await?));
    }
    Ok(Box::new(reach(host, port.unwrap_or(80)).await?))
}

async fn reach(host: &str, port: u16) -> Result<TcpStream, Error> {
    let found = tokio::net::lookup_host((host, port)).await;
    let found: Vec<SocketAddr> = found.map_err(|_| Error::DestinationNotFound)?.collect();
    let mut last = Error::DestinationIpProhibited;
    for address in found.into_iter().filter(|address| is_reachable(address.ip())) {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                last = Error::ConnectionRefused;
            }
            Err(error) => last = Error::Connect(error),
        }
    }
    Err(last)
}

/// Whether an address is another machine beyond the link.
fn is_reachable(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(four) => {
            !(four.is_loopback()
                || four.is_link_local()
                || four.is_unspecified()
                || four.is_broadcast()
                || four.is_multicast()
                || four.octets()[0] == 0)
        }
        IpAddr::V6(six) => {
            let embedded = six.to_ipv4().filter(|_| six.segments()[..6] == [0; 6]);
            !(six.is_loopback()
                || six.is_unspecified()
                || six.is_multicast()
                || six.is_unicast_link_local()
                || embedded.is_some())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, expected: bool) {
        assert_eq!(is_reachable(address.parse().unwrap()), expected, "{address}");
    }

    #[test]
    fn the_machine_and_its_link_are_never_reached() {
        check("127.0.0.1", false);
        check("127.9.9.9", false);
        check("0.0.0.0", false);
        check("169.254.169.254", false);
        check("255.255.255.255", false);
        check("224.0.0.1", false);
        check("::1", false);
        check("::", false);
        check("fe80::1", false);
        check("::ffff:127.0.0.1", false);
        check("::127.0.0.1", false);
    }

    #[test]
    fn other_machines_are_reached() {
        check("10.0.0.1", true);
        check("192.0.2.1", true);
        check("2001:db8::1", true);
        check("::ffff:192.0.2.1", true);
    }
}
