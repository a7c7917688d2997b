//! Reads entries: what happened, in order.

use folio_core::ports::{Page, StoreError};
use folio_model::{AppName, Digest, Entry, EntryHash};
use rusqlite::{Connection, Row, params};

use crate::sqlite::query::{all, digest, json, limit, one, seq, signed};

pub(crate) fn head(conn: &Connection) -> Result<u64, StoreError> {
    let sql = "SELECT seq FROM entries ORDER BY seq DESC LIMIT 1";
    Ok(one(conn, sql, [], |row| seq(row, 0))?.unwrap_or(0))
}

pub(super) fn last_of(conn: &Connection, app: &AppName) -> Result<u64, StoreError> {
    let sql = "SELECT seq FROM entries WHERE app = ?1 ORDER BY seq DESC LIMIT 1";
    Ok(one(conn, sql, [app.as_str()], |row| seq(row, 0))?.unwrap_or(0))
}

/// The last entry's place and the hash the next is chained to: the last entry's, or that of nothing.
pub(crate) fn tip(conn: &Connection) -> Result<(u64, EntryHash), StoreError> {
    let sql = "SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1";
    let last = one(conn, sql, [], |row| Ok((seq(row, 0)?, digest(row, 1)?)))?;
    Ok(last.unwrap_or_else(|| (0, Digest::of(b""))))
}

pub(super) fn entry(conn: &Connection, at: u64) -> Result<Option<Entry>, StoreError> {
    one(conn, "SELECT body FROM entries WHERE seq = ?1", [signed(at)], read_entry)
}

pub(super) fn entries(
    conn: &Connection,
    app: Option<&AppName>,
    page: Page,
) -> Result<Vec<Entry>, StoreError> {
    let (after, rows) = (signed(page.after), limit(page.limit));
    match app {
        None => {
            let sql = "SELECT body FROM entries WHERE seq > ?1 ORDER BY seq LIMIT ?2";
            all(conn, sql, params![after, rows], read_entry)
        }
        Some(app) => {
            let sql = "SELECT body FROM entries WHERE app = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
            all(conn, sql, params![app.as_str(), after, rows], read_entry)
        }
    }
}

pub(super) fn before(
    conn: &Connection,
    app: &AppName,
    below: u64,
    rows: usize,
) -> Result<Vec<Entry>, StoreError> {
    let sql = "SELECT body FROM entries WHERE app = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";
    all(conn, sql, params![app.as_str(), signed(below), limit(rows)], read_entry)
}

/// Each undo may itself be undone, so the answer depends on how long that chain is: an odd one undoes.
pub(super) fn undone_by(conn: &Connection, at: u64) -> Result<Option<u64>, StoreError> {
    let first = last_undoing(conn, at)?;
    let mut chain = 0_u64;
    let mut next = first;
    while let Some(by) = next {
        chain += 1;
        next = last_undoing(conn, by)?;
    }
    Ok(first.filter(|_| chain % 2 == 1))
}

fn last_undoing(conn: &Connection, at: u64) -> Result<Option<u64>, StoreError> {
    // An entry can only take back an earlier one; without that a damaged ledger could send us in circles.
    let sql = "SELECT seq FROM entries WHERE undoes = ?1 AND seq > ?1 ORDER BY seq DESC LIMIT 1";
    one(conn, sql, [signed(at)], |row| seq(row, 0))
}

pub(super) fn read_entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    json(row, 0)
}
