//! One worker: an interpreter in a jail that runs a shim, and the connection to it. It starts generic, becomes
//! one function once, and serves that until it goes.
//!
//! `link` is the connection, `table` what the worker has in hand, `exchange` one request and its answer, `head`
//! the form of heads, `start` how the process is made, `memory` what it holds.

mod exchange;
mod head;
mod link;
mod memory;
mod start;
mod table;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use folio_core::ports::runtime::{Call, CallError, Plan};
use folio_model::Timestamp;
use tokio::task::JoinSet;
use tokio::time::Instant;

use exchange::Sent;
use link::Link;
pub(crate) use link::Listener;
pub(crate) use start::{Fitting, Shims, start};

use crate::code::Code;
use crate::host::Admitted;
use crate::invoke::{InHand, InvokeSocket};
use crate::jail::Prisoner;
use crate::output::Output;

/// How long code may take to load, so that a module that never does keeps no caller for ever.
pub(crate) const LOAD_MAX: Duration = Duration::from_secs(30);

/// A process that runs one function, or waits to.
pub(crate) struct Worker {
    link: Arc<Link>,
    prisoner: Arc<Prisoner>,
    invoke: InvokeSocket,
    output: Arc<Output>,
    code: OnceLock<Arc<Code>>,
    of_function: OnceLock<String>,
    /// Requests in hand, counted by whoever hands them out.
    pub(crate) busy: AtomicU32,
    /// Requests it was ever given.
    pub(crate) given: AtomicU32,
    /// Requests it is done with.
    pub(crate) served: AtomicU64,
    /// It gets no more requests.
    pub(crate) leaving: AtomicBool,
    // Milliseconds since `since` when it last finished something.
    used_ms: AtomicU64,
    pub(crate) since: Instant,
    pub(crate) started_at: Timestamp,
    _tasks: JoinSet<()>,
    _room: start::Room,
    _admitted: Admitted,
}

impl Worker {
    /// Makes a generic worker a function. `denial` is what it is told when it looks for a network it does not have.
    pub(crate) async fn specialise(
        &self,
        plan: &Arc<Plan>,
        code: Arc<Code>,
        denial: Option<String>,
        listener: Listener,
    ) -> Result<(), CallError> {
        let order = serde_json::json!({
            "path": code.inside(),
            "entry": plan.entrypoint,
            "variables": plan.variables,
            "concurrency": plan.limits.concurrency,
            "denial": denial,
        });
        // A worker becomes one function in its life.
        drop(self.code.set(code));
        drop(self.of_function.set(head::of_function(plan)));
        self.invoke.bind(plan);
        self.output.bind(plan);
        let order = serde_json::to_vec(&order).expect("text can be written as JSON");
        let loading = self.link.specialise(&order, listener);
        match tokio::time::timeout(LOAD_MAX, loading).await {
            Ok(outcome) => outcome.map_err(|error| self.explain(error)),
            Err(_) => Err(CallError::Load(format!("it took longer than {} s", LOAD_MAX.as_secs()))),
        }
    }

    // Code that ends its own process while it is loaded cannot be loaded.
    fn explain(&self, error: CallError) -> CallError {
        match error {
            CallError::Crashed(why) => {
                let tail = self.output.tail();
                let last = tail.lines().last().map(|line| format!(": {line}")).unwrap_or_default();
                CallError::Load(format!("the worker ended while it loaded the code ({why}){last}"))
            }
            other => other,
        }
    }

    /// Passes a request on. Fails only if the worker never saw it.
    pub(crate) fn send(&self, call: Call, timeout: Duration) -> Result<Sent<InHand>, CallError> {
        let in_hand = self.invoke.begin(&call);
        let of_function = self.of_function.get().map_or("", String::as_str);
        exchange::send(&self.link, (call, of_function), timeout, in_hand)
    }

    /// Waits until its interpreter is up.
    pub(crate) async fn booted(&self) -> Result<(), CallError> {
        self.link.booted().await
    }

    /// Whether it can be given requests at all.
    pub(crate) fn is_open(&self) -> bool {
        self.link.is_open() && !self.leaving.load(Ordering::Relaxed)
    }

    /// Whether a request is safe with it. One that hangs is ended with all it has in hand, so nothing more is given to it
    /// until it has let go of what took too long.
    pub(crate) fn takes_more(&self) -> bool {
        self.is_open() && !self.link.is_overdue()
    }

    /// How long it has been busy without finishing anything.
    pub(crate) fn silence(&self) -> Duration {
        self.link.silence()
    }

    /// Counts finished requests. Says how many it still has.
    pub(crate) fn finished(&self, count: usize) -> u32 {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.served.fetch_add(u64::from(count), Ordering::Relaxed);
        self.touch();
        self.busy.fetch_sub(count, Ordering::AcqRel) - count
    }

    /// Says that it was needed just now.
    pub(crate) fn touch(&self) {
        let ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.used_ms.store(ms, Ordering::Relaxed);
    }

    /// How long nothing was asked of it.
    pub(crate) fn idle(&self) -> Duration {
        if self.busy.load(Ordering::Acquire) > 0 {
            return Duration::ZERO;
        }
        let used = Duration::from_millis(self.used_ms.load(Ordering::Relaxed));
        self.since.elapsed().saturating_sub(used)
    }

    /// Ends requests whose time is over, and itself if it does not let go of them.
    pub(crate) fn tick(&self) {
        if self.busy.load(Ordering::Acquire) > 0 && self.link.tick() {
            self.end("another of its requests did not stop in time");
        }
    }

    /// Ends the process. What it has in hand fails.
    pub(crate) fn end(&self, why: &str) {
        self.link.close(&CallError::Crashed(why.to_owned()));
        self.prisoner.kill();
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.prisoner.pid()
    }

    /// The memory it holds.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let counted = self.prisoner.memory_bytes();
        counted.unwrap_or_else(|| memory::resident_bytes(self.pid()))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.prisoner.kill();
    }
}
