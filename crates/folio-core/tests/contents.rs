//! Content comes back as it went in: through chunks, directories, archives and downloads.

use std::io::{Cursor, Read};
use std::sync::Arc;
use std::time::Duration;

use folio_core::Limits;
use folio_core::content::{
    FileEntry, TreeBuilder, chunk, list_files, pack_zip, read_file, read_whole, unpack, walk,
    zip_stream,
};
use folio_core::ports::{Blobs, Node, StoreError, SystemClock};
use folio_model::{Digest, TreeEntry, TreePath};
use folio_store::{MemoryIndex, PackOptions, PackStore};
use futures::TryStreamExt;

async fn store() -> Arc<PackStore> {
    let options = PackOptions { grace: Duration::ZERO };
    let index = MemoryIndex::default();
    Arc::new(PackStore::in_memory(index, Arc::new(SystemClock), options).await.unwrap())
}

/// Bytes without repetition, the same for a seed.
fn noise(seed: u8, count: usize) -> Vec<u8> {
    let block = |number: usize| Digest::of(&[&[seed][..], &number.to_le_bytes()].concat());
    (0..count.div_ceil(32)).flat_map(|number| *block(number).as_bytes()).take(count).collect()
}

fn files() -> Vec<(&'static str, Vec<u8>, bool)> {
    vec![
        ("bin/run", b"#!/bin/sh\n".to_vec(), true),
        ("empty", Vec::new(), false),
        ("lib/deep/er/list.json", b"[]".to_vec(), false),
        ("lib/large", noise(1, 3_500_000), false),
        ("lib/ünïcode", "text".into(), false),
    ]
}

/// Stores files as a client does that publishes a directory.
async fn publish(blobs: &dyn Blobs, files: &[(&str, Vec<u8>, bool)]) -> Digest {
    let mut nodes: Vec<Node> = Vec::new();
    let mut builder = TreeBuilder::default();
    for (path, bytes, executable) in files {
        let chunked = chunk(&mut &bytes[..], &mut |node| {
            nodes.push(node);
            Ok(())
        });
        let chunked = chunked.unwrap();
        let (digest, bytes) = (chunked.digest, chunked.bytes);
        let entry = FileEntry { digest, bytes, executable: *executable };
        builder.insert(&path.parse().unwrap(), entry).unwrap();
    }
    let built = builder.build().unwrap();
    nodes.extend(built.nodes);
    blobs.put(nodes).await.unwrap();
    built.root
}

async fn assert_holds(blobs: &dyn Blobs, tree: Digest, files: &[(&str, Vec<u8>, bool)]) {
    let listed = list_files(blobs, tree).await.unwrap();
    assert_eq!(listed.len(), files.len());
    for ((path, entry), (expected, content, runs)) in listed.iter().zip(files) {
        assert_eq!(path.to_string(), *expected);
        let TreeEntry::File { digest, bytes, executable, .. } = entry else {
            panic!("{path} is a directory");
        };
        assert_eq!((*bytes, executable), (content.len() as u64, runs), "{path}");
        assert_eq!(read_whole(blobs, *digest).await.unwrap(), *content, "{path}");
    }
}

#[tokio::test]
async fn a_directory_comes_back_as_it_was() {
    let blobs = store().await;
    let tree = publish(&*blobs, &files()).await;
    assert_holds(&*blobs, tree, &files()).await;
    let about = blobs.about(tree).await.unwrap().unwrap();
    assert_eq!((about.totals.files, about.totals.bytes), (5, 3_500_016));
}

#[tokio::test]
async fn files_are_streamed_chunk_by_chunk() {
    let blobs = store().await;
    for (_, content, _) in files() {
        publish(&*blobs, &[("file", content.clone(), false)]).await;
        let stream = read_file(blobs.clone(), Digest::of(&content)).await.unwrap();
        assert_eq!(stream.bytes, content.len() as u64);
        let parts: Vec<_> = stream.content.try_collect().await.unwrap();
        assert!(parts.iter().all(|part| part.len() <= 1024 * 1024));
        assert_eq!(parts.concat(), content);
    }
    let absent = read_file(blobs, Digest::of(b"absent")).await;
    assert!(matches!(absent.err(), Some(StoreError::MissingBlob { .. })));
}

