//! The servers of one function version: who has room, who waits, when to start another.
//!
//! A request gets a [`Seat`] at a server that has room, or waits in line while one is started or until one is
//! free. The line is bounded. A server that ended or is given up gets nothing more and leaves when it is empty.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use folio_core::ports::runtime::{CallError, Plan, WorkerStatus};
use futures::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::server::{Server, end};
use crate::keep::Kept;

/// Makes a server that serves the crew's plan.
pub(super) type Hire = Box<dyn Fn() -> BoxFuture<'static, Result<Server, CallError>> + Send + Sync>;

/// Requests in line for each that can be in hand.
const LINE_FACTOR: usize = 4;
const LINE_MIN: usize = 64;

/// How long code that cannot be loaded is not tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// What all crews did.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) warm: AtomicU64,
    pub(super) cold: AtomicU64,
    pub(super) refused: AtomicU64,
}

/// The servers of one version.
pub(super) struct Crew {
    pub(super) plan: Arc<Plan>,
    hire: Hire,
    counts: Arc<Counts>,
    keep_warm: Duration,
    state: Mutex<State>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct State {
    posts: Vec<Post>,
    starting: u32,
    line: VecDeque<oneshot::Sender<Result<Seat, CallError>>>,
    retired: Option<Instant>,
    refused: Option<(Instant, CallError)>,
    stopping: bool,
}

/// A server and what it has in hand.
struct Post {
    server: Arc<Server>,
    busy: u32,
    served: u64,
    since: Instant,
}

/// A place at a server, for one request. Dropping it frees the place.
pub(super) struct Seat {
    crew: Arc<Crew>,
    server: Arc<Server>,
    used: bool,
}

impl Seat {
    /// The server, to send it the request.
    pub(super) fn server(&mut self) -> Arc<Server> {
        self.used = true;
        Arc::clone(&self.server)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.crew.leave(&self.server, self.used);
    }
}

impl Crew {
    /// A version without servers, which after its last pointer keeps one for so long.
    pub(super) fn new(
        plan: Arc<Plan>,
        hire: Hire,
        counts: Arc<Counts>,
        keep_warm: Duration,
    ) -> Arc<Self> {
        let (state, tasks) = (Mutex::default(), Mutex::default());
        Arc::new(Self { plan, hire, counts, keep_warm, state, tasks })
    }

    /// Waits for a place at a server.
    pub(super) async fn seat(self: &Arc<Self>) -> Result<Seat, CallError> {
        let waiting = {
            let mut state = self.state();
            if state.stopping {
                return Err(CallError::Stopping);
            }
            if let Some(seat) = self.free(&mut state) {
                self.counts.warm.fetch_add(1, Ordering::Relaxed);
                return Ok(seat);
            }
            if let Some(error) = state.recent_refusal() {
                return Err(error);
            }
            if state.line.len() >= self.line_max() {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                return Err(CallError::Busy);
            }
            let (place, waiting) = oneshot::channel();
            state.line.push_back(place);
            self.grow(&mut state);
            waiting
        };
        waiting.await.unwrap_or(Err(CallError::Stopping))
    }

    /// Starts servers until there are as many as must always be. Fails if the first does.
    pub(super) async fn prepare(self: &Arc<Self>) -> Result<(), CallError> {
        self.state().retired = None;
        if self.plan.limits.scale_min == 0 {
            return Ok(());
        }
        drop(self.seat().await?);
        let mut state = self.state();
        while state.size() < self.plan.limits.scale_min {
            self.hire(&mut state);
        }
        Ok(())
    }

    /// Keeps its servers only for a while, however many there must be.
    pub(super) fn retire(&self) {
        self.state().retired = Some(Instant::now());
    }

    /// Ends servers that were idle for long, starts those that must be there, and says whether anything is left.
    pub(super) fn tend(self: &Arc<Self>) -> bool {
        let limits = &self.plan.limits;
        let now = Instant::now();
        let mut leaving = Vec::new();
        let mut state = self.state();
        let kept = Kept::of(limits, state.retired, self.keep_warm);
        let mut at = 0;
        while at < state.posts.len() {
            let post = &state.posts[at];
            let idle = now >= post.since + kept.idle && state.posts.len() > kept.count;
            if post.busy == 0 && (!self.is_fit(post) || idle) {
                leaving.push(state.posts.swap_remove(at));
            } else {
                at += 1;
            }
        }
        let was_used = state.refused.is_none() && !kept.expired;
        while was_used && state.size() < limits.scale_min && !state.stopping {
            self.hire(&mut state);
        }
        state.line.retain(|place| !place.is_closed());
        let alive = state.size() > 0 || !state.line.is_empty() || state.recent_refusal().is_some();
        drop(state);
        drop(leaving);
        alive
    }

    /// Takes no more requests and fails those in line.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.stopping = true;
        let line = std::mem::take(&mut state.line);
        drop(state);
        for place in line {
            drop(place.send(Err(CallError::Stopping)));
        }
    }

    /// Requests in hand.
    pub(super) fn busy(&self) -> u32 {
        self.state().posts.iter().map(|post| post.busy).sum()
    }

    /// Ends every server.
    pub(super) fn dismiss(&self) {
        let posts = std::mem::take(&mut self.state().posts);
        drop(posts);
        self.tasks.lock().expect("no holder panics").abort_all();
    }

