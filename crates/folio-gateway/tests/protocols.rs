//! HTTP/2, encryption, and connections that stop being HTTP.

use std::sync::Arc;

use bytes::Bytes;
use folio_core::Hosts;
use folio_core::release::ReleaseRef;
use folio_gateway::{Settings, Tls};
use folio_model::AppName;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::client::Client;
use crate::world::{World, caller, exact, prefix, settings};

const CERTIFICATE: &[u8] = include_bytes!("fixtures/certificate.pem");
const KEY: &[u8] = include_bytes!("fixtures/key.pem");
const SHOP_CERTIFICATE: &[u8] = include_bytes!("fixtures/shop.certificate.pem");
const SHOP_KEY: &[u8] = include_bytes!("fixtures/shop.key.pem");

pub(crate) type Sender = hyper::client::conn::http2::SendRequest<Full<Bytes>>;

/// A connection that speaks HTTP/2, and the task that drives it.
pub(crate) async fn http2<S>(stream: S) -> (Sender, JoinSet<()>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let shaken =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = shaken.unwrap();
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        drop(connection.await);
    });
    (sender, driver)
}

async fn told(response: Response<Incoming>) -> Value {
    assert_eq!(response.status(), 200);
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

async fn encrypted(world: &World, name: &str, protocols: &[&[u8]]) -> TlsStream<TcpStream> {
    shaken(world, name, (CERTIFICATE, protocols)).await.unwrap()
}

/// Connects to a name with trust in one certificate.
async fn shaken(
    world: &World,
    name: &str,
    (trusted, protocols): (&[u8], &[&[u8]]),
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let stream = TcpStream::connect(world.address).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

async fn tls_world() -> World {
    let tls = Tls::from_pem(CERTIFICATE, KEY).unwrap();
    let world = World::with(Settings { tls: Some(tls), ..settings() }).await;
    world.route(prefix("/"), "echo").await;
    world
}

#[tokio::test]
async fn http2_is_spoken_to_those_who_begin_with_it() {
    let world = World::new().await;
    world.route(prefix("/x"), "echo").await;
    let (sender, _driver) = http2(TcpStream::connect(world.address).await.unwrap()).await;
    let ask = |at: usize| {
        let mut sender = sender.clone();
        let request = Request::post(format!("http://localhost/x/{at}?q"))
            .header("folio-version", "spoofed")
            .body(Full::from(format!("body {at}")))
            .unwrap();
        async move { told(sender.send_request(request).await.unwrap()).await }
    };
    let answers = futures::future::join_all((0..50).map(ask)).await;
    for (at, answer) in answers.iter().enumerate() {
        assert_eq!(answer["uri"], format!("/{at}?q"));
        assert_eq!(answer["body"], format!("body {at}"));
        assert_eq!(answer["headers"]["host"], "localhost");
        assert!(!answer.to_string().contains("spoofed"));
    }
}

#[tokio::test]
async fn http2_bodies_have_the_same_limits() {
    let mut settings = settings();
    settings.limits.body_bytes_max = 10;
    let world = World::with(settings).await;
    world.route(exact("/"), "echo").await;
    let (mut sender, _driver) = http2(TcpStream::connect(world.address).await.unwrap()).await;
    let request =
        Request::post("http://localhost/").body(Full::from("more than ten bytes")).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 413);
    let request = Request::get("http://nobody.example/").body(Full::default()).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 404);
}

#[tokio::test]
async fn encrypted_connections_speak_what_was_agreed_on() {
    let world = tls_world().await;
    let stream = encrypted(&world, "localhost", &[b"h2", b"http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, _driver) = http2(stream).await;
    let request = Request::get("https://localhost/").body(Full::default()).unwrap();
    let answer = told(sender.send_request(request).await.unwrap()).await;
    assert_eq!(answer["headers"]["x-forwarded-proto"], "https");

    let stream = encrypted(&world, "localhost", &[b"http/1.1"]).await;
    let answer = Client::over(stream).get("/x").await;
    assert_eq!(answer.told("uri"), "/x");
}

#[tokio::test]
async fn an_encrypted_connection_is_for_the_host_it_was_made_for() {
    let world = tls_world().await;
    let mut client = Client::over(encrypted(&world, "other.test", &[b"http/1.1"]).await);
    let answer = client.get("/x").await;
    assert_eq!((answer.status, answer.code().as_str()), (421, "misdirected_request"));
}

#[tokio::test]
async fn what_is_not_encrypted_harms_nobody() {
    let world = tls_world().await;
    let mut plain = world.client().await;
    plain.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let mut alert = Vec::new();
    plain.stream.read_to_end(&mut alert).await.unwrap();
    assert!(!alert.starts_with(b"HTTP"));
    let stream = encrypted(&world, "localhost", &[]).await;
    assert_eq!(Client::over(stream).get("/x").await.status, 200);
}

#[tokio::test]
async fn a_host_with_a_certificate_of_its_own_is_known_by_it() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes);
    let tls = Tls::from_pem(CERTIFICATE, KEY).unwrap();
    let tls = tls.with_directory(directory.path().to_owned()).unwrap();
    let world = World::with(Settings { tls: Some(tls.clone()), ..settings() }).await;
    let trusts =
        async |name: &str, certificate| shaken(&world, name, (certificate, &[])).await.is_ok();
    assert!(trusts("localhost", CERTIFICATE).await);
    assert!(!trusts("shop.example", SHOP_CERTIFICATE).await, "it is not there yet");
    write("shop.example.crt", SHOP_CERTIFICATE).unwrap();
    assert!(tls.reload().is_err(), "its key is missing");
    write("shop.example.key", KEY).unwrap();
    assert!(tls.reload().is_err(), "its key is another's");
    write("shop.example.key", SHOP_KEY).unwrap();
    assert_eq!(tls.reload().unwrap(), 1);
    assert!(trusts("shop.example", SHOP_CERTIFICATE).await, "and no restart was needed");
    assert!(trusts("SHOP.example", SHOP_CERTIFICATE).await);
    assert!(trusts("localhost", CERTIFICATE).await, "all others are as they were");
    assert!(!trusts("a.shop.example", SHOP_CERTIFICATE).await);
    for end in ["crt", "key"] {
        let from = directory.path().join(format!("shop.example.{end}"));
        std::fs::copy(from, directory.path().join(format!("*.shop.example.{end}"))).unwrap();
    }
    assert_eq!(tls.reload().unwrap(), 2);
    assert!(trusts("a.shop.example", SHOP_CERTIFICATE).await);
    write("shop.example.crt", b"nonsense").unwrap();
    assert!(tls.reload().is_err());
    assert!(trusts("shop.example", SHOP_CERTIFICATE).await, "what is broken replaces nothing");
}

