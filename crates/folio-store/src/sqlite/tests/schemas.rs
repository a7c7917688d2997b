//! Schemas: newer ones are left alone, older ones are brought up to date, whatever crashed on the way.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use folio_core::ports::StoreError;
use rusqlite::Connection;
use rusqlite::fallible_iterator::FallibleIterator;

use super::*;
use crate::sqlite::migrate;

fn database(directory: &Path) -> PathBuf {
    directory.join("folio.db")
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// The schema as SQLite keeps it.
fn schema(directory: &Path) -> Vec<String> {
    let conn = Connection::open(database(directory)).unwrap();
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
    let mut statement = conn.prepare(sql).unwrap();
    let lines = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap);
    lines.chain([migrate::found(&conn).unwrap().to_string()]).collect()
}

fn fresh_schema() -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    drop(Db::open(directory.path(), Options::default()).unwrap());
    schema(directory.path())
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    fill(&ledger).await;
    drop(ledger);
    let conn = Connection::open(database(directory.path())).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let before = files(directory.path());
    for opened in
        [Db::open(directory.path(), Options::default()), Db::open_read_only(directory.path())]
    {
        let error = opened.err().unwrap();
        let known = migrate::newest();
        assert!(
            matches!(error, StoreError::Newer { found: 99, known: k } if k == known),
            "{error}"
        );
    }
    assert!(files(directory.path()) == before, "a refused directory was touched");
}

#[test]
fn a_newer_schema_is_found_in_the_log_of_a_killed_writer() {
    let directory = tempfile::tempdir().unwrap();
    drop(Db::open(directory.path(), Options::default()).unwrap());
    let conn = Connection::open(database(directory.path())).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    // A killed process leaves its files as they are: copy them from under the open connection.
    let killed = tempfile::tempdir().unwrap();
    for name in ["folio.db", "folio.db-wal"] {
        fs::copy(directory.path().join(name), killed.path().join(name)).unwrap();
    }
    let before = files(killed.path());
    let error = Db::open(killed.path(), Options::default()).err().unwrap();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    let after = files(killed.path());
    for (path, bytes) in before {
        assert!(after[&path] == bytes, "{} was touched", path.display());
    }
}

/// A database at an older schema, with a row to keep.
fn old(schema: u32) -> (tempfile::TempDir, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let mut conn = Connection::open(database(directory.path())).unwrap();
    migrate::migrate_to(&mut conn, schema).unwrap();
    if schema > 0 {
        conn.execute("INSERT INTO apps (name) VALUES ('kept')", []).unwrap();
    }
    (directory, conn)
}

#[tokio::test]
async fn an_older_schema_is_brought_up_to_date() {
    for older in 0..migrate::newest() {
        let (directory, conn) = old(older);
        assert_eq!(migrate::found(&conn).unwrap(), older);
        drop(conn);
        let ledger = open(directory.path());
        let kept = "kept".parse().unwrap();
        let found = World::new(&ledger).await.look(move |state| state.has_app(&kept)).await;
        assert_eq!(found, older > 0);
        drop(ledger);
        assert_eq!(schema(directory.path()), fresh_schema());
    }
}

#[test]
fn a_migration_that_was_cut_short_is_done_again() {
    for older in 0..migrate::newest() {
        for done in 0..=statements_of(older) {
            let (directory, conn) = old(older);
            cut_short(&conn, older, done);
            drop(conn);
            drop(Db::open(directory.path(), Options::default()).unwrap());
            assert_eq!(schema(directory.path()), fresh_schema(), "after {done} statements");
        }
    }
}

fn statements_of(older: u32) -> usize {
    let (_directory, mut conn) = old(older);
    let transaction = conn.transaction().unwrap();
    let mut batch = rusqlite::Batch::new(&transaction, migrate::step_sql(older + 1));
    let mut count = 0;
    while let Some(mut statement) = batch.next().unwrap() {
        statement.execute([]).unwrap();
        count += 1;
    }
    count
}

/// Does some statements of a step and ends without committing, as a killed process does.
fn cut_short(conn: &Connection, older: u32, done: usize) {
    conn.execute_batch("BEGIN").unwrap();
    let mut batch = rusqlite::Batch::new(conn, migrate::step_sql(older + 1));
    for _ in 0..done {
        batch.next().unwrap().unwrap().execute([]).unwrap();
    }
}

/// Every release with what is computed of it.
fn releases(conn: &Connection) -> Vec<(String, i64, String, bool, bool, String)> {
    let sql =
        "SELECT app, made_in, id, later, accessible, moves FROM releases ORDER BY made_in, id";
    let mut statement = conn.prepare(sql).unwrap();
    let row = |row: &rusqlite::Row<'_>| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
    };
    statement.query_map([], row).unwrap().map(Result::unwrap).collect()
}

/// Puts releases back among the pointers, where they were before schema 18.
fn unite(conn: &Connection) {
    let (_directory, before) = old(17);
    conn.execute_batch(
        "DROP VIEW held; DROP VIEW released;
        INSERT INTO pointers (kind, owner, name, place, revision)
            SELECT 'release', app, id, place, revision FROM releases;
        INSERT INTO pointer_moves (kind, owner, name, seq)
            SELECT 'release', app, releases.id, json_each.value FROM releases, json_each(moves);
        DROP TABLE releases;",
    )
    .unwrap();
    for name in ["releases_by_state", "releases_by_app_version", "released", "held"] {
        let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
        let sql: String = before.query_row(sql, [name], |row| row.get(0)).unwrap();
        conn.execute_batch(&sql).unwrap();
    }
}

#[tokio::test]
async fn releases_that_were_pointers_are_what_they_were() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    let app = fill(&ledger).await;
    let before = dumped(&ledger, &app).await.unwrap();
    drop(ledger);
    let conn = Connection::open(database(directory.path())).unwrap();
    let apart = releases(&conn);
    // One made with its app version and ended since, one made later that can be reached.
    let kinds: Vec<_> = apart.iter().map(|(_, _, _, later, open, _)| (*later, *open)).collect();
    assert_eq!(kinds, [(false, false), (true, true)]);
    unite(&conn);
    conn.execute_batch(migrate::step_sql(18)).unwrap();
    assert_eq!(releases(&conn), apart);
    drop(conn);
    assert_eq!(schema(directory.path()), fresh_schema());
    let ledger = open(directory.path());
    assert_eq!(dumped(&ledger, &app).await.unwrap(), before);
    assert_eq!(ledger.verify().await.unwrap(), []);
}
