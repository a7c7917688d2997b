//! What the gateway costs beside a bare hyper server that says the same, and whether that depends on the number of
//! routes or versions. All servers run in this process and are asked in turns by the same client over 64 kept connections. The
//! processor time of the servers' threads counts, too: on a busy machine it says more than the rate.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use folio_core::apply::{Apply, Document, Form, Others, Rest};
use folio_core::logs::Logs;
use folio_core::ports::Body;
use folio_core::ports::runtime::{
    BuildError, BuildLog, BuildOrder, Built, Call, CallError, Plan, Runtime, RuntimeStatus,
};
use folio_core::request::{ContentRef, Fields, Publish, Run, Start};
use folio_core::{Caller, Folio};
use folio_gateway::Settings;
use folio_model::{AppName, Kind, Owner, UnitKey};
use folio_store::DataDirectory;
use folio_testkit::clock::TestClock;
use folio_testkit::sample;
use http::Response;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

const CONNECTIONS: usize = 64;
/// Who publish at the same time, so that one sync of the disk serves many.
const PUBLISHERS: usize = 64;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(1_500);

/// Answers at once.
struct Hello;

#[async_trait]
impl Runtime for Hello {
    async fn call(&self, _plan: &Arc<Plan>, _call: Call) -> Result<Response<Body>, CallError> {
        Ok(Response::new(Body::Full(Bytes::from_static(b"hello"))))
    }

    async fn prepare(&self, _plan: &Arc<Plan>) -> Result<(), CallError> {
        Ok(())
    }

    fn retire(&self, _plan: &Arc<Plan>) {}

    async fn build(&self, _order: BuildOrder, _log: BuildLog) -> Result<Built, BuildError> {
        Err(BuildError::Unavailable("nothing is built here".to_owned()))
    }

    fn status(&self) -> RuntimeStatus {
        RuntimeStatus::default()
    }

    async fn stop(&self, _grace: Duration) {}
}

fn main() {
    let servers =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let asking =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut tasks = JoinSet::new();
    let _within = servers.enter();
    let mut places = vec![("bare hyper", servers.block_on(bare(&mut tasks)))];
    let few = Size { routes: 10, versions: 10 };
    let sizes = [
        ("10 routes, 10 versions", few),
        ("10,000 routes", Size { routes: 10_000, ..few }),
        ("100,000 versions", Size { versions: 100_000, ..few }),
    ];
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    for (name, size) in sizes {
        let data = directory.path().join(places.len().to_string());
        places.push((name, servers.block_on(gateway(&mut tasks, &data, size))));
    }
    let mut rates = vec![Vec::new(); places.len()];
    let mut costs = vec![Vec::new(); places.len()];
    for _ in 0..ROUNDS {
        for (at, (_, address)) in places.iter().enumerate() {
            let (rate, cost) = asking.block_on(ask(*address));
            rates[at].push(rate);
            costs[at].push(cost);
        }
    }
    let (rates, costs): (Vec<_>, Vec<_>) =
        (rates.into_iter().map(median).collect(), costs.into_iter().map(median).collect());
    for (at, (name, _)) in places.iter().enumerate() {
        let (rate, cost) = (rates[at], costs[at]);
        println!(
            "{name}: {rate:.0} requests/s, {:.3} of bare; {cost:.2} us of processor, {:.3} of bare",
            rate / rates[0],
            cost / costs[0]
        );
    }
    goal("the rate of the gateway / that of bare hyper", rates[1] / rates[0], AT_LEAST);
    goal("10,000 routes / 10, processor time of a request", costs[2] / costs[1], AT_MOST);
    goal("100,000 versions / 10, processor time of a request", costs[3] / costs[1], AT_MOST);
}

/// A goal, and whether a ratio reaches it.
type Goal = (&'static str, fn(f64) -> bool);

/// Within 25 % of a server that does nothing else.
const AT_LEAST: Goal = (">= 0.80", |ratio| ratio >= 0.8);
const AT_MOST: Goal = ("<= 1.20", |ratio| ratio <= 1.2);

fn goal(what: &str, ratio: f64, (goal, is_met): Goal) {
    let met = if is_met(ratio) { "met" } else { "MISSED" };
    println!("{what}: {ratio:.2} x (goal {goal} x: {met})");
}

/// How much there is in a store.
#[derive(Clone, Copy)]
struct Size {
    routes: usize,
    versions: usize,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Processor time of all threads but this one, in nanoseconds.
fn others_ns() -> u64 {
    let spent = |task: &std::path::Path| {
        let text = std::fs::read_to_string(task.join("schedstat")).unwrap_or_default();
        text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or_default()
    };
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux tells").flatten();
    let all: u64 = tasks.map(|task| spent(&task.path())).sum();
    all - spent(std::path::Path::new("/proc/thread-self"))
}

/// A server that does nothing else.
async fn bare(tasks: &mut JoinSet<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).expect("a socket");
            let hello = service_fn(|_| async {
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"hello"))))
            });
            connections.spawn(async move {
                drop(http1::Builder::new().serve_connection(TokioIo::new(stream), hello).await);
            });
        }
    });
    address
}

