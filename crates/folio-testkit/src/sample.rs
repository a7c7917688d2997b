//! Small content to publish.

use bytes::Bytes;
use folio_core::Folio;
use folio_core::content::{Built, FileEntry, TreeBuilder};
use folio_core::ports::Node;
use folio_core::request::ContentRef;
use folio_model::{Digest, Layout, NodeKind};

/// Uploads files into a directory, by their paths in it, and names it.
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
    let mut nodes = Vec::new();
    let mut builder = TreeBuilder::default();
    for (path, text) in files {
        let (digest, bytes) = (Digest::of(text.as_bytes()), Bytes::from((*text).to_owned()));
        let file = FileEntry { digest, bytes: bytes.len() as u64, executable: false };
        builder.insert(&path.parse().expect("a well-formed path"), file).expect("each path once");
        nodes.push(Node { kind: NodeKind::Raw, digest, bytes });
    }
    let Built { root, nodes: trees, .. } = builder.build().expect("well-formed trees");
    nodes.extend(trees);
    folio.upload(nodes).await.expect("well-formed nodes are stored");
    root
}
