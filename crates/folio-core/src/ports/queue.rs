//! The queue: work to be done later, by whoever leases it first, until it is done.

use std::time::Duration;

use async_trait::async_trait;
use folio_model::Timestamp;
use serde_json::Value;
use tokio::sync::watch;
use uuid::Uuid;

use super::StoreError;

/// Work to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Names the work; pushing a name that waits already changes nothing.
    pub name: String,
    /// Which workers understand it.
    pub topic: String,
    /// What they need to know.
    pub body: Value,
    /// Not before.
    pub due: Timestamp,
}

/// A task in the hands of one worker until the lease ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Lease {
    /// Proves who holds it.
    pub token: Uuid,
    /// The work.
    pub task: Task,
    /// How often it was leased, this time included.
    pub attempt: u32,
}

/// Tasks that survive the process that pushed them. A task is leased to one worker at a time; when a lease
/// ends without [`Queue::done`], the task is leased again.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Adds a task. Returns false if one of that name waits or is leased.
    async fn push(&self, task: Task) -> Result<bool, StoreError>;

    /// Takes the task of a topic that has been due longest, for a time. None if nothing is due.
    async fn lease(
        &self,
        topic: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError>;

    /// Takes one task by name, for a time, whether it is due or not. None if there is no such task or another
    /// worker has it.
    async fn claim(
        &self,
        name: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError>;

    /// Removes a leased task and adds others, all or nothing; one of them may have its name. Returns false and
    /// changes nothing if the lease had ended and passed to another. A task whose name waits already is left out.
    async fn replace(&self, token: Uuid, tasks: Vec<Task>) -> Result<bool, StoreError>;

    /// Removes a leased task. Returns false if the lease had ended and passed to another.
    async fn done(&self, token: Uuid) -> Result<bool, StoreError>;

    /// Gives a leased task back, to be leased again from `due` on. Returns false as [`Queue::done`] does.
    async fn retry(&self, token: Uuid, due: Timestamp) -> Result<bool, StoreError>;

    /// When the next task of a topic can be leased: when it is due, or when the lease on it ends. None if the
    /// topic has no tasks. May lie in the past.
    async fn next_due(&self, topic: &str) -> Result<Option<Timestamp>, StoreError>;

    /// Looks at a task that waits or is leased, and leaves it as it is.
    async fn peek(&self, name: &str) -> Result<Option<Task>, StoreError>;

    /// Changes whenever a task was pushed or given back, never before that is durable. With
    /// [`Queue::next_due`] a worker knows how long to wait without looking again and again.
    fn pushed(&self) -> watch::Receiver<u64>;
}
