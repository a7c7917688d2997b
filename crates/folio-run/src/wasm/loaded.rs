//! One version, ready to run: its code linked to what the host offers, the instances that wait for another
//! request, and the room it has.

use std::any::Any;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use folio_core::ports::runtime::{CallError, Invoke, Plan, WorkerStatus};
use folio_model::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use wasmtime_wasi_http::p2::bindings::ProxyPre;

use super::command::Process;
use super::component::{Instance, State};
use super::engine::Ticker;
use super::guest::Afterwork;
use super::output::Journal;

/// Instances of one version that wait for another request, at most.
const IDLE_MAX: usize = 64;

/// Requests that wait for room, for each there is room for.
const WAITING_PER_PLACE: u32 = 4;

/// A version's code, linked.
pub(super) enum Linked {
    /// Serves `wasi:http`.
    Component(Arc<ProxyPre<State>>),
    /// Runs once for each request.
    Command(wasmtime::InstancePre<Process>),
}

/// What all instances of a version share.
pub(super) struct Host {
    /// Where their lines go.
    pub(super) journal: Journal,
    /// Passes their calls to other functions.
    pub(super) invoke: Arc<OnceLock<Invoke>>,
    /// Interrupts them.
    pub(super) ticker: Arc<Ticker>,
    /// Where they go on after their answer ended.
    pub(super) afterwork: Arc<Afterwork>,
    /// What they may read under `/code`.
    pub(super) files: Option<PathBuf>,
    /// Keeps those files where they are.
    #[expect(dead_code, reason = "holding it is all it is for")]
    pub(super) keep: Option<Arc<dyn Any + Send + Sync>>,
    /// Memory of all of them.
    pub(super) memory: AtomicU64,
}

/// A version, ready to run.
pub(super) struct Loaded {
    /// The plan it was loaded for. Other plans of the same function and digest behave alike.
    pub(super) plan: Arc<Plan>,
    /// The code.
    pub(super) linked: Linked,
    /// What its instances share.
    pub(super) host: Arc<Host>,
    idle: Mutex<Vec<Idle>>,
    room: Arc<Semaphore>,
    places: u32,
    waiting: AtomicU32,
    served: AtomicU64,
    started_at: Timestamp,
}

struct Idle {
    instance: Instance,
    since: Instant,
}

impl Loaded {
    /// Starts without instances.
    pub(super) fn new(plan: Arc<Plan>, linked: Linked, host: Arc<Host>) -> Self {
        let limits = &plan.limits;
        let places = limits.scale_max.max(1).saturating_mul(limits.concurrency.max(1));
        // A version never needs more places than the pool has instances.
        let places = places.min(10_000);
        Self {
            linked,
            host,
            idle: Mutex::default(),
            room: Arc::new(Semaphore::new(places as usize)),
            places,
            waiting: AtomicU32::new(0),
            served: AtomicU64::new(0),
            started_at: Timestamp::now(),
            plan,
        }
    }

    /// Waits for room, within the time a request may take.
    pub(super) async fn admit(&self) -> Result<OwnedSemaphorePermit, CallError> {
        self.served.fetch_add(1, Ordering::Relaxed);
        if let Ok(place) = Arc::clone(&self.room).try_acquire_owned() {
            return Ok(place);
        }
        let _waiting = self.queue().ok_or(CallError::Busy)?;
        let place = Arc::clone(&self.room).acquire_owned();
        match tokio::time::timeout(self.plan.limits.timeout, place).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(CallError::Stopping),
            Err(_) => Err(CallError::Busy),
        }
    }

    fn queue(&self) -> Option<Waiting<'_>> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(&self.waiting);
        (before < self.places.saturating_mul(WAITING_PER_PLACE)).then_some(waiting)
    }

    /// An instance that waits, if one does.
    pub(super) fn take(&self) -> Option<Instance> {
        self.lock().pop().map(|idle| idle.instance)
    }

    /// Keeps an instance for the next request, unless it served enough or too many wait.
    pub(super) fn give_back(&self, instance: Instance) {
        if instance.served() >= self.requests_max() {
            return;
        }
        let mut idle = self.lock();
        if idle.len() < IDLE_MAX {
            idle.push(Idle { instance, since: Instant::now() });
        }
    }

    /// How many requests one instance serves.
    pub(super) fn requests_max(&self) -> u32 {
        self.plan.limits.requests_per_worker.unwrap_or(1)
    }

    /// Drops instances that nobody wanted for too long.
    pub(super) fn sweep(&self) {
        let limit = self.plan.limits.idle;
        let gone: Vec<Idle> = {
            let mut idle = self.lock();
            // The last given back is the first taken, so the longest idle come first.
            let stay = idle.partition_point(|idle| idle.since.elapsed() > limit);
            idle.drain(..stay).collect()
        };
        drop(gone);
    }

    /// Whether a request is being served.
    pub(super) fn is_busy(&self) -> bool {
        self.busy() > 0
    }

    /// Requests so far.
    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// What it is doing.
    pub(super) fn status(&self) -> WorkerStatus {
        WorkerStatus {
            environment: self.plan.environment.clone(),
            app: Some(self.plan.app.clone()),
            function: Some(self.plan.function.clone()),
            version: Some(self.plan.at.to_string()),
            pid: None,
            started_at: self.started_at,
            busy: self.busy(),
            served: self.served(),
            memory_bytes: self.host.memory.load(Ordering::Relaxed),
        }
    }

    fn busy(&self) -> u32 {
        let free = u32::try_from(self.room.available_permits()).unwrap_or(u32::MAX);
        self.places.saturating_sub(free)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().expect("no holder panics")
    }
}

struct Waiting<'a>(&'a AtomicU32);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
