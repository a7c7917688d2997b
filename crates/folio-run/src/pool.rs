//! The workers of one function version: which one gets a request, when there are more and when fewer.
//!
//! A request takes the least busy worker. If all are full, or none has finished anything for a while, another is
//! made, up to the version's scale; meanwhile requests wait in a queue with an end. `generic` keeps workers ready
//! that are not a function yet, `tend` is what happens without requests. Start at [`Pool::acquire`].

mod generic;
mod lease;
mod tend;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use folio_core::logs::{Printer, Stream};
use folio_core::ports::runtime::{CallError, Plan};
use folio_model::Timestamp;
use tokio::sync::oneshot;
use tokio::time::Instant;

pub(crate) use generic::Generics;
pub(crate) use lease::Lease;

use crate::host::Host;
use crate::network::denial_inside;
use crate::worker::{LOAD_MAX, Listener, Worker};

/// A worker that finished nothing for so long while it had requests does not keep up.
const SILENCE_MAX: Duration = Duration::from_millis(5);
/// A worker that lived shorter than this died of its code.
const SHORT_LIFE: Duration = Duration::from_secs(5);
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// The workers of one version.
pub(crate) struct Pool {
    pub(crate) plan: Arc<Plan>,
    host: Arc<Host>,
    generics: Arc<Generics>,
    state: Mutex<State>,
    // How many wait, for whoever finishes a request and must not take the lock each time.
    waiting: AtomicUsize,
}

struct State {
    workers: Vec<Arc<Worker>>,
    /// Workers that get no more requests and finish what they have.
    leaving: Vec<Arc<Worker>>,
    starting: u32,
    waiters: VecDeque<Waiter>,
    /// Workers that died young or could not be loaded, one after another.
    failures: u32,
    /// No new worker before this.
    not_before: Instant,
    /// The server had no place for a worker that nobody waits for: none is tried again before this.
    full_until: Instant,
    /// Whether the log says that there are fewer workers than are to be kept.
    told_full: bool,
    /// Why the code cannot be loaded, until it is tried again.
    refusal: Option<CallError>,
    retired: Option<Instant>,
    used: Instant,
}

type Waiter = oneshot::Sender<Result<Lease, CallError>>;

/// What a worker is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Requests: where the server is full, one that another version does not need makes room.
    Now,
    /// Requests that may come. It takes no place from anybody.
    Ahead,
}

/// How a request gets a worker.
enum Turn {
    Now(Lease),
    Later(oneshot::Receiver<Result<Lease, CallError>>, Duration),
    Never(CallError),
}

impl Pool {
    /// A version without workers.
    pub(crate) fn new(plan: Arc<Plan>, host: Arc<Host>, generics: Arc<Generics>) -> Arc<Self> {
        let now = Instant::now();
        let state = State {
            workers: Vec::new(),
            leaving: Vec::new(),
            starting: 0,
            waiters: VecDeque::new(),
            failures: 0,
            not_before: now,
            full_until: now,
            told_full: false,
            refusal: None,
            retired: None,
            used: now,
        };
        Arc::new(Self {
            plan,
            host,
            generics,
            state: Mutex::new(state),
            waiting: AtomicUsize::new(0),
        })
    }

