//! The times of jobs. Each job that goes on has one task in the queue, due at its next slot. Whoever leases it starts the
//! slot's execution under a name that only this slot has, so that a slot is run once however often it is leased, and
//! then puts the next slot in the task's place. What goes wrong with one job is only its own.

use std::future::Future;
use std::time::Duration;

use folio_model::{
    AppName, BindingTerms, Digest, ExecutionMode, ExecutionOrigin, Job, JobStatus, Misfire, Place,
    Pointer, Timestamp,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{BindingView, Error, by, goes_on, reference};
use crate::execution::NewExecution;
use crate::ports::{Lease, StandingBinding, StoreError, Task};
use crate::request::{Caller, Repeat};
use crate::timer::Schedule;
use crate::{Class, Explain as _, Folio};

/// What the queue calls jobs that wait for their slot.
const TOPIC: &str = "job";

/// How long a worker has a slot to itself.
const LEASE: Duration = Duration::from_secs(60);

/// The longest wait between two looks at the clock.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How often a job that is paused is looked at, in case it was deleted.
const PAUSED_LOOK: Duration = Duration::from_secs(60 * 60);

/// A new job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewJob {
    /// A cron expression, in UTC.
    pub pattern: Option<String>,
    /// The first time.
    pub first: Option<Timestamp>,
    /// How often it is run; once without a pattern, else for ever.
    pub count: Option<u64>,
    /// What the function is given.
    pub input: Option<String>,
    /// What becomes of slots that nobody was there for.
    pub misfire: Misfire,
}

/// What is to become of a job; what is left out stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFields {
    /// A cron expression, in UTC.
    pub pattern: Option<String>,
    /// The next time.
    pub next: Option<Timestamp>,
    /// What the function is given.
    pub input: Option<String>,
    /// What becomes of slots that nobody was there for.
    pub misfire: Option<Misfire>,
    /// Whether it goes on.
    pub status: Option<JobStatus>,
}

/// A job that waits for a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Waiting {
    app: AppName,
    id: Uuid,
    /// The entry that made the job what it was when the slot was found.
    revision: u64,
    slot: Timestamp,
    /// How often it is still to be run, this slot included.
    left: Option<u64>,
    /// Whether it is this slot that is run, however many came since.
    #[serde(default)]
    is_chosen: bool,
    /// What the job said of its next time when the slot was found. As long as it says so, it goes on from the slot.
    #[serde(default)]
    next: Option<Timestamp>,
}

impl NewJob {
    /// The job, seen from a moment.
    pub(super) fn job(self, now: Timestamp) -> Result<Job, Error> {
        let Self { pattern, first, count, input, misfire } = self;
        if count == Some(0) {
            return Err(Error::NoRun);
        }
        if let Some(first) = first.filter(|first| *first < now) {
            return Err(Error::Past(first));
        }
        let (first, count) = match (&pattern, first) {
            (None, None) => return Err(Error::NoTime),
            (None, Some(_)) if count.is_some_and(|count| count > 1) => {
                return Err(Error::NoPattern);
            }
            (None, Some(first)) => (first, Some(1)),
            (Some(pattern), None) => (after(pattern, now)?, count),
            (Some(pattern), Some(first)) => {
                let minute = Duration::from_secs(60);
                (after(pattern, first.checked_sub(minute).unwrap_or(first))?, count)
            }
        };
        let (next, status) = (first, JobStatus::Running);
        Ok(Job { pattern, first, next, count, input, misfire, status })
    }
}

