//! Executions: runs of functions that are recorded, with what went in, what came out and what was printed.
//!
//! Each has a task in the queue from when it is accepted until its end is recorded; both are added and both are
//! settled in one transaction. So whatever happens to a server, every execution that was accepted comes to exactly
//! one end: one that was cut off is begun again, unless somebody waited for it. Start at
//! [`Folio::start_execution`]; `run` takes what waits, `perform` calls the function.

mod carried;
mod error;
mod perform;
mod run;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use folio_model::{
    AppName, Digest, Execution, ExecutionAsked, ExecutionEnd, ExecutionId, ExecutionMode,
    ExecutionOrigin, ExecutionStatus, Kind, Name, Qualifier, Reference, ReleaseId, Right,
    Timestamp, UnitKey, UnitUid,
};
use futures::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

pub use self::error::Error;

use self::carried::Carried;
use self::perform::Performed;
use crate::ports::runtime::{Plan, RequestId, RunLimits, Stage};
use crate::ports::{Begun, ExecutionFilter, Executions, StoreError, Task, TaskOf};
use crate::request::Caller;
use crate::serving::Tasks;
use crate::{Folio, folio, resolve};

/// What the queue calls executions.
const TOPIC: &str = "execution";

/// How long a worker has an execution to itself: longer than it may run.
const LEASE: Duration = Duration::from_secs(20 * 60);

/// How long a function that somebody waits for may run before it is recorded that it does.
const SOON: Duration = Duration::from_millis(10);

/// What is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewExecution {
    /// The function, and which of its versions; unqualified means the draft, or else the latest.
    pub function: Reference,
    /// What it is given.
    pub input: Option<String>,
    /// Whether to wait for the end.
    pub mode: ExecutionMode,
    /// What to say about it.
    pub description: String,
    /// What starts it.
    pub origin: ExecutionOrigin,
}

/// Which executions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Those of this function.
    pub function: Option<Name>,
    /// Those that are so far.
    pub status: Option<ExecutionStatus>,
    /// Those older than this place.
    pub below: Option<u64>,
    /// At most so many.
    pub limit: usize,
}

/// Executions that this server runs now, so that they can be ended.
#[derive(Default)]
pub(crate) struct AtWork {
    ends: Mutex<HashMap<ExecutionId, Arc<Notify>>>,
    /// A place for each that a version's workers can run at a time.
    rooms: Mutex<HashMap<Digest, Arc<Semaphore>>>,
    tasks: Tasks,
}

impl AtWork {
    fn ends(&self) -> MutexGuard<'_, HashMap<ExecutionId, Arc<Notify>>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an execution; whoever gets this is told when it is to end.
    fn enter(self: &Arc<Self>, id: ExecutionId) -> Entered {
        let told = Arc::new(Notify::new());
        self.ends().insert(id, Arc::clone(&told));
        Entered { at_work: Arc::clone(self), id, told }
    }

    /// The places of a version. What nobody waits for is forgotten.
    fn room(&self, plan: &Plan) -> Arc<Semaphore> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.retain(|_, room| Arc::strong_count(room) > 1);
        let RunLimits { scale_max, concurrency, .. } = plan.limits;
        let places = u64::from(scale_max).saturating_mul(u64::from(concurrency));
        let places = usize::try_from(places).unwrap_or(usize::MAX).clamp(1, Semaphore::MAX_PERMITS);
        let room = rooms.entry(plan.digest).or_insert_with(|| Arc::new(Semaphore::new(places)));
        Arc::clone(room)
    }

    fn tell(&self, id: ExecutionId) {
        if let Some(told) = self.ends().get(&id) {
            told.notify_one();
        }
    }
}

/// An execution that is noted until this is dropped.
struct Entered {
    at_work: Arc<AtWork>,
    id: ExecutionId,
    told: Arc<Notify>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.at_work.ends().remove(&self.id);
    }
}

impl Folio {
    /// Runs a function and records it: at once, or later, whatever happens to this server. The same request with
    /// the same key is the same execution.
    pub async fn start_execution(
        &self,
        caller: &Caller,
        app: &AppName,
        new: NewExecution,
    ) -> Result<Execution, Error> {
        self.start_execution_in(caller, app, new, None).await
    }

