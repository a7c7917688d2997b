//! Instances and compiled code: what is made anew, what is used again, and for how long.

use std::time::Duration;

use folio_core::ports::runtime::CallError;
use folio_model::UnitUid;
use folio_run::wasm::{Settings, Source};

use super::fixture;
use super::stage::{Stage, Version};

fn reused(stage: &Stage, requests: u32) -> Version {
    let version = stage.version(&fixture::behaviours());
    version.change(|plan| plan.limits.requests_per_worker = Some(requests))
}

async fn counts(stage: &Stage, version: &Version, requests: usize) -> Vec<u8> {
    let mut said = Vec::new();
    for _ in 0..requests {
        said.extend(stage.text(version, "/count").await.into_bytes());
    }
    said
}

#[tokio::test]
async fn each_request_has_an_instance_of_its_own() {
    let stage = Stage::new();
    assert_eq!(counts(&stage, &stage.version(&fixture::behaviours()), 3).await, [1, 1, 1]);
    assert_eq!(counts(&stage, &reused(&stage, 1), 3).await, [1, 1, 1]);
}

#[tokio::test]
async fn an_instance_serves_as_many_requests_as_the_version_says() {
    let stage = Stage::new();
    assert_eq!(counts(&stage, &reused(&stage, 3), 7).await, [1, 2, 3, 1, 2, 3, 1]);
}

#[tokio::test]
async fn an_instance_that_trapped_is_not_used_again() {
    let stage = Stage::new();
    let version = reused(&stage, 100);
    assert_eq!(counts(&stage, &version, 2).await, [1, 2]);
    assert_eq!(stage.get(&version, "/trap").await.unwrap_err(), CallError::Failed);
    assert_eq!(counts(&stage, &version, 1).await, [1]);
}

#[tokio::test]
async fn an_answer_left_open_ends_with_its_instance() {
    let stage = Stage::new();
    assert_eq!(stage.text(&stage.version(&fixture::behaviours()), "/open").await, "piece ");
    let version = reused(&stage, 100);
    assert_eq!(stage.text(&version, "/open").await, "piece ");
    assert_eq!(counts(&stage, &version, 1).await, [1]);
}

#[tokio::test]
async fn an_instance_is_used_again_after_its_work_after_the_answer() {
    let stage = Stage::new();
    let version = reused(&stage, 100);
    assert_eq!(stage.text(&version, "/afterwards").await, "piece ");
    stage.logged(&version, "late work").await;
    while stage.wasm.status().workers[0].busy > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(counts(&stage, &version, 1).await, [2]);
}

#[tokio::test]
async fn two_functions_never_share_an_instance() {
    let stage = Stage::new();
    let one = reused(&stage, 100);
    assert_eq!(counts(&stage, &one, 2).await, [1, 2]);
    let other = one.change(|plan| plan.unit = UnitUid(uuid::Uuid::from_u128(2)));
    assert_eq!(counts(&stage, &other, 1).await, [1]);
}

#[tokio::test]
async fn requests_at_the_same_time_have_instances_of_their_own() {
    let stage = Stage::new();
    let version = reused(&stage, 100);
    let open = stage.get(&version, "/gone").await.unwrap();
    assert_eq!(counts(&stage, &version, 2).await, [1, 2]);
    assert_eq!(stage.wasm.status().workers[0].busy, 1);
    drop(open);
}

#[tokio::test]
async fn idle_instances_go_after_their_time() {
    let stage = Stage::new();
    let version = reused(&stage, 100).change(|plan| plan.limits.idle = Duration::ZERO);
    assert_eq!(counts(&stage, &version, 1).await, [1]);
    while stage.wasm.status().workers[0].memory_bytes > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(counts(&stage, &version, 1).await, [1]);
}

#[tokio::test]
async fn a_prepared_version_needs_nothing_but_its_request() {
    let stage = Stage::new();
    let version = stage.version(&fixture::hello());
    let source = Source { path: version.path.clone(), keep: None };
    stage.wasm.prepare(&version.plan, async { Ok(source) }).await.unwrap();
    std::fs::remove_file(&version.path).unwrap();
    assert_eq!(stage.text(&version, "/").await, "Hello from wasm!\n");
    let status = stage.wasm.status();
    assert_eq!((status.cold_starts, status.warm_starts), (1, 0));
    assert_eq!(version.plan.meter.read().cold_starts, 1);
}

#[tokio::test]
async fn a_retired_version_stays_for_its_window_and_comes_back() {
    let stage = Stage::with(Settings {
        instances_max: 20,
        warm_for: Duration::ZERO,
        ..Settings::default()
    });
    let version = stage.version(&fixture::hello());
    stage.text(&version, "/").await;
    stage.wasm.retire(&version.plan);
    while !stage.wasm.status().workers.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.text(&version, "/").await, "Hello from wasm!\n");
    assert_eq!(stage.wasm.status().cold_starts, 2);
}

#[tokio::test]
async fn a_stopped_environment_takes_no_request() {
    let stage = Stage::new();
    let version = stage.version(&fixture::hello());
    stage.text(&version, "/").await;
    stage.wasm.stop(Duration::from_secs(1)).await;
    assert_eq!(stage.get(&version, "/").await.unwrap_err(), CallError::Stopping);
}

#[tokio::test]
async fn an_environment_without_instances_left_says_it_is_busy() {
    let stage = Stage::with(Settings { instances_max: 1, ..Settings::default() });
    let version = stage.version(&fixture::behaviours());
    let open = stage.get(&version, "/gone").await.unwrap();
    assert_eq!(stage.get(&version, "/count").await.unwrap_err(), CallError::Busy);
    drop(open);
    assert_eq!(counts(&stage, &version, 1).await, [1]);
}
