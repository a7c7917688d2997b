//! When a remembered digest counts, and that a wrong one never publishes wrong bytes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use folio_core::Limits;
use folio_model::Digest;
use tempfile::{TempDir, tempdir};

use super::*;
use crate::content::{Extent, Given, Lesson, Most, Plan, find};
use crate::memory::{FILES_MAX, TICK, TICK_OF_SECONDS};

/// A moment long after every file of the test was written.
const LATER: i128 = 4_000_000_000_000_000_000;

/// A directory with a file, and a place for caches.
fn place() -> (TempDir, PathBuf, PathBuf) {
    let directory = tempdir().unwrap();
    let (tree, caches) = (directory.path().join("tree"), directory.path().join("caches"));
    fs::create_dir_all(tree.join("sub")).unwrap();
    fs::write(tree.join("sub/file"), "before").unwrap();
    (directory, tree, caches)
}

fn stamp() -> Stamp {
    let moment = 1_700_000_000_123_456_789;
    Stamp { device: 1, inode: 2, bytes: 3, modified: moment, changed: moment }
}

fn found(stamp: Stamp) -> Found {
    Found { path: "a/b".to_owned(), from: None, stamp, executable: false }
}

fn hashed(text: &str) -> Hashed {
    Hashed { digest: Digest::of(text.as_bytes()), bytes: 3, pieces: Vec::new() }
}

/// What is remembered of one file that was hashed at a moment.
fn remembered(stamp: Stamp, began: i128) -> Cache {
    let ready = Ready { found: found(stamp), hashed: hashed("abc"), is_same: false };
    Cache::new(vec![ready], Vec::new(), began)
}

/// Plans as if everything had happened long ago, and remembers.
fn plan(tree: &Path, caches: &Path) -> Plan {
    let mut found = find(&Given::Files(tree.to_owned()), Some(caches), &Most::default()).unwrap();
    if let crate::content::Found::Directory { memory: Some(memory), .. } = &mut found {
        memory.began = LATER;
    }
    let (_, plan) = found.plan(&Limits::default()).unwrap();
    plan.lesson.iter().for_each(Lesson::keep);
    plan
}

#[test]
fn a_file_is_remembered_until_its_stamp_changes() {
    let cache = remembered(stamp(), LATER);
    assert_eq!(cache.file(&found(stamp())), Some(&hashed("abc")));
    for changed in [
        Stamp { device: 9, ..stamp() },
        Stamp { inode: 9, ..stamp() },
        Stamp { bytes: 9, ..stamp() },
        Stamp { modified: stamp().modified + 1, ..stamp() },
        Stamp { changed: stamp().changed + 1, ..stamp() },
    ] {
        assert_eq!(cache.file(&found(changed)), None, "{changed:?}");
    }
}

#[test]
fn a_file_as_young_as_its_hash_is_read_again() {
    let sure = |stamp: Stamp, began| remembered(stamp, began).file(&found(stamp)).is_some();
    let written = stamp().changed;
    assert!(!sure(stamp(), written));
    assert!(!sure(stamp(), written + TICK));
    assert!(sure(stamp(), written + TICK + 1));
    assert!(!sure(Stamp { modified: LATER, ..stamp() }, written + 2 * TICK));
    let seconds = written - written % 1_000_000_000;
    let coarse = Stamp { modified: seconds, changed: seconds, ..stamp() };
    assert!(!sure(coarse, seconds + TICK_OF_SECONDS));
    assert!(sure(coarse, seconds + TICK_OF_SECONDS + 1));
}

#[test]
fn a_file_that_grew_while_it_was_read_is_read_again() {
    let stamp = Stamp { bytes: 2, ..stamp() };
    assert_eq!(remembered(stamp, LATER).file(&found(stamp)), None);
}

