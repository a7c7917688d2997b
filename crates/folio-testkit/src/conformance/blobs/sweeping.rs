//! A sweep removes what nothing reaches, and never what someone has just begun to use.

use folio_core::ports::{Blobs, Encoding, Node};
use folio_model::Timestamp;
use futures::future::join;

use super::samples::{
    assert_gone, assert_stored, chunked, directory, file, put, small_tree, sweep, tree,
};

/// Reached from the roots: kept, through directories and chunk lists. All else: gone.
pub async fn what_the_roots_reach_is_kept_and_nothing_else(blobs: &dyn Blobs) {
    let (kept_root, mut kept) = small_tree("kept");
    let large = chunked(&[&kept[0], &kept[1]]);
    kept.push(large.clone());
    let (_, gone) = small_tree("gone");
    put(blobs, &[&kept[..], &gone[..]].concat()).await;
    let swept = sweep(blobs, &[&kept_root, &large]).await;
    assert!(swept.nodes >= 4, "{swept:?}");
    assert_stored(blobs, &kept).await;
    assert_gone(blobs, &gone).await;
    assert_eq!(blobs.usage().await.expect("usage runs").nodes, 5);
    assert_eq!(sweep(blobs, &[&large]).await.nodes, 2);
    assert_stored(blobs, &[kept[0].clone(), kept[1].clone(), large]).await;
    sweep(blobs, &[]).await;
    let usage = blobs.usage().await.expect("usage runs");
    assert_eq!((usage.nodes, usage.objects, usage.stored_bytes), (0, 0, 0));
}

/// Whatever was used since `keep_since` stays with all it names.
pub async fn what_was_used_lately_is_kept(blobs: &dyn Blobs) {
    let (_, nodes) = small_tree("lately");
    put(blobs, &nodes).await;
    let mark = blobs.mark().await.expect("mark runs");
    let swept = blobs.sweep(mark, Vec::new(), Timestamp::UNIX_EPOCH).await.expect("sweep runs");
    assert_eq!(swept.nodes, 0);
    assert_stored(blobs, &nodes).await;
}

/// A client that was told a node is there may rely on it.
pub async fn what_is_asked_for_after_the_mark_is_kept(blobs: &dyn Blobs) {
    let (root, nodes) = small_tree("asked");
    let (_, unasked) = small_tree("unasked");
    put(blobs, &[&nodes[..], &unasked[..]].concat()).await;
    let mark = blobs.mark().await.expect("mark runs");
    assert!(blobs.missing(vec![root.digest]).await.expect("missing runs").is_empty());
    blobs.sweep(mark, Vec::new(), Timestamp::MAX).await.expect("sweep runs");
    assert_stored(blobs, &nodes).await;
    assert_gone(blobs, &unasked).await;
}

/// A new node that names old ones keeps them, on every level.
pub async fn what_is_named_after_the_mark_is_kept(blobs: &dyn Blobs) {
    let (root, nodes) = small_tree("renamed");
    let chunk = file("renamed: chunk");
    put(blobs, &[&nodes[..], std::slice::from_ref(&chunk)].concat()).await;
    let mark = blobs.mark().await.expect("mark runs");
    let above = tree(&[("root", &root)]);
    let whole = chunked(&[&chunk, &nodes[0]]);
    put(blobs, &[above.clone(), whole.clone()]).await;
    blobs.sweep(mark, Vec::new(), Timestamp::MAX).await.expect("sweep runs");
    assert_stored(blobs, &nodes).await;
    assert_stored(blobs, &[above, whole, chunk]).await;
}

/// Storing what is there already counts as a use.
pub async fn what_is_stored_again_after_the_mark_is_kept(blobs: &dyn Blobs) {
    let (root, nodes) = small_tree("stored again");
    put(blobs, &nodes).await;
    let mark = blobs.mark().await.expect("mark runs");
    put(blobs, &[root]).await;
    blobs.sweep(mark, Vec::new(), Timestamp::MAX).await.expect("sweep runs");
    assert_stored(blobs, &nodes).await;
}

/// Finding the tree of an archive counts as a use of both.
pub async fn a_remembered_archive_is_kept_after_the_mark(blobs: &dyn Blobs) {
    let archive = file("remembered: archive");
    let (root, nodes) = small_tree("remembered");
    put(blobs, &[&nodes[..], std::slice::from_ref(&archive)].concat()).await;
    blobs.remember_unpacked(archive.digest, root.digest).await.expect("both are stored");
    let mark = blobs.mark().await.expect("mark runs");
    let found = blobs.unpacked(archive.digest).await.expect("unpacked runs");
    assert_eq!(found, Some(root.digest));
    blobs.sweep(mark, Vec::new(), Timestamp::MAX).await.expect("sweep runs");
    assert_stored(blobs, &nodes).await;
    assert_stored(blobs, &[archive]).await;
}

