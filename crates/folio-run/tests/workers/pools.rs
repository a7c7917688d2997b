//! How many workers there are, and which gets what.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::Runtime as _;
use folio_core::ports::runtime::{CallError, Plan, RuntimeStatus, Scale};
use folio_model::{EnvironmentSpec, RuntimeKind, UnitUid};

use super::stage::{Stage, generic, serving};
use crate::processes::place::{file, get, plan, program, text};

const PID: &str = "module.exports = async () => String(process.pid)";
const SLOW: &str = "module.exports = async () => { await new Promise((r) => setTimeout(r, 300)); return String(process.pid) }";

#[tokio::test]
async fn a_generic_worker_is_ready_once_the_environment_was_used() {
    let stage = Stage::new().await;
    let plan = stage.plan("hello.js", PID).await;
    assert_eq!(stage.status().workers.len(), 0);
    stage.says(&plan, get("/")).await;
    stage.until("a worker waits", |status| generic(status) == 1).await;
    let waiting = stage.status().workers.into_iter().find(|worker| worker.function.is_none());
    let other = stage.plan("other.js", "module.exports = async () => String(process.pid) ").await;
    stage.says(&other, get("/")).await;
    let became = stage.status().workers.into_iter().filter(|worker| worker.function.is_some());
    let became: Vec<_> = became.map(|worker| worker.pid).collect();
    assert!(became.contains(&waiting.unwrap().pid), "the one that waited became it");
    stage.until("the next one waits", |status| generic(status) == 1).await;
    assert_eq!(plan.meter.read().cold_starts, 1);
    assert_eq!((stage.status().cold_starts, stage.status().warm_starts), (2, 0));
    stage.says(&plan, get("/")).await;
    assert_eq!((stage.status().cold_starts, stage.status().warm_starts), (2, 1));
}

#[tokio::test]
async fn the_pool_is_as_large_as_the_environment_says() {
    let stage = Stage::new().await;
    let mut plan = stage.plan("hello.py", "def main():\n    return 'x'\n").await;
    plan.spec.poolsize = Some(3);
    stage.runtime.prepare(&Arc::new(plan.clone())).await.unwrap();
    stage.until("three wait", |status| generic(status) == 3).await;
    plan.spec.poolsize = Some(0);
    plan.environment = "none".parse().unwrap();
    stage.says(&plan, get("/")).await;
    assert!(
        !stage
            .status()
            .workers
            .iter()
            .any(|w| w.environment.as_str() == "none" && w.function.is_none())
    );
}

#[tokio::test]
async fn slow_requests_run_side_by_side_in_one_worker() {
    let stage = Stage::new().await;
    let python = "import time\ndef main():\n    time.sleep(0.3)\n    import os\n    return str(os.getpid())\n";
    for (name, source) in [("slow.js", SLOW), ("slow.py", python)] {
        let mut plan = stage.plan(name, source).await;
        plan.limits.scale_max = 1;
        stage.says(&plan, get("/")).await;
        let begun = tokio::time::Instant::now();
        let calls = (0..8).map(|_| stage.says(&plan, get("/")));
        futures::future::join_all(calls).await;
        let took = begun.elapsed();
        assert!(took < Duration::from_millis(1800), "8 times 300 ms took {took:?} with {name}");
    }
}

#[tokio::test]
async fn a_worker_has_no_more_in_hand_than_allowed() {
    let stage = Stage::new().await;
    let source = "let n = 0, max = 0; module.exports = async () => { max = Math.max(max, ++n); \
        await new Promise((r) => setTimeout(r, 5)); n--; return String(max) }";
    let mut plan = stage.plan("hello.js", source).await;
    plan.limits.concurrency = 3;
    plan.limits.scale_max = 1;
    futures::future::join_all((0..30).map(|_| stage.says(&plan, get("/")))).await;
    assert_eq!(stage.says(&plan, get("/")).await.1, "3");
}

#[tokio::test]
async fn more_workers_come_when_the_others_are_full_and_go_when_idle() {
    let stage = Stage::new().await;
    let mut plan = stage.plan("slow.js", SLOW).await;
    plan.limits.concurrency = 1;
    plan.limits.scale_max = 3;
    plan.limits.scale_min = 1;
    plan.limits.idle = Duration::from_millis(400);
    let calls = (0..9).map(|_| stage.says(&plan, get("/")));
    let mut pids: Vec<_> =
        futures::future::join_all(calls).await.into_iter().map(|(_, pid)| pid).collect();
    pids.sort();
    pids.dedup();
    assert_eq!(pids.len(), 3, "no more than scale_max");
    stage.until("idle ones go", |status| serving(status) == 1).await;
}

