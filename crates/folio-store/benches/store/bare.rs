//! What SQLite alone needs for the rows of a publish, 16 publishes a transaction: no rule, no JSON, no hash, nobody to answer.
//! Whatever the store does, it cannot be faster than this.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::measure::start;

/// Publishes that share a transaction, as with 16 clients.
const GROUP: i64 = 16;

/// Where the numbers begin that no publish was given.
const BEYOND: i64 = 1_000_000;

/// The last row of each table that a publish adds one to, and its columns that differ each time: numbers, and ids.
const ADDED: [(&str, &[usize], &[usize]); 8] = [
    ("entries ORDER BY seq DESC", &[0], &[]),
    ("versions ORDER BY created_at DESC", &[2], &[3]),
    ("ids WHERE owner <> x''", &[3], &[1]),
    ("placements ORDER BY since DESC", &[1], &[]),
    ("app_versions ORDER BY number DESC", &[1], &[2]),
    ("ids WHERE owner = x''", &[3], &[1]),
    ("releases ORDER BY made_in DESC", &[1], &[2]),
    ("pointer_moves WHERE kind = 'live' ORDER BY seq DESC", &[3], &[]),
];

/// What a publish changes: its unit, what is live, and the release that ends, which is the third before its own.
const CHANGED: [&str; 3] = [
    "UPDATE units SET next_number = ?1 + 1, newest = ?1, latest = ?1, revision = ?1 \
     WHERE uid = (SELECT uid FROM units LIMIT 1)",
    "UPDATE pointers SET place = place || '', revision = ?1 WHERE kind = 'live'",
    "UPDATE releases SET accessible = 0, place = place || '', revision = ?1, \
     moves = json_insert(moves, '$[#]', ?1) WHERE app = 'default' AND made_in = ?1 - 3",
];

/// Publishes per second, as rows only, in a copy of a database that holds some.
pub(crate) fn rows(database: &Path, copy: &Path, time: Duration) -> f64 {
    std::fs::copy(database, copy).expect("room for a copy");
    let mut conn = Connection::open(copy).expect("a database");
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;
         PRAGMA foreign_keys = ON; PRAGMA cache_size = -16384;",
    )
    .expect("settings");
    // Else statements are planned again whenever a value changes.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).expect("a setting");
    let mut added: Vec<_> = ADDED.iter().map(|row| Row::last(&conn, *row)).collect();
    let (watch, mut count) = (start(), 0);
    while watch.elapsed() < time {
        let transaction = conn.transaction().expect("a transaction");
        for at in count..count + GROUP {
            added.iter_mut().for_each(|row| row.add(&transaction, BEYOND + at));
            for sql in CHANGED {
                let mut change = transaction.prepare_cached(sql).expect("a statement");
                change.execute([BEYOND + at]).expect("a change");
            }
        }
        transaction.commit().expect("a commit");
        count += GROUP;
    }
    count as f64 / watch.elapsed().as_secs_f64()
}

/// A row like one that a publish wrote.
struct Row {
    insert: String,
    values: Vec<Value>,
    numbers: &'static [usize],
    ids: &'static [usize],
}

impl Row {
    fn last(
        conn: &Connection,
        (which, numbers, ids): (&str, &'static [usize], &'static [usize]),
    ) -> Self {
        let mut select =
            conn.prepare(&format!("SELECT * FROM {which} LIMIT 1")).expect("a statement");
        let columns = select.column_count();
        let values = select.query_row([], |row| (0..columns).map(|at| row.get(at)).collect());
        let table = which.split(' ').next().unwrap_or_default();
        let places = vec!["?"; columns].join(", ");
        let insert = format!("INSERT INTO {table} VALUES ({places})");
        Self { insert, values: values.expect("a publish wrote one"), numbers, ids }
    }

    fn add(&mut self, conn: &Connection, at: i64) {
        self.numbers.iter().for_each(|column| self.values[*column] = Value::Integer(at));
        self.ids.iter().for_each(|column| self.values[*column] = Value::Text(mixed(at)));
        let mut insert = conn.prepare_cached(&self.insert).expect("a statement");
        insert.execute(params_from_iter(&self.values)).expect("a row");
    }
}

/// An id that comes at any place in an index, as drawn ids do.
fn mixed(at: i64) -> String {
    format!("{:07x}", at.wrapping_mul(0x9E37_79B1) & 0xFFF_FFFF)
}
