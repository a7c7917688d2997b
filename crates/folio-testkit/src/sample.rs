//! Small content to publish.

use bytes::Bytes;
use folio_core::Folio;
use folio_core::ports::Node;
use folio_core::request::ContentRef;
use folio_model::{Digest, Layout, NodeKind, Tree, TreeEntry};

/// Uploads files into one directory and names it.
///
/// # Panics
/// If the names are malformed or the store refuses them.
pub async fn directory(folio: &Folio, files: &[(&str, &str)]) -> ContentRef {
    ContentRef::Tree { tree: upload(folio, files).await, layout: Layout::Directory }
}

/// Uploads one bare file and names it.
///
/// # Panics
/// If the name is malformed or the store refuses it.
pub async fn file(folio: &Folio, name: &str, text: &str) -> ContentRef {
    ContentRef::Tree { tree: upload(folio, &[(name, text)]).await, layout: Layout::File }
}

async fn upload(folio: &Folio, files: &[(&str, &str)]) -> Digest {
    let raw = |text: &str| {
        let bytes = Bytes::from(text.to_owned());
        Node { kind: NodeKind::Raw, digest: Digest::of(&bytes), bytes }
    };
    let entry = |(name, text): &(&str, &str)| TreeEntry::File {
        name: name.parse().expect("a well-formed name"),
        digest: Digest::of(text.as_bytes()),
        bytes: text.len() as u64,
        executable: false,
    };
    let tree = Tree::new(files.iter().map(entry).collect()).expect("each name once");
    let bytes = Bytes::from(tree.encode());
    let root = Node { kind: NodeKind::Tree, digest: Digest::of(&bytes), bytes };
    let tree = root.digest;
    let nodes = files.iter().map(|(_, text)| raw(text)).chain([root]).collect();
    folio.upload(nodes).await.expect("well-formed nodes are stored");
    tree
}