#[test]
fn what_is_saved_is_read_back_and_damage_is_nothing() {
    let (_directory, tree, caches) = place();
    fs::write(tree.join("large"), vec![1; 3_000_000]).unwrap();
    let lesson = plan(&tree, &caches).lesson.unwrap();
    assert_eq!(Cache::load(&lesson.path), Some(lesson.cache));
    let mode = fs::metadata(&lesson.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let good = fs::read(&lesson.path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        assert_eq!(format::decode(&bad), None, "byte {at}");
        assert_eq!(format::decode(&good[..at]), None, "cut at {at}");
    }
}

#[test]
fn only_what_changed_is_planned_again() {
    let (_directory, tree, caches) = place();
    fs::create_dir(tree.join("other")).unwrap();
    fs::write(tree.join("other/same"), "same").unwrap();
    let first = plan(&tree, &caches);
    assert_eq!((first.extent, first.nodes.len()), (Extent::Whole, 5));
    let second = plan(&tree, &caches);
    assert_eq!((second.extent, second.nodes.len(), second.roots), (Extent::News, 0, first.roots));
    fs::write(tree.join("sub/file"), "after!").unwrap();
    let third = plan(&tree, &caches);
    assert_eq!(third.nodes.len(), 3, "the file and the directories above it");
    assert_eq!(third.roots, whole(&tree).roots);
    fs::remove_file(tree.join("sub/file")).unwrap();
    assert_eq!(plan(&tree, &caches).roots, whole(&tree).roots);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(tree.join("other/same"), executable).unwrap();
    assert_eq!(plan(&tree, &caches).roots, whole(&tree).roots);
}

/// Plans without remembering.
fn whole(tree: &Path) -> Plan {
    find(&Given::Files(tree.to_owned()), None, &Most::default())
        .unwrap()
        .plan(&Limits::default())
        .unwrap()
        .1
}

#[test]
fn a_place_that_cannot_be_written_is_no_cache() {
    let (directory, tree, _) = place();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(plan(&tree, &file.join("caches")).extent, Extent::Whole);
    assert_eq!(plan(&tree, &file.join("caches")).roots, whole(&tree).roots);
}

#[test]
fn the_oldest_directories_are_forgotten() {
    let (_directory, tree, caches) = place();
    fs::create_dir(&caches).unwrap();
    for at in 0..FILES_MAX {
        fs::write(caches.join(at.to_string()), "").unwrap();
    }
    let lesson = plan(&tree, &caches).lesson.unwrap();
    assert_eq!(fs::read_dir(&caches).unwrap().count(), FILES_MAX);
    assert!(lesson.path.exists());
}

#[test]
fn a_file_is_hashed_when_it_is_sent_and_afresh_means_all_are() {
    let (_directory, tree, caches) = place();
    plan(&tree, &caches);
    fs::write(tree.join("new"), "new").unwrap();
    let planned = plan(&tree, &caches);
    fs::write(tree.join("new"), "old").unwrap();
    let new = planned.nodes.iter().find(|node| node.digest == Digest::of(b"new")).unwrap();
    assert!(new.read().unwrap_err().is::<crate::content::Changed>());
    let found =
        find(&Given::Files(tree.clone()), Some(&caches), &Most::default()).unwrap().afresh();
    let (_, afresh) = found.plan(&Limits::default()).unwrap();
    assert_eq!((afresh.extent, afresh.roots), (Extent::Whole, whole(&tree).roots));
}

#[test]
fn a_wrong_entry_is_named_but_never_sent() {
    let (_directory, tree, caches) = place();
    fs::write(tree.join("sub/other"), "other").unwrap();
    let lesson = plan(&tree, &caches).lesson.unwrap();
    let mut wrong = lesson.cache;
    wrong.files.get_mut("sub/file").unwrap().hashed = hashed("wrong");
    wrong.save(&lesson.path).unwrap();
    fs::write(tree.join("sub/other"), "edited").unwrap();
    let planned = plan(&tree, &caches);
    // The server refuses a directory that names what it lacks, and everything is read again.
    assert!(planned.nodes.iter().any(|node| node.children().contains(&Digest::of(b"wrong"))));
    assert!(planned.nodes.iter().all(|node| node.digest != Digest::of(b"wrong")));
}
