//! Takes executions that wait from the queue and runs them, each until its end is recorded.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use folio_model::{Execution, ExecutionId, ExecutionMode, ExecutionStatus, Qualifier, Reference};
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;

use super::perform::Performed;
use super::{LEASE, TOPIC, task};
use crate::ports::runtime::Plan;
use crate::ports::{Executions, Lease, Queue, StoreError, TaskOf};
use crate::{Class, Explain as _, Folio};

/// Executions that run at the same time.
const AT_ONCE: usize = 128;

/// The longest wait between two looks at the queue.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How long to wait before an execution is begun again that found no room.
const BUSY_PAUSE: Duration = Duration::from_millis(200);

/// How long one waits for its turn before others may try.
const TURN_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long executions may take to finish when told to stop.
const STOP_TIME_MAX: Duration = Duration::from_secs(10);

/// How many old executions are forgotten at once.
const FORGET_MAX: usize = 1000;

/// How often old executions are looked for.
const FORGET_PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug, Deserialize)]
struct Waiting {
    id: ExecutionId,
}

impl Folio {
    /// Runs executions that wait, until told to stop; lets what runs then finish for a while.
    pub async fn run_executions(
        &self,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), StoreError> {
        let (Some(queue), Some(record)) = (self.queue.clone(), self.executions.clone()) else {
            return Ok(());
        };
        let mut pushed = queue.pushed();
        let mut at_work = JoinSet::new();
        let mut forget = tokio::time::interval(FORGET_PAUSE);
        tokio::pin!(shutdown);
        loop {
            pushed.borrow_and_update();
            let pause = match self.take_executions(queue.as_ref(), &mut at_work).await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::error!(%error, "Executions could not be read");
                    PAUSE_MAX
                }
            };
            tokio::select! {
                () = &mut shutdown => break,
                _ = forget.tick() => self.forget_executions(record.as_ref()).await,
                _ = pushed.changed(), if at_work.len() < AT_ONCE => {}
                Some(_) = at_work.join_next() => {}
                () = tokio::time::sleep(pause), if at_work.len() < AT_ONCE => {}
            }
        }
        let finish = async { while at_work.join_next().await.is_some() {} };
        drop(tokio::time::timeout(STOP_TIME_MAX, finish).await);
        Ok(())
    }

    /// Takes what is due, as far as there is room, and says how long nothing else will be.
    async fn take_executions(
        &self,
        queue: &dyn Queue,
        at_work: &mut JoinSet<()>,
    ) -> Result<Duration, StoreError> {
        while at_work.len() < AT_ONCE {
            let Some(lease) = queue.lease(TOPIC, self.clock.now(), LEASE).await? else { break };
            let folio = self.clone();
            at_work.spawn(async move { folio.take_execution(lease).await });
            while at_work.try_join_next().is_some() {}
        }
        let due = queue.next_due(TOPIC).await?;
        let wait = due.map(|due| due.duration_since(self.clock.now()));
        let pause = wait.map_or(PAUSE_MAX, |wait| Duration::try_from(wait).unwrap_or_default());
        Ok(pause.clamp(Duration::from_millis(5), PAUSE_MAX))
    }

    /// Brings one execution to its end, or gives it back.
    async fn take_execution(&self, lease: Lease) {
        let name = lease.task.name.clone();
        if let Err(error) = self.settle_execution(lease).await {
            // The lease ends by itself, and the execution is begun again.
            tracing::error!(%error, task = name, "An execution could not be recorded");
        }
    }

    async fn settle_execution(&self, lease: Lease) -> Result<(), StoreError> {
        let (Some(queue), Some(record)) = (&self.queue, &self.executions) else { return Ok(()) };
        let Ok(waiting) = serde_json::from_value::<Waiting>(lease.task.body.clone()) else {
            tracing::error!(task = lease.task.name, "The task of an execution makes no sense");
            return queue.done(lease.token).await.map(|_| ());
        };
        let running = record.execution(waiting.id).await?;
        let Some(execution) = running.filter(|one| one.status == ExecutionStatus::Running) else {
            return queue.done(lease.token).await.map(|_| ());
        };
        let performed = match self.ready(&execution).await {
            Ok(plan) => self.perform_in_turn(record.as_ref(), &plan, &execution).await?,
            Err(performed) => performed,
        };
        match performed {
            Performed::Ended(end) => {
                record.end(execution.id, end, TaskOf::Lease(lease.token)).await?;
            }
            Performed::Later(_) => {
                let due = self.clock.now() + BUSY_PAUSE;
                let again = task(execution.id, Some(due));
                queue.replace(lease.token, vec![again]).await?;
            }
        }
        Ok(())
    }

    /// Begins an execution when its version has a worker for it: only what was begun counts as an attempt.
    async fn perform_in_turn(
        &self,
        record: &dyn Executions,
        plan: &Arc<Plan>,
        execution: &Execution,
    ) -> Result<Performed, StoreError> {
        let room = self.at_work.room(plan);
        let Ok(turn) = tokio::time::timeout(TURN_WAIT_MAX, room.acquire_owned()).await else {
            return Ok(Performed::Later("all its workers are busy".to_owned()));
        };
        let begun = record.start(execution.id).await?.unwrap_or_default();
        let performed = if begun > self.limits().execution_attempts_max {
            let why = json!("Its server ended while it ran.");
            Performed::Ended(self.ended(ExecutionStatus::Error, why))
        } else {
            self.call_function(plan, execution).await
        };
        if matches!(performed, Performed::Later(_)) {
            record.take_back_start(execution.id).await?;
        }
        drop(turn);
        Ok(performed)
    }

    /// The plan of an execution that may be begun, or what becomes of it instead.
    async fn ready(&self, execution: &Execution) -> Result<Arc<Plan>, Performed> {
        let error = |why: String| Performed::Ended(self.ended(ExecutionStatus::Error, json!(why)));
        if execution.asked.mode == ExecutionMode::Sync {
            return Err(error("Its server ended while it ran.".to_owned()));
        }
        let function = Reference::to(execution.asked.function.clone());
        let function = match execution.number {
            Some(number) => function.at(Qualifier::Number(number)),
            None => function,
        };
        match self.draw(&execution.app, &function, None).await {
            Ok(plan) if plan.unit == execution.unit => Ok(plan),
            Ok(_) => Err(error("Its function was deleted.".to_owned())),
            Err(found) if found.class() == Class::Unavailable => {
                Err(Performed::Later(found.to_string()))
            }
            Err(found) => Err(error(found.to_string())),
        }
    }

    async fn forget_executions(&self, record: &dyn Executions) {
        let age = Duration::from_millis(self.limits().execution_retention_ms);
        let Ok(before) = self.clock.now().checked_sub(age) else { return };
        if let Err(error) = record.remove_ended(before, FORGET_MAX).await {
            tracing::error!(%error, "Old executions could not be forgotten");
        }
    }
}
