//! Files that are damaged in the data directory: what is said of them, and how they become whole again.

use std::fs;
use std::path::{Path, PathBuf};

use folio_testkit::transcript::Session;

use crate::program::{refused, session, works};

/// Two versions, of which the first has a large file. Nobody has read anything of it.
fn published() -> Session {
    let session = session(&[]);
    works(
        &session,
        "mkdir -p one/deep two && head -c 300000 /dev/urandom > one/deep/large.bin && \
         echo 'module.exports = async () => ({ status: 200, body: \"one\" });' > one/hello.js && \
         echo 'module.exports = async () => ({ status: 200, body: \"two\" });' > two/hello.js",
    );
    for (name, id) in [("one", "v1"), ("two", "v2")] {
        let create = "folio fn version create hello --env nodejs --entrypoint hello";
        works(&session, &format!("{create} --deploy {name} --version {id}"));
    }
    session
}

/// Turns a byte in the middle of the largest pack.
fn damage(session: &Session) {
    let mut packs = Vec::new();
    files(&session.data().join("blobs"), &mut packs);
    let largest = packs.iter().max_by_key(|pack| fs::metadata(pack).unwrap().len()).unwrap();
    let mut bytes = fs::read(largest).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(largest, bytes).unwrap();
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Everything that holds the file is whole, and nothing of the damage is left.
#[track_caller]
fn whole(session: &Session) {
    works(
        session,
        "rm -rf got got.zip && folio fn version download hello@v1 --file got.zip && \
         unzip -q got.zip -d got && diff -r got one",
    );
    assert!(works(session, "folio invoke hello@v1").contains("one"));
    works(session, "folio gc && folio check");
}

#[test]
fn a_check_names_what_stands_on_damage_and_nothing_else() {
    let session = published();
    damage(&session);
    let said = refused(&session, "folio check");
    assert!(said.contains("is damaged in 2 places"), "{said}");
    for held in ["function `hello@v1`", "package `hello-pkg@v1`", "release `"] {
        assert!(said.contains(held), "{said}");
    }
    assert!(!said.contains("@v2"), "{said}");
    assert!(said.contains("--no-cache"), "{said}");
    let said = works(&session, "folio check -o json 2>&- || true");
    assert!(said.contains("\"function `hello@v1`\""), "{said}");
}

#[test]
fn damage_that_was_met_is_mended_by_publishing_the_files_again() {
    let session = published();
    damage(&session);
    let said = refused(&session, "folio fn version download hello@v1 --file got.zip");
    assert!(said.contains("is damaged") && said.contains("--no-cache"), "{said}");
    assert!(!session.directory().join("got.zip").exists());
    let said = refused(&session, "folio invoke hello@v1");
    assert!(said.contains("cannot be read") && said.contains("--no-cache"), "{said}");
    // What is remembered of the files does not hide that the server lacks them.
    works(&session, "folio fn version create hello --env nodejs --deploy one --version v3");
    whole(&session);
}

#[test]
fn damage_that_nobody_met_is_mended_without_the_memory() {
    let session = published();
    damage(&session);
    let create = "folio fn version create hello --env nodejs --deploy one";
    works(&session, &format!("{create} --version v3 --no-cache"));
    whole(&session);
}

#[test]
fn a_damaged_archive_and_what_was_unpacked_of_it_are_mended() {
    let session = published();
    works(&session, "tar -cf one.tar -C one .");
    works(&session, "folio pkg version create packed --env nodejs --deploy one.tar --version v1");
    damage(&session);
    let create = "folio pkg version create packed --env nodejs --deploy one.tar";
    works(&session, &format!("{create} --version v2 --no-cache"));
    works(&session, "folio pkg version download packed@v1 --file - | cmp - one.tar");
    works(
        &session,
        "folio fn version create hello --env nodejs --deploy one --version v3 --no-cache",
    );
    whole(&session);
}

#[test]
fn a_download_that_breaks_off_says_what_to_do() {
    let session = session(&[]);
    works(&session, "head -c 12000000 /dev/urandom > large.bin");
    works(&session, "folio fn version create hello --env nodejs --code large.bin --version v1");
    let mut packs = Vec::new();
    files(&session.data().join("blobs"), &mut packs);
    // Every pack but the one with the beginning, wherever that is: the start may or may not be readable.
    packs.sort_by_key(|pack| std::cmp::Reverse(fs::metadata(pack).unwrap().len()));
    for pack in &packs {
        let mut bytes = fs::read(pack).unwrap();
        let at = bytes.len() - 100_000.min(bytes.len() / 2);
        bytes[at] ^= 1;
        fs::write(pack, bytes).unwrap();
    }
    let said = refused(&session, "folio fn version download hello@v1 --file got");
    assert!(said.contains("folio check"), "{said}");
    assert!(!session.directory().join("got").exists());
    works(&session, "folio fn version create hello --env nodejs --code large.bin --no-cache");
    works(&session, "folio fn version download hello@v1 --file - | cmp - large.bin");
}
