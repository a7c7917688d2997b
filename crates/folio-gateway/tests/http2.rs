//! HTTP/2 frame by frame: what a client of a library would not send.

use std::time::Duration;

use folio_gateway::{GatewayLimits, Settings};
use http::{Request, Version};
use http_body_util::{BodyExt as _, Full};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::protocols::http2;
use crate::world::{World, exact, prefix, settings};

const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

struct Frames(TcpStream);

impl Frames {
    /// Connects as a client that takes nothing of any answer.
    async fn connect(world: &World) -> Self {
        let mut frames = Self(TcpStream::connect(world.address).await.unwrap());
        frames.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        // The initial window.
        frames.send((SETTINGS, 0), 0, &[0, 4, 0, 0, 0, 0]).await;
        frames
    }

    async fn send(&mut self, (kind, flags): (u8, u8), stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let frame = [&length[1..], &[kind, flags], &stream.to_be_bytes()[..], payload].concat();
        self.0.write_all(&frame).await.unwrap();
    }

    async fn ask(&mut self, stream: u32, method: &str, path: &str) {
        let pairs = [
            (":method", method),
            (":path", path),
            (":scheme", "http"),
            (":authority", "localhost"),
        ];
        let field = |(name, value): &(&str, &str)| {
            let length = |text: &str| u8::try_from(text.len()).unwrap();
            let name = [&[0, length(name)], name.as_bytes()].concat();
            [&name, &[length(value)][..], value.as_bytes()].concat()
        };
        let block = pairs.iter().flat_map(field).collect::<Vec<_>>();
        self.send((HEADERS, END_STREAM | END_HEADERS), stream, &block).await;
    }

    /// Reads until a frame of a kind comes for a stream.
    async fn until(&mut self, kind: u8, stream: u32) {
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).await.unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            self.0.read_exact(&mut payload).await.unwrap();
            if head[3] == kind && head[5..] == stream.to_be_bytes() {
                return;
            }
        }
    }
}

#[tokio::test]
async fn a_stream_whose_client_takes_nothing_is_reset_and_no_other() {
    let limits = GatewayLimits { idle_timeout: Duration::from_millis(300), ..settings().limits };
    let world = World::with(Settings { limits, ..settings() }).await;
    for function in ["large", "wait"] {
        world.publish(function, "v1").await;
        world.route(exact(&format!("/{function}")), function).await;
    }
    let mut client = Frames::connect(&world).await;
    client.ask(1, "HEAD", "/wait").await;
    world.runtime.waiting.notified().await;
    client.ask(3, "GET", "/large").await;
    client.until(HEADERS, 3).await;
    client.until(RESET, 3).await;
    world.runtime.go.notify_one();
    client.until(HEADERS, 1).await;
}

#[tokio::test]
async fn heads_that_are_too_large_are_told_so() {
    let world = World::new().await;
    world.route(prefix("/"), "echo").await;
    let (mut sender, _driver) = http2(TcpStream::connect(world.address).await.unwrap()).await;
    let many = (0..150).map(|at| (format!("x-{at}"), "y".to_owned())).collect();
    let large = vec![("x-large".to_owned(), "y".repeat(40 * 1024))];
    for headers in [many, large] {
        let mut request = Request::get("http://localhost/x").version(Version::HTTP_2);
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let answer = sender.send_request(request.body(Full::default()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 431);
        let id = answer.headers()["folio-request-id"].to_str().unwrap().to_owned();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let told: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(told["error"]["code"], "header_too_large");
        assert_eq!(told["error"]["requestId"], id);
    }
    let request = Request::get("http://localhost/x").header("x-fits", "y".repeat(20 * 1024));
    let answer = sender.send_request(request.body(Full::default()).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200);
}
