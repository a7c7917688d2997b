//! The record of executions in SQLite, beside the queue that runs them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use folio_core::ports::{Begun, ExecutionFilter, Executions, StoreError, Task, TaskOf};
use folio_model::{
    Execution, ExecutionEnd, ExecutionId, ExecutionStatus, Number, Timestamp, UnitUid,
};
use rusqlite::{Connection, Row, ToSql, params};
use uuid::Uuid;

use super::query::{
    all, json, json_option, limit, moment, number_option, one, run, seq, signed, text, text_option,
    to_json, uid,
};
use super::queue::{self, SqliteQueue};

const COLUMNS: &str = "seq, id, app, unit, number, asked, input, status, output, created_at, \
                       ended_at, duration_ms";

#[async_trait]
impl Executions for SqliteQueue {
    async fn begin(
        &self,
        execution: Execution,
        task: Task,
        held: Option<Timestamp>,
    ) -> Result<Begun, StoreError> {
        let job = move |conn: &Connection| begin(conn, &execution, &task, held);
        self.put_some(job, |begun: &Begun| begun.lease.is_none()).await
    }

    async fn add_ended(
        &self,
        execution: Execution,
        end: ExecutionEnd,
    ) -> Result<Option<u64>, StoreError> {
        self.db.write(move |conn| add_ended(conn, &execution, &end)).await
    }

    async fn start(&self, id: ExecutionId) -> Result<Option<u64>, StoreError> {
        let sql = "UPDATE executions SET begun = begun + 1 WHERE id = ?1 AND status = 'running' \
                   RETURNING begun";
        self.db.write(move |conn| one(conn, sql, [id.0.as_bytes()], |row| seq(row, 0))).await
    }

    async fn take_back_start(&self, id: ExecutionId) -> Result<(), StoreError> {
        let sql = "UPDATE executions SET begun = begun - 1 WHERE id = ?1 AND begun > 0";
        self.db.write(move |conn| run(conn, sql, [id.0.as_bytes()]).map(|_| ())).await
    }

    async fn end(
        &self,
        id: ExecutionId,
        end: ExecutionEnd,
        task: TaskOf,
    ) -> Result<bool, StoreError> {
        self.db.write(move |conn| finish(conn, id, &end, &task)).await
    }

    async fn execution(&self, id: ExecutionId) -> Result<Option<Execution>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM executions WHERE id = ?1");
        // Everybody who starts one asks first, and another thread would take longer to wake up than this takes.
        self.db.read_now(|conn| one(conn, &sql, [id.0.as_bytes()], read))
    }

    async fn execution_log(&self, id: ExecutionId) -> Result<Option<String>, StoreError> {
        let sql = "SELECT log FROM executions WHERE id = ?1";
        self.db.read(move |conn| one(conn, sql, [id.0.as_bytes()], |row| row.get(0))).await
    }

    async fn executions(
        &self,
        filter: ExecutionFilter,
        items: usize,
    ) -> Result<Vec<Execution>, StoreError> {
        self.db.read(move |conn| list(conn, &filter, items)).await
    }

    async fn remove(&self, id: ExecutionId, task: &str) -> Result<bool, StoreError> {
        let task = task.to_owned();
        self.db
            .write(move |conn| {
                run(conn, "DELETE FROM tasks WHERE name = ?1", [task])?;
                let sql = "DELETE FROM executions WHERE id = ?1";
                Ok(run(conn, sql, [id.0.as_bytes()])? == 1)
            })
            .await
    }

    async fn remove_ended(&self, before: Timestamp, items: usize) -> Result<usize, StoreError> {
        let sql = "DELETE FROM executions WHERE seq IN (SELECT seq FROM executions \
                   WHERE ended_at IS NOT NULL AND ended_at < ?1 ORDER BY ended_at LIMIT ?2)";
        let values = (moment(before), limit(items));
        self.db.write(move |conn| run(conn, sql, values)).await
    }

    async fn running(
        &self,
        unit: UnitUid,
        number: Option<Number>,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        let sql = "SELECT id FROM executions WHERE unit = ?1 AND status = 'running' \
                   AND (?2 IS NULL OR number = ?2) ORDER BY seq LIMIT 10";
        let number = number.map(|number| signed(number.get()));
        let find = move |conn: &Connection| {
            all(conn, sql, params![unit.0.as_bytes(), number], |row| execution_id(row, 0))
        };
        self.db.read(find).await
    }

    async fn counts(&self, unit: UnitUid) -> Result<BTreeMap<u64, u64>, StoreError> {
        let sql = "SELECT number, count FROM execution_counts WHERE unit = ?1";
        let find = move |conn: &Connection| {
            all(conn, sql, [unit.0.as_bytes()], |row| Ok((seq(row, 0)?, seq(row, 1)?)))
        };
        Ok(self.db.read(find).await?.into_iter().collect())
    }
}

/// Reads every execution: one that does not read back is damaged.
pub(super) fn check(conn: &Connection) -> Result<(), StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM executions ORDER BY seq");
    let mut statement = conn.prepare(&sql).map_err(super::error::failure("check executions"))?;
    let rows = statement.query_map([], read).map_err(super::error::failure("check executions"))?;
    for row in rows {
        row.map_err(super::error::failure("check executions"))?;
    }
    Ok(())
}

