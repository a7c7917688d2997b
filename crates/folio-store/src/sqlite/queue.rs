//! The queue in SQLite. Every step is a write of its own that shares a commit with whatever else waits.
//!
//! One process owns the directory, so whoever held a lease when it is opened is gone: the tasks are free again.

use std::time::Duration;

use async_trait::async_trait;
use folio_core::crash;
use folio_core::ports::{Lease, Queue, StoreError, Task};
use folio_model::Timestamp;
use rusqlite::{Connection, Row, params};
use tokio::sync::watch;
use uuid::Uuid;

use super::Db;
use super::query::{all, json, moment, one, run, text, to_json};

/// The queue of a data directory.
pub struct SqliteQueue {
    pub(super) db: Db,
    pushed: watch::Sender<u64>,
}

impl SqliteQueue {
    /// The queue of a data directory this process owns. Ends the leases of the process before; make one per
    /// directory, because it tells its own watchers only.
    pub async fn open(db: Db) -> Result<Self, StoreError> {
        let queue = Self::read_only(db);
        queue.db.write(|session| free_all(session)).await?;
        Ok(queue)
    }

    /// The queue of a data directory that another process may own. Nothing can be pushed or leased.
    pub fn read_only(db: Db) -> Self {
        Self { db, pushed: watch::Sender::new(0) }
    }

    /// Runs a job that may put a task within reach, and tells whoever waits for one.
    async fn put(
        &self,
        job: impl FnOnce(&Connection) -> Result<bool, StoreError> + Send + 'static,
    ) -> Result<bool, StoreError> {
        self.put_some(job, |put| *put).await
    }

    /// As [`Self::put`], for a job whose answer says in its own words whether it did.
    pub(super) async fn put_some<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        is_put: impl FnOnce(&T) -> bool + Send + 'static,
    ) -> Result<T, StoreError> {
        let pushed = self.pushed.clone();
        let tell = move |answer: &T| {
            if is_put(answer) {
                pushed.send_modify(|pushed| *pushed += 1);
            }
        };
        self.db.write_then(|session| job(session), tell).await
    }
}

#[async_trait]
impl Queue for SqliteQueue {
    async fn push(&self, task: Task) -> Result<bool, StoreError> {
        self.put(move |conn| push(conn, &task)).await
    }

    async fn lease(
        &self,
        topic: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let until = now.checked_add(time);
        let until = until.map_err(|error| StoreError::failed("lease a task", error))?;
        let topic = topic.to_owned();
        self.db.write(move |conn| lease(conn, &topic, now, until)).await
    }

    async fn claim(
        &self,
        name: &str,
        now: Timestamp,
        time: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let until = now.checked_add(time);
        let until = until.map_err(|error| StoreError::failed("claim a task", error))?;
        let name = name.to_owned();
        self.db.write(move |conn| claim(conn, &name, now, until)).await
    }

    async fn replace(&self, token: Uuid, tasks: Vec<Task>) -> Result<bool, StoreError> {
        self.put(move |conn| {
            if !done(conn, token)? {
                return Ok(false);
            }
            for task in &tasks {
                push(conn, task)?;
            }
            Ok(true)
        })
        .await
    }

    async fn done(&self, token: Uuid) -> Result<bool, StoreError> {
        self.db.write(move |conn| done(conn, token)).await
    }

    async fn retry(&self, token: Uuid, due: Timestamp) -> Result<bool, StoreError> {
        self.put(move |conn| retry(conn, token, due)).await
    }

    async fn next_due(&self, topic: &str) -> Result<Option<Timestamp>, StoreError> {
        let topic = topic.to_owned();
        let sql = "SELECT free_from FROM tasks WHERE topic = ?1 ORDER BY free_from LIMIT 1";
        self.db.read(move |conn| one(conn, sql, [topic], |row| text(row, 0))).await
    }

    async fn peek(&self, name: &str) -> Result<Option<Task>, StoreError> {
        let name = name.to_owned();
        let sql = "SELECT name, topic, body, due, attempt, place FROM tasks WHERE name = ?1";
        let found = self.db.read(move |conn| one(conn, sql, [name], read_task)).await?;
        Ok(found.map(|found| found.task))
    }

