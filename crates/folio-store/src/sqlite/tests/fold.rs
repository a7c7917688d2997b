//! Folding the log: beside the writer, and by the writer where the log has grown long.

use rusqlite::Connection;

use crate::sqlite::fold::{Fold, ROWS_BETWEEN};
use crate::sqlite::settings;

/// A connection that writes, and the thread that folds for it.
fn opened(directory: &std::path::Path) -> (Connection, Fold) {
    let path = directory.join("folded.db");
    let conn = Connection::open(&path).unwrap();
    settings::writer(&conn).unwrap();
    conn.execute_batch("CREATE TABLE written (text TEXT)").unwrap();
    (conn, Fold::start(&path).unwrap())
}

fn write(conn: &Connection, rows: u64) {
    let sql = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1) \
               INSERT INTO written (text) SELECT 'a row' FROM number";
    assert_eq!(conn.execute(sql, [rows as i64]).unwrap() as u64, rows);
}

/// The pages in the log, and how many of them are in the database as well. Folds nothing itself.
fn log(conn: &Connection) -> (i64, i64) {
    conn.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok((row.get(1)?, row.get(2)?))).unwrap()
}

#[test]
fn the_log_is_folded_beside_the_writer_once_much_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let (conn, mut fold) = opened(directory.path());
    write(&conn, ROWS_BETWEEN - 1);
    fold.keep(&conn);
    // The thread is asked once more and ends before anything is looked at.
    drop(fold);
    let (pages, folded) = log(&conn);
    assert!(pages > 0 && folded == 0, "{folded} of {pages} pages");

    let mut fold = Fold::start(&directory.path().join("folded.db")).unwrap();
    write(&conn, 1);
    fold.keep(&conn);
    drop(fold);
    let (pages, folded) = log(&conn);
    assert!(pages > 0 && folded == pages, "{folded} of {pages} pages");
}

#[test]
fn a_long_log_is_folded_by_the_writer() {
    let directory = tempfile::tempdir().unwrap();
    let (conn, mut fold) = opened(directory.path());
    write(&conn, 1);
    fold.found_long();
    fold.keep(&conn);
    let (pages, folded) = log(&conn);
    assert!(pages > 0 && folded == pages, "{folded} of {pages} pages");
}