    /// As [`Folio::start_execution`], in the slot of a job.
    pub(crate) async fn start_execution_in(
        &self,
        caller: &Caller,
        app: &AppName,
        new: NewExecution,
        slot: Option<Timestamp>,
    ) -> Result<Execution, Error> {
        caller.may_name(Right::Invoke, &new.function).map_err(folio::Error::from)?;
        let record = self.record()?;
        self.check_input(new.input.as_deref())?;
        self.check_text("description", &new.description)?;
        let id = self.execution_id(caller);
        if caller.repeat.is_some()
            && let Some(found) = record.execution(id).await?
        {
            return Ok(found);
        }
        let plan = self.draw(app, &new.function, None).await?;
        let release = self.stamped(app, None).await?;
        let release = release.map(|release| release.id.clone());
        let mut execution = self.accepted(id, caller, (&plan, release), new);
        execution.asked.slot = slot;
        match execution.asked.mode {
            ExecutionMode::Async => {
                let begun = record.begin(execution.clone(), task(id, None), None).await?;
                Ok(Execution { seq: begun.seq, ..execution })
            }
            ExecutionMode::Sync => self.run_now(plan, execution).await,
        }
    }

    /// Whether what a caller asks for under its key was started before.
    pub(crate) async fn is_started(&self, caller: &Caller) -> Result<bool, StoreError> {
        let Some(record) = &self.executions else { return Ok(false) };
        let is_keyed = caller.repeat.is_some();
        Ok(is_keyed && record.execution(self.execution_id(caller)).await?.is_some())
    }

    /// Says whether an execution could be started now; nothing is recorded.
    pub async fn check_execution(
        &self,
        caller: &Caller,
        app: &AppName,
        function: &Reference,
        input: Option<&str>,
    ) -> Result<(), Error> {
        caller.may_name(Right::Invoke, function).map_err(folio::Error::from)?;
        self.record()?;
        self.check_input(input)?;
        self.draw(app, function, None).await?;
        Ok(())
    }

    /// Lists executions of an app, newest first.
    pub async fn executions(
        &self,
        app: &AppName,
        listing: Listing,
    ) -> Result<Vec<Execution>, Error> {
        let record = self.record()?;
        let unit = match &listing.function {
            Some(name) => Some(self.unit_of(app, name).await?),
            None => None,
        };
        let Listing { status, below, limit, .. } = listing;
        let filter = ExecutionFilter { app: Some(app.clone()), unit, status, below };
        Ok(record.executions(filter, limit).await?)
    }

    /// Shows one execution of an app.
    pub async fn show_execution(&self, app: &AppName, id: ExecutionId) -> Result<Execution, Error> {
        let found = self.record()?.execution(id).await?;
        found.filter(|found| found.app == *app).ok_or(Error::NotFound(id))
    }

    /// What an execution printed, between a line that says that it began and one that says that it ended.
    pub async fn execution_log(&self, app: &AppName, id: ExecutionId) -> Result<String, Error> {
        self.show_execution(app, id).await?;
        self.record()?.execution_log(id).await?.ok_or(Error::NotFound(id))
    }

    /// Ends an execution that runs or waits, for good.
    pub async fn cancel_execution(
        &self,
        app: &AppName,
        id: ExecutionId,
    ) -> Result<Execution, Error> {
        self.show_execution(app, id).await?;
        let end = self.ended(ExecutionStatus::Cancelled, json!("Function execution cancelled."));
        let ended = self.record()?.end(id, end, TaskOf::Name(task_name(id))).await?;
        self.at_work.tell(id);
        if ended { self.show_execution(app, id).await } else { Err(Error::Ended(id)) }
    }

    /// Forgets an execution, and ends it if it runs.
    pub async fn delete_execution(
        &self,
        app: &AppName,
        id: ExecutionId,
    ) -> Result<Execution, Error> {
        let found = self.show_execution(app, id).await?;
        if !self.record()?.remove(id, &task_name(id)).await? {
            return Err(Error::NotFound(id));
        }
        self.at_work.tell(id);
        Ok(found)
    }

    /// How often each version of a function was run, by number; what was not asked for by version under 0.
    pub async fn execution_counts(&self, unit: UnitUid) -> Result<BTreeMap<u64, u64>, StoreError> {
        match &self.executions {
            Some(record) => record.counts(unit).await,
            None => Ok(BTreeMap::new()),
        }
    }

    /// Refuses more input than a function may be given.
    pub(crate) fn check_input(&self, input: Option<&str>) -> Result<(), Error> {
        let (bytes, max) = (input.map_or(0, str::len), self.limits().execution_input_bytes_max);
        if bytes as u64 > max { Err(Error::InputTooLarge { bytes, max }) } else { Ok(()) }
    }

    fn record(&self) -> Result<&Arc<dyn Executions>, Error> {
        self.executions.as_ref().ok_or(Error::Unavailable)
    }

    async fn unit_of(&self, app: &AppName, name: &Name) -> Result<UnitUid, Error> {
        let key = UnitKey { app: app.clone(), kind: Kind::Function, name: name.clone() };
        Ok(self.look(move |state| resolve::unit(state, &key)).await?.uid)
    }

