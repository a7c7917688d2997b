//! Calls between functions.

use std::sync::Arc;

use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, CallError, RequestId};
use folio_model::RuntimeKind;
use folio_run::invoke::InvokeSocket;
use folio_run::jail::Mode;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;

use super::place::{Calls, Place, file, get, plan};

async fn ask(socket: &InvokeSocket, request: Request<Body>) -> (u16, String) {
    use http_body_util::BodyExt as _;
    let path = InvokeSocket::variable(socket.directory());
    let stream = tokio::net::UnixStream::connect(path).await.unwrap();
    let io = TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    let answer = async move {
        let answer: Response<Incoming> = sender.send_request(request).await.unwrap();
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    };
    tokio::join!(answer, connection).0
}

fn request(path: &str) -> http::request::Builder {
    Request::post(path).header("host", "folio")
}

#[tokio::test]
async fn a_call_is_made_for_whoever_the_socket_belongs_to() {
    let place = Place::new(Mode::Off).await;
    let calls = Calls::default();
    let directory = tempfile::tempdir().unwrap();
    let socket = InvokeSocket::listen(directory.path(), None, &place.ports).unwrap();
    let hello = || request("/other@3/a?b=c").body(Body::from(bytes::Bytes::from("hi"))).unwrap();
    let (status, answer) = ask(&socket, hello()).await;
    assert_eq!(status, 503, "{answer}");
    let code = place.single(file("a", "")).await;
    socket.bind(&Arc::new(plan(RuntimeKind::Binary, code, None)));
    assert_eq!(ask(&socket, hello()).await.0, 503, "nobody passes calls yet");
    assert!(place.ports.invoke.set(calls.answering()).is_ok());
    let in_hand = socket.begin(&Call { id: RequestId(9), hops: 4, ..get("/") });
    let (status, answer) = ask(&socket, hello()).await;
    assert_eq!(answer, "default/hello calls other@3 POST /a?b=c hops 5 id 9: hi");
    assert_eq!(status, 200);
    drop(in_hand);
}

#[tokio::test]
async fn what_is_refused_says_why_in_json() {
    let place = Place::new(Mode::Off).await;
    let code = place.single(file("a", "")).await;
    let asking = Arc::new(plan(RuntimeKind::Binary, code, None));
    let refuse: folio_core::ports::runtime::Invoke =
        Arc::new(|_, _, _| Box::pin(async { Err(CallError::Loop(16)) }));
    assert!(place.ports.invoke.set(refuse).is_ok());
    let directory = tempfile::tempdir().unwrap();
    let socket = InvokeSocket::listen(directory.path(), Some(asking), &place.ports).unwrap();
    let check = async |path: &str, status: u16, code: &str| {
        let (found, body) = ask(&socket, request(path).body(Body::Empty).unwrap()).await;
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!((found, body["error"]["code"].as_str()), (status, Some(code)), "{body}");
        assert_eq!(body["error"]["requestId"].as_str().unwrap().len(), 32);
    };
    check("/", 400, "bad_reference").await;
    check("/a@b@c/", 400, "bad_reference").await;
    check("/other/x", 508, "call_loop").await;
}
