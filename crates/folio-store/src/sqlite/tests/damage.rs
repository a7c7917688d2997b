//! Damage: whatever is altered behind the ledger's back is found, and never brings the process down.

use std::fs;

use folio_core::ports::{Damage, StoreError};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rusqlite::Connection;

use super::*;

/// A closed directory with one of everything in it.
async fn filled() -> (tempfile::TempDir, AppName) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    let app = fill(&ledger).await;
    drop(ledger);
    (directory, app)
}

async fn damages(directory: &Path) -> Result<Vec<Damage>, StoreError> {
    let db = Db::open(directory, Options::default())?;
    SqliteLedger::new(db)?.verify().await
}

/// Alters the database, then expects verify to say something with a word in it.
async fn check(sql: &str, word: &str) {
    let (directory, _) = filled().await;
    let conn = Connection::open(directory.path().join("folio.db")).unwrap();
    conn.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;").unwrap();
    conn.execute_batch("DROP TRIGGER entries_are_never_altered;").unwrap();
    conn.execute_batch("DROP TRIGGER entries_are_never_removed;").unwrap();
    conn.execute_batch(sql).unwrap();
    drop(conn);
    let found = damages(directory.path()).await.unwrap();
    assert!(found.iter().any(|damage| damage.what.contains(word)), "{sql} gave {found:?}");
}

#[tokio::test]
async fn an_altered_entry_breaks_the_chain() {
    check("UPDATE entries SET body = replace(body, 'tester', 'villain') WHERE seq = 3", "entry 3")
        .await;
    check("UPDATE entries SET hash = zeroblob(32) WHERE seq = 3", "entry 3").await;
    check("DELETE FROM entries WHERE seq = 3", "entry 3").await;
    check("UPDATE entries SET undoes = 1 WHERE undoes IS NULL AND seq = 3", "entry 3").await;
    check("UPDATE entries SET app = 'other' WHERE seq = 3", "entry 3").await;
    check("UPDATE entries SET body = 'nonsense' WHERE seq = 3", "entry 3").await;
}

#[tokio::test]
async fn an_altered_value_is_found() {
    check(
        "UPDATE snapshots SET body = CAST(replace(body, 'python', 'nodejs') AS BLOB)",
        "snapshot sha256:",
    )
    .await;
    check("UPDATE snapshots SET pin = NULL", "snapshot sha256:").await;
    check("DELETE FROM snapshot_trees", "snapshot sha256:").await;
    check("DELETE FROM snapshots WHERE pin IS NOT NULL", "missing row of snapshots").await;
    check("UPDATE versions SET description = 'lies' WHERE id = 'v1'", "version `v1`").await;
    check("UPDATE versions SET archive = zeroblob(32) WHERE id = 'v1'", "version `v1`").await;
    check("UPDATE versions SET created_at = 'yesterday' WHERE id = 'v1'", "row of the database")
        .await;
    check("UPDATE tokens SET actor = 'villain'", "token").await;
    check("DELETE FROM apps", "app ").await;
    check("UPDATE answers SET body = '\"other\"'", "the answer to request").await;
}

#[tokio::test]
async fn a_broken_rule_is_found() {
    check("UPDATE units SET latest = NULL", "says its latest version is none").await;
    check("UPDATE units SET next_number = 2 WHERE kind = 'package'", "was given before").await;
    check("UPDATE units SET deleted_in = 1 WHERE name = 'hello'", "is deleted and has").await;
    check("UPDATE units SET revision = 1", "is not what the entries add up to").await;
    check("UPDATE versions SET deleted = 1 WHERE id = 'f1'", "does not survive").await;
    check("UPDATE versions SET deleted = 1 WHERE id = 'v1'", "does not survive").await;
    check("UPDATE versions SET deleted = 0", "says its latest version is 1").await;
    check("DELETE FROM versions WHERE id = 'v2'", "version `v2`").await;
    check("DELETE FROM drafts", "function `hello`").await;
    check("UPDATE units SET newest = NULL WHERE name = 'hello'", "its newest version is none")
        .await;
    check("UPDATE placements SET draft = NULL WHERE since = 1", "what app version `g1`").await;
    check("UPDATE placements SET stands = 0 WHERE since = 1", "what app version `g1`").await;
    check("DELETE FROM placements WHERE since = 2", "what app version `g2`").await;
    check("UPDATE placements SET since = 9 WHERE since = 2", "which does not exist").await;
}

