//! The server on a real socket.

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::client::World;

#[tokio::test(start_paused = true)]
async fn a_client_that_never_finishes_its_head_is_let_go() {
    let world = World::memory().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = folio_api::serve(listener, world.folio.clone(), None, async {
        stopped.await.unwrap();
    });
    let client = async {
        let mut slow = TcpStream::connect(address).await.unwrap();
        slow.write_all(b"GET /healthz HTTP/1.1\r\nhost: ").await.unwrap();
        let mut rest = Vec::new();
        slow.read_to_end(&mut rest).await.unwrap();
        stop.send(()).unwrap();
    };
    tokio::join!(server, client);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stalls_is_not_waited_for() {
    let world = World::memory().await;
    let stalled = || Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    let call = world.call("POST", "/folio/v1/blobs").nodes(stalled());
    call.send().await.refused(400, "bad_upload");
    let call = world.call("POST", "/folio/v1/blobs/missing").body(stalled());
    call.send().await.refused(400, "bad_request");
}

#[tokio::test]
async fn a_request_that_was_admitted_finishes_after_the_order_to_stop() {
    let world = World::memory().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = folio_api::serve(listener, world.folio.clone(), None, async {
        stopped.await.unwrap();
    });
    let client = async {
        let mut idle = TcpStream::connect(address).await.unwrap();
        idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut some = [0; 15];
        idle.read_exact(&mut some).await.unwrap();
        assert_eq!(&some, b"HTTP/1.1 200 OK");
        let mut busy = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST /folio/v1/blobs/missing HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 14\r\n\r\n",
            world.token
        );
        busy.write_all(head.as_bytes()).await.unwrap();
        // The server asks for the body once the request is admitted.
        let mut go_on = [0; 25];
        busy.read_exact(&mut go_on).await.unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
        stop.send(()).unwrap();
        let mut rest = Vec::new();
        idle.read_to_end(&mut rest).await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
        busy.write_all(b"{\"digests\":[]}").await.unwrap();
        let mut answer = String::new();
        busy.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(answer.ends_with("{\"missing\":[]}"), "{answer}");
    };
    tokio::join!(server, client);
}
