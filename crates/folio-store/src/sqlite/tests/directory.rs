//! Who may use a data directory, and what stays in it.

use std::os::unix::fs::PermissionsExt;

use folio_core::ports::{Ledger, StoreError};

use super::*;

#[tokio::test]
async fn everything_is_there_after_opening_again() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    let app = fill(&ledger).await;
    let before = dumped(&ledger, &app).await.unwrap();
    let head = *ledger.head().borrow();
    drop(ledger);
    let ledger = open(directory.path());
    assert_eq!(dumped(&ledger, &app).await.unwrap(), before);
    assert_eq!(*ledger.head().borrow(), head);
    assert_eq!(ledger.verify().await.unwrap(), []);
}

#[tokio::test]
async fn a_directory_has_one_owner_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path());
    match Db::open(directory.path(), Options::default()) {
        Err(StoreError::Locked { directory: named }) => {
            assert_eq!(named, directory.path().display().to_string());
        }
        other => panic!("{:?}", other.err()),
    }
    drop(first);
    open(directory.path());
}

#[tokio::test]
async fn only_the_owner_may_look_inside() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("made").join("data");
    let ledger = open(&directory);
    fill(&ledger).await;
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    for name in ["folio.db", "folio.db-wal", "folio.db-shm", "lock"] {
        assert_eq!(mode(&directory.join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_reader_beside_the_owner_sees_all_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    let app = fill(&ledger).await;
    let beside = SqliteLedger::new(Db::open_read_only(directory.path()).unwrap()).unwrap();
    let seen = dumped(&beside, &app).await.unwrap();
    assert_eq!(seen, dumped(&ledger, &app).await.unwrap());
    assert_eq!(beside.verify().await.unwrap(), []);
    assert!(beside.append(Box::new(|_| Ok(None))).await.is_err());
    let written = beside.db.read(|conn| {
        conn.execute("DELETE FROM apps", []).map_err(super::super::error::failure("write"))
    });
    assert!(written.await.is_err());
}

#[tokio::test]
async fn a_backup_is_a_data_directory() {
    let directory = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let ledger = open(directory.path());
    let app = fill(&ledger).await;
    let path = copy.path().join("folio.db");
    ledger.db.backup_to(path.clone()).await.unwrap();
    fill(&ledger).await;
    assert!(ledger.db.backup_to(path).await.is_err(), "a backup never overwrites");
    let restored = open(copy.path());
    assert_eq!(restored.verify().await.unwrap(), []);
    assert_eq!(
        dumped(&restored, &app).await.unwrap()["units"],
        dumped(&ledger, &app).await.unwrap()["units"]
    );
}