fn begin(
    conn: &Connection,
    execution: &Execution,
    task: &Task,
    held: Option<Timestamp>,
) -> Result<Begun, StoreError> {
    let sql = "INSERT INTO executions (id, app, unit, number, asked, input, status, created_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let number = execution.number.map(|number| signed(number.get()));
    let values = params![
        execution.id.0.as_bytes(),
        execution.app.as_str(),
        execution.unit.0.as_bytes(),
        number,
        to_json(&execution.asked),
        execution.input,
        execution.status.as_str(),
        moment(execution.created_at),
    ];
    run(conn, sql, values)?;
    let seq = conn.last_insert_rowid().unsigned_abs();
    count(conn, execution)?;
    queue::push(conn, task)?;
    let lease = match held {
        Some(until) => queue::hold_by_name(conn, &task.name, until)?,
        None => None,
    };
    Ok(Begun { seq, lease })
}

fn add_ended(
    conn: &Connection,
    execution: &Execution,
    end: &ExecutionEnd,
) -> Result<Option<u64>, StoreError> {
    let sql = "INSERT INTO executions (id, app, unit, number, asked, input, status, output, log, \
               created_at, ended_at, duration_ms) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
               ON CONFLICT (id) DO NOTHING";
    let values = params![
        execution.id.0.as_bytes(),
        execution.app.as_str(),
        execution.unit.0.as_bytes(),
        execution.number.map(|number| signed(number.get())),
        to_json(&execution.asked),
        execution.input,
        end.status.as_str(),
        end.output.as_ref().map(to_json),
        end.log,
        moment(execution.created_at),
        moment(end.at),
        end.duration_ms.map(signed),
    ];
    if run(conn, sql, values)? == 0 {
        return Ok(None);
    }
    let seq = conn.last_insert_rowid().unsigned_abs();
    count(conn, execution)?;
    Ok(Some(seq))
}

/// Counts an execution for its version.
fn count(conn: &Connection, execution: &Execution) -> Result<(), StoreError> {
    let sql = "INSERT INTO execution_counts (unit, number, count) VALUES (?1, ?2, 1) \
               ON CONFLICT DO UPDATE SET count = count + 1";
    let number = execution.number.filter(|_| execution.asked.pinned);
    let number = number.map_or(0, |number| signed(number.get()));
    run(conn, sql, params![execution.unit.0.as_bytes(), number]).map(|_| ())
}

fn finish(
    conn: &Connection,
    id: ExecutionId,
    end: &ExecutionEnd,
    task: &TaskOf,
) -> Result<bool, StoreError> {
    let held = match task {
        TaskOf::Lease(token) => queue::done(conn, *token)?,
        TaskOf::Name(name) => {
            run(conn, "DELETE FROM tasks WHERE name = ?1", [name])?;
            true
        }
    };
    if !held {
        return Ok(false);
    }
    let sql = "UPDATE executions SET status = ?2, output = ?3, log = ?4, ended_at = ?5, \
               duration_ms = ?6 WHERE id = ?1 AND status = 'running'";
    let values = params![
        id.0.as_bytes(),
        end.status.as_str(),
        end.output.as_ref().map(to_json),
        end.log,
        moment(end.at),
        end.duration_ms.map(signed),
    ];
    Ok(run(conn, sql, values)? == 1)
}

fn list(
    conn: &Connection,
    filter: &ExecutionFilter,
    items: usize,
) -> Result<Vec<Execution>, StoreError> {
    let app = filter.app.as_ref().map(ToString::to_string);
    let unit = filter.unit.map(|unit| unit.0.as_bytes().to_vec());
    let status = filter.status.map(ExecutionStatus::as_str);
    let below = filter.below.map(signed);
    let mut wanted = Vec::new();
    let mut values: Vec<(&str, &dyn ToSql)> = Vec::new();
    if filter.app.is_some() {
        wanted.push("app = :app");
        values.push((":app", &app));
    }
    if filter.unit.is_some() {
        wanted.push("unit = :unit");
        values.push((":unit", &unit));
    }
    if filter.status.is_some() {
        wanted.push("status = :status");
        values.push((":status", &status));
    }
    if filter.below.is_some() {
        wanted.push("seq < :below");
        values.push((":below", &below));
    }
    let wanted = if wanted.is_empty() { "1".to_owned() } else { wanted.join(" AND ") };
    let index = match (filter.unit, &filter.app) {
        (Some(_), _) => "INDEXED BY executions_by_unit",
        (None, Some(_)) => "INDEXED BY executions_by_app",
        (None, None) => "",
    };
    let items = limit(items);
    values.push((":items", &items));
    let sql = format!(
        "SELECT {COLUMNS} FROM executions {index} WHERE {wanted} ORDER BY seq DESC LIMIT :items"
    );
    all(conn, &sql, &*values, read)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Execution> {
    let duration_ms: Option<i64> = row.get(11)?;
    Ok(Execution {
        seq: seq(row, 0)?,
        id: execution_id(row, 1)?,
        app: text(row, 2)?,
        unit: uid(row, 3)?,
        number: number_option(row, 4)?,
        asked: json(row, 5)?,
        input: row.get(6)?,
        status: text(row, 7)?,
        output: json_option(row, 8)?,
        created_at: text(row, 9)?,
        ended_at: text_option(row, 10)?,
        duration_ms: duration_ms.map(i64::unsigned_abs),
    })
}

fn execution_id(row: &Row<'_>, column: usize) -> rusqlite::Result<ExecutionId> {
    row.get(column).map(|bytes| ExecutionId(Uuid::from_bytes(bytes)))
}
