//! Hostile archives, written byte by byte: each is refused with its code, and nothing of it is stored.

mod forge;

use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use folio_core::content::{chunk, list_files, unpack};
use folio_core::ports::{Blobs, Node, SystemClock};
use folio_core::{Class, Explain, Limits, archive};
use folio_model::Digest;
use folio_store::{MemoryIndex, PackOptions, PackStore};
use proptest::prelude::*;
use std::io::{Cursor, Write};

use self::forge::{Entry, TarEntry, gzip, tar, zip};

async fn store() -> PackStore {
    let options = PackOptions { grace: Duration::ZERO };
    PackStore::in_memory(MemoryIndex::default(), Arc::new(SystemClock), options).await.unwrap()
}

/// Uploads an archive as a client does.
async fn upload(blobs: &dyn Blobs, bytes: &[u8]) -> (Digest, u64) {
    let mut nodes: Vec<Node> = Vec::new();
    let chunked = chunk(&mut &bytes[..], &mut |node| {
        nodes.push(node);
        Ok(())
    });
    let count = nodes.len() as u64;
    blobs.put(nodes).await.unwrap();
    (chunked.unwrap().digest, count)
}

async fn check_with(limits: &Limits, what: &str, bytes: &[u8], code: &str) {
    let blobs = store().await;
    let (digest, nodes) = upload(&blobs, bytes).await;
    let error = unpack(&blobs, digest, limits).await.expect_err(what);
    assert_eq!(error.code().0, code, "{what}: {error}");
    assert!(matches!(error.class(), Class::Invalid | Class::TooLarge), "{what}");
    assert!(error.hint().is_some(), "{what}");
    let told = error.to_string();
    let foreign =
        ["::", "EOCD", "Unsupported(", "buffer"].into_iter().find(|word| told.contains(word));
    assert_eq!(foreign, None, "{what}: {told}");
    assert_eq!(blobs.usage().await.unwrap().nodes, nodes, "{what} left something behind");
    assert_eq!(blobs.unpacked(digest).await.unwrap(), None, "{what}");
}

async fn check(what: &str, bytes: &[u8], code: &str) {
    check_with(&Limits::default(), what, bytes, code).await;
}

async fn check_good(what: &str, bytes: &[u8], expected: &[&str]) {
    let blobs = store().await;
    let (digest, _) = upload(&blobs, bytes).await;
    let tree = unpack(&blobs, digest, &Limits::default()).await.expect(what);
    let files = list_files(&blobs, tree).await.unwrap();
    let paths: Vec<_> = files.iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(paths, expected, "{what}");
}

#[tokio::test]
async fn what_is_no_archive_is_refused() {
    for bytes in [&b""[..], b"P", b"hello", &[0; 1024], &[0x28, 0xb5, 0x2f, 0xfd, 0, 0]] {
        check("not an archive", bytes, "archive_unknown").await;
    }
    check("gzip of text", &gzip(b"just text, and no tar header at all"), "archive_damaged").await;
    check("gzip of noise", &gzip(&[7; 2048]), "archive_unknown").await;
    check("a cut zip", &zip(&[Entry::file("a", b"x")])[..20], "archive_damaged").await;
    check("zip's first bytes", b"PK\x03\x04", "archive_damaged").await;
    check("gzip's first bytes", &[0x1f, 0x8b], "archive_damaged").await;
}

#[tokio::test]
async fn an_archive_without_files_is_refused() {
    check("an empty zip", &zip(&[]), "archive_empty").await;
    check("a zip of directories", &zip(&[Entry::directory("a/")]), "archive_empty").await;
    check("an empty tar.gz", &gzip(&[0; 1024]), "archive_empty").await;
    check("a tar of directories", &tar(&[TarEntry::new("a/", b'5', b"")]), "archive_empty").await;
}

const BAD_PATHS: &[&str] = &[
    "../evil",
    "a/../../evil",
    "a/..",
    "/etc/passwd",
    "..",
    ".",
    "a//b",
    "a/./b",
    "a\\b",
    "..\\evil",
    "C:\\evil",
    "a\0b",
    "a\nb",
    "././a",
    "\u{1b}[31m",
];

