//! The `wasm` environment: components that serve `wasi:http` 0.2 and core modules with WASI preview 1, in one
//! engine inside this process. Start at [`Wasm::call`].
//!
//! Code is compiled once and kept on disk (`artifact`), linked once per version (`loaded`), and given a
//! fresh instance for each request, or one that serves many where the version says so. A guest is run by
//! whoever waits for it (`guest`); it has no network and no files unless its environment and package give it
//! some.

mod answer;
mod artifact;
mod command;
mod component;
mod engine;
mod failure;
mod guest;
mod limits;
mod loaded;
mod locate;
mod network;
mod output;
mod request;
mod secure;
mod versions;

use std::any::Any;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use folio_core::logs::Logs;
use folio_core::ports::Body;
use folio_core::ports::Clock;
use folio_core::ports::runtime::{Call, CallError, Invoke, Plan, RuntimeStatus};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use artifact::{Artifacts, Code};
use component::Instance;
use engine::Ticker;
use guest::{Afterwork, Guest, Head, Run, Work};
use loaded::{Host, Linked, Loaded};
use output::Journal;
use request::{Caller, Incoming};
use versions::Versions;

use crate::invoke::Lineage;

/// Versions compiled at the same time. Each already uses every core.
const COMPILING_MAX: usize = 2;

/// How much room wasm gets.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Instances at the same time, of all versions together.
    pub instances_max: u32,
    /// Bytes of one wasm file.
    pub code_bytes_max: u64,
    /// Bytes of compiled code kept on disk.
    pub cache_bytes_max: u64,
    /// How long a version without pointers and requests stays loaded.
    pub warm_for: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            instances_max: 1_000,
            code_bytes_max: 128 * 1024 * 1024,
            cache_bytes_max: 4 * 1024 * 1024 * 1024,
            warm_for: Duration::from_secs(600),
        }
    }
}

/// The files of a version, as the caller has them on disk.
pub struct Source {
    /// The wasm file, or a directory in which the entry point names it or in which it is the only one.
    pub path: PathBuf,
    /// Keeps the files where they are for as long as the version is loaded.
    pub keep: Option<Arc<dyn Any + Send + Sync>>,
}

/// What guests reach outside.
#[derive(Clone)]
pub struct Outside {
    /// Where their output goes.
    pub logs: Arc<Logs>,
    /// What their lines are dated by.
    pub clock: Arc<dyn Clock>,
    /// How they call other functions.
    pub invoke: Arc<OnceLock<Invoke>>,
}

/// Runs wasm.
pub struct Wasm {
    shared: Arc<Shared>,
    ticker: Arc<Ticker>,
}

struct Shared {
    artifacts: Artifacts,
    components: wasmtime::component::Linker<component::State>,
    modules: wasmtime::Linker<command::Process>,
    versions: Versions,
    outside: Outside,
    afterwork: Arc<Afterwork>,
    compiling: Semaphore,
    settings: Settings,
    stopping: AtomicBool,
    cold: AtomicU64,
    refused: AtomicU64,
}

