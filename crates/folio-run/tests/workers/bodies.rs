//! Bodies flow both ways, piece by piece, and nobody has to hold all of one.

use std::time::Duration;

use bytes::Bytes;
use folio_core::ports::runtime::{Call, CallError};
use folio_core::ports::{Body, BodyError};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::sync::mpsc;

use super::stage::Stage;
use crate::processes::place::{MIB, call, get, post};

type Pieces = mpsc::Sender<Result<Frame<Bytes>, BodyError>>;

fn streamed(capacity: usize) -> (Pieces, Call) {
    let (pieces, receiver) = mpsc::channel(capacity);
    let stream = futures::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    let body = Body::stream(StreamBody::new(Box::pin(stream)));
    (pieces, call(http::Request::post("/").body(body).unwrap()))
}

const ECHO_NODE: &str = "export default { fetch: (request) => new Response(request.body) }";
const ECHO_PYTHON: &str = "\
async def app(scope, receive, send):
    if scope['type'] != 'http':
        raise NotImplementedError
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})
    more = True
    while more:
        message = await receive()
        more = message.get('more_body', False)
        await send({'type': 'http.response.body', 'body': message.get('body', b''), 'more_body': more})
";

async fn answers_before_the_request_has_ended(name: &str, source: &str) {
    let stage = Stage::new().await;
    let plan = stage.plan(name, source).await;
    let (pieces, asked) = streamed(1);
    pieces.send(Ok(Frame::data(Bytes::from_static(b"one")))).await.unwrap();
    let mut answer = stage.call(&plan, asked).await.unwrap().into_body();
    let mut next = async || answer.frame().await.map(|frame| frame.unwrap().into_data().unwrap());
    assert_eq!(next().await.unwrap(), "one");
    pieces.send(Ok(Frame::data(Bytes::from_static(b"two")))).await.unwrap();
    assert_eq!(next().await.unwrap(), "two");
    drop(pieces);
    assert_eq!(next().await, None);
}

#[tokio::test]
async fn node_answers_before_the_request_has_ended() {
    answers_before_the_request_has_ended("echo.mjs", ECHO_NODE).await;
}

#[tokio::test]
async fn python_answers_before_the_request_has_ended() {
    answers_before_the_request_has_ended("echo.py", ECHO_PYTHON).await;
}

#[tokio::test]
async fn large_bodies_come_back_whole() {
    let stage = Stage::new().await;
    let sent: Vec<u8> = (0..5_000_003_u32).map(|at| (at % 251) as u8).collect();
    let buffered =
        "module.exports = async ({ request }) => ({ status: 200, body: request.rawBody })";
    let flask = "from flask import request\ndef main():\n    return request.data\n";
    let sources =
        [("e.mjs", ECHO_NODE), ("e.py", ECHO_PYTHON), ("b.js", buffered), ("f.py", flask)];
    for (name, source) in sources {
        let plan = stage.plan(name, source).await;
        let answer = stage.call(&plan, post("/", sent.clone())).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(body == sent, "{name} gave back {} bytes", body.len());
    }
}

#[tokio::test]
async fn python_generators_stream() {
    let stage = Stage::new().await;
    let source = "from flask import Response\ndef main():\n    return Response((f'{n}\\n' * 1000 for n in range(300)), mimetype='text/plain')\n";
    let mut plan = stage.plan("hello.py", source).await;
    plan.limits.concurrency = 1;
    let answer = stage.call(&plan, get("/")).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let expected: String = (0..300).map(|n| format!("{n}\n").repeat(1000)).collect();
    assert!(body == expected, "{} bytes", body.len());
}

// A function that could send for ever sends no more than a window to somebody who does not read.
async fn a_slow_reader_holds_the_function_back(name: &str, source: &str) {
    let stage = Stage::new().await;
    let plan = stage.plan(name, source).await;
    let mut answer = stage.call(&plan, get("/")).await.unwrap().into_body();
    let first = answer.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(!first.is_empty());
    let written = async || -> u64 {
        let (lines, _) = stage.place.ports.logs.after(&plan.app, &plan.function, 0);
        lines.last().map_or(0, |line| line.text.parse().unwrap())
    };
    // It stops when nobody reads: the count it prints stays what it is.
    let mut before = u64::MAX;
    while before != written().await {
        before = written().await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(before < 2 * MIB, "it wrote {before} bytes to a reader that took {}", first.len());
    let mut taken = first.len() as u64;
    while taken < 4 * MIB {
        taken += answer.frame().await.unwrap().unwrap().into_data().unwrap().len() as u64;
    }
    assert!(written().await > before, "it goes on when somebody reads");
}

#[tokio::test]
async fn a_slow_reader_holds_node_back() {
    let source = "let n = 0; export default { fetch: () => new Response(new ReadableStream({ pull(c) { \
        n += 65536; console.log(n); c.enqueue(new Uint8Array(65536)); } })) }";
    a_slow_reader_holds_the_function_back("slow.mjs", source).await;
}

#[tokio::test]
async fn a_slow_reader_holds_python_back() {
    let source = "\
def pieces():
    n = 0
    while True:
        n += 65536
        print(n)
        yield bytes(65536)
from flask import Response
def main():
    return Response(pieces())
";
    a_slow_reader_holds_the_function_back("slow.py", source).await;
}

#[tokio::test]
async fn a_slow_function_holds_the_client_back() {
    let stage = Stage::new().await;
    let source = "export default { async fetch(request) { const reader = request.body.getReader(); \
        await reader.read(); console.log('has one'); await new Promise(() => {}); } }";
    let mut plan = stage.plan("slow.mjs", source).await;
    plan.limits.timeout = Duration::from_secs(2);
    let (pieces, asked) = streamed(1);
    let feeding = async {
        let mut sent = 0_u64;
        let piece = Bytes::from(vec![0; 64 * 1024]);
        while pieces.send(Ok(Frame::data(piece.clone()))).await.is_ok() {
            sent += piece.len() as u64;
        }
        sent
    };
    let (answer, sent) = tokio::join!(stage.call(&plan, asked), feeding);
    assert!(matches!(answer, Err(CallError::Timeout(_))), "{answer:?}");
    assert!(sent < MIB, "{sent} bytes were taken from the client");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_the_callers_fault() {
    let stage = Stage::new().await;
    let plan = stage.plan("hello.js", "module.exports = async () => 'never'").await;
    let (pieces, asked) = streamed(1);
    pieces.send(Err(BodyError("gone".to_owned()))).await.unwrap();
    assert_eq!(stage.call(&plan, asked).await.unwrap_err(), CallError::Body("gone".to_owned()));
    assert_eq!(stage.says(&plan, get("/")).await.1, "never", "the worker serves others");
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_stream() {
    let stage = Stage::new().await;
    let source = "export default { fetch: () => new Response(new ReadableStream({ \
        pull(c) { c.enqueue(new Uint8Array(65536)); }, cancel() { console.log('was told'); } })) }";
    let plan = stage.plan("leave.mjs", source).await;
    let mut answer = stage.call(&plan, get("/")).await.unwrap().into_body();
    answer.frame().await.unwrap().unwrap();
    drop(answer);
    stage.place.logged(&plan, "was told").await;
    stage.until("the place is free", |status| status.workers.iter().all(|w| w.busy == 0)).await;
}
