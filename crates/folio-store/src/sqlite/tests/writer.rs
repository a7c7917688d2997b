//! The one writer: what its connection promises, how jobs share a commit, and what a bad job does to others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use folio_core::ports::{Ledger, StoreError};
use futures::future::join_all;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::*;
use crate::sqlite::error::failure;
use crate::sqlite::session::Session;
use crate::sqlite::settings;
use crate::sqlite::writer::Writer;

const WRITERS: i64 = 50;

/// A writer of its own on one small table, and the number of its commits.
fn counted(directory: &Path) -> (Writer, Arc<AtomicUsize>) {
    let mut conn = Connection::open(directory.join("counted.db")).unwrap();
    settings::writer(&conn).unwrap();
    conn.execute_batch("CREATE TABLE written (n INTEGER PRIMARY KEY, text TEXT)").unwrap();
    let commits = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&commits);
    let hook = move || {
        counter.fetch_add(1, Ordering::SeqCst);
        false
    };
    conn.commit_hook(Some(hook)).unwrap();
    (Writer::start(conn).unwrap(), commits)
}

async fn write(writer: &Writer, n: i64, bytes: usize) -> Result<(), StoreError> {
    let job = move |conn: &Session| {
        let sql = "INSERT INTO written VALUES (?1, ?2)";
        let values = rusqlite::params![n, "x".repeat(bytes)];
        conn.execute(sql, values).map(|_| ()).map_err(failure("write"))
    };
    writer.write(job, |()| ()).await
}

async fn written(writer: &Writer) -> Vec<i64> {
    let job = |conn: &Session| {
        let mut statement = conn.prepare("SELECT n FROM written ORDER BY n").unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap);
        Ok(rows.collect())
    };
    writer.write(job, |_| ()).await.unwrap()
}

/// Keeps the writer busy until everyone else waits, so that they become one group.
async fn together<T>(writer: &Writer, everyone: impl Future<Output = T>) -> T {
    let (start, started) = oneshot::channel();
    let (go, going) = mpsc::channel();
    let busy = move |_: &Session| {
        start.send(()).unwrap();
        going.recv().expect("told to go on");
        Ok(())
    };
    let rest = async {
        started.await.unwrap();
        tokio::join!(everyone, async { go.send(()).unwrap() }).0
    };
    let (busy, result) = tokio::join!(writer.write(busy, |()| ()), rest);
    busy.unwrap();
    result
}

#[tokio::test]
async fn writers_that_wait_together_share_one_commit() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, commits) = counted(directory.path());
    let all = join_all((0..WRITERS).map(|n| write(&writer, n, 1)));
    let results = together(&writer, all).await;
    assert!(results.iter().all(Result::is_ok));
    assert!(commits.load(Ordering::SeqCst) <= 2, "{commits:?} commits for {WRITERS} writers");
    assert_eq!(written(&writer).await, (0..WRITERS).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_job_that_fails_or_panics_takes_nothing_else_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, _) = counted(directory.path());
    let writer = &writer;
    let panics = writer.write(
        |conn: &Session| -> Result<(), StoreError> {
            conn.execute("INSERT INTO written VALUES (100, '')", []).unwrap();
            panic!("on purpose");
        },
        |()| (),
    );
    let everyone = futures::future::join4(
        write(writer, 1, 1),
        write(writer, 1, 1),
        panics,
        write(writer, 2, 1),
    );
    let (one, twice, panicked, two) = together(writer, everyone).await;
    assert!(one.is_ok() && two.is_ok() && twice.is_err());
    let panicked = panicked.unwrap_err();
    assert!(std::error::Error::source(&panicked).unwrap().to_string().contains("on purpose"));
    assert_eq!(written(writer).await, [1, 2]);
}

