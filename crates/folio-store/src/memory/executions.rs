//! The record of executions in memory, beside the queue that runs them.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use folio_core::ports::{Begun, ExecutionFilter, Executions, StoreError, Task, TaskOf};
use folio_model::{
    Execution, ExecutionEnd, ExecutionId, ExecutionStatus, Number, Timestamp, UnitUid,
};

use super::queue::MemoryQueue;

/// Every execution, by place.
#[derive(Default)]
pub(super) struct Record {
    by_place: BTreeMap<u64, (Execution, String)>,
    places: HashMap<ExecutionId, u64>,
    counts: HashMap<UnitUid, BTreeMap<u64, u64>>,
    begun: HashMap<ExecutionId, u64>,
    newest: u64,
}

impl Record {
    fn add(&mut self, execution: Execution) {
        self.newest += 1;
        let number = execution.number.filter(|_| execution.asked.pinned).map_or(0, Number::get);
        *self.counts.entry(execution.unit).or_default().entry(number).or_default() += 1;
        self.places.insert(execution.id, self.newest);
        let execution = Execution { seq: self.newest, ..execution };
        self.by_place.insert(self.newest, (execution, String::new()));
    }

    fn find(&self, id: ExecutionId) -> Option<&(Execution, String)> {
        self.by_place.get(self.places.get(&id)?)
    }

    fn end(&mut self, id: ExecutionId, end: ExecutionEnd) -> bool {
        let found = self.places.get(&id).and_then(|place| self.by_place.get_mut(place));
        let running = |row: &&mut (Execution, String)| row.0.status == ExecutionStatus::Running;
        let Some((execution, log)) = found.filter(running) else { return false };
        let ExecutionEnd { status, output, log: printed, at, duration_ms } = end;
        *log = printed;
        *execution =
            Execution { status, output, ended_at: Some(at), duration_ms, ..execution.clone() };
        true
    }

    fn start(&mut self, id: ExecutionId) -> Option<u64> {
        let runs = |row: &&(Execution, String)| row.0.status == ExecutionStatus::Running;
        self.find(id).filter(runs)?;
        let begun = self.begun.entry(id).or_default();
        *begun += 1;
        Some(*begun)
    }

    fn remove(&mut self, id: ExecutionId) -> bool {
        self.begun.remove(&id);
        let place = self.places.remove(&id);
        place.and_then(|place| self.by_place.remove(&place)).is_some()
    }
}

fn fits(filter: &ExecutionFilter, execution: &Execution) -> bool {
    filter.app.as_ref().is_none_or(|app| *app == execution.app)
        && filter.unit.is_none_or(|unit| unit == execution.unit)
        && filter.status.is_none_or(|status| status == execution.status)
        && filter.below.is_none_or(|below| execution.seq < below)
}

#[async_trait]
impl Executions for MemoryQueue {
    async fn begin(
        &self,
        execution: Execution,
        task: Task,
        held: Option<Timestamp>,
    ) -> Result<Begun, StoreError> {
        let mut tasks = self.tasks();
        if tasks.record.places.contains_key(&execution.id) {
            return Err(StoreError::Conflict { what: format!("execution {}", execution.id) });
        }
        tasks.record.add(execution);
        let (seq, name) = (tasks.record.newest, task.name.clone());
        tasks.push(task);
        let lease = held.and_then(|until| tasks.hold_by_name(&name, until));
        if lease.is_none() {
            self.tell();
        }
        Ok(Begun { seq, lease })
    }

    async fn add_ended(
        &self,
        execution: Execution,
        end: ExecutionEnd,
    ) -> Result<Option<u64>, StoreError> {
        let record = &mut self.tasks().record;
        if record.places.contains_key(&execution.id) {
            return Ok(None);
        }
        let id = execution.id;
        record.add(execution);
        record.end(id, end);
        Ok(Some(record.newest))
    }

    async fn start(&self, id: ExecutionId) -> Result<Option<u64>, StoreError> {
        Ok(self.tasks().record.start(id))
    }

    async fn take_back_start(&self, id: ExecutionId) -> Result<(), StoreError> {
        if let Some(begun) = self.tasks().record.begun.get_mut(&id) {
            *begun = begun.saturating_sub(1);
        }
        Ok(())
    }

    async fn end(
        &self,
        id: ExecutionId,
        end: ExecutionEnd,
        task: TaskOf,
    ) -> Result<bool, StoreError> {
        let mut tasks = self.tasks();
        let held = match task {
            TaskOf::Lease(token) => tasks.done(token),
            TaskOf::Name(name) => {
                tasks.forget(&name);
                true
            }
        };
        Ok(held && tasks.record.end(id, end))
    }

    async fn execution(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError> {
        Ok(self.tasks().record.find(id).map(|(execution, _)| execution.clone()))
    }

    async fn execution_log(&self, id: ExecutionId) -> Result<Option<String>, StoreError> {
        Ok(self.tasks().record.find(id).map(|(_, log)| log.clone()))
    }

    async fn executions(
        &self,
        filter: ExecutionFilter,
        limit: usize,
    ) -> Result<Vec<Execution>, StoreError> {
        let tasks = self.tasks();
        let newest = tasks.record.by_place.values().rev().map(|(execution, _)| execution);
        let wanted = newest.filter(|execution| fits(&filter, execution));
        Ok(wanted.take(limit).cloned().collect())
    }

    async fn remove(&self, id: ExecutionId, task: &str) -> Result<bool, StoreError> {
        let mut tasks = self.tasks();
        tasks.forget(task);
        Ok(tasks.record.remove(id))
    }

    async fn remove_ended(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let mut tasks = self.tasks();
        let all = tasks.record.by_place.values().map(|(execution, _)| execution);
        let ended = all.filter_map(|one| one.ended_at.map(|at| (at, one.id)));
        let mut old: Vec<_> = ended.filter(|(at, _)| *at < before).collect();
        old.sort_unstable();
        old.truncate(limit);
        Ok(old.into_iter().filter(|(_, id)| tasks.record.remove(*id)).count())
    }

    async fn running(
        &self,
        unit: UnitUid,
        number: Option<Number>,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        let tasks = self.tasks();
        let all = tasks.record.by_place.values().map(|(execution, _)| execution);
        let status = Some(ExecutionStatus::Running);
        let filter = ExecutionFilter { unit: Some(unit), status, ..ExecutionFilter::default() };
        let running = all.filter(|execution| fits(&filter, execution));
        let of = running.filter(|one| number.is_none() || one.number == number);
        Ok(of.map(|execution| execution.id).take(10).collect())
    }

    async fn counts(&self, unit: UnitUid) -> Result<BTreeMap<u64, u64>, StoreError> {
        Ok(self.tasks().record.counts.get(&unit).cloned().unwrap_or_default())
    }
}
