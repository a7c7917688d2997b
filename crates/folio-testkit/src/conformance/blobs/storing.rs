//! What is stored reads back, once, whoever stores it.

use folio_core::ports::{About, Blobs, Encoding, StoreError, Stored};
use folio_model::{NodeKind, TreeTotals};
use futures::future::join_all;

use super::samples::{
    assert_stored, by_digest, chunked, directory, file, put, small_tree, sweep, tree,
};

/// A batch may name its nodes before it brings them.
pub async fn a_batch_reads_back_in_any_order(blobs: &dyn Blobs) {
    for turn in 0..4 {
        let (_, mut nodes) = small_tree(&format!("any order {turn}"));
        nodes.rotate_left(turn);
        let stored = blobs.put(nodes.clone()).await.expect("the batch is good");
        assert_eq!(stored, Stored { added: 4, reused: 0 });
        assert_stored(blobs, &nodes).await;
    }
}

/// What is there already is counted and costs nothing.
pub async fn storing_again_adds_nothing(blobs: &dyn Blobs) {
    let (_, nodes) = small_tree("again");
    put(blobs, &nodes).await;
    let before = blobs.usage().await.expect("usage runs");
    let stored = blobs.put(nodes.clone()).await.expect("the batch is good");
    assert_eq!(stored, Stored { added: 0, reused: 4 });
    let more = file("again: new");
    let stored = blobs.put([&nodes[..], &[more.clone(), more]].concat()).await;
    assert_eq!(stored.expect("the batch is good"), Stored { added: 1, reused: 5 });
    let after = blobs.usage().await.expect("usage runs");
    assert_eq!(after.nodes, before.nodes + 1);
    assert_eq!(after.objects, before.objects + 1);
    assert_eq!(blobs.put(Vec::new()).await.expect("an empty batch"), Stored::default());
}

/// Exactly what is not stored is missing.
pub async fn what_is_missing_is_told(blobs: &dyn Blobs) {
    let (here, absent) = (file("missing: here"), file("missing: absent"));
    put(blobs, std::slice::from_ref(&here)).await;
    let missing = blobs.missing(vec![absent.digest, here.digest]).await.expect("missing runs");
    assert_eq!(missing, [absent.digest]);
    let read = blobs.get(absent.digest).await;
    assert!(matches!(read, Err(StoreError::MissingBlob { .. })), "{read:?}");
}

/// The list of a large file reads back as a list, its chunks as files.
pub async fn a_chunked_file_is_its_chunks(blobs: &dyn Blobs) {
    let chunks = [file("chunked: a"), file("chunked: b")];
    let whole = chunked(&[&chunks[0], &chunks[1], &chunks[0]]);
    put(blobs, std::slice::from_ref(&chunks[0])).await;
    put(blobs, &[whole.clone(), chunks[1].clone()]).await;
    assert_stored(blobs, &[whole, chunks[0].clone(), chunks[1].clone()]).await;
}

/// Files and bytes are counted through all levels.
pub async fn what_is_behind_a_node_is_known(blobs: &dyn Blobs) {
    let (root, nodes) = small_tree("about");
    put(blobs, &nodes).await;
    let bytes = nodes[0].bytes.len() as u64;
    let about = |kind, files, bytes| Some(About { kind, totals: TreeTotals { files, bytes } });
    let found = blobs.about(root.digest).await.expect("about runs");
    assert_eq!(found, about(NodeKind::Tree, 2, 2 * bytes));
    let found = blobs.about(nodes[0].digest).await.expect("about runs");
    assert_eq!(found, about(NodeKind::Raw, 1, bytes));
    let whole = chunked(&[&nodes[0], &nodes[1]]);
    put(blobs, std::slice::from_ref(&whole)).await;
    let found = blobs.about(whole.digest).await.expect("about runs");
    assert_eq!(found, about(NodeKind::Chunked, 1, 2 * bytes));
    assert_eq!(blobs.about(file("about: absent").digest).await.expect("about runs"), None);
}

/// `[]` is a fine JSON file and the node of an empty directory: neither may stand in the other's way.
pub async fn the_same_bytes_may_be_a_file_and_a_directory(blobs: &dyn Blobs) {
    sweep(blobs, &[]).await;
    let (as_file, as_directory) = (file("[]"), tree(&[]));
    assert_eq!(as_file.digest, as_directory.digest);
    let holds_file = directory(&[("list.json", &as_file)]);
    let holds_directory = tree(&[("empty", &as_directory)]);
    put(blobs, &[as_file.clone(), holds_file.clone()]).await;
    put(blobs, &[holds_directory.clone(), as_directory.clone()]).await;
    put(blobs, &[as_file, holds_file]).await;
    assert_stored(blobs, &[as_directory, holds_directory]).await;
}