#[tokio::test]
async fn a_full_disk_refuses_the_whole_group_and_passes() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, _) = counted(directory.path());
    let pages = |pages: i64| {
        writer.write(
            move |conn: &Session| {
                conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
                    .map_err(failure("limit"))
            },
            |()| (),
        )
    };
    write(&writer, 0, 1).await.unwrap();
    pages(10).await.unwrap();
    let both = futures::future::join(write(&writer, 1, 1), write(&writer, 2, 1_000_000));
    let (small, large) = together(&writer, both).await;
    assert!(matches!(large, Err(StoreError::Full)), "{large:?}");
    assert!(matches!(small, Err(StoreError::Full)), "{small:?}");
    assert_eq!(written(&writer).await, [0]);
    pages(100_000).await.unwrap();
    write(&writer, 3, 1_000_000).await.unwrap();
}

#[tokio::test]
async fn a_job_that_said_it_would_refuse_first_and_does_not_fails_its_group() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, _) = counted(directory.path());
    let refuses = writer.write_for(2, |_: &Session| -> Result<(), StoreError> {
        Err(StoreError::Refused { what: "at once".to_owned() })
    });
    let both = futures::future::join(write(&writer, 1, 1), refuses);
    let (one, refused) = together(&writer, both).await;
    assert!(one.is_ok() && matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    let half_done = writer.write_for(2, |conn: &Session| -> Result<(), StoreError> {
        conn.execute("INSERT INTO written VALUES (100, '')", []).unwrap();
        Err(StoreError::Refused { what: "too late".to_owned() })
    });
    let both = futures::future::join(write(&writer, 2, 1), half_done);
    let (two, refused) = together(&writer, both).await;
    assert!(two.is_err() && matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    assert_eq!(written(&writer).await, [1]);
}

#[tokio::test]
async fn what_was_taken_is_finished_before_closing() {
    let directory = tempfile::tempdir().unwrap();
    let (writer, _) = counted(directory.path());
    let writer = Arc::new(writer);
    let closing = Arc::clone(&writer);
    // Closing waits on a thread of its own while the writer is still busy and one more job waits.
    let close = futures::future::lazy(|_| tokio::task::spawn_blocking(move || closing.close()));
    let (written, close) =
        together(&writer, futures::future::join(write(&writer, 1, 1), close)).await;
    written.unwrap();
    close.await.unwrap();
    assert!(write(&writer, 2, 1).await.is_err());
    let conn = Connection::open(directory.path().join("counted.db")).unwrap();
    let rows: i64 = conn.query_row("SELECT count(*) FROM written", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

#[tokio::test]
async fn the_writing_connection_syncs_before_it_acknowledges() {
    let directory = tempfile::tempdir().unwrap();
    let db = Db::open(directory.path(), Options::default()).unwrap();
    let found = db.write(|conn| {
        let number =
            |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        let mode: String = conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        Ok((mode, number("synchronous"), number("foreign_keys"), number("trusted_schema")))
    });
    assert_eq!(found.await.unwrap(), ("wal".to_owned(), 2, 1, 0));
}

#[tokio::test]
async fn a_plan_that_panics_leaves_the_ledger_working() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    let failed = ledger.append(Box::new(|_| panic!("on purpose"))).await;
    assert!(matches!(failed, Err(StoreError::Failed { .. })), "{failed:?}");
    fill(&ledger).await;
    assert_eq!(ledger.verify().await.unwrap(), []);
}

#[tokio::test]
async fn the_log_is_longer_than_what_is_in_it_and_reads_back_without_a_goodbye() {
    let (directory, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (writer, _) = counted(directory.path());
    let log = || std::fs::metadata(directory.path().join("counted.db-wal")).unwrap().len();
    let mut lengths = std::collections::BTreeSet::new();
    for n in 0..WRITERS {
        write(&writer, n, 1).await.unwrap();
        // Room is made before the next job is taken.
        assert_eq!(written(&writer).await.len() as i64, n + 1);
        lengths.insert(log());
    }
    assert!(lengths.len() <= 5, "of {WRITERS} commits few lengthen the log: {lengths:?}");
    for file in ["counted.db", "counted.db-wal"] {
        std::fs::copy(directory.path().join(file), left.path().join(file)).unwrap();
    }
    let (left, _) = (Connection::open(left.path().join("counted.db")).unwrap(), writer);
    let count = left.query_row("SELECT count(*) FROM written", [], |row| row.get::<_, i64>(0));
    assert_eq!(count.unwrap(), WRITERS);
}
