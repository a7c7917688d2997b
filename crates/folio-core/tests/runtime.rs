//! A runtime that follows a script, and platforms that have one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use folio_core::logs::Logs;
use folio_core::ports::runtime::{
    BuildError, BuildLog, BuildOrder, Built, BuiltDirectory, Call, CallError, Invoke, Plan,
    RequestId, RuntimeStatus,
};
use folio_core::ports::{Body, Executions, Ledger, Queue, Runtime};
use folio_core::request::Caller;
use folio_core::{Folio, Limits, Settings};
use folio_model::Reference;
use folio_store::{DataDirectory, MemoryIndex, MemoryLedger, MemoryQueue, PackOptions, PackStore};
use folio_testkit::clock::TestClock;
use tokio::sync::watch;

use crate::world::{World, app};

/// What the next build does.
pub(crate) enum Script {
    /// Makes files.
    Make(Vec<(&'static str, &'static str)>),
    /// Says no.
    Fail(&'static str),
    /// Cannot run.
    Unavailable,
    /// Waits until it is let go, then makes files.
    Hold(Vec<(&'static str, &'static str)>),
}

/// Answers calls with the version that was called, and builds by script.
#[derive(Default)]
pub(crate) struct Stub {
    pub(crate) script: Mutex<VecDeque<Script>>,
    /// What happened, in order: `prepare hello@v1`, `retire hello@v1`, `build`.
    pub(crate) events: Mutex<Vec<String>>,
    /// How many things happened.
    pub(crate) seen: watch::Sender<usize>,
    pub(crate) gate: tokio::sync::Notify,
    /// The status of answers, if it is another than 200.
    pub(crate) status: Mutex<Option<u16>>,
    /// What a call fails with.
    pub(crate) failure: Mutex<Option<CallError>>,
    /// Whether calls wait until they are let go.
    pub(crate) holds: std::sync::atomic::AtomicBool,
    /// How functions named `outer` call `hello` before they answer.
    pub(crate) inner: Mutex<Option<Invoke>>,
    /// The releases in which calls came.
    pub(crate) releases: Mutex<Vec<Option<String>>>,
}

impl Stub {
    fn note(&self, event: String) {
        let mut events = self.events.lock().unwrap();
        events.push(event);
        self.seen.send_replace(events.len());
    }

    pub(crate) fn then(&self, script: Script) {
        self.script.lock().unwrap().push_back(script);
    }

    pub(crate) fn happened(&self, event: &str) -> usize {
        self.events.lock().unwrap().iter().filter(|seen| *seen == event).count()
    }

    /// Waits until something happened so many times.
    pub(crate) async fn await_event(&self, event: &str, times: usize) {
        let mut seen = self.seen.subscribe();
        while self.happened(event) < times {
            seen.changed().await.unwrap();
        }
    }
}

fn name(plan: &Plan) -> String {
    format!("{}@{}", plan.function, plan.at)
}

#[async_trait]
impl Runtime for Stub {
    async fn call(&self, plan: &Arc<Plan>, asked: Call) -> Result<http::Response<Body>, CallError> {
        let release = asked.release.as_ref().map(|release| release.id.to_string());
        self.releases.lock().unwrap().push(release);
        self.note(format!("call {}", name(plan)));
        let inner = self.inner.lock().unwrap().clone();
        if let Some(inner) = inner.filter(|_| plan.function.as_str() == "outer") {
            // As a worker does it: what is called from here is of the same release.
            let nested = Call { release: asked.release, ..call(asked.hops + 1) };
            inner(Arc::clone(plan), reference("hello"), nested).await?;
        }
        if self.holds.load(std::sync::atomic::Ordering::SeqCst) {
            self.gate.notified().await;
        }
        if let Some(failure) = self.failure.lock().unwrap().clone() {
            return Err(failure);
        }
        let mut answer = http::Response::new(Body::Full(Bytes::from(name(plan))));
        if let Some(status) = *self.status.lock().unwrap() {
            *answer.status_mut() = status.try_into().unwrap();
        }
        Ok(answer)
    }

    async fn prepare(&self, plan: &Arc<Plan>) -> Result<(), CallError> {
        self.note(format!("prepare {}", name(plan)));
        Ok(())
    }

    fn retire(&self, plan: &Arc<Plan>) {
        self.note(format!("retire {}", name(plan)));
    }