/// Nobody can keep others from storing a directory by storing its bytes as a file first.
pub async fn a_directory_stored_as_a_file_is_found_to_be_one(blobs: &dyn Blobs) {
    let (root, nodes) = small_tree("poisoned");
    for node in &nodes {
        put(blobs, &[file(node.bytes.to_vec())]).await;
    }
    // As an honest client does, which believes that nothing is missing.
    let above = tree(&[("root", &root)]);
    put(blobs, std::slice::from_ref(&above)).await;
    let about = blobs.about(root.digest).await.expect("about runs");
    assert_eq!(about.map(|about| about.kind), Some(NodeKind::Tree));
    assert_stored(blobs, &[above, root]).await;
}

/// Sizes at which a store may pack differently.
pub async fn large_and_empty_nodes_read_back(blobs: &dyn Blobs) {
    let noise = |count: usize| -> Vec<u8> {
        let seeds =
            (0..count.div_ceil(32)).map(|seed| folio_model::Digest::of(&seed.to_le_bytes()));
        seeds.flat_map(|digest| *digest.as_bytes()).take(count).collect()
    };
    let kib = 1024;
    let sizes = [0, 1, 127, 128, 64 * kib, 128 * kib - 1, 128 * kib, 256 * kib, 3 * kib * kib];
    let mut nodes: Vec<_> = sizes.iter().map(|size| file(noise(*size))).collect();
    nodes.push(file(vec![b' '; 2 * kib * kib]));
    nodes.extend((0..200).map(|seed| file(format!("many {seed} ").repeat(300))));
    put(blobs, &nodes).await;
    assert_eq!(by_digest(&nodes).len(), nodes.len());
    assert_stored(blobs, &nodes).await;
}

/// The tree of an archive is remembered while both are stored.
pub async fn an_unpacked_archive_is_remembered(blobs: &dyn Blobs) {
    let archive = file("unpacked: archive");
    let (root, nodes) = small_tree("unpacked");
    put(blobs, &nodes).await;
    assert_eq!(blobs.unpacked(archive.digest).await.expect("unpacked runs"), None);
    let refused = blobs.remember_unpacked(archive.digest, root.digest).await;
    assert!(matches!(refused, Err(StoreError::MissingBlob { .. })), "{refused:?}");
    put(blobs, std::slice::from_ref(&archive)).await;
    blobs.remember_unpacked(archive.digest, root.digest).await.expect("both are stored");
    let tree = blobs.unpacked(archive.digest).await.expect("unpacked runs");
    assert_eq!(tree, Some(root.digest));
    sweep(blobs, &[&archive]).await;
    put(blobs, &nodes).await;
    assert_eq!(blobs.unpacked(archive.digest).await.expect("unpacked runs"), None);
}

/// The last node that holds a file in other encodings is remembered, if both are stored; nothing is refused.
pub async fn the_encodings_of_a_file_are_remembered(blobs: &dyn Blobs) {
    let files = ["encodings: one", "encodings: two", "encodings: three"].map(file);
    let nodes = ["encodings: first", "encodings: second"].map(file);
    put(blobs, &[&files[..2], &nodes[..]].concat()).await;
    let [one, two, three] = files.each_ref().map(|file| file.digest);
    let [first, second] = nodes.each_ref().map(|node| node.digest);
    let found = async || blobs.encodings(vec![three, two, one]).await.expect("encodings runs");
    assert_eq!(found().await, [None, None, None]);
    let absent = file("encodings: absent").digest;
    let made = [(one, first), (two, absent), (three, second)];
    let made = made.map(|(file, node)| Encoding { file, node });
    blobs.remember_encodings(made.to_vec()).await.expect("what is stored is remembered");
    assert_eq!(found().await, [None, None, Some(first)]);
    let made = [(two, first), (one, second)].map(|(file, node)| Encoding { file, node });
    blobs.remember_encodings(made.to_vec()).await.expect("both are stored");
    assert_eq!(found().await, [None, Some(first), Some(second)]);
}

/// Batches that overlap, stored at once, are all there afterwards, each node once.
pub async fn concurrent_batches_are_all_stored(blobs: &dyn Blobs) {
    sweep(blobs, &[]).await;
    let shared: Vec<_> = (0..20).map(|seed| file(format!("shared {seed}"))).collect();
    let batches: Vec<_> = (0..8)
        .map(|batch| {
            let own = file(format!("own {batch}"));
            let root = directory(&[("own", &own), ("shared", &shared[batch])]);
            [&shared[..], &[own, root]].concat()
        })
        .collect();
    let stored = join_all(batches.iter().map(|batch| blobs.put(batch.clone()))).await;
    let added: u64 = stored.into_iter().map(|stored| stored.expect("good batches").added).sum();
    assert_eq!(added, 20 + 2 * 8);
    assert_eq!(blobs.usage().await.expect("usage runs").nodes, added);
    for batch in &batches {
        assert_stored(blobs, batch).await;
    }
}
