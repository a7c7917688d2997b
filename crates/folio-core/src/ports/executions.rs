//! Executions: what was run, kept until nobody asks any more. Each has a task in the queue until it ends.

use std::collections::BTreeMap;

use async_trait::async_trait;
use folio_model::{
    AppName, Execution, ExecutionEnd, ExecutionId, ExecutionStatus, Number, Timestamp, UnitUid,
};
use uuid::Uuid;

use super::{StoreError, Task};

/// Which executions are meant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExecutionFilter {
    /// Those of this app.
    pub app: Option<AppName>,
    /// Those of this function.
    pub unit: Option<UnitUid>,
    /// Those that are so far.
    pub status: Option<ExecutionStatus>,
    /// Those older than this place.
    pub below: Option<u64>,
}

/// The record of executions, beside the queue: both change together or not at all.
#[async_trait]
pub trait Executions: Send + Sync {
    /// Adds an execution that runs, counts it for its version, and pushes the task that runs it.
    ///
    /// Whoever adds it may hold the task at once, until a moment.
    async fn begin(
        &self,
        execution: Execution,
        task: Task,
        held: Option<Timestamp>,
    ) -> Result<Begun, StoreError>;

    /// Adds an execution that has ended already, counts it for its version, and returns its place. Returns none and
    /// changes nothing if there is one of that id.
    async fn add_ended(
        &self,
        execution: Execution,
        end: ExecutionEnd,
    ) -> Result<Option<u64>, StoreError>;

    /// Notes that an execution that runs is begun now, and says how often it was. None if it does not run any more.
    async fn start(&self, id: ExecutionId) -> Result<Option<u64>, StoreError>;

    /// Takes back that it was begun: nothing could run it after all.
    async fn take_back_start(&self, id: ExecutionId) -> Result<(), StoreError>;

    /// Records how an execution ended, and removes its task: the one a token holds, or the one of a name. Returns
    /// false and changes nothing if it had ended, was removed, or the lease passed to another.
    async fn end(
        &self,
        id: ExecutionId,
        end: ExecutionEnd,
        task: TaskOf,
    ) -> Result<bool, StoreError>;

    /// One execution.
    async fn execution(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError>;

    /// What one printed; empty until it ended, none if there is no such execution.
    async fn execution_log(&self, id: ExecutionId) -> Result<Option<String>, StoreError>;

    /// The newest executions first, at most so many.
    async fn executions(
        &self,
        filter: ExecutionFilter,
        limit: usize,
    ) -> Result<Vec<Execution>, StoreError>;

    /// Forgets an execution and removes the task of a name. Returns false if there was none.
    async fn remove(&self, id: ExecutionId, task: &str) -> Result<bool, StoreError>;

    /// Forgets executions that ended before a moment, at most so many. Returns how many.
    async fn remove_ended(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;

    /// Executions of a function's version that run, or of all its versions and its draft, oldest first and at
    /// most ten.
    async fn running(
        &self,
        unit: UnitUid,
        number: Option<Number>,
    ) -> Result<Vec<ExecutionId>, StoreError>;

    /// How often each version of a function was run since it was made, by number; those that were not asked for
    /// by version are counted under 0. What is removed stays counted.
    async fn counts(&self, unit: UnitUid) -> Result<BTreeMap<u64, u64>, StoreError>;
}

/// An execution that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// Its place among all.
    pub seq: u64,
    /// The lease on its task, if it is held.
    pub lease: Option<Uuid>,
}

/// How the task of an execution is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskOf {
    /// By who holds it.
    Lease(Uuid),
    /// By its name, whoever holds it.
    Name(String),
}
