//! Data directories: a backup restores what was there, damage is found, and nothing is written over.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use folio_testkit::transcript::Session;

use crate::program::{Over, refused, session, works};

const LISTS: &str = "folio fn version list hello -o json; folio fn alias list hello -o json; \
                     folio app list-version -o json; folio log -o json; folio fn version download hello --file -";

fn filled() -> Session {
    filled_with(&[])
}

fn filled_with(flags: &[&str]) -> Session {
    let session = session(flags);
    works(&session, "echo 'hello' > hello.js && head -c 2000000 /dev/urandom > large.bin");
    works(&session, "folio fn version create hello --env nodejs --code large.bin --version v1");
    works(&session, "folio fn version create hello --env nodejs --code hello.js --version v2");
    works(&session, "folio fn alias create hello --alias prod --version v1");
    session
}

#[test]
fn a_backup_of_a_running_server_restores_everything() {
    for backup in ["backup", "backup.tar"] {
        let mut session = filled();
        let before = works(&session, LISTS);
        works(&session, &format!("folio backup {backup}"));
        works(&session, "folio fn version create hello --env nodejs --code hello.js --version v3");
        let said = refused(&session, &format!("folio backup {backup}"));
        assert!(said.contains("is there already"), "{said}");
        session.stop();
        let said = refused(&session, &format!("folio restore {backup}"));
        assert!(said.contains("is not empty"), "{said}");
        fs::remove_dir_all(session.data()).unwrap();
        works(&session, &format!("folio restore {backup} && folio check"));
        session.start_again().unwrap();
        assert_eq!(works(&session, LISTS), before, "{backup}");
        works(&session, "folio fn version create hello --env nodejs --code hello.js --version v3");
        let left = works(&session, "ls -A");
        assert!(!left.contains("unfinished"), "{left}");
    }
}

#[test]
fn backups_are_whole_while_others_write_and_sweep() {
    const WRITES: usize = 30;
    let session = filled_with(&["--grace", "0s"]);
    let (left, over) = (AtomicUsize::new(WRITES), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _over = Over(&over);
            while let Ok(at) = left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) {
                // What was uploaded for the publish that is refused is needed by nobody, so the sweep takes it.
                works(
                    &session,
                    "head -c 200000 /dev/urandom > new.bin; \
                     folio fn version create hello --env nodejs --code new.bin --version v1 2>&-; \
                     folio gc && folio fn version create busy --env nodejs --code new.bin",
                );
                works(&session, &format!("folio fn alias create hello --alias a{at} --version v1"));
            }
        });
        let mut made = 0;
        while !over.load(SeqCst) || made == 0 {
            let backup = format!("backup{made}");
            works(&session, &format!("folio backup {backup} && folio check --data {backup}"));
            works(&session, &format!("rm -r {backup}"));
            made += 1;
        }
    });
    works(&session, "folio check");
}

#[test]
fn a_whole_directory_is_whole_also_while_it_is_used() {
    let mut session = filled();
    assert!(works(&session, "folio check").ends_with("is whole"));
    assert_eq!(works(&session, "folio check -o json 2>&-"), "[]");
    session.stop();
    assert!(works(&session, "folio check").ends_with("is whole"));
}

#[test]
fn a_flipped_byte_in_a_pack_is_found() {
    let mut session = filled();
    session.stop();
    let mut packs = Vec::new();
    files(&session.data().join("blobs"), &mut packs);
    let largest = packs.iter().max_by_key(|pack| fs::metadata(pack).unwrap().len()).unwrap();
    flip(largest, |bytes| bytes.len() / 2);
    damaged(&session);
}

#[test]
fn a_missing_pack_is_found() {
    let mut session = filled();
    session.stop();
    let mut packs = Vec::new();
    files(&session.data().join("blobs"), &mut packs);
    fs::remove_file(&packs[0]).unwrap();
    damaged(&session);
}

#[test]
fn a_flipped_byte_in_the_database_is_found() {
    let mut session = filled();
    // A backup's database is one file without a log beside it.
    works(&session, "folio backup copy");
    assert_eq!(works(&session, "stat -c %a copy/folio.db"), "600");
    session.stop();
    fs::remove_dir_all(session.data()).unwrap();
    fs::rename(session.directory().join("copy"), session.data()).unwrap();
    flip(&session.data().join("folio.db"), |bytes| {
        let message = b"create alias prod of hello";
        bytes.windows(message.len()).position(|window| window == message).unwrap()
    });
    damaged(&session);
}

#[test]
fn a_truncated_backup_is_refused() {
    let session = filled();
    works(&session, "folio backup whole.tar && head -c 100000 whole.tar > cut.tar");
    refused(&session, "folio restore cut.tar --data restored");
    works(&session, "echo 'no backup' > text");
    refused(&session, "folio restore text --data restored");
    assert!(!session.directory().join("restored").exists());
}

/// Neither a check, nor a backup, nor a restore takes damage for data.
#[track_caller]
fn damaged(session: &Session) {
    let said = refused(session, "folio check");
    assert!(said.contains("is damaged in"), "{said}");
    refused(session, "folio backup from-damaged");
    assert!(!session.directory().join("from-damaged").exists());
    let data = session.data();
    refused(session, &format!("folio restore {} --data restored", data.display()));
    assert!(!session.directory().join("restored").exists());
}

fn flip(path: &Path, place: impl Fn(&[u8]) -> usize) {
    let mut bytes = fs::read(path).unwrap();
    let at = place(&bytes);
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}