#[tokio::test]
async fn requests_beyond_the_queue_are_refused() {
    let stage = Stage::with(|settings| settings.waiting_max = 2).await;
    let mut plan = stage.plan("slow.js", SLOW).await;
    plan.limits.concurrency = 1;
    plan.limits.scale_max = 1;
    stage.says(&plan, get("/")).await;
    let calls = (0..6).map(|_| stage.call(&plan, get("/")));
    let answers = futures::future::join_all(calls).await;
    let refused = answers.iter().filter(|answer| matches!(answer, Err(CallError::Busy))).count();
    assert_eq!(refused, 3, "one runs and two wait");
    assert_eq!(stage.status().refused_starts, 3);
}

#[tokio::test]
async fn a_worker_is_replaced_after_its_requests() {
    let stage = Stage::new().await;
    let mut plan = stage.plan("hello.js", PID).await;
    plan.limits.requests_per_worker = Some(2);
    plan.limits.scale_max = 1;
    let mut pids = Vec::new();
    for _ in 0..6 {
        pids.push(stage.says(&plan, get("/")).await.1);
    }
    let mut distinct = pids.clone();
    distinct.dedup();
    assert_eq!(distinct.len(), 3, "{pids:?}");
}

#[tokio::test]
async fn a_version_without_pointers_is_kept_warm_and_then_goes() {
    let stage = Stage::with(|settings| settings.keep_warm = Duration::from_millis(600)).await;
    let mut plan = stage.plan("hello.js", PID).await;
    plan.limits.idle = Duration::from_millis(1);
    plan.limits.scale_min = 1;
    let plan = Arc::new(plan);
    stage.runtime.prepare(&plan).await.unwrap();
    let (_, before) = stage.says(&plan, get("/")).await;
    stage.runtime.retire(&plan);
    let (_, after) = stage.says(&plan, get("/")).await;
    assert_eq!(before, after, "going back is no cold start");
    stage.until("its workers go", |status| serving(status) == 0).await;
    assert_eq!(stage.says(&plan, get("/")).await.0, 200, "it can still be called");
}

const SERVER: &str = "#!/usr/bin/env node
require('node:http').createServer((_, answer) => answer.end(String(process.pid))).listen(process.env.PORT, '127.0.0.1')";

/// Where environments of the kind `command` find their servers.
fn servers() -> PathBuf {
    let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../folio/tests/servers");
    servers.canonicalize().unwrap()
}

/// Functions that answer with their process, one for each way to be served by processes that stay.
async fn of_every_kind(stage: &Stage) -> [Plan; 3] {
    let source = "module.exports = async () => ({ status: 200, body: String(process.pid) })";
    let code = stage.place.single(file("hello.js", source)).await;
    let mut command = plan(RuntimeKind::Command, code, None);
    command.spec = EnvironmentSpec {
        command: Some(format!("node {}/fission_env.js --port {{port}}", servers().display())),
        poolsize: Some(0),
        ..EnvironmentSpec::of(RuntimeKind::Command)
    };
    let server = stage.place.directory(&[program("server.js", SERVER)]).await;
    let server = plan(RuntimeKind::Binary, server, Some("serve:server.js"));
    [command, server, stage.plan("pid.js", PID).await]
}

#[tokio::test]
async fn whatever_serves_a_version_one_stays_warm_for_whoever_goes_back_to_it() {
    let stage = Stage::with(|settings| settings.command_directories = vec![servers()]).await;
    for mut plan in of_every_kind(&stage).await {
        plan.limits.idle = Duration::from_millis(1);
        let mut other = plan.clone();
        (other.function, other.unit) =
            ("other".parse().unwrap(), UnitUid(uuid::Uuid::from_u128(2)));
        stage.says(&plan, get("/")).await;
        stage.runtime.retire(&Arc::new(plan.clone()));
        // The first one may have been idle for too long before it was told to stay.
        let (_, before) = stage.says(&plan, get("/")).await;
        stage.says(&other, get("/")).await;
        let gone = |status: &RuntimeStatus| {
            status.workers.iter().all(|worker| worker.function.as_ref() != Some(&other.function))
        };
        // It was idle for less long than the one that stays.
        stage.until("one that was not retired goes", gone).await;
        assert_eq!(stage.says(&plan, get("/")).await.1, before, "{:?}", plan.spec.runtime);
    }
}

