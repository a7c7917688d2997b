//! What a pool does without requests: ends what takes too long, lets go of idle workers, keeps the least number,
//! and empties itself when its version is no longer pointed at.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use folio_core::logs::{Printer, Stream};
use folio_core::ports::runtime::{CallError, Scale, WorkerStatus};
use folio_model::Timestamp;
use tokio::time::Instant;

use super::{BACKOFF_MAX, Need, Pool, State};
use crate::keep::Kept;
use crate::worker::Worker;

impl Pool {
    /// Ends requests whose time is over.
    pub(crate) fn tick(&self) {
        self.all().iter().for_each(|worker| worker.tick());
    }

    /// Lets go of idle workers and makes missing ones. Says whether the pool is of any more use.
    pub(crate) fn tend(self: &Arc<Self>, keep_warm: Duration) -> bool {
        let mut state = self.lock();
        let kept = Kept::of(&self.plan.limits, state.retired, keep_warm);
        let leaving = state.leave(kept.count, kept.idle);
        // Those who gave up would still be made workers for.
        state.waiters.retain(|waiter| !waiter.is_closed());
        self.waiting.store(state.waiters.len(), Ordering::Release);
        self.refill(&mut state);
        let none = state.workers.is_empty() && state.leaving.is_empty();
        let empty = none && state.starting == 0 && state.waiters.is_empty();
        let unused = state.used.elapsed() >= self.plan.limits.idle.max(keep_warm);
        drop(state);
        leaving.iter().for_each(|worker| worker.end("it was idle"));
        !(empty && (kept.expired || unused))
    }

    /// The version lost its last pointer.
    pub(crate) fn retire(&self) {
        let mut state = self.lock();
        state.retired = state.retired.or(Some(Instant::now()));
    }

    /// Makes more workers or lets some go, whatever requests ask for.
    pub(crate) fn scale(self: &Arc<Self>, scale: Scale) {
        let mut state = self.lock();
        state.used = Instant::now();
        let leaving = match scale {
            Scale::Up(count) => {
                (0..count).for_each(|_| self.start(&mut state, Need::Now));
                Vec::new()
            }
            Scale::Down(count) => {
                let kept = state.workers.len().saturating_sub(count as usize);
                state.leave(kept.max(1), Duration::ZERO)
            }
            Scale::Away => {
                let idle = state.leave(0, Duration::ZERO);
                let busy = std::mem::take(&mut state.workers);
                busy.iter().for_each(|worker| worker.leaving.store(true, Ordering::Relaxed));
                state.leaving.extend(busy);
                idle
            }
        };
        drop(state);
        leaving.iter().for_each(|worker| worker.end("somebody asked for fewer"));
    }

    /// The version is pointed at: waits until it has the least number of workers.
    pub(crate) async fn prepare(self: &Arc<Self>) -> Result<(), CallError> {
        let complete = self.revive();
        self.generics.warm(&self.plan);
        if !complete {
            // Whether the code loads is known when a request could be served.
            drop(self.acquire().await?);
        }
        Ok(())
    }

    // Says whether it has as many workers as it must.
    fn revive(self: &Arc<Self>) -> bool {
        let mut state = self.lock();
        let now = Instant::now();
        (state.retired, state.used, state.full_until) = (None, now, now);
        state.told_full = false;
        if self.scale_min() < self.plan.limits.scale_min {
            self.tell_full(&mut state);
        }
        let complete = state.workers.len() >= self.scale_min() as usize;
        self.refill(&mut state);
        complete
    }

    /// How many workers it is to have at least, of those that there can be.
    pub(super) fn scale_min(&self) -> u32 {
        self.plan.limits.scale_min.min(self.host.settings.workers_max)
    }

    /// A worker that nobody waits for has no place.
    pub(super) fn no_room(&self, state: &mut State) {
        state.full_until = Instant::now() + BACKOFF_MAX;
        if state.workers.len() < self.plan.limits.scale_min as usize {
            self.tell_full(state);
        }
    }

    /// Has the log say, once, that there are fewer workers than are to be kept.
    fn tell_full(&self, state: &mut State) {
        if state.told_full {
            return;
        }
        state.told_full = true;
        let (min, max) = (self.plan.limits.scale_min, self.host.settings.workers_max);
        let text = format!(
            "not all of the {min} workers that are to be kept have a place: all functions together have {max} (`workersMax`)"
        );
        let (printer, now) = (Printer::default(), Timestamp::now());
        self.host.ports.logs.add(&self.plan, now, Stream::System, printer, &text);
    }

    /// Whether it has workers, or wants any.
    pub(crate) fn is_in_use(&self) -> bool {
        let state = self.lock();
        !state.workers.is_empty() || state.starting > 0 || !state.waiters.is_empty()
    }

    /// Fails what waits and tells how many requests are in hand.
    pub(crate) fn drain(&self) -> u32 {
        let mut state = self.lock();
        let waiters = std::mem::take(&mut state.waiters);
        self.waiting.store(0, Ordering::Release);
        drop(state);
        let busy = self.all().iter().map(|worker| worker.busy.load(Ordering::Acquire)).sum();
        waiters.into_iter().for_each(|waiter| drop(waiter.send(Err(CallError::Stopping))));
        busy
    }

    /// Ends every worker.
    pub(crate) fn end(&self) {
        self.all().iter().for_each(|worker| worker.end("the server is stopping"));
    }

    fn all(&self) -> Vec<Arc<Worker>> {
        let state = self.lock();
        state.workers.iter().chain(&state.leaving).cloned().collect()
    }

    /// The worker that was idle for longest, if one is and the version can do without it: of its least number it may
    /// keep no more than a `share` of the places there are, and nothing without a pointer.
    pub(crate) fn idlest(&self, share: usize) -> Option<(Duration, Arc<Worker>)> {
        let state = self.lock();
        let own = (self.plan.limits.scale_min as usize).min(share);
        if state.workers.len() <= if state.retired.is_some() { 0 } else { own } {
            return None;
        }
        let free = state.workers.iter().filter(|worker| worker.busy.load(Ordering::Acquire) == 0);
        free.map(|worker| (worker.idle(), Arc::clone(worker))).max_by_key(|(idle, _)| *idle)
    }

    /// What its workers do.
    pub(crate) fn status(&self) -> Vec<WorkerStatus> {
        let workers = self.all();
        let each = workers.iter().map(|worker| WorkerStatus {
            environment: self.plan.environment.clone(),
            app: Some(self.plan.app.clone()),
            function: Some(self.plan.function.clone()),
            version: Some(self.plan.at.to_string()),
            pid: Some(worker.pid()),
            started_at: worker.started_at,
            busy: worker.busy.load(Ordering::Relaxed),
            served: worker.served.load(Ordering::Relaxed),
            memory_bytes: worker.memory_bytes(),
        });
        each.collect()
    }
}

impl State {
    // Takes out workers that were idle for too long, the idlest first, but leaves so many.
    fn leave(&mut self, kept: usize, idle_max: Duration) -> Vec<Arc<Worker>> {
        let mut leaving = Vec::new();
        while self.workers.len() > kept {
            let idle = |worker: &Arc<Worker>| worker.idle();
            let Some(at) = (0..self.workers.len()).max_by_key(|at| idle(&self.workers[*at])) else {
                break;
            };
            let worker = &self.workers[at];
            let busy = worker.busy.load(Ordering::Acquire) > 0;
            if busy || idle(worker) < idle_max {
                break;
            }
            worker.leaving.store(true, Ordering::Relaxed);
            leaving.push(self.workers.swap_remove(at));
        }
        leaving
    }
}
