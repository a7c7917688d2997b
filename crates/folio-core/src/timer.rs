//! Timers: every slot is run once, whoever looks at the clock and however often.
//!
//! Each timer has one task in the queue, due at its next slot; its cursor, the slot before, decides what comes
//! next, never the clock. A scheduler leases the task and, in one transaction of the queue, puts the next one
//! and the fires of its slots in its place. A clock that goes back finds nothing due; one that goes forward
//! finds slots that were missed, which the timer's policy runs or skips, never silently. What a timer says is what the
//! live release has of it, and a fire is stamped with that release. Start at [`Folio::run_timers`]; `fire` runs what is due.

mod fire;
mod report;
mod schedule;

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use folio_model::{
    AppName, Digest, Misfire, Name, ReleaseId, TimerSpec, Timestamp, TriggerSpec, UnitUid,
};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

pub(crate) use self::report::Fires;
pub use self::report::{FireOutcome, FireReport};
pub use self::schedule::{Schedule, ScheduleError};

use self::fire::{Action, Fire};
use self::schedule::Range;
use crate::ports::{Lease, Page, Queue, State, StoreError, Task};
use crate::release::held;
use crate::{Folio, trigger};

/// What the queue calls timers that wait for their slot.
const TOPIC: &str = "timer";

/// How long a scheduler has a timer to itself.
const LEASE: Duration = Duration::from_secs(30);

/// Fires that run at the same time.
const AT_ONCE: usize = 64;

/// The longest wait between two looks at the clock: it may have been set.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How long to wait before a timer is looked at again whose slots could not be found.
const SCHEDULE_PAUSE: Duration = Duration::from_secs(60);

/// How long fires may take to finish when told to stop.
const STOP_TIME_MAX: Duration = Duration::from_secs(10);

/// A timer that waits for its next slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Waiting {
    unit: UnitUid,
    /// The app; found by the unit in what was written before apps were noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    app: Option<AppName>,
    /// What the timer said when the slot was found.
    snapshot: Digest,
    /// The slot before, or the moment the timer became what it says.
    cursor: Timestamp,
}

/// A timer as it stands.
#[derive(Debug, Clone)]
struct Standing {
    unit: UnitUid,
    app: AppName,
    name: Name,
    snapshot: Digest,
    spec: TimerSpec,
    /// The release that has it so.
    release: ReleaseId,
    /// When it became that.
    since: Timestamp,
    /// Since when the release is live.
    live_since: Timestamp,
}

/// What becomes of the slots that came.
struct Came {
    fires: Vec<Task>,
    /// The last slot, or the cursor where none came.
    cursor: Timestamp,
}