#[tokio::test]
async fn paths_that_lead_outside_are_refused() {
    for path in BAD_PATHS {
        let good = Entry::file("good", b"good");
        check(path, &zip(&[good, Entry::file(path, b"x")]), "archive_path").await;
        if path.contains('\0') {
            continue;
        }
        let entries = [TarEntry::new("good", b'0', b"good"), TarEntry::new(path, b'0', b"x")];
        check(path, &tar(&entries), "archive_path").await;
        check(path, &gzip(&tar(&entries)), "archive_path").await;
    }
    let long = "d/".repeat(600) + "f";
    check("a very long path", &zip(&[Entry::file(&long, b"x")]), "archive_path").await;
    let long =
        [TarEntry::new("././@LongLink", b'L', long.as_bytes()), TarEntry::new("x", b'0', b"")];
    check("a very long name in tar", &tar(&long), "archive_path").await;
    let not_text = Entry { name: b"a\xff".to_vec(), ..Entry::file("", b"x") };
    check("a name that is no text", &zip(&[not_text]), "archive_path").await;
    let hidden = pax(&[("path", "../evil")]);
    let hidden = [TarEntry::new("pax", b'x', &hidden), TarEntry::new("good", b'0', b"x")];
    check("a bad path in an extension", &tar(&hidden), "archive_path").await;
}

#[tokio::test]
async fn links_and_special_files_are_refused() {
    let with_mode = |mode| zip(&[Entry { mode, ..Entry::file("a", b"/etc/passwd") }]);
    check("a symlink in zip", &with_mode(0o120_777), "archive_link").await;
    for mode in [0o020_666, 0o060_666, 0o010_666, 0o140_666] {
        check("a special file in zip", &with_mode(mode), "archive_special").await;
    }
    for kind in [b'1', b'2'] {
        check("a link in tar", &tar(&[TarEntry::new("a", kind, b"")]), "archive_link").await;
    }
    let long_link = [TarEntry::new("././@LongLink", b'K', b"b"), TarEntry::new("a", b'2', b"")];
    check("a long link in tar", &tar(&long_link), "archive_link").await;
    let linked =
        [TarEntry::new("p", b'x', &pax(&[("linkpath", "b")])), TarEntry::new("a", b'0', b"")];
    check("a link in an extension", &tar(&linked), "archive_link").await;
    for kind in [b'3', b'4', b'6', b'7', b'V', b'M'] {
        let entries = [TarEntry::new("a", kind, b"")];
        check("a special file in tar", &tar(&entries), "archive_special").await;
    }
    let sparse = tar(&[TarEntry::new("a", b'S', b"")]);
    check("a sparse file", &sparse, "archive_unsupported").await;
    let sparse = [TarEntry::new("p", b'x', &pax(&[("GNU.sparse.major", "1")]))];
    check("a sparse file in an extension", &tar(&sparse), "archive_unsupported").await;
}

#[tokio::test]
async fn two_entries_for_one_place_are_refused() {
    let pairs = [("a", "a"), ("a/b", "a"), ("a", "a/b"), ("a/b/c", "a/b"), ("./a", "a")];
    for (one, two) in pairs {
        let what = format!("{one} and {two}");
        let entries = [Entry::file(one, b"1"), Entry::file(two, b"2")];
        check(&what, &zip(&entries), "archive_duplicate").await;
        let entries = [TarEntry::new(one, b'0', b"1"), TarEntry::new(two, b'0', b"2")];
        check(&what, &tar(&entries), "archive_duplicate").await;
    }
    let entries = [Entry::file("a", b"1"), Entry::directory("a/")];
    check("a file and a directory", &zip(&entries), "archive_duplicate").await;
}

#[tokio::test]
async fn zips_that_contradict_themselves_are_refused() {
    let base = || Entry::file("good.txt", b"content");
    let other_name = Entry { local_name: Some(b"evil.txt".to_vec()), ..base() };
    check("another name in the local header", &zip(&[other_name]), "archive_inconsistent").await;
    let overlapping = Entry { at: Some(0), ..Entry::file("good.txt2", b"content") };
    check("shared bytes", &zip(&[base(), overlapping]), "archive_inconsistent").await;
    let slash = Entry { mode: 0o100_644, ..Entry::directory("a/") };
    check("a file that is a directory", &zip(&[base(), slash]), "archive_inconsistent").await;
    let encrypted = Entry { flags: 1, ..base() };
    check("a password", &zip(&[encrypted]), "archive_encrypted").await;
    let bad_crc = Entry { crc: Some(7), ..base() };
    check("a bad checksum", &zip(&[bad_crc]), "archive_damaged").await;
    let odd = Entry { method: 12, ..base() };
    check("another compression", &zip(&[odd]), "archive_unsupported").await;
    let trailing = [&zip(&[base()])[..], b"more"].concat();
    check("something after the end", &trailing, "archive_inconsistent").await;
    let two = [zip(&[Entry::file("b", b"b")]), zip(&[base()])].concat();
    check("two archives in one", &two, "archive_inconsistent").await;
    let claims = Entry { claimed: Some(3), ..base() };
    let refused = zip(&[claims]);
    check("a shorter length in the header", &refused, "archive_damaged").await;
}