/// A file that is reached, however deep, keeps its encodings; they go with it, and then nothing remembers them.
pub async fn encodings_stay_as_long_as_their_file(blobs: &dyn Blobs) {
    let (root, nodes) = small_tree("encoded");
    let (encoded, stray) = (file("encoded: encodings"), file("encoded: of nothing"));
    put(blobs, &[&nodes[..], &[encoded.clone(), stray.clone()]].concat()).await;
    let made = Encoding { file: nodes[0].digest, node: encoded.digest };
    blobs.remember_encodings(vec![made]).await.expect("both are stored");
    sweep(blobs, &[&root]).await;
    assert_stored(blobs, &nodes).await;
    assert_stored(blobs, std::slice::from_ref(&encoded)).await;
    assert_gone(blobs, &[stray]).await;
    sweep(blobs, &[]).await;
    assert_gone(blobs, &[encoded, nodes[0].clone()]).await;
    put(blobs, &nodes).await;
    let found = blobs.encodings(vec![nodes[0].digest]).await.expect("encodings runs");
    assert_eq!(found, [None]);
}

/// Remembering encodings counts as a use of the file and of them.
pub async fn encodings_remembered_after_the_mark_are_kept_with_their_file(blobs: &dyn Blobs) {
    let both = [file("encoded late: file"), file("encoded late: encodings")];
    put(blobs, &both).await;
    let mark = blobs.mark().await.expect("mark runs");
    let made = Encoding { file: both[0].digest, node: both[1].digest };
    blobs.remember_encodings(vec![made]).await.expect("both are stored");
    blobs.sweep(mark, Vec::new(), Timestamp::MAX).await.expect("sweep runs");
    assert_stored(blobs, &both).await;
}

/// Two sweeps that overlap each keep what was used since their own mark.
pub async fn a_second_mark_does_not_weaken_the_first(blobs: &dyn Blobs) {
    let (root, nodes) = small_tree("two marks");
    put(blobs, &nodes).await;
    let first = blobs.mark().await.expect("mark runs");
    assert!(blobs.missing(vec![root.digest]).await.expect("missing runs").is_empty());
    let second = blobs.mark().await.expect("mark runs");
    blobs.sweep(first, Vec::new(), Timestamp::MAX).await.expect("sweep runs");
    assert_stored(blobs, &nodes).await;
    blobs.sweep(second, Vec::new(), Timestamp::MAX).await.expect("sweep runs");
    assert_gone(blobs, &nodes).await;
}

/// Whatever a store does to give space back, the living can be read.
pub async fn what_survives_a_sweep_reads_back(blobs: &dyn Blobs) {
    sweep(blobs, &[]).await;
    let files: Vec<_> = (0..64).map(|seed| file(format!("survivor {seed} ").repeat(99))).collect();
    put(blobs, &files).await;
    let before = blobs.usage().await.expect("usage runs");
    let living: Vec<Node> = files.iter().step_by(5).cloned().collect();
    let swept = sweep(blobs, &living.iter().collect::<Vec<_>>()).await;
    assert_eq!(swept.nodes, (files.len() - living.len()) as u64);
    assert_stored(blobs, &living).await;
    let after = blobs.usage().await.expect("usage runs");
    assert_eq!(after.nodes, living.len() as u64);
    assert!(after.stored_bytes < before.stored_bytes, "{before:?} {after:?}");
    assert_eq!(before.stored_bytes - after.stored_bytes, swept.bytes);
}

/// Nothing remembers that a node was once removed.
pub async fn swept_nodes_can_be_stored_again(blobs: &dyn Blobs) {
    let (root, nodes) = small_tree("returns");
    put(blobs, &nodes).await;
    sweep(blobs, &[]).await;
    assert_gone(blobs, &nodes).await;
    put(blobs, &nodes).await;
    sweep(blobs, &[&root]).await;
    assert_stored(blobs, &nodes).await;
}

/// Sweeps and batches that rely on what is being swept, at the same time: a batch that was acknowledged after
/// the last mark is whole.
pub async fn sweeps_and_batches_run_together(blobs: &dyn Blobs) {
    let (root, nodes) = small_tree("together");
    put(blobs, &nodes).await;
    for round in 0..20 {
        let own = file(format!("together {round}"));
        let above = directory(&[("own", &own)]);
        let top = tree(&[("above", &above), ("root", &root)]);
        let batch = [&nodes[..], &[own, above, top]].concat();
        let mark = blobs.mark().await.expect("mark runs");
        let storing = blobs.put(batch.clone());
        let sweeping = blobs.sweep(mark, Vec::new(), Timestamp::MAX);
        let (stored, swept) = join(storing, sweeping).await;
        stored.expect("the batch brings all it names");
        swept.expect("sweep runs");
        assert_stored(blobs, &batch).await;
    }
}
