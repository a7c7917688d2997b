//! Nodes to store.

use std::collections::BTreeMap;

use folio_core::ports::{Blobs, Node, StoreError, Swept};
use folio_model::{ChunkList, Digest, NodeKind, Timestamp, Tree, TreeEntry};

/// A whole file.
pub fn file(bytes: impl Into<Vec<u8>>) -> Node {
    let bytes = bytes.into();
    Node { kind: NodeKind::Raw, digest: Digest::of(&bytes), bytes: bytes.into() }
}

/// A file in chunks.
pub fn chunked(chunks: &[&Node]) -> Node {
    let whole: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.bytes.to_vec()).collect();
    let list = ChunkList(chunks.iter().map(|chunk| chunk.digest).collect());
    Node { kind: NodeKind::Chunked, digest: Digest::of(&whole), bytes: list.encode().into() }
}

/// A directory with whole files in it.
pub fn directory(files: &[(&str, &Node)]) -> Node {
    let entry = |(name, node): &(&str, &Node)| TreeEntry::File {
        name: name.parse().expect("a good name"),
        digest: node.digest,
        bytes: node.bytes.len() as u64,
        executable: false,
    };
    of_entries(files.iter().map(entry).collect())
}

/// A directory with other directories in it.
pub fn tree(directories: &[(&str, &Node)]) -> Node {
    let entry = |(name, node): &(&str, &Node)| TreeEntry::Directory {
        name: name.parse().expect("a good name"),
        digest: node.digest,
        totals: Tree::decode(&node.bytes).expect("a directory").totals(),
    };
    of_entries(directories.iter().map(entry).collect())
}

/// A directory with these entries.
pub(super) fn of_entries(entries: Vec<TreeEntry>) -> Node {
    let bytes = Tree::new(entries).expect("good entries").encode();
    Node { kind: NodeKind::Tree, digest: Digest::of(&bytes), bytes: bytes.into() }
}

/// A directory of two files and one above it: three levels of naming, different for every label.
pub(super) fn small_tree(label: &str) -> (Node, Vec<Node>) {
    let (one, two) = (file(format!("{label}: one")), file(format!("{label}: two")));
    let inner = directory(&[("one", &one), ("two", &two)]);
    let root = tree(&[("inner", &inner)]);
    (root.clone(), vec![one, two, inner, root])
}

/// Stores nodes that the store must take.
pub(super) async fn put(blobs: &dyn Blobs, nodes: &[Node]) {
    blobs.put(nodes.to_vec()).await.expect("the batch is good");
}

/// Whether all of these are stored and read back as they were.
pub(super) async fn assert_stored(blobs: &dyn Blobs, nodes: &[Node]) {
    for node in nodes {
        assert_eq!(blobs.get(node.digest).await.expect("the node is stored"), *node);
    }
}

/// Whether none of these is stored.
pub(super) async fn assert_gone(blobs: &dyn Blobs, nodes: &[Node]) {
    for Node { digest, .. } in nodes {
        let read = blobs.get(*digest).await;
        assert!(
            matches!(&read, Err(StoreError::MissingBlob { digest: missing }) if missing == digest),
            "{read:?}"
        );
        assert_eq!(blobs.about(*digest).await.expect("about runs"), None);
    }
}

/// Sweeps everything that the roots do not reach, however young.
pub(super) async fn sweep(blobs: &dyn Blobs, roots: &[&Node]) -> Swept {
    let mark = blobs.mark().await.expect("mark runs");
    let roots = roots.iter().map(|node| node.digest).collect();
    blobs.sweep(mark, roots, Timestamp::MAX).await.expect("sweep runs")
}

/// Every node by its digest.
pub(super) fn by_digest(nodes: &[Node]) -> BTreeMap<Digest, Node> {
    nodes.iter().map(|node| (node.digest, node.clone())).collect()
}