#[tokio::test]
async fn tars_that_contradict_themselves_are_refused() {
    let good = tar(&[TarEntry::new("a", b'0', b"content")]);
    for cut in [513, 600, 1023, 1024] {
        check("a cut tar", &good[..cut], "archive_damaged").await;
        check("a cut tar in gzip", &gzip(&good[..cut]), "archive_damaged").await;
    }
    let packed = gzip(&good);
    for cut in [packed.len() / 2, packed.len() - 9, packed.len() - 1] {
        check("a cut gzip", &packed[..cut], "archive_damaged").await;
    }
    let mut flipped = packed.clone();
    let checksum = flipped.len() - 6;
    flipped[checksum] ^= 1;
    check("a bad checksum", &flipped, "archive_damaged").await;
    let mut broken = tar(&[TarEntry::new("a", b'0', b"x"), TarEntry::new("b", b'0', b"x")]);
    broken[1024 + 3] ^= 1;
    check("a bad header", &broken, "archive_damaged").await;
    let two = [&good[..], &good[..]].concat();
    check("two tars in one", &two, "archive_inconsistent").await;
    let two = [packed.clone(), packed].concat();
    check("two gzips in one", &two, "archive_inconsistent").await;
    let sized = [TarEntry::new("p", b'x', &pax(&[("size", "3")])), TarEntry::new("a", b'0', b"xx")];
    check("two sizes", &tar(&sized), "archive_inconsistent").await;
    let twice = pax(&[("path", "a"), ("path", "b")]);
    let named = [TarEntry::new("p", b'x', &twice), TarEntry::new("a", b'0', b"xx")];
    check("two long names", &tar(&named), "archive_inconsistent").await;
    let global = [TarEntry::new("p", b'g', &pax(&[("path", "a")])), TarEntry::new("a", b'0', b"x")];
    check("a name for all", &tar(&global), "archive_unsupported").await;
    check("a name for nothing", &tar(&[TarEntry::new("L", b'L', b"a")]), "archive_damaged").await;
    let huge = [TarEntry::new("L", b'L', &[b'a'; 70_000])];
    check("a huge name", &tar(&huge), "archive_unsupported").await;
}

#[tokio::test]
async fn bombs_are_refused() {
    let zeros = vec![0; 8 * 1024 * 1024];
    let deflated = Entry::deflated("zeros", &zeros);
    check("a zip that swells", &zip(std::slice::from_ref(&deflated)), "archive_swells").await;
    let lying = Entry { claimed: Some(100), ..deflated };
    check("a zip that lies about it", &zip(&[lying]), "archive_damaged").await;
    let entries = [TarEntry::new("zeros", b'0', &zeros)];
    check("a tar.gz that swells", &gzip(&tar(&entries)), "archive_swells").await;
    let padding = [gzip_parts(&[&tar(&[TarEntry::new("a", b'0', b"x")]), &zeros])].concat();
    check("a tar.gz whose end swells", &padding, "archive_swells").await;

    let limits = Limits { content_bytes_max: 1000, ..Limits::default() };
    let large = |name| Entry::file(name, &[b'x'; 600]);
    let bytes = zip(&[large("a"), large("b")]);
    check_with(&limits, "two large files", &bytes, "archive_too_large").await;
    let entries = [TarEntry::new("a", b'0', &[b'x'; 600]), TarEntry::new("b", b'0', &[b'y'; 600])];
    check_with(&limits, "two large files in tar", &tar(&entries), "archive_too_large").await;
    let limits = Limits { archive_bytes_max: 100, ..Limits::default() };
    check_with(&limits, "a large archive", &bytes, "archive_too_large").await;
}

