//! Guests that misbehave, and that nobody else suffers.

use std::time::Duration;

use folio_core::logs::Stream;
use folio_core::ports::runtime::CallError;
use http_body_util::BodyExt as _;

use super::fixture;
use super::stage::{MIB, Stage, Version, read};

fn impatient(version: Version) -> Version {
    version.change(|plan| plan.limits.timeout = Duration::from_millis(100))
}

#[tokio::test]
async fn a_trap_is_a_failure_and_its_reason_is_in_the_log() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours());
    assert_eq!(stage.get(&version, "/trap").await.unwrap_err(), CallError::Failed);
    let line = stage.logged(&version, "unreachable").await;
    assert_eq!(line.stream, Stream::System);
    assert_eq!(stage.text(&version, "/count").await, "\u{1}", "the next request is served");
}

#[tokio::test]
async fn a_guest_that_computes_for_ever_is_ended_and_blocks_nobody() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours());
    stage.text(&version, "/count").await;
    let version = impatient(version);
    // This test has one thread: the second request is answered while the first one loops.
    let (first, second) =
        tokio::join!(stage.get(&version, "/loop"), stage.text(&version, "/count"));
    assert_eq!(first.unwrap_err(), CallError::Timeout(Duration::from_millis(100)));
    assert_eq!(second, "\u{1}");
    stage.logged(&version, "no answer within 100 ms").await;
}

#[tokio::test]
async fn a_guest_that_waits_too_long_is_ended() {
    let stage = Stage::new();
    let version = impatient(stage.version(&fixture::behaviours()));
    let error = stage.get(&version, "/wait").await.unwrap_err();
    assert_eq!(error, CallError::Timeout(Duration::from_millis(100)));
}

#[tokio::test]
async fn a_guest_that_goes_silent_in_its_answer_is_ended() {
    let stage = Stage::new();
    let version = impatient(stage.version(&fixture::behaviours()));
    let mut body = stage.get(&version, "/gone").await.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "piece ");
    let error = body.frame().await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the function did not answer within 100 ms");
    assert!(body.frame().await.is_none());
    assert_eq!(stage.wasm.status().workers[0].busy, 0);
}

#[tokio::test]
async fn a_guest_that_takes_all_memory_crashes_alone() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours());
    let error = stage.get(&version, "/hog").await.unwrap_err();
    assert_eq!(error, CallError::Crashed("out of memory".to_owned()));
    assert_eq!(stage.text(&version, "/count").await, "\u{1}");
    assert_eq!(stage.wasm.status().workers[0].memory_bytes, 0, "all of it was given back");
}

#[tokio::test]
async fn a_guest_that_needs_more_memory_than_it_may_have_does_not_load() {
    let stage = Stage::new();
    let version =
        stage.version(&fixture::behaviours()).change(|plan| plan.limits.memory_bytes = MIB / 16);
    let error = stage.get(&version, "/count").await.unwrap_err();
    assert!(matches!(&error, CallError::Load(text) if text.contains("memory")), "{error}");
}

#[tokio::test]
async fn no_answer_is_not_an_answer() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours());
    let error = stage.get(&version, "/silent").await.unwrap_err();
    assert_eq!(error, CallError::Garbled("it ended without an answer".to_owned()));
    let error = stage.get(&version, "/informational").await.unwrap_err();
    assert!(matches!(&error, CallError::Garbled(text) if text.contains("101")), "{error}");
    assert_eq!(stage.get(&version, "/refuse").await.unwrap_err(), CallError::Failed);
    stage.logged(&version, "LoopDetected").await;
}

#[tokio::test]
async fn an_answer_shorter_than_announced_is_not_passed_on() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours());
    let error = stage.get(&version, "/n").await.unwrap_err();
    assert_eq!(error, CallError::Garbled("it broke off its answer".to_owned()));
}

#[tokio::test]
async fn an_answer_that_breaks_off_ends_with_an_error() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours());
    let answer = stage.get(&version, "/break").await.unwrap();
    assert_eq!(read(answer.into_body()).await.unwrap_err(), "the function failed");
}

#[tokio::test]
async fn dropping_the_answer_ends_the_guest() {
    let stage = Stage::new();
    let version = stage.version(&fixture::behaviours());
    let mut body = stage.get(&version, "/unending").await.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap().len(), 4096);
    assert_eq!(stage.wasm.status().workers[0].busy, 1);
    drop(body);
    let status = stage.wasm.status().workers.remove(0);
    assert_eq!((status.busy, status.memory_bytes), (0, 0));
}

#[tokio::test]
async fn what_is_not_wasm_does_not_load() {
    let stage = Stage::new();
    let version = stage.version(b"#!/bin/sh\necho no\n");
    let error = stage.get(&version, "/").await.unwrap_err();
    let expected = "it is neither a WebAssembly component nor a module";
    assert_eq!(error, CallError::Load(expected.to_owned()));
    let version = stage.version(b"\0asm\x0d\0\x01\0\x01\x02\x03");
    assert!(matches!(stage.get(&version, "/").await, Err(CallError::Load(_))));
    let version = stage.version(&wat::parse_str("(component)").unwrap());
    let error = stage.get(&version, "/").await.unwrap_err();
    assert!(matches!(&error, CallError::Load(text) if text.contains("wasi:http")), "{error}");
    let version = stage.version(&wat::parse_str("(module)").unwrap());
    let error = stage.get(&version, "/").await.unwrap_err();
    assert!(matches!(&error, CallError::Load(text) if text.contains("_start")), "{error}");
}

#[tokio::test]
async fn more_requests_than_there_is_room_for_wait_and_then_are_refused() {
    let stage = Stage::new();
    let version = impatient(stage.version(&fixture::behaviours())).change(|plan| {
        plan.limits.scale_max = 1;
    });
    let waits = || stage.get(&version, "/wait");
    let all = futures::future::join_all((0..8).map(|_| waits())).await;
    let count = |wanted: fn(&CallError) -> bool| {
        all.iter().filter(|one| one.as_ref().is_err_and(wanted)).count()
    };
    let late = count(|error| matches!(error, CallError::Timeout(_)));
    assert!(late >= 1);
    assert_eq!(late + count(|error| matches!(error, CallError::Busy)), 8);
    assert!(stage.wasm.status().refused_starts >= 3, "only four may wait for one place");
}
