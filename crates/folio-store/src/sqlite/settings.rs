//! How connections are set up: durable when acknowledged, checked where SQLite can check.

use std::time::Duration;

use folio_core::ports::StoreError;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::error::failure;

/// Statements kept prepared per connection; more than the crate has.
const STATEMENTS_MAX: usize = 256;

/// Other processes only ever read, and briefly; whoever meets a lock waits this long.
const BUSY: Duration = Duration::from_secs(10);

/// Sets up the one connection that writes.
pub(crate) fn writer(conn: &Connection) -> Result<(), StoreError> {
    both(conn)?;
    set(
        conn,
        "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
        PRAGMA journal_size_limit = 67108864; PRAGMA foreign_keys = ON;",
    )?;
    // A planted fault shows that a test would notice.
    let unsynced = folio_core::crash::is_planted("ledger.unsynced");
    let synchronous = if unsynced { "OFF" } else { "FULL" };
    set(conn, &format!("PRAGMA synchronous = {synchronous};"))
}

/// Sets up a connection that reads.
pub(crate) fn reader(conn: &Connection) -> Result<(), StoreError> {
    set(conn, "PRAGMA query_only = ON;")?;
    both(conn)
}

fn both(conn: &Connection) -> Result<(), StoreError> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    conn.busy_timeout(BUSY).map_err(failure("set up the database"))?;
    // Without this, SQLite plans a prepared statement again whenever a bound value changes: a third of all
    // the time a publish takes.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(failure("set up the database"))?;
    set(
        conn,
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;
        PRAGMA cache_size = -16384;",
    )
}

fn set(conn: &Connection, pragmas: &str) -> Result<(), StoreError> {
    conn.execute_batch(pragmas).map_err(failure("set up the database"))
}
