//! Core modules with WASI preview 1, run as commands.

use bytes::Bytes;
use folio_core::logs::Stream;
use folio_core::ports::Body;
use folio_core::ports::runtime::CallError;

use super::fixture;
use super::stage::{Stage, post, read};

#[tokio::test]
async fn a_command_answers_with_what_it_prints() {
    let stage = Stage::new();
    let version = stage.version(&fixture::command());
    let answer = stage.call(&version, post(Bytes::from("hello"))).await.unwrap();
    assert_eq!(answer.status(), 201);
    assert_eq!(answer.headers()["content-type"], "text/x-test");
    assert_eq!(read(answer.into_body()).await.unwrap(), "hello");
    let answer = stage.call(&version, post(Bytes::from(", plain"))).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(read(answer.into_body()).await.unwrap(), ", plain");
}

#[tokio::test]
async fn a_large_body_streams_through_a_command() {
    let stage = Stage::new();
    let version = stage.version(&fixture::command());
    let sent = Bytes::from(vec![b'x'; 3_000_000]);
    let answer = stage.call(&version, post(sent.clone())).await.unwrap();
    assert!(matches!(answer.body(), Body::Stream(_)));
    assert!(read(answer.into_body()).await.unwrap() == sent);
}

#[tokio::test]
async fn an_exit_code_is_a_failure_and_standard_error_is_the_log() {
    let stage = Stage::new();
    let version = stage.version(&fixture::command());
    let error = stage.call(&version, post(Bytes::from("!"))).await.unwrap_err();
    assert_eq!(error, CallError::Failed);
    assert_eq!(stage.logged(&version, "something is wrong").await.stream, Stream::Stderr);
    assert_eq!(stage.logged(&version, "3").await.stream, Stream::System);
}

#[tokio::test]
async fn a_command_finds_the_request_in_its_environment() {
    let stage = Stage::new();
    let version = stage.version(&fixture::command()).change(|plan| {
        plan.variables.insert("GREETING".to_owned(), "good day".to_owned());
    });
    let request = http::Request::put("/a/b?c=d")
        .header("host", "example.org")
        .header("x-token", "t")
        .header("proxy", "http://evil.example")
        .body(Body::from(Bytes::from(".")));
    let answer = stage.call(&version, request.unwrap()).await.unwrap();
    let body = read(answer.into_body()).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    let variables: Vec<&str> = text.split_terminator('\0').collect();
    for expected in [
        "GREETING=good day",
        "REQUEST_METHOD=PUT",
        "PATH_INFO=/a/b",
        "QUERY_STRING=c=d",
        "HTTP_HOST=example.org",
        "HTTP_X_TOKEN=t",
    ] {
        assert!(variables.contains(&expected), "{expected} in {variables:?}");
    }
    assert!(!text.contains("HTTP_PROXY"));
}