impl JobFields {
    /// Lays the fields over a job, seen from a moment.
    pub(super) fn lay_over(&self, job: &mut Job, now: Timestamp) -> Result<(), Error> {
        if *self == Self::default() {
            return Ok(());
        }
        if job.status.is_over() {
            return Err(Error::Over);
        }
        if let Some(pattern) = &self.pattern {
            if job.pattern.is_none() || pattern.is_empty() {
                return Err(Error::OtherKind);
            }
            if job.pattern.as_ref() != Some(pattern) {
                after(pattern, now)?;
                job.pattern = Some(pattern.clone());
            }
        }
        job.input = self.input.clone().or(job.input.take());
        job.misfire = self.misfire.unwrap_or(job.misfire);
        let resumes = job.status == JobStatus::Paused && self.status == Some(JobStatus::Running);
        job.status = self.status.unwrap_or(job.status);
        match (self.next, &job.pattern) {
            (Some(next), _) => job.next = next,
            (None, Some(pattern)) if resumes => {
                let next = Schedule::stored(pattern, None)?.next(now);
                job.next = next.ok_or_else(|| Error::Never(pattern.clone()))?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn after(pattern: &str, at: Timestamp) -> Result<Timestamp, Error> {
    let next = Schedule::parse(pattern, None)?.next(at);
    next.ok_or_else(|| Error::Never(pattern.to_owned()))
}

impl Folio {
    /// Runs jobs until told to stop.
    pub async fn run_jobs(&self, shutdown: impl Future<Output = ()>) -> Result<(), StoreError> {
        let Some(queue) = self.queue.clone() else { return Ok(()) };
        self.wind_jobs(None).await?;
        let mut pushed = queue.pushed();
        tokio::pin!(shutdown);
        loop {
            pushed.borrow_and_update();
            let pause = match self.take_jobs().await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::error!(%error, "Jobs could not be read");
                    PAUSE_MAX
                }
            };
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                _ = pushed.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Starts what is due, and says how long nothing else will be.
    pub async fn take_jobs(&self) -> Result<Duration, StoreError> {
        let Some(queue) = &self.queue else { return Ok(PAUSE_MAX) };
        while let Some(lease) = queue.lease(TOPIC, self.clock.now(), LEASE).await? {
            let name = lease.task.name.clone();
            // One that fails is leased again when its lease ends; the others go on at once.
            if let Err(error) = self.take_job(lease).await {
                tracing::error!(%error, task = name, "A job could not be run");
            }
        }
        let due = queue.next_due(TOPIC).await?;
        let wait = due.map(|due| due.duration_since(self.clock.now()));
        let pause = wait.map_or(PAUSE_MAX, |wait| Duration::try_from(wait).unwrap_or_default());
        Ok(pause.clamp(Duration::from_millis(5), PAUSE_MAX))
    }

    /// Has jobs that go on wait for their next slot: one, or all of them.
    pub(super) async fn wind_jobs(&self, one: Option<(&AppName, Uuid)>) -> Result<(), StoreError> {
        let Some(queue) = &self.queue else { return Ok(()) };
        let one = one.map(|(app, id)| (app.clone(), id));
        let found = self.look(move |state| match one {
            Some((app, id)) => Ok(state.binding(&app, id)?.into_iter().collect()),
            None => state.bindings(None),
        });
        for found in found.await?.iter().filter(|found| goes_on(&found.binding)) {
            let Some(task) = waiting(found, None) else { continue };
            if queue.push(task).await? {
                continue;
            }
            // It waits already: as it was before this change, or taken by someone who will look again.
            if let Some(lease) = queue.claim(&name(found.id), self.clock.now(), LEASE).await? {
                self.turn_job(lease, found).await?;
            }
        }
        Ok(())
    }

    /// Has a job that waits for a slot wait for the one it has since it was changed.
    async fn turn_job(&self, lease: Lease, found: &StandingBinding) -> Result<(), StoreError> {
        let Some(queue) = &self.queue else { return Ok(()) };
        let before = serde_json::from_value::<Waiting>(lease.task.body.clone()).ok();
        match before {
            Some(before) if before.revision == found.revision => {
                queue.retry(lease.token, lease.task.due).await?;
            }
            before => {
                let next = waiting(found, before.as_ref());
                queue.replace(lease.token, next.into_iter().collect()).await?;
            }
        }
        Ok(())
    }

    async fn take_job(&self, lease: Lease) -> Result<(), StoreError> {
        let Some(queue) = &self.queue else { return Ok(()) };
        let Ok(waiting) = serde_json::from_value::<Waiting>(lease.task.body.clone()) else {
            tracing::error!(task = lease.task.name, "The task of a job makes no sense");
            return queue.done(lease.token).await.map(|_| ());
        };
        let (app, id) = (waiting.app.clone(), waiting.id);
        let found = self.look(move |state| state.binding(&app, id)).await?;
        let found = found.filter(|found| found.binding.holds());
        let Some(found) = found else { return queue.done(lease.token).await.map(|_| ()) };
        if !goes_on(&found.binding) {
            // How often it was run is known here alone.
            let later = self.clock.now().checked_add(PAUSED_LOOK).unwrap_or(Timestamp::MAX);
            return queue.retry(lease.token, later).await.map(|_| ());
        }
        if found.revision != waiting.revision {
            return self.turn_job(lease, &found).await;
        }
        if waiting.left == Some(0) {
            self.end_job(&found).await?;
            return queue.done(lease.token).await.map(|_| ());
        }
        let now = self.clock.now();
        let BindingTerms::Job(job) = &found.binding.terms else { return Ok(()) };
        let (newest, next) = self.slots(job, waiting.slot, now);
        let slot = waiting.slot;
        let is_chosen = newest == slot || waiting.is_chosen;
        if !is_chosen && !self.is_started(&slot_caller(found.id, slot)).await? {
            // Chosen before it is started, and as long due as before: whoever finds the task after a crash runs that slot
            // or sees that it was run, and none is run besides those that are counted.
            let chosen = Waiting { slot: newest, is_chosen: true, ..waiting }.task();
            let task = Task { due: lease.task.due, ..chosen };
            return queue.replace(lease.token, vec![task]).await.map(|_| ());
        }
        let next = if newest == slot { next } else { self.slots(job, slot, slot).1 };
        let late = Duration::from_millis(self.limits().timer_late_ms_max);
        let age = Duration::try_from(now.duration_since(slot)).unwrap_or_default();
        let is_once = next.is_none();
        if age <= late || is_once || job.misfire == Misfire::All {
            self.start_slot(&found, slot).await?;
        } else {
            tracing::warn!(job.id = %found.id, job.slot = %slot, "A job's slot was skipped: nobody was there in time");
        }
        let left = waiting.left.map(|left| left.saturating_sub(1));
        let left = if is_once { Some(0) } else { left };
        let slot = if left == Some(0) { now } else { next.unwrap_or(now) };
        let task = Waiting { slot, left, is_chosen: false, ..waiting }.task();
        queue.replace(lease.token, vec![task]).await.map(|_| ())
    }

    /// The slot to run now, of those that came from one on, and the one after it if there is one.
    fn slots(&self, job: &Job, first: Timestamp, now: Timestamp) -> (Timestamp, Option<Timestamp>) {
        let schedule = job.pattern.as_deref().and_then(|text| Schedule::stored(text, None).ok());
        let Some(schedule) = schedule else { return (first, None) };
        let keep = match job.misfire {
            Misfire::Skip => 1,
            Misfire::All => usize::try_from(self.limits().timer_catch_up_max).unwrap_or(usize::MAX),
        };
        let keep = keep.max(1);
        let came = schedule.between(first, now, keep).newest;
        // If as many came after the first as are kept, it is too old.
        let slot = came.front().filter(|_| came.len() == keep).copied().unwrap_or(first);
        (slot, schedule.next(slot))
    }

    /// Starts the execution of a slot, unless it was. What cannot be started is said, and the job goes on; what the
    /// store could not record is tried again.
    async fn start_slot(&self, found: &StandingBinding, slot: Timestamp) -> Result<(), StoreError> {
        let (app, to) = (found.app.clone(), found.binding.to.clone());
        let function = self.look(move |state| Ok(reference(state, &app, &to))).await;
        let function: Result<_, Error> = function.map_err(|error: StoreError| error)?;
        let BindingTerms::Job(job) = &found.binding.terms else { return Ok(()) };
        let caller = slot_caller(found.id, slot);
        let started = match function {
            Ok(function) => {
                let new = NewExecution {
                    function,
                    input: job.input.clone(),
                    mode: ExecutionMode::Async,
                    description: format!("Created by Job {}", found.id),
                    origin: ExecutionOrigin::Job(found.id),
                };
                let started = self.start_execution_in(&caller, &found.app, new, Some(slot));
                started.await.map_err(Error::from)
            }
            Err(error) => Err(error),
        };
        match started {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.class(), Class::Broken | Class::Full) => {
                Err(StoreError::failed("start a job's slot", error.to_string()))
            }
            Err(error) => {
                tracing::warn!(job.id = %found.id, job.slot = %slot, "A job's slot could not be run: {error}");
                Ok(())
            }
        }
    }

    /// Notes that a job was run as often as it was to be.
    async fn end_job(&self, found: &StandingBinding) -> Result<(), StoreError> {
        let (app, id) = (found.app.clone(), found.id);
        let caller = by("job");
        let ended = self.commit::<(), Error, _>(&caller, &found.app, move |builder| {
            let Some(found) = builder.state.binding(&app, id)? else { return Ok(()) };
            let mut to = found.binding.clone();
            if let BindingTerms::Job(job) = &mut to.terms {
                (job.status, job.count) = (JobStatus::Done, Some(0));
            }
            to.updated_at = Some(builder.at());
            builder.say(format!("job {id} is done"));
            let place = |binding| Some(Place::Binding(Box::new(binding)));
            let pointer = Pointer::Binding { app: app.clone(), id };
            Ok(builder.point(pointer, place(found.binding), place(to))?)
        });
        match ended.await {
            Ok(_) => Ok(()),
            Err(Error::Folio(crate::folio::Error::Store(error))) => Err(error),
            Err(error) => Err(StoreError::failed("end a job", error.to_string())),
        }
    }

    /// A view with when a job comes next, and how often still, or with what calls a webhook.
    pub(super) async fn whole(&self, view: BindingView) -> Result<BindingView, Error> {
        let job = match &view.binding.terms {
            BindingTerms::Job(job) => job,
            BindingTerms::Webhook(_) => {
                return Ok(BindingView { url: Some(self.webhook_url(view.id)), ..view });
            }
            BindingTerms::Newest => return Ok(view),
        };
        let (mut next, mut left) = (Some(job.next), job.count);
        if let (false, Some(queue)) = (job.status.is_over(), &self.queue)
            && let Some(task) = queue.peek(&name(view.id)).await?
            && let Ok(waiting) = serde_json::from_value::<Waiting>(task.body)
        {
            left = waiting.left;
            next = next.filter(|_| job.status == JobStatus::Paused).or(Some(waiting.slot));
        }
        Ok(BindingView { next, left, ..view })
    }
}

impl Waiting {
    fn task(self) -> Task {
        let (name, due) = (name(self.id), self.slot);
        let body = serde_json::to_value(&self).expect("jobs have string keys");
        Task { name, topic: TOPIC.to_owned(), body, due }
    }
}

/// What the queue calls a job.
fn name(id: Uuid) -> String {
    format!("job/{id}")
}

/// The task of a job that goes on, from where it was before.
fn waiting(found: &StandingBinding, before: Option<&Waiting>) -> Option<Task> {
    let BindingTerms::Job(job) = &found.binding.terms else { return None };
    if job.status != JobStatus::Running {
        return None;
    }
    let (app, id, revision) = (found.app.clone(), found.id, found.revision);
    let left = before.and_then(|before| before.left).or(job.count);
    let goes_on = before.filter(|before| before.next == Some(job.next));
    let (slot, next) = (goes_on.map_or(job.next, |before| before.slot), Some(job.next));
    Some(Waiting { app, id, revision, slot, left, is_chosen: false, next }.task())
}

/// Who starts a slot, under a key that only this slot has.
fn slot_caller(job: Uuid, slot: Timestamp) -> Caller {
    let key = format!("job {job} {slot}");
    let repeat = Repeat { request: Digest::of(key.as_bytes()), key };
    Caller { repeat: Some(repeat), ..by("job") }
}