#[tokio::test]
async fn a_zip_holds_the_tree_and_never_changes() {
    let blobs = store().await;
    let tree = publish(&*blobs, &files()).await;
    let zip = pack_zip(&*blobs, tree).await.unwrap();
    let streamed: Vec<_> =
        zip_stream(blobs.clone(), tree).await.unwrap().try_collect().await.unwrap();
    assert_eq!(streamed.concat(), zip);
    let golden = "sha256:1a9abb18678192dd1d7f15361ee3d347c74a65b945faa80cecdb78243b7f8fff";
    assert_eq!(Digest::of(&zip).to_string(), golden);
    let mut archive = zip::ZipArchive::new(Cursor::new(&zip)).unwrap();
    assert_eq!(archive.len(), 5);
    let mut run = archive.by_name("bin/run").unwrap();
    assert_eq!(run.unix_mode(), Some(0o100_755));
    let mut text = String::new();
    run.read_to_string(&mut text).unwrap();
    assert_eq!(text, "#!/bin/sh\n");
}

#[tokio::test]
async fn a_zip_unpacks_to_the_tree_it_was_made_of() {
    let blobs = store().await;
    let tree = publish(&*blobs, &files()).await;
    let zip = pack_zip(&*blobs, tree).await.unwrap();
    publish(&*blobs, &[("upload", zip.clone(), false)]).await;
    let archive = Digest::of(&zip);
    let before = blobs.usage().await.unwrap();
    assert_eq!(unpack(&*blobs, archive, &Limits::default()).await.unwrap(), tree);
    assert_eq!(blobs.usage().await.unwrap(), before, "all of it was stored already");
    assert_eq!(blobs.unpacked(archive).await.unwrap(), Some(tree));
    assert_eq!(unpack(&*blobs, archive, &Limits::default()).await.unwrap(), tree);
    let elsewhere = store().await;
    publish(&*elsewhere, &[("upload", zip, false)]).await;
    assert_eq!(unpack(&*elsewhere, archive, &Limits::default()).await.unwrap(), tree);
    assert_holds(&*elsewhere, tree, &files()).await;
}

#[tokio::test]
async fn empty_directories_survive() {
    let blobs = store().await;
    let mut builder = TreeBuilder::default();
    builder.insert_directory(&"a/empty".parse().unwrap()).unwrap();
    let file = Digest::of(b"x");
    let entry = FileEntry { digest: file, bytes: 1, executable: false };
    builder.insert(&"b".parse().unwrap(), entry).unwrap();
    let built = builder.build().unwrap();
    let raw = Node { kind: folio_model::NodeKind::Raw, digest: file, bytes: b"x".to_vec().into() };
    blobs.put([built.nodes, vec![raw]].concat()).await.unwrap();
    let paths = |entries: Vec<(TreePath, TreeEntry)>| {
        entries.iter().map(|(path, _)| path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(paths(walk(&*blobs, built.root).await.unwrap()), ["a", "a/empty", "b"]);
    let zip = pack_zip(&*blobs, built.root).await.unwrap();
    publish(&*blobs, &[("upload", zip.clone(), false)]).await;
    let unpacked = unpack(&*blobs, Digest::of(&zip), &Limits::default()).await.unwrap();
    assert_eq!(unpacked, built.root);
}

#[tokio::test]
async fn an_absent_archive_is_told() {
    let error = unpack(&*store().await, Digest::of(b"absent"), &Limits::default()).await;
    let error = error.unwrap_err();
    assert_eq!(folio_core::Explain::code(&error).0, "missing_blob");
}