#[tokio::test]
async fn an_altered_pointer_or_history_is_found() {
    check("DELETE FROM pointer_targets", "is not what the entries add up to").await;
    check("DELETE FROM pointers", "missing row of pointers").await;
    check("UPDATE pointers SET place = '{}'", "row of the database").await;
    check("DELETE FROM pointer_moves", "the moves of alias `stable`").await;
    check("DELETE FROM releases WHERE id = 'r1'", "release").await;
    check("UPDATE releases SET moves = '[]' WHERE id = 'r1'", "the moves of release `r1`").await;
    check("UPDATE releases SET accessible = 0", "app `").await;
    check("UPDATE releases SET later = 1 - later", "app version 3").await;
    check("DELETE FROM ids WHERE id = 'f1'", "id `f1`").await;
    check("DELETE FROM ids WHERE id = 'g1'", "id `g1`").await;
    check("UPDATE ids SET number = 7 WHERE id = 'f1'", "id `f1`").await;
    check("UPDATE ids SET owner = zeroblob(16) WHERE id = 'f1'", "id `f1`").await;
    check("UPDATE app_versions SET parent = NULL", "does not follow its parent").await;
    check("UPDATE app_versions SET message = 'lies' WHERE number = 1", "app version 1").await;
}

#[tokio::test]
async fn an_altered_build_or_trigger_is_found() {
    check("UPDATE snapshots SET build = NULL", "what is noted of snapshot").await;
    check("UPDATE versions SET waits_for = zeroblob(32) WHERE id = 'b2'", "is not its own").await;
    check("UPDATE versions SET waits_for = NULL WHERE id = 'b2'", "its latest version is").await;
    let ready = "UPDATE versions SET waits_for = NULL WHERE id = 'b2';
                 UPDATE units SET latest = 2 WHERE name = 'built';";
    check(ready, "version `b2`").await;
    check("DELETE FROM builds WHERE record LIKE '%failure%'", "build sha256:").await;
    check("UPDATE builds SET record = replace(record, 'bad', 'good')", "build sha256:").await;
    check("UPDATE builds SET record = 'nonsense'", "row of the database").await;
    check("DELETE FROM trigger_targets WHERE function = 'other'", "function `other`").await;
    check("UPDATE trigger_targets SET function = 'third' WHERE function = 'other'", "`third`")
        .await;
    check("DELETE FROM snapshots WHERE digest IN (SELECT pin FROM snapshots)", "which is missing")
        .await;
}

#[tokio::test]
async fn an_altered_task_is_found() {
    let task = "INSERT INTO tasks (name, topic, body, due, free_from)
                VALUES ('one', 'work', 'nonsense', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')";
    check(task, "row of the database").await;
    check(&task.replace("'nonsense', '2026", "'{}', 'never"), "row of the database").await;
}

/// Flips one byte after another. If anything can still be read differently, verify has to say so.
#[tokio::test]
async fn no_flipped_byte_goes_unnoticed() {
    let (directory, app) = filled().await;
    let path = directory.path().join("folio.db");
    let ledger = open(directory.path());
    let whole = dumped(&ledger, &app).await.unwrap();
    drop(ledger);
    let sound = fs::read(&path).unwrap();
    let mut chance = StdRng::seed_from_u64(11);
    for _ in 0..80 {
        let at = chance.random_range(0..sound.len());
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << chance.random_range(0..8);
        fs::write(&path, &bytes).unwrap();
        if !is_found(directory.path()).await {
            let ledger = open(directory.path());
            let seen = dumped(&ledger, &app).await;
            assert!(seen.is_ok_and(|seen| seen == whole), "the flip at byte {at} went unnoticed");
        }
        for name in ["folio.db-wal", "folio.db-shm"] {
            drop(fs::remove_file(directory.path().join(name)));
        }
    }
}

/// Whether a directory cannot be opened, or is found to be damaged.
async fn is_found(directory: &Path) -> bool {
    !damages(directory).await.is_ok_and(|found| found.is_empty())
}
