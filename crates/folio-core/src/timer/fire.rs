//! Runs a slot: calls the functions of its timer, once, and reports what became of it. What was skipped is
//! reported here too, from a task of its own, so that no end of a server can swallow it.

use std::sync::Arc;
use std::time::Duration;

use folio_model::{
    AppName, Digest, Name, Qualifier, Reference, ReleaseId, TimerSpec, Timestamp, TriggerSpec,
    UnitUid,
};
use futures::future::join_all;
use serde::{Deserialize, Serialize};

use super::{FireOutcome, FireReport};
use crate::deliver::Envelope;
use crate::ports::{Lease, State, StoreError, Task};
use crate::release::held;
use crate::serving::Shown;
use crate::{Folio, trigger};

/// What the queue calls slots that are to be run.
pub(super) const TOPIC: &str = "fire";

/// How long a worker has a slot to itself: longer than it may run.
pub(super) const LEASE: Duration = Duration::from_secs(20 * 60);

/// How long a slot may run.
const RUN_TIME_MAX: Duration = Duration::from_secs(15 * 60);

/// A slot that came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fire {
    pub(super) unit: UnitUid,
    pub(super) app: AppName,
    pub(super) name: Name,
    /// What the timer said when the slot came.
    pub(super) snapshot: Digest,
    /// The release that was live then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) release: Option<ReleaseId>,
    /// The slot, or the first of several that are skipped.
    pub(super) slot: Timestamp,
    pub(super) action: Action,
}

/// What is to become of a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// It is run.
    Run,
    /// It and those after it are skipped, which is said.
    Skip { last: Timestamp, count: u64 },
}

impl Fire {
    /// The task that does it. Due at once, whatever the clock says by then: its slot came.
    pub(super) fn task(self) -> Task {
        let what = match self.action {
            Action::Run => "fire",
            Action::Skip { .. } => "skip",
        };
        let name = format!("{what}/{}/{}", self.unit, self.slot);
        let body = serde_json::to_value(&self).expect("fires have string keys");
        Task { name, topic: TOPIC.to_owned(), body, due: Timestamp::UNIX_EPOCH }
    }

    fn report(&self, outcome: FireOutcome, detail: String) -> FireReport {
        FireReport { slot: self.slot, last: None, count: 1, outcome, detail }
    }
}