#[tokio::test]
async fn whatever_serves_a_version_it_goes_when_the_time_to_go_back_is_over() {
    let stage = Stage::with(|settings| {
        settings.command_directories = vec![servers()];
        settings.keep_warm = Duration::ZERO;
    })
    .await;
    for mut plan in of_every_kind(&stage).await {
        plan.limits.scale_min = 1;
        stage.says(&plan, get("/")).await;
        stage.runtime.retire(&Arc::new(plan));
        stage.until("it goes, however long it may be idle", |status| serving(status) == 0).await;
    }
}

#[tokio::test]
async fn a_request_that_was_admitted_finishes_while_its_version_retires() {
    let stage = Stage::with(|settings| settings.keep_warm = Duration::ZERO).await;
    let plan = Arc::new(stage.plan("slow.js", SLOW).await);
    stage.says(&plan, get("/")).await;
    let retire = async {
        stage.until("it is in hand", |status| status.workers.iter().any(|w| w.busy == 1)).await;
        stage.runtime.retire(&plan);
    };
    let (answer, ()) = tokio::join!(stage.says(&plan, get("/")), retire);
    assert_eq!(answer.0, 200);
    stage.until("its workers go", |status| serving(status) == 0).await;
}

#[tokio::test]
async fn workers_come_and_go_when_somebody_asks() {
    let stage = Stage::new().await;
    let mut plan = stage.plan("slow.js", SLOW).await;
    plan.limits.scale_max = 3;
    let plan = Arc::new(plan);
    stage.runtime.scale(&plan, Scale::Up(7));
    stage.until("no more than scale_max", |status| serving(status) == 3).await;
    stage.runtime.scale(&plan, Scale::Down(1));
    stage.until("one fewer", |status| serving(status) == 2).await;
    stage.runtime.scale(&plan, Scale::Down(7));
    stage.until("one stays", |status| serving(status) == 1).await;
    let away = async {
        stage.until("it is in hand", |status| status.workers.iter().any(|w| w.busy == 1)).await;
        stage.runtime.scale(&plan, Scale::Away);
    };
    let (answer, ()) = tokio::join!(stage.says(&plan, get("/")), away);
    assert_eq!(answer.0, 200, "what is in hand is finished");
    stage.until("none is left", |status| serving(status) == 0).await;
}

#[tokio::test]
async fn stopping_finishes_what_is_in_hand() {
    let stage = Stage::new().await;
    let plan = stage.plan("slow.js", SLOW).await;
    stage.says(&plan, get("/")).await;
    let stop = async {
        stage.until("it is in hand", |status| status.workers.iter().any(|w| w.busy == 1)).await;
        stage.runtime.stop(Duration::from_secs(10)).await;
    };
    let (answer, ()) = tokio::join!(stage.call(&plan, get("/")), stop);
    assert!(!text(answer.unwrap()).await.is_empty());
    assert_eq!(stage.call(&plan, get("/")).await.unwrap_err(), CallError::Stopping);
    assert_eq!(stage.status().workers.len(), 0);
}

#[tokio::test]
async fn the_server_has_no_more_workers_than_allowed() {
    let stage = Stage::with(|settings| settings.workers_max = 2).await;
    for at in 0..5 {
        let source = format!("module.exports = async () => 'number {at}'");
        let plan = stage.plan("hello.js", &source).await;
        assert_eq!(stage.says(&plan, get("/")).await.1, format!("number {at}"));
        assert!(stage.status().workers.len() <= 2, "{:?}", stage.status().workers);
    }
}

/// A function that keeps more workers than the server has, and all places taken.
async fn greedy(stage: &Stage) -> Plan {
    let mut plan = stage.plan("hello.js", PID).await;
    (plan.limits.scale_min, plan.limits.scale_max) = (50, 50);
    stage.runtime.prepare(&Arc::new(plan.clone())).await.unwrap();
    stage.until("all places are taken", |status| serving(status) == 4).await;
    plan
}

async fn other(stage: &Stage, source: &str) -> Plan {
    let other = stage.plan("other.js", source).await;
    let (function, unit) = ("other".parse().unwrap(), UnitUid(uuid::Uuid::from_u128(2)));
    Plan { function, unit, ..other }
}

