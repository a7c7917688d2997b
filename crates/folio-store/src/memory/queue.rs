//! The queue in memory. Nothing survives the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use folio_core::ports::{Lease, Queue, StoreError, Task};
use folio_model::Timestamp;
use tokio::sync::watch;
use uuid::Uuid;

use super::executions::Record;

/// A queue that lasts as long as the process.
#[derive(Default)]
pub struct MemoryQueue {
    tasks: Mutex<Tasks>,
    pushed: watch::Sender<u64>,
}

#[derive(Default)]
pub(super) struct Tasks {
    by_name: BTreeMap<String, Waiting>,
    pushed: u64,
    /// What the tasks of executions are about.
    pub(super) record: Record,
}

struct Waiting {
    task: Task,
    /// The order of pushing, for tasks due at the same moment.
    place: u64,
    attempt: u32,
    lease: Option<Held>,
}

struct Held {
    token: Uuid,
    until: Timestamp,
}

impl MemoryQueue {
    pub(super) fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever waits for a task.
    pub(super) fn tell(&self) {
        self.pushed.send_modify(|pushed| *pushed += 1);
    }
}

impl Tasks {
    pub(super) fn push(&mut self, task: Task) -> bool {
        if self.by_name.contains_key(&task.name) {
            return false;
        }
        self.pushed += 1;
        let waiting = Waiting { place: self.pushed, attempt: 0, lease: None, task };
        self.by_name.insert(waiting.task.name.clone(), waiting);
        true
    }

    /// Gives a task that was just pushed to whoever pushed it.
    pub(super) fn hold_by_name(&mut self, name: &str, until: Timestamp) -> Option<Uuid> {
        self.by_name.get_mut(name).map(|waiting| waiting.hold(until).token)
    }

    /// Removes the task a lease holds.
    pub(super) fn done(&mut self, token: Uuid) -> bool {
        let name = self.held(token).map(|waiting| waiting.task.name.clone());
        name.is_some_and(|name| self.forget(&name))
    }

    /// Removes a task, whoever has it.
    pub(super) fn forget(&mut self, name: &str) -> bool {
        self.by_name.remove(name).is_some()
    }

    /// The task a lease holds, until it passes to another.
    fn held(&mut self, token: Uuid) -> Option<&mut Waiting> {
        let holds =
            |waiting: &&mut Waiting| waiting.lease.as_ref().is_some_and(|l| l.token == token);
        self.by_name.values_mut().find(holds)
    }
}

impl Waiting {
    fn hold(&mut self, until: Timestamp) -> Lease {
        let token = Uuid::new_v4();
        self.lease = Some(Held { token, until });
        self.attempt += 1;
        Lease { token, task: self.task.clone(), attempt: self.attempt }
    }

    fn is_free(&self, now: Timestamp) -> bool {
        self.free_from() <= now
    }

    fn free_from(&self) -> Timestamp {
        self.lease.as_ref().map_or(self.task.due, |held| held.until.max(self.task.due))
    }
}

#[async_trait]
impl Queue for MemoryQueue {
    async fn push(&self, task: Task) -> Result<bool, StoreError> {
        let pushed = self.tasks().push(task);
        if pushed {
            self.tell();
        }
        Ok(pushed)
    }

    async fn lease(
        &self,
        topic: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let until = now.checked_add(time);
        let until = until.map_err(|error| StoreError::failed("lease a task", error))?;
        let mut tasks = self.tasks();
        let free = tasks.by_name.values_mut().filter(|waiting| waiting.task.topic == topic);
        let free = free.filter(|waiting| waiting.is_free(now));
        let Some(first) = free.min_by_key(|waiting| (waiting.task.due, waiting.place)) else {
            return Ok(None);
        };
        Ok(Some(first.hold(until)))
    }

    async fn claim(
        &self,
        name: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let until = now.checked_add(time);
        let until = until.map_err(|error| StoreError::failed("claim a task", error))?;
        let mut tasks = self.tasks();
        let found = tasks.by_name.get_mut(name);
        let held = |waiting: &Waiting| waiting.lease.as_ref().is_some_and(|l| l.until > now);
        Ok(found.filter(|waiting| !held(waiting)).map(|waiting| waiting.hold(until)))
    }

    async fn replace(&self, token: Uuid, more: Vec<Task>) -> Result<bool, StoreError> {
        let mut tasks = self.tasks();
        let Some(name) = tasks.held(token).map(|waiting| waiting.task.name.clone()) else {
            return Ok(false);
        };
        tasks.by_name.remove(&name);
        for task in more {
            tasks.push(task);
        }
        self.tell();
        Ok(true)
    }

    async fn done(&self, token: Uuid) -> Result<bool, StoreError> {
        Ok(self.tasks().done(token))
    }

    async fn retry(&self, token: Uuid, due: Timestamp) -> Result<bool, StoreError> {
        let mut tasks = self.tasks();
        let Some(waiting) = tasks.held(token) else { return Ok(false) };
        waiting.lease = None;
        waiting.task.due = due;
        self.tell();
        Ok(true)
    }

    async fn next_due(&self, topic: &str) -> Result<Option<Timestamp>, StoreError> {
        let tasks = self.tasks();
        let of_topic = tasks.by_name.values().filter(|waiting| waiting.task.topic == topic);
        Ok(of_topic.map(Waiting::free_from).min())
    }

    async fn peek(&self, name: &str) -> Result<Option<Task>, StoreError> {
        Ok(self.tasks().by_name.get(name).map(|waiting| waiting.task.clone()))
    }

    fn pushed(&self) -> watch::Receiver<u64> {
        self.pushed.subscribe()
    }
}
