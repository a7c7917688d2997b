//! What is not what it claims to be is not stored.

use folio_core::ports::{Blobs, Node, StoreError};
use folio_model::{Digest, NodeKind, TreeEntry, TreeTotals};

use super::samples::{
    assert_gone, assert_stored, chunked, directory, file, of_entries, put, small_tree,
};

/// A digest names its own bytes only, also if it is stored already.
pub async fn wrong_bytes_are_refused(blobs: &dyn Blobs) {
    let good = file("wrong: good");
    let wrong = Node { bytes: b"wrong: bad".to_vec().into(), ..good.clone() };
    assert_refused(blobs, std::slice::from_ref(&wrong)).await;
    assert_gone(blobs, std::slice::from_ref(&good)).await;
    put(blobs, std::slice::from_ref(&good)).await;
    assert_refused(blobs, &[wrong]).await;
    assert_stored(blobs, &[good]).await;
}

/// A directory whose bytes are not canonical would have two digests.
pub async fn a_directory_has_one_spelling(blobs: &dyn Blobs) {
    for text in ["[ ]", "{}", "", "[{\"type\":\"file\"}]", "not json"] {
        let bytes = text.as_bytes().to_vec();
        let digest = Digest::of(&bytes);
        let node = Node { kind: NodeKind::Tree, digest, bytes: bytes.into() };
        assert_refused(blobs, std::slice::from_ref(&node)).await;
        assert_gone(blobs, &[node]).await;
    }
}

/// Neither a directory nor a chunk list names what is neither stored nor in the batch.
pub async fn what_is_named_must_be_stored(blobs: &dyn Blobs) {
    let (_, nodes) = small_tree("named");
    for (left_out, missing) in nodes[..3].iter().zip([0, 1, 2]) {
        let batch: Vec<_> = nodes.iter().filter(|node| *node != left_out).cloned().collect();
        let refused = blobs.put(batch).await;
        let digest = nodes[missing].digest;
        assert!(
            matches!(&refused, Err(StoreError::MissingBlob { digest: missing }) if *missing == digest),
            "{refused:?}"
        );
    }
    let refused = blobs.put(vec![chunked(&[&nodes[0]]), chunked(&[&nodes[0], &nodes[1]])]).await;
    assert!(matches!(refused, Err(StoreError::MissingBlob { .. })), "{refused:?}");
    assert_gone(blobs, &nodes).await;
}

/// Lengths, totals and kinds in a directory are those of what it names.
pub async fn a_directory_tells_the_truth(blobs: &dyn Blobs) {
    let (_, nodes) = small_tree("truth");
    let [one, _, inner, _] = &nodes[..] else { unreachable!("four nodes") };
    put(blobs, &nodes).await;
    let name = || "x".parse().expect("a good name");
    let (one, inner) = (one.digest, inner.digest);
    let totals = |files, bytes| TreeTotals { files, bytes };
    let lies = [
        TreeEntry::File { name: name(), digest: one, bytes: 3, executable: false },
        TreeEntry::File { name: name(), digest: inner, bytes: 3, executable: false },
        TreeEntry::Directory { name: name(), digest: one, totals: totals(1, 10) },
        TreeEntry::Directory { name: name(), digest: inner, totals: totals(1, 20) },
        TreeEntry::Directory { name: name(), digest: inner, totals: totals(2, 21) },
    ];
    for lie in lies {
        let node = of_entries(vec![lie]);
        assert_refused(blobs, std::slice::from_ref(&node)).await;
        assert_refused(blobs, &[&nodes[..], std::slice::from_ref(&node)].concat()).await;
        assert_gone(blobs, &[node]).await;
    }
}

/// A chunked file is exactly its chunks, and its chunks are whole.
pub async fn chunks_must_add_up(blobs: &dyn Blobs) {
    let (a, b) = (file("adds up: a"), file("adds up: b"));
    put(blobs, &[a.clone(), b.clone()]).await;
    let good = chunked(&[&a, &b]);
    let swapped = Node { bytes: chunked(&[&b, &a]).bytes, ..good.clone() };
    let short = Node { bytes: chunked(&[&a]).bytes, ..good.clone() };
    let ragged = Node { bytes: good.bytes.slice(..40), ..good.clone() };
    let empty = Node { bytes: Vec::new().into(), digest: Digest::of(b""), ..good.clone() };
    for wrong in [swapped, short, ragged, empty] {
        assert_refused(blobs, &[wrong]).await;
    }
    put(blobs, std::slice::from_ref(&good)).await;
    let list = folio_model::ChunkList(vec![good.digest]).encode();
    let whole = Digest::of(b"adds up: aadds up: badds up: a");
    let list = [&list[..], a.digest.as_bytes()].concat();
    let nested = Node { kind: NodeKind::Chunked, digest: whole, bytes: list.into() };
    assert_refused(blobs, &[nested]).await;
    assert_stored(blobs, &[good]).await;
}

/// One bad node, wherever it stands, and nothing of the batch is stored.
pub async fn a_refused_batch_stores_nothing(blobs: &dyn Blobs) {
    let (_, nodes) = small_tree("all or nothing");
    let bad = Node { bytes: b"bad".to_vec().into(), ..file("not bad") };
    for place in 0..=nodes.len() {
        let mut batch = nodes.clone();
        batch.insert(place, bad.clone());
        assert_refused(blobs, &batch).await;
    }
    assert_gone(blobs, &nodes).await;
    assert!(directory(&[]).bytes.len() < bad.bytes.len(), "an empty directory is two bytes");
}

async fn assert_refused(blobs: &dyn Blobs, nodes: &[Node]) {
    let refused = blobs.put(nodes.to_vec()).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
}