impl Wasm {
    /// Makes the engine and takes the directory where compiled code is kept.
    pub fn new(cache: PathBuf, outside: Outside, settings: Settings) -> io::Result<Self> {
        let odd = |error: wasmtime::Error| io::Error::other(format!("{error:#}"));
        let engine = engine::engine(settings.instances_max).map_err(odd)?;
        let shared = Arc::new(Shared {
            artifacts: Artifacts::open(cache, engine.clone(), settings.cache_bytes_max)?,
            components: component::linker(&engine).map_err(odd)?,
            modules: command::linker(&engine).map_err(odd)?,
            versions: Versions::default(),
            outside,
            afterwork: Arc::default(),
            compiling: Semaphore::new(COMPILING_MAX),
            settings,
            stopping: AtomicBool::new(false),
            cold: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let weak = Arc::downgrade(&shared);
        let sweep = move || {
            if let Some(shared) = weak.upgrade() {
                shared.versions.sweep(shared.settings.warm_for);
            }
        };
        let ticker = Arc::new(Ticker::start(engine, sweep)?);
        Ok(Self { shared, ticker })
    }

    /// Passes a request to an instance of the version and returns when its answer begins. The answer's body
    /// streams; dropping it ends the guest. `code` is asked only for a version that is not loaded.
    pub async fn call<F, Files>(
        &self,
        plan: &Arc<Plan>,
        code: F,
        mut call: Call,
    ) -> Result<http::Response<Body>, CallError>
    where
        F: FnOnce() -> Files,
        Files: Future<Output = Result<Source, CallError>> + Send,
    {
        let loaded = match self.shared.versions.ready(plan) {
            Some(loaded) => loaded?,
            None => Box::pin(self.load(plan, code())).await?,
        };
        if self.shared.stopping.load(Ordering::Relaxed) {
            return Err(CallError::Stopping);
        }
        let place = match loaded.admit().await {
            Ok(place) => place,
            Err(error) => {
                self.shared.refused.fetch_add(1, Ordering::Relaxed);
                return Err(error);
            }
        };
        request::complete(&mut call);
        let method = call.request.method().clone();
        let (mut guest, head) = start(loaded, plan, call, place);
        let answer = guest.begin(head).await?;
        answer::respond(guest, answer, &method)
    }

    /// Compiles and links a version ahead of its first request.
    pub async fn prepare<Files>(&self, plan: &Arc<Plan>, code: Files) -> Result<(), CallError>
    where
        Files: Future<Output = Result<Source, CallError>> + Send,
    {
        self.shared.versions.hold(plan);
        match self.shared.versions.ready(plan) {
            Some(loaded) => loaded.map(drop),
            None => Box::pin(self.load(plan, code)).await.map(drop),
        }
    }

    /// Says that a version lost its last pointer. It stays loaded for a window, and for as long as it is called.
    pub fn retire(&self, plan: &Plan) {
        self.shared.versions.retire(plan);
    }

    /// What it is doing.
    pub fn status(&self) -> RuntimeStatus {
        let (workers, served) = self.shared.versions.status();
        let cold_starts = self.shared.cold.load(Ordering::Relaxed);
        let refused_starts = self.shared.refused.load(Ordering::Relaxed);
        RuntimeStatus {
            enforcement: Vec::new(),
            workers,
            warm_starts: served.saturating_sub(cold_starts + refused_starts),
            cold_starts,
            refused_starts,
        }
    }

    /// Refuses new requests and waits, within the time given, for guests that go on after their answer.
    pub async fn stop(&self, grace: Duration) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        if tokio::time::timeout(grace, self.shared.afterwork.drain()).await.is_err() {
            tracing::warn!("Ended wasm functions that went on after their answer");
        }
        self.shared.versions.clear();
    }

    async fn load(
        &self,
        plan: &Arc<Plan>,
        code: impl Future<Output = Result<Source, CallError>> + Send,
    ) -> Result<Arc<Loaded>, CallError> {
        let make = async {
            let source = code.await?;
            let _turn = self.shared.compiling.acquire().await.map_err(|_| CallError::Stopping)?;
            self.shared.cold.fetch_add(1, Ordering::Relaxed);
            plan.meter.cold_start();
            let (shared, ticker) = (Arc::clone(&self.shared), Arc::clone(&self.ticker));
            let plan = Arc::clone(plan);
            let made = tokio::task::spawn_blocking(move || shared.make(plan, source, ticker)).await;
            made.map_err(|error| CallError::Unavailable(error.to_string()))?
        };
        self.shared.versions.load(plan, make).await
    }
}

impl Shared {
    /// Compiles or finds compiled, and links.
    fn make(
        &self,
        plan: Arc<Plan>,
        source: Source,
        ticker: Arc<Ticker>,
    ) -> Result<Arc<Loaded>, CallError> {
        let found = locate::locate(&source.path, plan.entrypoint.as_deref())?;
        let wasm = locate::read(&found.file, self.settings.code_bytes_max)?;
        let linked = match self.artifacts.load(&wasm).map_err(CallError::Load)? {
            Code::Component(component) => {
                Linked::Component(Arc::new(component::link(&self.components, &component)?))
            }
            Code::Module(module) => Linked::Command(command::link(&self.modules, &module)?),
        };
        let Outside { logs, clock, invoke } = self.outside.clone();
        let host = Host {
            journal: Journal { logs, clock },
            invoke,
            ticker,
            afterwork: Arc::clone(&self.afterwork),
            files: found.directory,
            keep: source.keep,
            memory: AtomicU64::new(0),
        };
        Ok(Arc::new(Loaded::new(plan, linked, Arc::new(host))))
    }
}

/// Sets a guest to work on a request. Nothing of it runs yet.
fn start(
    loaded: Arc<Loaded>,
    plan: &Arc<Plan>,
    call: Call,
    place: OwnedSemaphorePermit,
) -> (Guest, Head) {
    let (id, lineage) = (call.id, Lineage::of(&call));
    let caller = Caller { plan: Arc::clone(plan), id, lineage };
    let request = call.request;
    let (parts, body) = request.into_parts();
    let (body, broken) = Incoming::new(body);
    let request = http::Request::from_parts(parts, body);
    let host = &loaded.host;
    let (run, head): (Run, Head) = match &loaded.linked {
        Linked::Component(pre) => {
            let reused = loaded.requests_max() > 1;
            let waiting = if reused { loaded.take() } else { None };
            let instance = match waiting {
                Some(mut instance) => {
                    instance.begin(&caller);
                    instance
                }
                None => Instance::new(pre.engine(), host, &caller),
            };
            let (answer, head) = oneshot::channel();
            let pre = Arc::clone(pre);
            let run = async move {
                let instance = instance.serve(&pre, request, answer).await?;
                Ok(reused.then_some(instance))
            };
            (Box::pin(run), Head::Component(head))
        }
        Linked::Command(pre) => {
            let engine = pre.module().engine();
            let (start, reader) = command::prepare(engine, host, &caller, request);
            let pre = pre.clone();
            let run = async move { command::run(pre, start).await.map(|()| None) };
            (Box::pin(run), Head::Command(reader))
        }
    };
    let work = Work { caller, broken, place, loaded };
    (Guest::new(work, run), head)
}