    async fn build(&self, order: BuildOrder, log: BuildLog) -> Result<Built, BuildError> {
        self.note("build".to_owned());
        log.send(Bytes::from(format!("building in {:?}\n", order.spec.runtime))).await.unwrap();
        let next = self.script.lock().unwrap().pop_front();
        let files = match next {
            Some(Script::Make(files)) => files,
            Some(Script::Hold(files)) => {
                self.gate.notified().await;
                files
            }
            Some(Script::Fail(why)) => return Err(BuildError::Failed(why.to_owned())),
            Some(Script::Unavailable) => {
                return Err(BuildError::Unavailable("no room".to_owned()));
            }
            None => panic!("no build was expected"),
        };
        let directory = tempfile::tempdir().unwrap().keep();
        for (path, text) in files {
            let path = directory.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Ok(Built { directory: BuiltDirectory(directory) })
    }

    fn status(&self) -> RuntimeStatus {
        RuntimeStatus { warm_starts: 7, ..RuntimeStatus::default() }
    }

    async fn stop(&self, _: Duration) {}
}

/// A platform whose functions run by script.
pub(crate) struct Running {
    pub(crate) world: World,
    pub(crate) stub: Arc<Stub>,
    /// What a data directory needs to stay.
    _directory: Option<tempfile::TempDir>,
}

/// A platform in memory.
pub(crate) async fn running() -> Running {
    running_on(Arc::new).await
}

/// A platform in memory, on a ledger of the test's making.
pub(crate) async fn running_on<L: Ledger>(wrap: impl FnOnce(MemoryLedger) -> Arc<L>) -> Running {
    running_with(Limits::default(), wrap).await
}

/// As [`running_on`], within limits of the test's making.
pub(crate) async fn running_with<L: Ledger>(
    limits: Limits,
    wrap: impl FnOnce(MemoryLedger) -> Arc<L>,
) -> Running {
    let clock = Arc::new(TestClock::new(1));
    let index = MemoryIndex::default();
    let options = PackOptions { grace: Duration::ZERO };
    let blobs = PackStore::in_memory(index.clone(), clock.clone(), options).await.unwrap();
    let settings = Settings { grace: Duration::ZERO, limits, ..Settings::default() };
    let ledger = wrap(MemoryLedger::new(index));
    let folio = Folio::new(ledger, Arc::new(blobs), Arc::clone(&clock) as Arc<_>, settings);
    with(folio, clock, Arc::new(MemoryQueue::default()), None).await
}

/// Two platforms on the same stores, as one is before and after a restart.
pub(crate) async fn before_and_after() -> (Running, Running) {
    let clock = Arc::new(TestClock::new(1));
    let index = MemoryIndex::default();
    let options = PackOptions { grace: Duration::ZERO };
    let blobs = PackStore::in_memory(index.clone(), clock.clone(), options).await.unwrap();
    let (blobs, ledger) = (Arc::new(blobs), Arc::new(MemoryLedger::new(index)));
    let server = || {
        let settings = Settings { grace: Duration::ZERO, ..Settings::default() };
        let folio = Folio::new(ledger.clone(), blobs.clone(), clock.clone(), settings);
        with(folio, clock.clone(), Arc::new(MemoryQueue::default()), None)
    };
    (server().await, server().await)
}

/// A platform in a data directory.
pub(crate) async fn running_on_disk() -> Running {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::new(1));
    let data = DataDirectory::open(directory.path(), clock.clone(), Duration::ZERO).await.unwrap();
    let settings = Settings { grace: Duration::ZERO, ..Settings::default() };
    let folio = Folio::new(data.ledger, data.blobs, Arc::clone(&clock) as Arc<_>, settings);
    with(folio, clock, data.queue, Some(directory)).await
}

async fn with<Q: Queue + Executions + 'static>(
    folio: Folio,
    clock: Arc<TestClock>,
    queue: Arc<Q>,
    directory: Option<tempfile::TempDir>,
) -> Running {
    let stub = Arc::new(Stub::default());
    let logs = Arc::new(Logs::new(64 * 1024));
    let folio = folio.with_runtime(Arc::clone(&stub) as Arc<_>, queue.clone(), logs);
    let folio = folio.with_executions(queue);
    let token = folio.draw_token();
    folio.admit(&"admin".parse().unwrap(), &token).await.unwrap();
    let world = World { folio, clock, caller: Caller::new("ada".parse().unwrap()) };
    Running { world, stub, _directory: directory }
}

pub(crate) fn call(hops: u32) -> Call {
    Call {
        id: RequestId(1),
        request: http::Request::new(Body::Empty),
        parameters: Vec::new(),
        original: None,
        hops,
        release: None,
    }
}

pub(crate) fn reference(text: &str) -> Reference {
    text.parse().unwrap()
}

impl Running {
    /// The same platform with another queue and other logs.
    pub(crate) fn with_queue(mut self, queue: Arc<dyn Queue>, logs: Arc<Logs>) -> Self {
        let stub = Arc::clone(&self.stub) as Arc<_>;
        self.world.folio = self.world.folio.with_runtime(stub, queue, logs);
        self
    }

    /// The version that answers a call, or why none does.
    pub(crate) async fn answers(&self, to: &str) -> Result<String, folio_core::invoke::Error> {
        let called =
            self.world.folio.invoke(&self.world.caller, (&app(), &reference(to)), call(0)).await;
        called.map(|(plan, _)| name(&plan))
    }
}