/// A gateway with so many routes to a function with so many versions.
async fn gateway(tasks: &mut JoinSet<()>, directory: &Path, size: Size) -> SocketAddr {
    let clock = Arc::new(TestClock::new(7));
    let data = DataDirectory::open(directory, clock.clone(), Duration::ZERO).await;
    let data = data.expect("a data directory");
    let folio =
        Folio::new(data.ledger.clone(), data.blobs.clone(), clock, folio_core::Settings::default())
            .with_runtime(Arc::new(Hello), data.queue.clone(), Arc::new(Logs::new(1024)));
    let caller = Caller::new("bench".parse().expect("a name"));
    folio.admit(&caller.actor, &folio.draw_token()).await.expect("the app is made");
    let content = sample::file(&folio, "main.js", "hello").await;
    let mut documents = function(content);
    documents.extend((0..size.routes).map(route));
    let wanted = Apply {
        deployment: Owner { uid: "bench".to_owned(), name: "bench".to_owned() },
        base: None,
        documents,
        known: Vec::new(),
        unread: Vec::new(),
        form: Form::Versions,
        rest: Rest::default(),
        others: Others::default(),
    };
    let app = AppName::default_app();
    folio.apply(&caller, &app, wanted, Run::Real).await.expect("the routes are made");
    publish(&folio, &caller, size.versions - 1).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tasks.spawn(folio_gateway::serve(listener, folio, Settings::default(), std::future::pending()));
    address
}

/// Publishes so many more versions of the function.
async fn publish(folio: &Folio, caller: &Caller, count: usize) {
    let name = "hello".parse().expect("a name");
    let key = UnitKey { app: AppName::default_app(), kind: Kind::Function, name };
    let mut publishers = JoinSet::new();
    for publisher in 0..PUBLISHERS {
        let (folio, caller, key) = (folio.clone(), caller.clone(), key.clone());
        publishers.spawn(async move {
            for _ in (publisher..count).step_by(PUBLISHERS) {
                let publish = Publish { start: Start::Latest, ..Publish::fresh(Fields::default()) };
                folio.publish(&caller, &key, publish).await.expect("it is published");
            }
        });
    }
    publishers.join_all().await;
}

/// The function that all routes lead to, with its package.
fn function(content: ContentRef) -> Vec<Document> {
    let environment = json!({ "name": "nodejs" });
    let package = json!({
        "apiVersion": "fission.io/v1", "kind": "Package",
        "metadata": { "name": "code" }, "spec": { "environment": environment },
    });
    let function = json!({
        "apiVersion": "fission.io/v1", "kind": "Function", "metadata": { "name": "hello" },
        "spec": { "environment": environment, "package": { "packageref": { "name": "code" } } },
    });
    let document = |manifest, deployment| Document {
        at: "hello.yaml:1".to_owned(),
        manifest,
        source: None,
        deployment,
    };
    vec![document(package, Some(content)), document(function, None)]
}

/// One of many routes: an exact path, a pattern or a prefix.
fn route(at: usize) -> Document {
    let mut spec = match at % 3 {
        0 => json!({ "relativeurl": format!("/hello/{at}") }),
        1 => json!({ "relativeurl": format!("/items/{at}/{{id:[0-9]+}}") }),
        _ => json!({ "prefix": format!("/files/{at}") }),
    };
    spec["functionref"] = json!({ "type": "name", "name": "hello" });
    let manifest = json!({
        "apiVersion": "fission.io/v1", "kind": "HTTPTrigger",
        "metadata": { "name": format!("r{at}") }, "spec": spec,
    });
    Document { at: format!("routes.yaml:{at}"), manifest, source: None, deployment: None }
}

/// Requests per second, and microseconds of processor that the servers took for each, over one round.
async fn ask(address: SocketAddr) -> (f64, f64) {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut askers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (stop, count) = (Arc::clone(&stop), Arc::clone(&count));
        askers.spawn(async move {
            let mut stream = TcpStream::connect(address).await.expect("the server listens");
            stream.set_nodelay(true).expect("a socket");
            let mut bytes = [0; 2048];
            while !stop.load(Ordering::Relaxed) {
                let request = b"GET /hello/9 HTTP/1.1\r\nHost: 127.0.0.1:8888\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";
                stream.write_all(request).await.expect("the server reads");
                let mut read = 0;
                while !bytes[..read].ends_with(b"hello") {
                    read += stream.read(&mut bytes[read..]).await.expect("the server answers");
                }
                assert!(bytes.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&bytes[..read]));
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let (start, spent) = (Instant::now(), others_ns());
    tokio::time::sleep(ROUND).await;
    let (asked, took) = (count.load(Ordering::Relaxed), start.elapsed());
    let spent = others_ns() - spent;
    stop.store(true, Ordering::Relaxed);
    while let Some(ended) = askers.join_next().await {
        ended.expect("no answer was wrong");
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate is an estimate")]
    let (asked, spent) = (asked as f64, spent as f64);
    (asked / took.as_secs_f64(), spent / 1000.0 / asked)
}
