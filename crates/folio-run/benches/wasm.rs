//! How many requests a second a component answers, called without HTTP around it, from as many threads as there are
//! cores: with an instance for each request, and with instances used again. The hello example, or the file named.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use folio_core::logs::Logs;
use folio_core::ports::runtime::{Call, Plan, RequestId, RunLimits, Stage, Variables};
use folio_core::ports::{Body, SystemClock};
use folio_model::{Content, Digest, EnvironmentSpec, Layout, RuntimeKind, UnitUid};
use folio_run::wasm::{Outside, Settings, Source, Wasm};
use http_body_util::BodyExt as _;
use tokio::task::JoinSet;
use tokio::time::Instant;

const TASKS: usize = 64;
const ROUND: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let logs = Arc::new(Logs::new(1 << 20));
    let cache = directory.path().to_path_buf();
    let outside = Outside { logs, clock: Arc::new(SystemClock), invoke: Arc::default() };
    let wasm = Wasm::new(cache, outside, Settings::default());
    let wasm = Arc::new(wasm.expect("wasm runs here"));
    for _ in 0..3 {
        for requests_per_worker in [1, 128] {
            let plan = Arc::new(plan(requests_per_worker));
            let rate = measure(&wasm, &plan).await;
            report(requests_per_worker, rate);
        }
    }
}

async fn measure(wasm: &Arc<Wasm>, plan: &Arc<Plan>) -> u128 {
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (wasm, plan) = (Arc::clone(wasm), Arc::clone(plan));
        tasks.spawn(async move {
            let mut answered = 0_u128;
            while started.elapsed() < ROUND {
                call(&wasm, &plan).await;
                answered += 1;
                tokio::task::yield_now().await;
            }
            answered
        });
    }
    let answered: u128 = tasks.join_all().await.into_iter().sum();
    answered * 1_000_000 / started.elapsed().as_micros()
}

async fn call(wasm: &Wasm, plan: &Arc<Plan>) {
    let request = http::Request::get("/hello?name=x")
        .header("host", "localhost:8888")
        .header("accept", "*/*")
        .body(Body::Empty)
        .expect("the request is one");
    let call = Call {
        id: RequestId(1),
        request,
        parameters: Vec::new(),
        original: None,
        hops: 0,
        release: None,
    };
    let code = || async { Ok(Source { path: component(), keep: None }) };
    let answer = wasm.call(plan, code, call).await.expect("the component answers");
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.expect("the answer is whole");
    assert!(!body.to_bytes().is_empty());
}

fn component() -> PathBuf {
    let named = std::env::args().find(|argument| argument.ends_with(".wasm"));
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/wasm-hello/hello.wasm");
    named.map_or_else(|| PathBuf::from(example), PathBuf::from)
}

#[expect(clippy::print_stdout, reason = "the numbers are what a benchmark is run for")]
fn report(requests_per_worker: u32, rate: u128) {
    println!("{requests_per_worker:>4} requests per instance: {rate:>8} requests/s");
}

fn plan(requests_per_worker: u32) -> Plan {
    let digest = Digest::of(&requests_per_worker.to_le_bytes());
    Plan {
        access: folio_model::Access::Public,
        app: "default".parse().expect("a name"),
        function: "hello".parse().expect("a name"),
        unit: UnitUid(uuid::Uuid::from_u128(1)),
        at: Stage::Draft,
        digest,
        environment: "wasm".parse().expect("a name"),
        spec: EnvironmentSpec::of(RuntimeKind::Wasm),
        code: Content { tree: digest, layout: Layout::File },
        entrypoint: None,
        variables: Variables::default(),
        files: Vec::new(),
        limits: RunLimits {
            timeout: Duration::from_secs(10),
            memory_bytes: 128 * 1024 * 1024,
            cpu_millis: None,
            concurrency: 1,
            idle: Duration::from_secs(60),
            scale_min: 0,
            scale_max: 100,
            requests_per_worker: Some(requests_per_worker),
        },
        meter: Arc::default(),
    }
}
