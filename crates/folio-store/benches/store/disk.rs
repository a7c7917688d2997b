//! What the disk itself can do, measured in the same run: raw appends, and plain SQLite with one client.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use crate::measure::start;

/// Appends of a page with fdatasync, per second.
pub(crate) fn raw_syncs(directory: &Path, time: Duration) -> f64 {
    let mut file = File::create(directory.join("raw")).expect("a file");
    let page = [7_u8; 4096];
    let (watch, mut count) = (start(), 0_u32);
    while watch.elapsed() < time {
        file.write_all(&page).expect("room for a page");
        file.sync_data().expect("a sync");
        count += 1;
    }
    f64::from(count) / watch.elapsed().as_secs_f64()
}

/// Transactions of three small rows in plain SQLite with `synchronous=FULL`, one client, per second.
pub(crate) fn plain_sqlite(directory: &Path, time: Duration) -> f64 {
    let mut conn = Connection::open(directory.join("plain.db")).expect("a database");
    conn.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
         CREATE TABLE IF NOT EXISTS row (id INTEGER PRIMARY KEY, body TEXT);",
    )
    .expect("a table");
    let (watch, mut count) = (start(), 0_u32);
    while watch.elapsed() < time {
        let transaction = conn.transaction().expect("a transaction");
        for _ in 0..3 {
            let mut insert = transaction
                .prepare_cached("INSERT INTO row (body) VALUES (?1)")
                .expect("a statement");
            insert.execute(["a small row of text, about as long as this"]).expect("a row");
        }
        transaction.commit().expect("a commit");
        count += 1;
    }
    f64::from(count) / watch.elapsed().as_secs_f64()
}