    /// A name for an execution: the same for the same request.
    fn execution_id(&self, caller: &Caller) -> ExecutionId {
        let bytes = match &caller.repeat {
            Some(repeat) => {
                let text = format!("{} {} {}", caller.actor, repeat.key, repeat.request);
                *Digest::of(text.as_bytes()).as_bytes()
            }
            None => self.clock.chance(),
        };
        let [half, _] = [&bytes[..16], &bytes[16..]];
        let half = half.try_into().expect("half of 32 bytes are 16");
        ExecutionId(uuid::Builder::from_random_bytes(half).into_uuid())
    }

    fn accepted(
        &self,
        id: ExecutionId,
        caller: &Caller,
        (plan, release): (&Plan, Option<ReleaseId>),
        new: NewExecution,
    ) -> Execution {
        let (number, version) = match &plan.at {
            Stage::Version(number, version) => (Some(*number), Some(version.clone())),
            Stage::Draft => (None, None),
        };
        let at = new.function.at.as_ref();
        let pinned = matches!(at, Some(Qualifier::Number(_) | Qualifier::Named(_)));
        let alias = match at {
            Some(Qualifier::Named(name)) if Some(name) != version.as_ref() => Some(name.clone()),
            _ => None,
        };
        let asked = ExecutionAsked {
            function: plan.function.clone(),
            version,
            pinned,
            alias,
            release,
            mode: new.mode,
            origin: new.origin,
            slot: None,
            by: caller.actor.clone(),
            description: new.description,
        };
        Execution {
            id,
            seq: 0,
            app: plan.app.clone(),
            unit: plan.unit,
            number,
            asked,
            input: new.input,
            status: ExecutionStatus::Running,
            output: None,
            created_at: self.clock.now(),
            ended_at: None,
            duration_ms: None,
        }
    }

    /// Runs an execution somebody waits for. It goes on if they stop waiting.
    async fn run_now(&self, plan: Arc<Plan>, execution: Execution) -> Result<Execution, Error> {
        let (folio, at_work) = (self.clone(), Arc::clone(&self.at_work));
        let held = async move { folio.run_held(plan, execution).await };
        Carried::new(held, move |rest| at_work.tasks.spawn(rest.map(drop))).await
    }

    /// Records an execution together with its end if that comes soon: nobody was told of it before. One that takes
    /// longer is recorded while it runs, so that others see it and it has an end even if this server has not.
    async fn run_held(&self, plan: Arc<Plan>, execution: Execution) -> Result<Execution, Error> {
        let record = self.record()?;
        let id = execution.id;
        let call = self.call_function(&plan, &execution);
        tokio::pin!(call);
        let (seq, end) = match tokio::time::timeout(SOON, &mut call).await {
            Ok(performed) => {
                let end = self.end_of(performed);
                (record.add_ended(execution.clone(), end.clone()).await?, end)
            }
            Err(_) => {
                let held = self.clock.now() + LEASE;
                let begin = record.begin(execution.clone(), task(id, None), Some(held));
                let (begun, performed) = tokio::join!(begin, &mut call);
                let (Begun { seq, lease }, end) = (begun?, self.end_of(performed));
                let task = lease.map_or_else(|| TaskOf::Name(task_name(id)), TaskOf::Lease);
                let is_recorded = record.end(id, end.clone(), task).await?;
                (Some(seq).filter(|_| is_recorded), end)
            }
        };
        // Somebody cancelled or deleted it meanwhile, or asked for the same with the same key.
        let Some(seq) = seq else {
            return record.execution(id).await?.ok_or(Error::NotFound(id));
        };
        let ExecutionEnd { status, output, at, duration_ms, log: _ } = end;
        Ok(Execution { seq, status, output, ended_at: Some(at), duration_ms, ..execution.clone() })
    }

    fn end_of(&self, performed: Performed) -> ExecutionEnd {
        match performed {
            Performed::Ended(end) => end,
            Performed::Later(why) => self.ended(ExecutionStatus::Error, json!(why)),
        }
    }

    /// An end that is not the function's own.
    fn ended(&self, status: ExecutionStatus, output: Value) -> ExecutionEnd {
        let at = self.clock.now();
        ExecutionEnd { status, output: Some(output), log: String::new(), at, duration_ms: None }
    }
}

/// What the queue calls an execution.
fn task_name(id: ExecutionId) -> String {
    format!("execution/{id}")
}

/// The task that runs an execution.
fn task(id: ExecutionId, due: Option<Timestamp>) -> Task {
    let body = json!({ "id": id });
    let due = due.unwrap_or(Timestamp::UNIX_EPOCH);
    Task { name: task_name(id), topic: TOPIC.to_owned(), body, due }
}

/// What the request to the function of an execution is called.
fn request_id(id: ExecutionId) -> RequestId {
    RequestId(id.0.as_u128())
}
