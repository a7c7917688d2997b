//! Requests that go well.

use std::sync::Arc;

use bytes::Bytes;
use folio_core::logs::Stream;
use folio_core::ports::Body;
use folio_core::ports::runtime::{CallError, Invoke};
use folio_model::Network;
use http_body::Frame;
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;

use super::fixture;
use super::stage::{Stage, get, post, read};

#[tokio::test]
async fn a_component_answers_with_status_headers_and_body() {
    let stage = Stage::new();
    let answer = stage.get(&stage.version(&fixture::hello()), "/").await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/plain");
    assert!(matches!(answer.body(), Body::Full(_)), "all there, so that its length is known");
    assert_eq!(read(answer.into_body()).await.unwrap(), "Hello from wasm!\n");
}

#[tokio::test]
async fn a_body_goes_in_and_out_whole() {
    let stage = Stage::new();
    let version = stage.version(&fixture::echo());
    let sent: Bytes = (0..1_000_000_u32).map(|at| (at / 251) as u8).collect::<Vec<_>>().into();
    let answer = stage.call(&version, post(sent.clone())).await.unwrap();
    assert!(read(answer.into_body()).await.unwrap() == sent);
    let answer = stage.call(&version, post(Body::Empty)).await.unwrap();
    assert!(read(answer.into_body()).await.unwrap().is_empty());
}

#[tokio::test]
async fn pieces_come_back_before_the_next_is_sent() {
    let stage = Stage::new();
    let (send, receive) = mpsc::channel(1);
    let request = post(channel(receive));
    let version = stage.version(&fixture::echo());
    let mut body = stage.call(&version, request).await.unwrap().into_body();
    for piece in ["one", "two", "three"] {
        send.send(Ok(piece.into())).await.unwrap();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), piece);
    }
    drop(send);
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_guest_that_nobody_reads_does_not_run_ahead() {
    let stage = Stage::new();
    let (send, receive) = mpsc::channel(1);
    let version = stage.version(&fixture::echo());
    let answer = stage.call(&version, post(channel(receive))).await.unwrap();
    // The guest is run by whoever reads its answer, so this fills what may wait and no more.
    let mut taken = 0;
    while send.try_send(Ok(Bytes::from(vec![0; 64 * 1024]))).is_ok() {
        taken += 1;
    }
    assert!(taken <= 1);
    drop(answer);
    send.closed().await;
}

#[tokio::test]
async fn a_request_whose_body_breaks_off_is_told_from_one_that_fails() {
    let stage = Stage::new();
    let (send, receive) = mpsc::channel(1);
    send.send(Err("the client went away".to_owned())).await.unwrap();
    let version = stage.version(&fixture::echo());
    let error = stage.call(&version, post(channel(receive))).await.unwrap_err();
    assert_eq!(error, CallError::Body("the client went away".to_owned()));
}

#[tokio::test]
async fn a_guest_sees_its_variables_and_no_others() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours()).change(|plan| {
        plan.variables.insert("GREETING".to_owned(), "good day".to_owned());
    });
    assert_eq!(
        stage.text(&version, "/environment").await,
        "GREETING\ngood day\nFOLIO_INVOKE\nhttp://folio.invoke\n"
    );
}

#[tokio::test]
async fn a_guest_sees_no_files_but_its_packages() {
    let stage = Stage::new();
    assert_eq!(stage.text(&stage.version(&fixture::behaviours()), "/directories").await, "");
    let package = stage.package(&fixture::behaviours()).change(|plan| {
        plan.unit = folio_model::UnitUid(uuid::Uuid::from_u128(2));
    });
    assert_eq!(stage.text(&package, "/directories").await, "/code");
}

#[tokio::test]
async fn what_a_guest_prints_is_logged_line_by_line_with_its_request() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours());
    assert_eq!(stage.text(&version, "/print").await, "");
    let lines = stage.lines(&version);
    let said: Vec<_> = lines.iter().map(|line| (line.stream, line.text.as_str())).collect();
    let expected = [
        (Stream::Stdout, "first line"),
        (Stream::Stderr, "to standard error"),
        (Stream::Stdout, "second "),
    ];
    assert_eq!(said, expected);
    assert!(lines.iter().all(|line| line.request.as_deref() == Some(&*format!("{:032x}", 7))));
}

#[tokio::test]
async fn a_flood_of_lines_is_cut_off() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours());
    assert_eq!(stage.text(&version, "/flood").await, "");
    let lines = stage.lines(&version);
    let printed: usize = lines.iter().filter(|line| line.stream == Stream::Stdout).count();
    assert_eq!(printed, 1024 * 1024 / 63 + 1);
    assert!(lines.iter().any(|line| line.text.contains("printed more than 1 MiB")));
}

#[tokio::test]
async fn a_guest_goes_on_after_its_answer() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours());
    assert_eq!(stage.text(&version, "/afterwards").await, "piece ");
    assert_eq!(stage.logged(&version, "late work").await.stream, Stream::Stdout);
}

#[tokio::test]
async fn the_answer_to_a_head_request_has_no_body() {
    let stage = Stage::new();
    let mut request = get("/");
    *request.method_mut() = http::Method::HEAD;
    let answer = stage.call(&stage.version(&fixture::hello()), request).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(matches!(answer.body(), Body::Empty));
}

#[tokio::test]
async fn without_network_a_fetch_is_refused_with_the_reason() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours());
    let said = stage.text(&version, "/x").await;
    let why = "the environment `wasm` has no network: allow it with --network egress";
    assert_eq!(said, why);
}

#[tokio::test]
async fn with_egress_the_machine_itself_is_still_out_of_reach() {
    let stage = Stage::new();
    let version =
        stage.version(&fixture::behaviours()).change(|plan| plan.spec.network = Network::Egress);
    // Error 4 of wasi:http is destination-IP-prohibited.
    assert_eq!(stage.text(&version, "/y").await, "\u{4}");
}

#[tokio::test]
async fn a_guest_calls_another_function_of_its_app() {
    let stage = Stage::new();
    let invoke: Invoke = Arc::new(|plan, reference, call| {
        let said = (plan.function.to_string(), reference.to_string(), call.hops, call.id.0);
        assert_eq!(said, ("hello".to_owned(), "other@3".to_owned(), 3, 7));
        assert_eq!(call.request.uri(), "/path");
        let answer = http::Response::builder().status(298).body(Body::Empty);
        Box::pin(async { Ok(answer.unwrap()) })
    });
    assert!(stage.invoke.set(invoke).is_ok());
    let version = stage.version(&fixture::behaviours());
    let answer = stage.get(&version, "/z").await.unwrap();
    assert_eq!(*read(answer.into_body()).await.unwrap(), 298_u16.to_le_bytes());
}

/// A body of what is sent through a channel.
fn channel(mut receive: mpsc::Receiver<Result<Bytes, String>>) -> Body {
    let frames = futures::stream::poll_fn(move |context| {
        receive.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    });
    let body = http_body_util::StreamBody::new(frames);
    Body::stream(body)
}
