//! How many requests a second hello answers in Node and Python workers, called without HTTP around it by 64 tasks
//! on as many threads as there are cores; how long a version takes from the warm pool to its first answer; and
//! what an idle worker holds.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use folio_core::content::{FileEntry, TreeBuilder, chunk};
use folio_core::logs::Logs;
use folio_core::ports::runtime::{
    Call, Plan, RequestId, RunLimits, Runtime as _, RuntimePorts, Stage, Variables,
};
use folio_core::ports::{Blobs, Body, SystemClock};
use folio_model::{Content, Digest, EnvironmentSpec, Layout, RuntimeKind, UnitUid};
use folio_run::jail::Mode;
use folio_run::{LocalRuntime, Settings};
use folio_store::{MemoryIndex, PackOptions, PackStore};
use tokio::task::JoinSet;
use tokio::time::Instant;

const TASKS: u32 = 64;
const ROUND: Duration = Duration::from_secs(2);

const FUNCTIONS: [(RuntimeKind, &str, &str); 5] = [
    (
        RuntimeKind::Nodejs,
        "hello.js",
        "module.exports = async (context) => ({ status: 200, body: 'hello world\\n' })",
    ),
    (
        RuntimeKind::Nodejs,
        "web.mjs",
        "export default { fetch: (request) => new Response('hello world\\n') }",
    ),
    (RuntimeKind::Python, "hello.py", "def main():\n    return 'hello world\\n'\n"),
    (
        RuntimeKind::Python,
        "app.py",
        "async def app(scope, receive, send):\n    \
            await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-type', b'text/plain')]})\n    \
            await send({'type': 'http.response.body', 'body': b'hello world\\n'})\n",
    ),
    (
        RuntimeKind::Python,
        "keywords.py",
        "def main(name='x', **kwargs):\n    return 'hello ' + name\n",
    ),
];

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the numbers are what a benchmark is run for")]
async fn main() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (index, clock) = (MemoryIndex::default(), Arc::new(SystemClock));
    let blobs = PackStore::in_memory(index, clock, PackOptions::default()).await;
    let blobs: Arc<dyn Blobs> = Arc::new(blobs.expect("memory takes everything"));
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_folio-run-warden"));
    let mut settings = Settings::new(directory.path().to_path_buf(), helper);
    settings.jail =
        if std::env::args().any(|word| word == "jail") { Mode::Enforced } else { Mode::Off };
    let logs = Arc::new(Logs::new(1 << 20));
    let ports = RuntimePorts { blobs: Arc::clone(&blobs), logs, invoke: Arc::default() };
    let runtime = LocalRuntime::open(settings, ports).expect("the runtime opens");
    for round in 0..3 {
        for (kind, name, source) in FUNCTIONS {
            let plan =
                Arc::new(plan(kind, &format!("{name}{round}"), code(&blobs, name, source).await));
            warm(&runtime, &plan).await;
            let began = Instant::now();
            call(&runtime, &plan).await;
            let cold = began.elapsed();
            let rate = measure(&runtime, &plan).await;
            println!("{name:<12} {rate:>8} requests/s, first answer after {cold:?}");
        }
    }
    for worker in runtime.status().workers {
        let name = worker.function.map_or("waits".to_owned(), |name| name.to_string());
        println!("{name:<12} {} holds {} KiB", worker.environment, worker.memory_bytes / 1024);
    }
}

async fn warm(runtime: &Arc<LocalRuntime>, plan: &Arc<Plan>) {
    runtime.prepare(plan).await.expect("it can be prepared");
    let waits = |runtime: &LocalRuntime| {
        let mut workers = runtime.status().workers.into_iter();
        workers.any(|worker| worker.function.is_none() && worker.environment == plan.environment)
    };
    while !waits(runtime) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Long enough for a worker that waits to load what it loads while it waits.
    tokio::time::sleep(Duration::from_millis(500)).await;
}

async fn measure(runtime: &Arc<LocalRuntime>, plan: &Arc<Plan>) -> u128 {
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (runtime, plan) = (Arc::clone(runtime), Arc::clone(plan));
        tasks.spawn(async move {
            let mut answered = 0_u128;
            while started.elapsed() < ROUND {
                call(&runtime, &plan).await;
                answered += 1;
            }
            answered
        });
    }
    let answered: u128 = tasks.join_all().await.into_iter().sum();
    answered * 1_000_000 / started.elapsed().as_micros()
}

async fn call(runtime: &LocalRuntime, plan: &Arc<Plan>) {
    let request = http::Request::get("/hello?name=y")
        .header("host", "localhost:8888")
        .header("user-agent", "bench")
        .header("accept", "*/*")
        .body(Body::Empty)
        .expect("the request is one");
    let id = RequestId(rand::random());
    let call = Call { id, request, parameters: Vec::new(), original: None, hops: 0, release: None };
    let answer = runtime.call(plan, call).await.expect("hello answers");
    assert!(matches!(answer.body(), Body::Full(_)));
}

async fn code(blobs: &Arc<dyn Blobs>, name: &str, source: &str) -> Content {
    let mut nodes = Vec::new();
    let chunked = chunk(&mut source.as_bytes(), &mut |node| {
        nodes.push(node);
        Ok(())
    });
    let chunked = chunked.expect("a small file is chunked");
    let mut builder = TreeBuilder::default();
    let entry = FileEntry { digest: chunked.digest, bytes: chunked.bytes, executable: false };
    builder.insert(&name.parse().expect("a path"), entry).expect("one file");
    let built = builder.build().expect("one file is a tree");
    nodes.extend(built.nodes);
    blobs.put(nodes).await.expect("memory takes everything");
    Content { tree: built.root, layout: Layout::File }
}

fn plan(runtime: RuntimeKind, name: &str, code: Content) -> Plan {
    Plan {
        access: folio_model::Access::Public,
        app: "default".parse().expect("a name"),
        function: "hello".parse().expect("a name"),
        unit: UnitUid(uuid::Uuid::from_u128(1)),
        at: Stage::Draft,
        digest: Digest::of(name.as_bytes()),
        environment: format!("{runtime:?}").to_lowercase().parse().expect("a name"),
        spec: EnvironmentSpec::of(runtime),
        code,
        entrypoint: None,
        variables: Variables::default(),
        files: Vec::new(),
        limits: RunLimits {
            timeout: Duration::from_secs(20),
            memory_bytes: 512 << 20,
            cpu_millis: None,
            concurrency: 128,
            idle: Duration::from_secs(60),
            scale_min: 0,
            scale_max: 1,
            requests_per_worker: None,
        },
        meter: Arc::default(),
    }
}
