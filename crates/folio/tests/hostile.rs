//! Archives that mean harm, through the command: each is refused, says why, and leaves nothing behind.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use folio_testkit::transcript::Session;
use tar::{EntryType, Header};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::program::{refused, session, works};

#[track_caller]
fn check(session: &Session, archive: &str, expected: &str) {
    let said =
        refused(session, &format!("folio pkg version create evil --env nodejs --deploy {archive}"));
    assert!(said.contains(expected), "{archive}: {said}");
    assert_eq!(works(session, "folio pkg list"), "nothing found", "{archive}");
}

fn tar_of(path: &Path, entries: &[(&str, EntryType, &str)]) {
    let mut builder = tar::Builder::new(File::create(path).unwrap());
    for (name, kind, content) in entries {
        let mut header = Header::new_gnu();
        // Written by hand: the library would not write most of these names.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        let body = if is_link { "" } else { content };
        if is_link {
            header.set_link_name(content).unwrap();
        }
        header.set_size(body.len() as u64);
        header.set_cksum();
        builder.append(&header, body.as_bytes()).unwrap();
    }
    builder.finish().unwrap();
}

fn zip_of(path: &Path, names: impl IntoIterator<Item = impl AsRef<str>>) {
    let mut writer = ZipWriter::new(File::create(path).unwrap());
    for name in names {
        writer.start_file(name.as_ref().to_owned(), SimpleFileOptions::default()).unwrap();
        writer.write_all(b"content").unwrap();
    }
    writer.finish().unwrap();
}

/// Replaces a name in a finished zip with another of the same length.
fn rename_in(path: &Path, from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let mut bytes = std::fs::read(path).unwrap();
    let places: Vec<_> =
        (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn paths_that_lead_outside_are_refused() {
    let session = session(&[]);
    let directory = session.directory();
    for (number, name) in
        ["../evil", "a/../../evil", "/etc/evil", "..", "a\\..\\b"].iter().enumerate()
    {
        let file = format!("{number}.tar");
        tar_of(&directory.join(&file), &[(name, EntryType::Regular, "x")]);
        check(&session, &file, "error: the archive has the path");
        let file = format!("{number}.zip");
        let stand_in = "x".repeat(name.len());
        zip_of(&directory.join(&file), [&stand_in]);
        rename_in(&directory.join(&file), stand_in.as_bytes(), name.as_bytes());
        check(&session, &file, "error: the archive has the path");
    }
    assert!(!directory.join("../evil").exists());
}

#[test]
fn links_and_devices_are_refused() {
    let session = session(&[]);
    let directory = session.directory();
    let cases = [
        ("symlink.tar", EntryType::Symlink, "/etc/passwd"),
        ("hardlink.tar", EntryType::Link, "a"),
        ("device.tar", EntryType::Char, ""),
        ("fifo.tar", EntryType::Fifo, ""),
    ];
    for (file, kind, target) in cases {
        tar_of(&directory.join(file), &[("a", EntryType::Regular, "x"), ("b", kind, target)]);
        check(&session, file, "`b` in the archive is");
    }
    let mut writer = ZipWriter::new(File::create(directory.join("symlink.zip")).unwrap());
    writer.add_symlink("b", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    writer.finish().unwrap();
    check(&session, "symlink.zip", "`b` in the archive is a link");
}

#[test]
fn a_name_that_appears_twice_is_refused() {
    let session = session(&[]);
    let directory = session.directory();
    let twice = [("a", EntryType::Regular, "1"), ("a", EntryType::Regular, "2")];
    tar_of(&directory.join("twice.tar"), &twice);
    check(&session, "twice.tar", "`a` twice");
    let through = [("a", EntryType::Regular, "1"), ("a/b", EntryType::Regular, "2")];
    tar_of(&directory.join("through.tar"), &through);
    check(&session, "through.tar", "`a` twice");
    zip_of(&directory.join("twice.zip"), ["aa", "bb"]);
    rename_in(&directory.join("twice.zip"), b"bb", b"aa");
    check(&session, "twice.zip", "`aa` twice");
}

#[test]
fn a_bomb_is_refused_before_it_is_unpacked() {
    let session = session(&["--limit", "contentBytesMax=100000000"]);
    let directory = session.directory();
    let mut writer = ZipWriter::new(File::create(directory.join("bomb.zip")).unwrap());
    writer.start_file("zeros", SimpleFileOptions::default().large_file(true)).unwrap();
    io::copy(&mut io::Read::take(io::repeat(0), 200_000_000), &mut writer).unwrap();
    writer.finish().unwrap();
    check(&session, "bomb.zip", "more than 100000000 bytes together");
    let gzip =
        GzEncoder::new(File::create(directory.join("bomb.tar.gz")).unwrap(), Compression::best());
    let mut builder = tar::Builder::new(gzip);
    let mut header = Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_mode(0o644);
    header.set_size(200_000_000);
    header.set_cksum();
    builder.append(&header, io::Read::take(io::repeat(0), 200_000_000)).unwrap();
    builder.into_inner().unwrap().finish().unwrap();
    check(&session, "bomb.tar.gz", "more than 200 times larger");
}

#[test]
fn more_files_than_allowed_are_refused() {
    let session = session(&["--limit", "contentFilesMax=10"]);
    let directory = session.directory();
    zip_of(&directory.join("many.zip"), (0..11).map(|number| format!("f{number}")));
    check(&session, "many.zip", "the archive has more than 10 files");
    works(&session, "mkdir many && touch many/{1..11}");
    check(&session, "many", "`many` has more than 10 files, the server takes no more");
    zip_of(&directory.join("few.zip"), (0..10).map(|number| format!("f{number}")));
    works(&session, "folio pkg version create fine --env nodejs --deploy few.zip");
}

#[test]
fn an_archive_that_ends_early_is_refused() {
    let session = session(&[]);
    let directory = session.directory();
    zip_of(&directory.join("whole.zip"), ["a", "b"]);
    works(&session, "mkdir d && head -c 5000 /dev/urandom > d/noise && tar -czf whole.tar.gz d");
    works(&session, "tar -cf whole.tar d");
    for file in ["whole.zip", "whole.tar.gz", "whole.tar"] {
        let bytes = std::fs::read(directory.join(file)).unwrap();
        let cut = format!("cut-{file}");
        // A tar may end in zeros, so cut into what it holds.
        let length = if file == "whole.tar" { 2000 } else { bytes.len() - 7 };
        std::fs::write(directory.join(&cut), &bytes[..length]).unwrap();
        check(&session, &cut, "error: the archive is damaged");
    }
}

#[test]
fn a_file_too_large_is_refused_before_it_is_read() {
    let session = session(&[]);
    let directory = session.directory();
    let five_gib = 5 << 30;
    File::create(directory.join("large.js")).unwrap().set_len(five_gib).unwrap();
    let mut archive = File::create(directory.join("large.zip")).unwrap();
    archive.write_all(b"PK\x03\x04").unwrap();
    archive.set_len(five_gib).unwrap();
    let said = refused(&session, "folio fn version create large --env nodejs --code large.js");
    assert!(said.contains("has 5368709120 bytes, the server takes 2147483648"), "{said}");
    check(&session, "large.zip", "has 5368709120 bytes, the server takes 1073741824");
    works(&session, "mkdir large && mv large.js large/");
    check(&session, "large", "has 5368709120 bytes, the server takes 2147483648");
}