#[tokio::test]
async fn one_certificate_of_the_domain_is_enough_for_every_release() {
    let tls = Tls::from_pem(SHOP_CERTIFICATE, SHOP_KEY).unwrap();
    let domain = Some("shop.example".to_owned());
    let world = World::with(Settings { tls: Some(tls), domain, ..settings() }).await;
    world.route(prefix("/"), "echo").await;
    let app = AppName::default_app();
    let release = world.folio.show_release(&app, &ReleaseRef::Latest).await.unwrap().label.id;
    let trusted = (SHOP_CERTIFICATE, &[&b"http/1.1"[..]][..]);
    for name in ["default", "latest--default", &format!("{release}--default")] {
        let host = format!("{name}.shop.example");
        let stream = shaken(&world, &host, trusted).await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let answer = Client::over(stream).ask(request).await;
        assert_eq!(answer.header("folio-release"), Some(release.as_str()), "{host}");
    }
    // A wildcard stands for one label, so the other kind of host would need a certificate for each release.
    let nested = format!("default.{release}.shop.example");
    assert!(shaken(&world, &nested, trusted).await.is_err());
    let hosts = Hosts { scheme: "https".to_owned(), domain: "shop.example".to_owned(), port: None };
    let told = format!("https://{release}--default.shop.example");
    assert_eq!(hosts.of_release(&app, release.as_str()), told);
}

#[tokio::test]
async fn a_domain_and_its_certificate_come_without_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let tls = Tls::from_pem(CERTIFICATE, KEY).unwrap();
    let tls = tls.with_directory(directory.path().to_owned()).unwrap();
    let world = World::with(Settings { tls: Some(tls.clone()), ..settings() }).await;
    world.route(prefix("/"), "echo").await;
    for (end, bytes) in [("crt", SHOP_CERTIFICATE), ("key", SHOP_KEY)] {
        std::fs::write(directory.path().join(format!("shop.example.{end}")), bytes).unwrap();
    }
    assert_eq!(tls.reload().unwrap(), 1);
    let ask = async || {
        let stream = shaken(&world, "shop.example", (SHOP_CERTIFICATE, &[])).await.unwrap();
        let request = "GET /x HTTP/1.1\r\nHost: shop.example\r\n\r\n";
        Client::over(stream).ask(request).await.status
    };
    assert_eq!(ask().await, 404, "its certificate alone makes it nobody's app");
    let (app, domain) = ("default".parse().unwrap(), "shop.example".parse().unwrap());
    world.folio.add_domain(&caller(), &app, &domain).await.unwrap();
    assert_eq!(ask().await, 200);
    world.folio.remove_domain(&caller(), &app, &domain).await.unwrap();
    assert_eq!(ask().await, 404);
}

#[test]
fn a_certificate_needs_its_key() {
    assert!(Tls::from_pem(CERTIFICATE, KEY).is_ok());
    assert!(Tls::from_pem(KEY, KEY).is_err());
    assert!(Tls::from_pem(CERTIFICATE, CERTIFICATE).is_err());
    assert!(Tls::from_pem(b"", b"").is_err());
}

const UPGRADE: &str = "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n";

#[tokio::test]
async fn a_connection_can_stop_being_http() {
    let world = World::new().await;
    world.publish_command("tunnel").await;
    world.route(exact("/x"), "tunnel").await;
    let mut client = world.client().await;
    let answer = client.ask(UPGRADE).await;
    assert_eq!(answer.status, 101);
    assert_eq!(answer.header("upgrade"), Some("shout"));
    assert_eq!(answer.header("folio-version"), Some("tunnel@v1"));
    client.send("hello there").await;
    assert_eq!(client.take(11).await, b"HELLO THERE");
    client.send("GET / HTTP/1.1\n\n").await;
    assert_eq!(client.take(16).await, b"GET / HTTP/1.1\n\n");
    client.stream.shutdown().await.unwrap();
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn most_environments_only_speak_http() {
    let world = World::new().await;
    world.route(exact("/x"), "echo").await;
    let mut client = world.client().await;
    let answer = client.ask(UPGRADE).await;
    assert_eq!((answer.status, answer.code().as_str()), (501, "upgrade_refused"));
    let offered = "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n";
    let answer = client.ask(offered).await;
    assert_eq!(answer.told("headers").get("http2-settings"), None);
}