#[tokio::test]
async fn a_version_that_is_to_have_every_worker_leaves_others_their_share() {
    let stage = Stage::with(|settings| settings.workers_max = 4).await;
    let greedy = greedy(&stage).await;
    stage.place.logged(&greedy, "of the 50 workers that are to be kept").await;
    let mut other = other(&stage, SLOW).await;
    (other.limits.concurrency, other.limits.scale_max) = (1, 8);
    let calls = (0..4).map(|_| stage.says(&other, get("/")));
    let pids: std::collections::HashSet<_> =
        futures::future::join_all(calls).await.into_iter().map(|(_, pid)| pid).collect();
    assert!((1..=2).contains(&pids.len()), "half of the places: {pids:?}");
    assert_eq!(stage.says(&greedy, get("/")).await.0, 200);
}

#[tokio::test]
async fn a_least_number_of_workers_takes_no_place_from_who_has_one() {
    let stage = Stage::with(|settings| settings.workers_max = 4).await;
    let other = other(&stage, PID).await;
    let (_, before) = stage.says(&other, get("/")).await;
    let mut plan = stage.plan("hello.js", PID).await;
    (plan.limits.scale_min, plan.limits.scale_max) = (50, 50);
    stage.runtime.prepare(&Arc::new(plan.clone())).await.unwrap();
    stage.place.logged(&plan, "of the 50 workers that are to be kept").await;
    assert_eq!(stage.says(&other, get("/")).await.1, before);
}

#[tokio::test]
async fn a_version_without_pointers_keeps_no_place_from_others() {
    let stage = Stage::with(|settings| settings.workers_max = 4).await;
    let greedy = greedy(&stage).await;
    stage.runtime.retire(&Arc::new(greedy));
    let mut other = other(&stage, SLOW).await;
    (other.limits.concurrency, other.limits.scale_max) = (1, 4);
    let calls = (0..8).map(|_| stage.says(&other, get("/")));
    let pids: std::collections::HashSet<_> =
        futures::future::join_all(calls).await.into_iter().map(|(_, pid)| pid).collect();
    assert!(pids.len() > 2, "more than a share: {pids:?}");
}

#[tokio::test]
async fn who_finds_no_place_is_told_and_counted() {
    let stage = Stage::with(|settings| settings.workers_max = 1).await;
    let busy = stage.plan("slow.js", SLOW).await;
    stage.says(&busy, get("/")).await;
    let other = other(&stage, PID).await;
    let late = async {
        stage.until("it is in hand", |status| status.workers.iter().any(|w| w.busy == 1)).await;
        stage.call(&other, get("/")).await.unwrap_err()
    };
    let (_, refused) = tokio::join!(stage.says(&busy, get("/")), late);
    assert_eq!(refused, CallError::Full);
    assert_eq!(stage.status().refused_starts, 1);
}

#[tokio::test]
async fn many_requests_on_few_workers_all_get_their_own_answer() {
    let stage = Stage::new().await;
    let node = "module.exports = async ({ request }) => { if (request.query.n % 7 === 0) await null; return request.query.n }";
    let python = "from flask import request\ndef main():\n    return request.args['n']\n";
    for (name, source) in [("hello.js", node), ("hello.py", python)] {
        let mut plan = stage.plan(name, source).await;
        plan.limits.concurrency = 64;
        let asks = (0..2000).map(|n| {
            let (stage, plan) = (&stage, &plan);
            async move {
                assert_eq!(stage.says(plan, get(&format!("/?n={n}"))).await.1, n.to_string());
            }
        });
        let all = futures::StreamExt::buffer_unordered(futures::stream::iter(asks), 100);
        futures::StreamExt::collect::<Vec<()>>(all).await;
    }
}

#[tokio::test]
async fn threads_that_take_over_from_one_another_neither_lose_nor_repeat_answers() {
    let stage = Stage::new().await;
    let source = "\
import time
from flask import request
def main():
    n = int(request.args['n'])
    time.sleep((n % 13) / 1000)
    if n % 5 == 0:
        print('number', n)
    return str(n)
";
    let mut plan = stage.plan("hello.py", source).await;
    plan.limits.concurrency = 32;
    plan.limits.scale_max = 1;
    let asks = (0..1500).map(|n| {
        let (stage, plan) = (&stage, &plan);
        async move { assert_eq!(stage.says(plan, get(&format!("/?n={n}"))).await.1, n.to_string()) }
    });
    let all = futures::StreamExt::buffer_unordered(futures::stream::iter(asks), 32);
    futures::StreamExt::collect::<Vec<()>>(all).await;
    stage.place.logged(&plan, "number 1495").await;
}