    pub(super) fn status(&self) -> Vec<WorkerStatus> {
        let plan = &self.plan;
        let status = |post: &Post| WorkerStatus {
            environment: plan.environment.clone(),
            app: Some(plan.app.clone()),
            function: Some(plan.function.clone()),
            version: Some(plan.at.to_string()),
            pid: Some(post.server.pid()),
            started_at: post.server.started_at,
            busy: post.busy,
            served: post.served,
            memory_bytes: post.server.memory_bytes(),
        };
        self.state().posts.iter().map(status).collect()
    }

    /// A place that is free right now. Servers are filled in order, so that the last ones become idle.
    fn free(self: &Arc<Self>, state: &mut State) -> Option<Seat> {
        let room = |post: &&mut Post| {
            post.busy < self.plan.limits.concurrency && self.is_fit(post) && !self.is_spent(post)
        };
        let post = state.posts.iter_mut().find(room)?;
        post.busy += 1;
        Some(Seat { crew: Arc::clone(self), server: Arc::clone(&post.server), used: false })
    }

    fn is_fit(&self, post: &Post) -> bool {
        post.server.is_fit()
    }

    /// Whether it has been given all the requests it may serve.
    fn is_spent(&self, post: &Post) -> bool {
        let max = self.plan.limits.requests_per_worker;
        max.is_some_and(|max| post.served + u64::from(post.busy) >= u64::from(max))
    }

    /// Starts servers while those being started have no room for everyone in line.
    fn grow(self: &Arc<Self>, state: &mut State) {
        let per_server = self.plan.limits.concurrency.max(1) as usize;
        let able = state.posts.iter().filter(|post| self.is_fit(post) && !self.is_spent(post));
        let mut size = able.count() + state.starting as usize;
        while size < self.plan.limits.scale_max.max(1) as usize
            && state.line.len() > state.starting as usize * per_server
        {
            self.hire(state);
            size += 1;
        }
    }

    fn hire(self: &Arc<Self>, state: &mut State) {
        state.starting += 1;
        self.counts.cold.fetch_add(1, Ordering::Relaxed);
        self.plan.meter.cold_start();
        let (crew, hired) = (Arc::clone(self), (self.hire)());
        self.spawn(async move {
            let hired = hired.await;
            crew.hired(hired);
        });
    }

    fn hired(self: &Arc<Self>, hired: Result<Server, CallError>) {
        let mut state = self.state();
        state.starting -= 1;
        match hired {
            Ok(server) => {
                let server = Arc::new(server);
                let ended = server.ended();
                state.refused = None;
                state.posts.push(Post { server, busy: 0, served: 0, since: Instant::now() });
                let crew = Arc::downgrade(self);
                self.spawn(async move {
                    end(ended).await;
                    if let Some(crew) = crew.upgrade() {
                        crew.tend();
                        crew.call_next(crew.state());
                    }
                });
                self.call_next(state);
            }
            Err(error) => {
                tracing::warn!(
                    app.name = %self.plan.app, function.name = %self.plan.function,
                    function.version = %self.plan.at, %error, "Could not start a function's server"
                );
                state.refused = Some((Instant::now(), error.clone()));
                // Nobody else will make room for those in line.
                let hopeless = state.size() == 0;
                let line = if hopeless { std::mem::take(&mut state.line) } else { VecDeque::new() };
                drop(state);
                for place in line {
                    drop(place.send(Err(error.clone())));
                }
            }
        }
    }

    /// Gives places that became free to those in line.
    fn call_next(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let mut unwanted = Vec::new();
        while !state.line.is_empty() {
            let Some(seat) = self.free(&mut state) else { break };
            let Some(place) = state.line.pop_front() else { break };
            // Whoever left the line gives the place back, which needs the lock.
            if let Err(seat) = place.send(Ok(seat)) {
                unwanted.push(seat);
                break;
            }
        }
        self.grow(&mut state);
        drop(state);
        drop(unwanted);
    }

    fn leave(self: &Arc<Self>, server: &Arc<Server>, used: bool) {
        let mut leaving = None;
        let mut state = self.state();
        if let Some(at) = state.posts.iter().position(|post| Arc::ptr_eq(&post.server, server)) {
            let post = &mut state.posts[at];
            post.busy -= 1;
            post.served += u64::from(used);
            post.since = Instant::now();
            let done = post.busy == 0 && (!self.is_fit(post) || self.is_spent(post));
            leaving = done.then(|| state.posts.swap_remove(at));
        }
        self.call_next(state);
        drop(leaving);
    }

    fn line_max(&self) -> usize {
        let limits = &self.plan.limits;
        let at_once = limits.concurrency as usize * limits.scale_max as usize;
        at_once.saturating_mul(LINE_FACTOR).max(LINE_MIN)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().expect("no holder panics");
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

impl State {
    fn size(&self) -> u32 {
        u32::try_from(self.posts.len()).unwrap_or(u32::MAX).saturating_add(self.starting)
    }

    fn recent_refusal(&self) -> Option<CallError> {
        let (since, error) = self.refused.as_ref()?;
        (Instant::now() < *since + RETRY_PAUSE).then(|| error.clone())
    }
}