    /// Gives a request its worker, waiting for one if need be.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Result<Lease, CallError> {
        let (receiver, patience) = match self.turn() {
            Turn::Now(lease) => {
                self.host.counts.warm.fetch_add(1, Ordering::Relaxed);
                return Ok(lease);
            }
            Turn::Never(error) => {
                if error == CallError::Busy {
                    self.host.counts.refused.fetch_add(1, Ordering::Relaxed);
                }
                return Err(error);
            }
            Turn::Later(receiver, patience) => (receiver, patience),
        };
        match tokio::time::timeout(patience, receiver).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(CallError::Stopping),
            // It never began, so nothing took too long but the others.
            Err(_) => {
                self.host.counts.refused.fetch_add(1, Ordering::Relaxed);
                Err(CallError::Busy)
            }
        }
    }

    fn turn(self: &Arc<Self>) -> Turn {
        if self.host.is_stopping() {
            return Turn::Never(CallError::Stopping);
        }
        let mut state = self.lock();
        if let Some(worker) = state.least_busy(self.plan.limits.concurrency) {
            let crowded = worker.busy.load(Ordering::Relaxed) > 0 && worker.silence() > SILENCE_MAX;
            let lease = self.hand_out(&mut state, &worker);
            if crowded && state.starting == 0 {
                self.start(&mut state, Need::Now);
            }
            return Turn::Now(lease);
        }
        let now = Instant::now();
        state.used = now;
        if let Some(refusal) = &state.refusal {
            if now < state.not_before {
                return Turn::Never(refusal.clone());
            }
            state.refusal = None;
        }
        if state.waiters.len() >= self.host.settings.waiting_max {
            return Turn::Never(CallError::Busy);
        }
        let (sender, receiver) = oneshot::channel();
        state.waiters.push_back(sender);
        self.waiting.store(state.waiters.len(), Ordering::Release);
        let mut patience = self.plan.limits.timeout;
        if !state.workers.iter().any(|worker| worker.takes_more()) {
            // Loading has a limit of its own; what a request may take begins when it has a worker.
            patience += LOAD_MAX;
            self.host.counts.cold.fetch_add(1, Ordering::Relaxed);
        } else {
            self.host.counts.warm.fetch_add(1, Ordering::Relaxed);
        }
        let expected = state.starting as usize * self.plan.limits.concurrency as usize;
        if expected < state.waiters.len() {
            self.start(&mut state, Need::Now);
        }
        Turn::Later(receiver, patience)
    }

    // Counts a request on a worker. The last one a worker may have makes room for its successor.
    fn hand_out(self: &Arc<Self>, state: &mut State, worker: &Arc<Worker>) -> Lease {
        worker.busy.fetch_add(1, Ordering::AcqRel);
        let given = worker.given.fetch_add(1, Ordering::Relaxed) + 1;
        if self.plan.limits.requests_per_worker.is_some_and(|max| given >= max) {
            worker.leaving.store(true, Ordering::Relaxed);
            state.workers.retain(|other| !Arc::ptr_eq(other, worker));
            state.leaving.push(Arc::clone(worker));
            self.start(state, Need::Ahead);
        }
        Lease::new(Arc::clone(worker), Arc::clone(self))
    }

    // Makes another worker in the background, if the version may have one.
    fn start(self: &Arc<Self>, state: &mut State, need: Need) {
        let count = state.workers.len() as u32 + state.starting;
        if count >= self.plan.limits.scale_max || self.host.is_stopping() {
            return;
        }
        state.starting += 1;
        let (pool, not_before) = (Arc::clone(self), state.not_before);
        self.host.spawn(async move {
            tokio::time::sleep_until(not_before).await;
            let made = pool.make(need).await;
            pool.settle(made, need);
        });
    }

    async fn make(self: &Arc<Self>, need: Need) -> Result<Arc<Worker>, CallError> {
        let code = self.host.codes.open(&self.plan.code);
        let (code, worker) = tokio::join!(code, self.generics.take(&self.plan, need));
        let (code, worker) = (code?, worker?);
        self.plan.meter.cold_start();
        let denial = denial_inside(self.host.jail.mode(), &self.plan);
        worker.specialise(&self.plan, code, denial, self.listener(&worker)).await?;
        worker.touch();
        Ok(worker)
    }

    fn listener(self: &Arc<Self>, worker: &Arc<Worker>) -> Listener {
        let (pool, known) = (Arc::downgrade(self), Arc::downgrade(worker));
        let finished = move |count| {
            if let (Some(pool), Some(worker)) = (pool.upgrade(), known.upgrade()) {
                pool.finished(&worker, count);
            }
        };
        let (pool, known) = (Arc::downgrade(self), Arc::downgrade(worker));
        let gone = move || {
            if let (Some(pool), Some(worker)) = (pool.upgrade(), known.upgrade()) {
                pool.gone(&worker);
            }
        };
        let (plan, logs) = (Arc::clone(&self.plan), Arc::clone(&self.host.ports.logs));
        let worker = Some(worker.pid());
        let line = move |request, from, text: &str| {
            let stream = match from {
                2 => Stream::Stderr,
                3 => Stream::System,
                _ => Stream::Stdout,
            };
            logs.add(&plan, Timestamp::now(), stream, Printer { request, worker }, text);
        };
        Listener { finished: Box::new(finished), line: Box::new(line), gone: Box::new(gone) }
    }

    // A worker that was being made is there, or will not be.
    fn settle(self: &Arc<Self>, made: Result<Arc<Worker>, CallError>, need: Need) {
        let mut state = self.lock();
        state.starting -= 1;
        match made {
            Ok(worker) => {
                state.refusal = None;
                if worker.is_open() {
                    state.workers.push(worker);
                } else {
                    state.back_off();
                    self.refill(&mut state);
                }
                self.serve_waiters(&mut state);
            }
            Err(CallError::Full) if need == Need::Ahead && state.starting == 0 => {
                self.no_room(&mut state);
                if !state.waiters.is_empty() {
                    // Requests came meanwhile, which may have a place made for them.
                    self.start(&mut state, Need::Now);
                }
            }
            Err(error) => {
                if error != CallError::Full {
                    state.back_off();
                }
                if let CallError::Load(_) | CallError::Damaged(_) | CallError::Unavailable(_) =
                    error
                {
                    state.refusal = Some(error.clone());
                }
                // Whoever waits could still be served by a worker there is.
                if state.workers.is_empty() && state.starting == 0 {
                    self.refuse_waiters(&mut state, &error);
                }
            }
        }
    }

    fn refuse_waiters(&self, state: &mut State, error: &CallError) {
        let waiters = state.waiters.drain(..).filter(|waiter| !waiter.is_closed());
        let told = waiters.map(|waiter| drop(waiter.send(Err(error.clone())))).count();
        self.waiting.store(0, Ordering::Release);
        if matches!(error, CallError::Busy | CallError::Full) {
            self.host.counts.refused.fetch_add(told as u64, Ordering::Relaxed);
        }
    }

    // Called for every batch of answers, so the lock is taken only if somebody waits.
    fn finished(self: &Arc<Self>, worker: &Arc<Worker>, count: usize) {
        let left = worker.finished(count);
        self.freed(worker, left);
    }

    // A place on a worker was not used after all.
    fn returned(self: &Arc<Self>, worker: &Arc<Worker>) {
        worker.given.fetch_sub(1, Ordering::Relaxed);
        let left = worker.busy.fetch_sub(1, Ordering::AcqRel) - 1;
        self.freed(worker, left);
    }

    fn freed(self: &Arc<Self>, worker: &Worker, left: u32) {
        if worker.leaving.load(Ordering::Relaxed) {
            if left == 0 {
                worker.end("it served what it was made for");
            }
        } else if self.waiting.load(Ordering::Acquire) > 0 {
            self.serve_waiters(&mut self.lock());
        }
    }

    fn gone(self: &Arc<Self>, worker: &Arc<Worker>) {
        let mut state = self.lock();
        let count = state.workers.len();
        state.workers.retain(|other| !Arc::ptr_eq(other, worker));
        state.leaving.retain(|other| !Arc::ptr_eq(other, worker));
        if state.workers.len() == count || worker.leaving.load(Ordering::Relaxed) {
            return;
        }
        if worker.since.elapsed() < SHORT_LIFE {
            state.back_off();
        } else {
            state.failures = 0;
        }
        self.refill(&mut state);
    }

    /// Makes as many workers as are wanted now.
    fn refill(self: &Arc<Self>, state: &mut State) {
        let kept = state.retired.is_none() && state.full_until <= Instant::now();
        let wanted = if kept { self.scale_min() } else { 0 };
        let waiting = state.waiters.len().div_ceil(self.plan.limits.concurrency.max(1) as usize);
        while (state.workers.len() as u32 + state.starting) < wanted
            || (state.starting as usize) < waiting
        {
            let before = state.starting;
            let need = if (before as usize) < waiting { Need::Now } else { Need::Ahead };
            self.start(state, need);
            if state.starting == before {
                return;
            }
        }
    }

    fn serve_waiters(self: &Arc<Self>, state: &mut State) {
        while !state.waiters.is_empty() {
            let Some(worker) = state.least_busy(self.plan.limits.concurrency) else { break };
            let Some(waiter) = state.waiters.pop_front() else { break };
            if waiter.is_closed() {
                continue;
            }
            let lease = self.hand_out(state, &worker);
            // The lock is held, and a lease that comes back would take it again.
            if let Err(Ok(lease)) = waiter.send(Ok(lease)) {
                lease.give_back_unlocked();
            }
        }
        self.waiting.store(state.waiters.len(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the lock")
    }
}

impl State {
    fn least_busy(&self, concurrency: u32) -> Option<Arc<Worker>> {
        let safe = self.workers.iter().filter(|worker| worker.takes_more());
        let least = safe.min_by_key(|worker| worker.busy.load(Ordering::Relaxed))?;
        (least.busy.load(Ordering::Acquire) < concurrency).then(|| Arc::clone(least))
    }

    // The first failure costs nothing: it may be the only one.
    fn back_off(&mut self) {
        let doubled = BACKOFF_MIN * 2_u32.saturating_pow(self.failures.min(10));
        self.failures += 1;
        self.not_before = Instant::now() + doubled.min(BACKOFF_MAX);
    }
}