#[tokio::test]
async fn too_many_files_are_refused() {
    let names: Vec<_> = (0..70_000).map(|number| format!("{number}")).collect();
    let entries: Vec<_> = names.iter().map(|name| Entry::file(name, b"")).collect();
    check("70,000 files in zip", &zip(&entries), "archive_too_many_files").await;
    let limits = Limits { content_files_max: 10, ..Limits::default() };
    let entries: Vec<_> = names[..11].iter().map(|name| TarEntry::new(name, b'0', b"")).collect();
    check_with(&limits, "eleven files in tar", &tar(&entries), "archive_too_many_files").await;
    let deep = "d/".repeat(500);
    let entries: Vec<_> =
        (0..4).map(|number| Entry::directory(&format!("{number}/{deep}"))).collect();
    check_with(&limits, "many directories", &zip(&entries), "archive_too_many_files").await;
}

#[tokio::test]
async fn common_archives_are_understood() {
    let entries = [
        Entry::directory("lib/"),
        Entry::file("main.py", b"print()"),
        Entry::deflated("lib/a.py", &b"import b\n".repeat(50)),
        Entry { mode: 0, ..Entry::file("lib/b.py", b"") },
    ];
    check_good("a zip", &zip(&entries), &["lib/a.py", "lib/b.py", "main.py"]).await;
    let entries = [
        TarEntry::new("pax_global_header", b'g', &pax(&[("comment", "0123456789abcdef")])),
        TarEntry::new("./", b'5', b""),
        TarEntry::new("./lib/", b'5', b""),
        TarEntry::new("./lib/a", b'0', b"content"),
        TarEntry::new("p", b'x', &pax(&[("mtime", "1.5"), ("path", "./lib/pax")])),
        TarEntry::new("short", b'0', &[b'x'; 1024]),
        TarEntry::new("././@LongLink", b'L', b"lib/gnu\0"),
        TarEntry::new("short", b'\0', b"x"),
        TarEntry::new("old/", b'\0', b""),
    ];
    let files = ["lib/a", "lib/gnu", "lib/pax"];
    check_good("a tar", &tar(&entries), &files).await;
    check_good("a tar.gz", &gzip(&tar(&entries)), &files).await;
}

#[tokio::test]
async fn what_other_writers_make_is_understood() {
    let mut writer = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = ::zip::write::SimpleFileOptions::default();
    writer.start_file("run.sh", options.unix_permissions(0o755)).unwrap();
    writer.write_all(b"#!/bin/sh\n").unwrap();
    let zstd = options.compression_method(::zip::CompressionMethod::Zstd);
    writer.start_file("data/large", zstd).unwrap();
    let lines = (0..200_000).map(|line| format!("line {line}\n"));
    writer.write_all(lines.collect::<String>().as_bytes()).unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    check_good("the zip crate's", &bytes, &["data/large", "run.sh"]).await;
    let mut builder = ::tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut header = ::tar::Header::new_gnu();
    header.set_size(3);
    header.set_mode(0o755);
    let path = format!("{}/file", "long".repeat(30));
    builder.append_data(&mut header, &path, &b"abc"[..]).unwrap();
    let bytes = builder.into_inner().unwrap().finish().unwrap();
    check_good("the tar crate's", &bytes, &[&path]).await;
}

proptest! {
    #[test]
    fn damaged_archives_never_panic(
        which in 0_usize..3,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let tar = tar(&[TarEntry::new("a/b", b'0', b"hello"), TarEntry::new("c", b'0', &[1; 700])]);
        let zip = zip(&[Entry::file("a/b", b"hello"), Entry::deflated("c", &[1; 700])]);
        let mut bytes = [zip, gzip(&tar), tar][which].clone();
        for (at, bits) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
        }
        bytes.truncate(cut.index(bytes.len()).max(bytes.len() / 2));
        drop(archive::read(Cursor::new(bytes), &Limits::default(), &mut |_| Ok(())));
    }
}

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let line = |(key, value): &(&str, &str)| {
        let rest = format!(" {key}={value}\n");
        let length = (1..).find(|digits| (rest.len() + digits).to_string().len() == *digits);
        format!("{}{rest}", rest.len() + length.unwrap())
    };
    records.iter().map(line).collect::<String>().into_bytes()
}

fn gzip_parts(parts: &[&[u8]]) -> Vec<u8> {
    gzip(&parts.concat())
}