impl Folio {
    /// Runs timers until told to stop; lets what runs then finish for a while.
    pub async fn run_timers(&self, shutdown: impl Future<Output = ()>) -> Result<(), StoreError> {
        let Some(queue) = self.queue.clone() else { return Ok(()) };
        let (mut head, mut pushed) = (self.head(), queue.pushed());
        let mut known = *head.borrow_and_update();
        self.wind_up(None).await?;
        let mut at_work = JoinSet::new();
        tokio::pin!(shutdown);
        loop {
            pushed.borrow_and_update();
            let newest = *head.borrow_and_update();
            let pause = match self.turn(queue.as_ref(), (known, newest), &mut at_work).await {
                Ok(pause) => {
                    known = newest;
                    pause
                }
                Err(error) => {
                    tracing::error!(%error, "Timers could not be read");
                    PAUSE_MAX
                }
            };
            tokio::select! {
                () = &mut shutdown => break,
                _ = pushed.changed() => {}
                _ = head.changed() => {}
                Some(_) = at_work.join_next() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        let finish = async { while at_work.join_next().await.is_some() {} };
        drop(tokio::time::timeout(STOP_TIME_MAX, finish).await);
        Ok(())
    }

    /// Looks once: at what changed in the ledger, at the clock, and at what is to be run.
    async fn turn(
        &self,
        queue: &dyn Queue,
        (known, newest): (u64, u64),
        at_work: &mut JoinSet<()>,
    ) -> Result<Duration, StoreError> {
        if newest > known {
            self.wind_up(Some(known)).await?;
        }
        self.schedule_timers().await?;
        while at_work.len() < AT_ONCE {
            let Some(lease) = queue.lease(fire::TOPIC, self.clock.now(), fire::LEASE).await? else {
                break;
            };
            let folio = self.clone();
            at_work.spawn(async move { folio.fire(lease).await });
        }
        let mut pause = PAUSE_MAX;
        for topic in [TOPIC, fire::TOPIC] {
            if let Some(due) = queue.next_due(topic).await? {
                let wait = due.duration_since(self.clock.now());
                pause = pause.min(Duration::try_from(wait).unwrap_or_default());
            }
        }
        Ok(pause.max(Duration::from_millis(5)))
    }

    /// Has every timer wait for its next slot as it stands now: all, or those that entries after a place concern.
    pub async fn wind_up(&self, after: Option<u64>) -> Result<(), StoreError> {
        let concerned = self.look(move |state| match after {
            None => {
                let all = held::live_triggers(state)?.into_iter();
                Ok(all.map(|one| (one.app, one.unit)).collect::<BTreeSet<_>>())
            }
            Some(after) => {
                let mut concerned = BTreeSet::new();
                for entry in state.entries(None, Page { after, limit: usize::MAX })? {
                    concerned.extend(held::touched(state, &entry)?);
                }
                Ok::<_, StoreError>(concerned)
            }
        });
        for (app, unit) in concerned.await? {
            self.wind(app, unit).await?;
        }
        Ok(())
    }

    /// Hands over every timer whose slot came to those that run it.
    pub async fn schedule_timers(&self) -> Result<(), StoreError> {
        let Some(queue) = &self.queue else { return Ok(()) };
        while let Some(lease) = queue.lease(TOPIC, self.clock.now(), LEASE).await? {
            if let Some((app, unit)) = self.hand_over(queue.as_ref(), lease).await? {
                // Whoever wanted to wind it meanwhile found it taken.
                Box::pin(self.wind(app, unit)).await?;
            }
        }
        Ok(())
    }

    /// Has one timer wait as it stands now, if it is one.
    async fn wind(&self, app: AppName, unit: UnitUid) -> Result<(), StoreError> {
        let Some(queue) = &self.queue else { return Ok(()) };
        loop {
            let of = app.clone();
            let Some(timer) = self.look(move |state| standing(state, &of, unit)).await? else {
                return Ok(());
            };
            let now = self.clock.now();
            if queue.push(timer.waiting(whole_second(timer.since.min(now)), now)).await? {
                return Ok(());
            }
            let Some(lease) = queue.claim(&name(unit), now, LEASE).await? else { return Ok(()) };
            let body = serde_json::from_value::<Waiting>(lease.task.body.clone());
            if body.is_ok_and(|waiting| waiting.snapshot == timer.snapshot) {
                queue.retry(lease.token, lease.task.due).await?;
                return Ok(());
            }
            self.hand_over(queue.as_ref(), lease).await?;
        }
    }

    /// Puts the fires of a timer's slots, and the timer itself with its next slot, in its task's place. Returns
    /// the timer if that happened.
    async fn hand_over(
        &self,
        queue: &dyn Queue,
        lease: Lease,
    ) -> Result<Option<(AppName, UnitUid)>, StoreError> {
        let Ok(waiting) = serde_json::from_value::<Waiting>(lease.task.body) else {
            tracing::error!(task = lease.task.name, "A timer's task makes no sense");
            queue.done(lease.token).await?;
            return Ok(None);
        };
        let (of, now) = (waiting.clone(), self.clock.now());
        let (timer, living, before) = self
            .look(move |state| {
                let living = state.unit_by_uid(of.unit)?;
                let app = of.app.or_else(|| living.as_ref().map(|unit| unit.key.app.clone()));
                let timer = match app {
                    Some(app) => standing(state, &app, of.unit)?,
                    None => None,
                };
                let before = trigger::spec(state, of.snapshot)?;
                Ok::<_, StoreError>((timer, living, before))
            })
            .await?;
        let Some(timer) = timer else {
            match (living, before) {
                // It may be live again; until then its slots pass.
                (Some(_), TriggerSpec::Timer(spec)) => {
                    let passed = Waiting { cursor: whole_second(now), ..waiting };
                    queue.replace(lease.token, vec![passed.task(&spec, now)]).await?;
                }
                _ => drop(queue.done(lease.token).await?),
            }
            return Ok(None);
        };
        let (app, unit) = (timer.app.clone(), timer.unit);
        let mut tasks = Vec::new();
        let mut cursor = waiting.cursor;
        if waiting.snapshot != timer.snapshot {
            let until = timer.live_since.min(now);
            if let TriggerSpec::Timer(spec) = before {
                let old = Standing { spec, snapshot: waiting.snapshot, ..timer.clone() };
                tasks.extend(self.came(&old, cursor, (until, now)).fires);
            }
            cursor = cursor.max(whole_second(until));
        }
        let came = self.came(&timer, cursor, (now, now));
        tasks.extend(came.fires);
        tasks.push(timer.waiting(came.cursor, now));
        let replaced = queue.replace(lease.token, tasks).await?;
        Ok(replaced.then_some((app, unit)))
    }

    /// What becomes of the slots after a cursor and up to a moment, seen from now.
    fn came(
        &self,
        timer: &Standing,
        cursor: Timestamp,
        (until, now): (Timestamp, Timestamp),
    ) -> Came {
        let Ok(schedule) = Schedule::of(&timer.spec) else {
            return Came { fires: Vec::new(), cursor };
        };
        let limit = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let keep = match timer.spec.misfire {
            Misfire::Skip => 1,
            Misfire::All => limit(self.limits().timer_catch_up_max).max(1),
        };
        let schedule::Slots { newest, older: mut skipped } = schedule.between(cursor, until, keep);
        let late = Duration::from_millis(self.limits().timer_late_ms_max);
        let mut fires = Vec::new();
        let mut last = cursor;
        for slot in newest {
            last = slot;
            let age = Duration::try_from(now.duration_since(slot)).unwrap_or_default();
            if timer.spec.misfire == Misfire::Skip && age > late {
                skipped = Some(Range::with(skipped, slot));
            } else {
                fires.push(timer.fire(slot, Action::Run).task());
            }
        }
        if let Some(Range { first, last, count }) = skipped {
            let action = Action::Skip { last, count };
            fires.push(timer.fire(first, action).task());
        }
        Came { fires, cursor: last }
    }
}

impl Standing {
    /// The task that waits for the slot after a cursor; for ever if there is no more, so that the cursor is kept.
    fn waiting(&self, cursor: Timestamp, now: Timestamp) -> Task {
        let (app, snapshot) = (Some(self.app.clone()), self.snapshot);
        Waiting { unit: self.unit, app, snapshot, cursor }.task(&self.spec, now)
    }

    fn fire(&self, slot: Timestamp, action: Action) -> Fire {
        let (app, name) = (self.app.clone(), self.name.clone());
        let release = Some(self.release.clone());
        Fire { unit: self.unit, app, name, snapshot: self.snapshot, release, slot, action }
    }
}

impl Waiting {
    fn task(&self, spec: &TimerSpec, now: Timestamp) -> Task {
        let due = match Schedule::of(spec) {
            Ok(schedule) => schedule.next(self.cursor).unwrap_or(Timestamp::MAX),
            Err(error) => {
                // Its time zone may be known again when the host has been seen to.
                tracing::error!(%error, timer.unit = %self.unit, "A timer cannot be run");
                now.checked_add(SCHEDULE_PAUSE).unwrap_or(Timestamp::MAX)
            }
        };
        let body = serde_json::to_value(self).expect("timers have string keys");
        Task { name: name(self.unit), topic: TOPIC.to_owned(), body, due }
    }
}

/// What the queue calls a timer.
fn name(unit: UnitUid) -> String {
    format!("timer/{unit}")
}

/// Slots of `@every` count from whole seconds, as cron's do.
fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// A timer as the live release has it; none if it has no such timer.
fn standing(
    state: &dyn State,
    app: &AppName,
    unit: UnitUid,
) -> Result<Option<Standing>, StoreError> {
    let Some(found) = held::live_trigger(state, app, unit)? else { return Ok(None) };
    let TriggerSpec::Timer(spec) = found.spec else { return Ok(None) };
    let since = state.entry(found.revision)?.map_or(found.live_since, |entry| entry.at);
    let held::LiveTrigger { app, name, snapshot, release, live_since, .. } = found;
    Ok(Some(Standing { unit, app, name, snapshot, spec, release, since, live_since }))
}