impl Folio {
    /// Takes one slot that is to be run or reported, and does that. Returns false if there is none.
    pub async fn take_fire(&self) -> Result<bool, StoreError> {
        let Some(queue) = &self.queue else { return Ok(false) };
        match queue.lease(TOPIC, self.clock.now(), LEASE).await? {
            Some(lease) => {
                self.fire(lease).await;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Does what is to become of a slot, reports it, and is done with it.
    pub(super) async fn fire(&self, lease: Lease) {
        let Some(queue) = &self.queue else { return };
        match serde_json::from_value::<Fire>(lease.task.body) {
            Ok(fire) => match self.outcome(&fire, lease.attempt).await {
                Ok(report) => self.tell(&fire, report),
                Err(error) => {
                    // Nothing was called yet, so trying again runs nothing twice.
                    tracing::error!(%error, timer = %fire.name, "A timer could not be read");
                    let due = self.clock.now() + Duration::from_secs(1);
                    let again = Task { due, ..fire.task() };
                    drop(queue.replace(lease.token, vec![again]).await);
                    return;
                }
            },
            Err(error) => tracing::error!(%error, task = lease.task.name, "A fire makes no sense"),
        }
        if let Err(error) = queue.done(lease.token).await {
            tracing::error!(%error, task = lease.task.name, "The queue of fires failed");
        }
    }

    async fn outcome(&self, fire: &Fire, attempt: u32) -> Result<FireReport, StoreError> {
        if let Action::Skip { last, count } = fire.action {
            let detail = "no server was there in time".to_owned();
            let report = fire.report(FireOutcome::Skipped, detail);
            return Ok(FireReport { last: Some(last), count, ..report });
        }
        let (app, unit, snapshot) = (fire.app.clone(), fire.unit, fire.snapshot);
        let spec = self
            .look(move |state| {
                let lives = held::live_trigger(state, &app, unit)?.is_some();
                lives.then(|| trigger::spec(state, snapshot)).transpose()
            })
            .await?;
        let Some(TriggerSpec::Timer(timer)) = spec else {
            let detail = "the timer was deleted".to_owned();
            return Ok(fire.report(FireOutcome::Skipped, detail));
        };
        if attempt > 1 && !timer.retry {
            let detail = "its server ended while it ran".to_owned();
            return Ok(fire.report(FireOutcome::Interrupted, detail));
        }
        let members = self.members(fire, &timer).await?;
        let release = self.stamped(&fire.app, fire.release.as_ref()).await?;
        let ring = |function| self.ring(fire, &timer, (function, release.as_ref()));
        let calls = join_all(members.iter().map(ring));
        Ok(match tokio::time::timeout(RUN_TIME_MAX, calls).await {
            Ok(ends) => {
                let well = ends.iter().all(|(well, _)| *well);
                let detail = ends.into_iter().map(|(_, end)| end).collect::<Vec<_>>().join(", ");
                fire.report(if well { FireOutcome::Ran } else { FireOutcome::Failed }, detail)
            }
            Err(_) => {
                let detail = format!("it ran for more than {} s", RUN_TIME_MAX.as_secs());
                fire.report(FireOutcome::Failed, detail)
            }
        })
    }

    /// The functions that a slot calls: one of the targets, or every member of the tag.
    async fn members(&self, fire: &Fire, timer: &TimerSpec) -> Result<Vec<Reference>, StoreError> {
        let Some(tag) = timer.tag.clone() else {
            return Ok(self.one_of(&timer.targets).into_iter().collect());
        };
        let app = fire.app.clone();
        self.look(move |state| {
            let tag = state.tag(&app, &tag)?;
            let mut members = Vec::new();
            for (unit, number) in tag.into_iter().flat_map(|tag| tag.members) {
                let name = name(state, unit)?;
                members.extend(name.map(|name| Reference::to(name).at(Qualifier::Number(number))));
            }
            members.sort_by_key(ToString::to_string);
            Ok(members)
        })
        .await
    }

    /// Calls one function for a slot; says whether that went well, and how it ended.
    async fn ring(
        &self,
        fire: &Fire,
        timer: &TimerSpec,
        (function, release): (&Reference, Option<&Arc<Shown>>),
    ) -> (bool, String) {
        let envelope = Envelope::new(timer.method(), timer.path())
            .header("X-Fission-Timer-Name", fire.name.as_str())
            .header("Folio-Slot", &fire.slot.to_string());
        let id = format!("fire {} {}", fire.unit, fire.slot);
        let ended = self.deliver((&fire.app, function), &id, envelope, release).await;
        match ended {
            Ok(answer) => {
                let well = answer.status < 400;
                (well, format!("{function} answered {}", answer.status))
            }
            Err(error) => (false, format!("{function}: {error}")),
        }
    }

    fn tell(&self, fire: &Fire, report: FireReport) {
        let (app, timer, slot) = (&fire.app, &fire.name, report.slot);
        let FireReport { count, detail, .. } = &report;
        match report.outcome {
            FireOutcome::Ran => {
                tracing::info!(app.name = %app, timer.name = %timer, timer.slot = %slot, "Timer `{timer}` ran: {detail}");
            }
            FireOutcome::Failed => {
                tracing::warn!(app.name = %app, timer.name = %timer, timer.slot = %slot, "Timer `{timer}` failed: {detail}");
            }
            FireOutcome::Skipped => {
                let last = report.last.unwrap_or(slot);
                tracing::warn!(app.name = %app, timer.name = %timer, timer.slot = %slot, timer.last = %last, timer.count = count, "Timer `{timer}` skipped slots: {detail}");
            }
            FireOutcome::Interrupted => {
                tracing::warn!(app.name = %app, timer.name = %timer, timer.slot = %slot, "Timer `{timer}` was interrupted: {detail}");
            }
        }
        self.fires.add(fire.unit, report);
    }
}

fn name(state: &dyn State, unit: UnitUid) -> Result<Option<Name>, StoreError> {
    Ok(state.unit_by_uid(unit)?.map(|unit| unit.key.name))
}