    fn pushed(&self) -> watch::Receiver<u64> {
        self.pushed.subscribe()
    }
}

/// Reads every task: one that does not read back is damaged.
pub(super) fn check(conn: &Connection) -> Result<(), StoreError> {
    let sql = "SELECT name, topic, body, due, attempt, place, free_from FROM tasks";
    let read = |row: &Row<'_>| Ok((read_task(row)?, text::<Timestamp>(row, 6)?));
    all(conn, sql, [], read).map(|_| ())
}

fn free_all(conn: &Connection) -> Result<(), StoreError> {
    let sql = "UPDATE tasks SET token = NULL, free_from = due WHERE token IS NOT NULL";
    run(conn, sql, []).map(|_| ())
}

pub(super) fn push(conn: &Connection, task: &Task) -> Result<bool, StoreError> {
    let sql = "INSERT INTO tasks (name, topic, body, due, free_from) VALUES (?1, ?2, ?3, ?4, ?4) \
               ON CONFLICT DO NOTHING";
    let values = params![task.name, task.topic, to_json(&task.body), moment(task.due)];
    let pushed = run(conn, sql, values)? == 1;
    crash::point("queue.pushed");
    Ok(pushed)
}

fn lease(
    conn: &Connection,
    topic: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<Lease>, StoreError> {
    // The index is named because the other would lead past everything that is free and not yet first.
    let sql = "SELECT name, topic, body, due, attempt, place FROM tasks INDEXED BY tasks_by_due \
               WHERE topic = ?1 AND due <= ?2 AND free_from <= ?2 ORDER BY due, place LIMIT 1";
    match one(conn, sql, params![topic, moment(now)], read_task)? {
        Some(found) => hold(conn, found, until).map(Some),
        None => Ok(None),
    }
}

fn claim(
    conn: &Connection,
    name: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<Lease>, StoreError> {
    let sql = "SELECT name, topic, body, due, attempt, place FROM tasks \
               WHERE name = ?1 AND (token IS NULL OR free_from <= ?2)";
    match one(conn, sql, params![name, moment(now)], read_task)? {
        Some(found) => hold(conn, found, until).map(Some),
        None => Ok(None),
    }
}

/// Gives a task that was just pushed to whoever pushed it.
pub(super) fn hold_by_name(
    conn: &Connection,
    name: &str,
    until: Timestamp,
) -> Result<Option<Uuid>, StoreError> {
    let sql = "SELECT name, topic, body, due, attempt, place FROM tasks WHERE name = ?1";
    match one(conn, sql, [name], read_task)? {
        Some(found) => hold(conn, found, until).map(|lease| Some(lease.token)),
        None => Ok(None),
    }
}

/// Gives a task that is free to a new holder.
fn hold(conn: &Connection, found: Found, until: Timestamp) -> Result<Lease, StoreError> {
    let (token, attempt) = (Uuid::new_v4(), found.attempt.saturating_add(1));
    let sql = "UPDATE tasks SET token = ?2, attempt = ?3, free_from = ?4 WHERE place = ?1";
    run(conn, sql, params![found.place, token.as_bytes(), attempt, moment(until)])?;
    crash::point("queue.leased");
    Ok(Lease { token, task: found.task, attempt })
}

pub(super) fn done(conn: &Connection, token: Uuid) -> Result<bool, StoreError> {
    let done = run(conn, "DELETE FROM tasks WHERE token = ?1", [token.as_bytes()])? == 1;
    crash::point("queue.done");
    Ok(done)
}

fn retry(conn: &Connection, token: Uuid, due: Timestamp) -> Result<bool, StoreError> {
    let sql = "UPDATE tasks SET token = NULL, due = ?2, free_from = ?2 WHERE token = ?1";
    let given_back = run(conn, sql, params![token.as_bytes(), moment(due)])? == 1;
    crash::point("queue.returned");
    Ok(given_back)
}

struct Found {
    task: Task,
    attempt: u32,
    place: i64,
}

fn read_task(row: &Row<'_>) -> rusqlite::Result<Found> {
    let task =
        Task { name: row.get(0)?, topic: row.get(1)?, body: json(row, 2)?, due: text(row, 3)? };
    Ok(Found { task, attempt: row.get(4)?, place: row.get(5)? })
}
