//! Damaged nodes that are stored again.

use folio_model::NodeKind;

use super::*;

/// A store over objects of which every bit that holds these nodes is turned.
async fn spoilt(nodes: &[Node], spoil: &[Digest]) -> (PackStore, Arc<InMemory>) {
    let (objects, index) = (Arc::new(InMemory::new()), MemoryIndex::default());
    let store = over(&objects, Arc::new(index.clone())).await;
    // Each in a pack of its own, so that only what is meant is damaged.
    let mut places = Vec::new();
    for node in nodes {
        let before = objects_in(&objects).await;
        store.put(vec![node.clone()]).await.unwrap();
        let after = objects_in(&objects).await;
        places.extend(
            after
                .into_iter()
                .find(|path| !before.contains(path))
                .filter(|_| spoil.contains(&node.digest)),
        );
    }
    for path in places {
        let good = objects.get(&path).await.unwrap().bytes().await.unwrap();
        overwrite(&objects, &path, good.iter().map(|byte| !byte).collect()).await;
    }
    // A new store, because a block that was read before the damage may be remembered.
    (over(&objects, Arc::new(index)).await, objects)
}

fn digests(nodes: &[Node]) -> Vec<Digest> {
    nodes.iter().map(|node| node.digest).collect()
}

async fn reads_back(store: &PackStore, nodes: &[Node]) {
    for node in nodes {
        assert_eq!(store.get(node.digest).await.unwrap(), *node);
    }
}

#[tokio::test]
async fn any_damaged_node_is_missing_with_all_above_it_once_it_was_read_and_is_stored_again() {
    let (_, nodes) = sample();
    let [one, two, whole, inner, root] = [0, 1, 2, 3, 4].map(|at: usize| nodes[at].digest);
    for (damaged, above) in [
        (one, vec![one, whole, inner, root]),
        (two, vec![two, whole, inner, root]),
        (whole, vec![whole]),
        (inner, vec![inner, root]),
        (root, vec![root]),
    ] {
        let (store, _) = spoilt(&nodes, &[damaged]).await;
        assert_eq!(store.missing(digests(&nodes)).await.unwrap(), [], "nobody looked");
        let read = store.get(damaged).await;
        assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{read:?}");
        assert_eq!(store.missing(digests(&nodes)).await.unwrap(), above);
        let again: Vec<_> =
            nodes.iter().filter(|node| above.contains(&node.digest)).cloned().collect();
        let stored = store.put(again).await.unwrap();
        assert_eq!((stored.added, stored.reused), (1, above.len() as u64 - 1));
        assert_eq!(store.missing(digests(&nodes)).await.unwrap(), []);
        reads_back(&store, &nodes).await;
    }
}

#[tokio::test]
async fn damage_that_nobody_met_is_found_by_reading_back_or_checking() {
    let (_, nodes) = sample();
    let (one, inner) = (nodes[0].digest, nodes[3].digest);
    let (store, _) = spoilt(&nodes, &[one]).await;
    store.read_back(vec![inner]).await.unwrap();
    assert_eq!(store.missing(vec![inner]).await.unwrap(), [inner]);
    let (store, _) = spoilt(&nodes, &[one]).await;
    assert!(!store.verify().await.unwrap().is_empty());
    assert_eq!(store.missing(vec![inner]).await.unwrap(), [inner]);
}

#[tokio::test]
async fn reading_back_does_not_believe_what_is_remembered() {
    let (objects, index) = (Arc::new(InMemory::new()), MemoryIndex::default());
    let store = over(&objects, Arc::new(index)).await;
    let node = file("read, then damaged");
    store.put(vec![node.clone()]).await.unwrap();
    store.get(node.digest).await.unwrap();
    let path = objects_in(&objects).await.remove(0);
    overwrite(&objects, &path, vec![0; 200]).await;
    store.read_back(vec![node.digest]).await.unwrap();
    assert_eq!(store.missing(vec![node.digest]).await.unwrap(), [node.digest]);
}

#[tokio::test]
async fn a_pack_that_is_gone_or_cut_is_stored_again() {
    for cut in [None, Some(20)] {
        let (objects, index) = (Arc::new(InMemory::new()), MemoryIndex::default());
        let (_, nodes) = sample();
        over(&objects, Arc::new(index.clone())).await.put(nodes.clone()).await.unwrap();
        let path = objects_in(&objects).await.remove(0);
        let good = objects.get(&path).await.unwrap().bytes().await.unwrap();
        match cut {
            Some(bytes) => overwrite(&objects, &path, good[..bytes].to_vec()).await,
            None => objects.delete(&path).await.unwrap(),
        }
        let store = over(&objects, Arc::new(index)).await;
        store.read_back(digests(&nodes)).await.unwrap();
        assert_eq!(store.missing(digests(&nodes)).await.unwrap(), digests(&nodes), "{cut:?}");
        assert_eq!(store.put(nodes.clone()).await.unwrap().added, 5);
        reads_back(&store, &nodes).await;
    }
}

#[tokio::test]
async fn nothing_new_is_stored_above_damage() {
    let (_, nodes) = sample();
    let (one, inner) = (nodes[0].clone(), nodes[3].clone());
    let (store, _) = spoilt(&nodes, &[one.digest]).await;
    store.get(one.digest).await.unwrap_err();
    let above = tree(&[("renamed", &inner)]);
    let refused = store.put(vec![above.clone()]).await;
    assert!(
        matches!(refused, Err(StoreError::MissingBlob { digest }) if digest == inner.digest),
        "{refused:?}"
    );
    // With the bytes it is stored, and what stood on them before is whole as well.
    store.put(vec![one, inner, above]).await.unwrap();
    reads_back(&store, &nodes).await;
}

#[tokio::test]
async fn a_damaged_directory_is_not_replaced_by_a_file_of_the_same_bytes() {
    let (_, nodes) = sample();
    let inner = nodes[3].clone();
    let (store, _) = spoilt(&nodes, &[inner.digest]).await;
    store.get(inner.digest).await.unwrap_err();
    let as_file = Node { kind: NodeKind::Raw, ..inner.clone() };
    assert_eq!(store.put(vec![as_file]).await.unwrap().added, 0);
    store.put(vec![inner]).await.unwrap();
    reads_back(&store, &nodes).await;
}

#[tokio::test]
async fn an_archive_is_unpacked_again_if_its_tree_is_damaged() {
    let (_, nodes) = sample();
    let (one, root, archive) = (nodes[0].digest, nodes[4].digest, file("an archive"));
    let mut all = nodes.clone();
    all.push(archive.clone());
    let (store, _) = spoilt(&all, &[one]).await;
    store.remember_unpacked(archive.digest, root).await.unwrap();
    assert_eq!(store.unpacked(archive.digest).await.unwrap(), Some(root));
    store.get(one).await.unwrap_err();
    assert_eq!(store.unpacked(archive.digest).await.unwrap(), None);
    store.put(nodes).await.unwrap();
    assert_eq!(store.unpacked(archive.digest).await.unwrap(), Some(root));
}

#[tokio::test]
async fn a_sweep_takes_a_damaged_pack_once_nothing_in_it_is_needed() {
    let (objects, index) = (Arc::new(InMemory::new()), MemoryIndex::default());
    let (root, nodes) = sample();
    over(&objects, Arc::new(index.clone())).await.put(nodes.clone()).await.unwrap();
    let path = objects_in(&objects).await.remove(0);
    let mut bytes = objects.get(&path).await.unwrap().bytes().await.unwrap().to_vec();
    let at = bytes.windows(3).position(|window| window == [3, 3, 3]).unwrap_or(bytes.len() / 2);
    bytes[at] ^= 1;
    overwrite(&objects, &path, bytes).await;
    let store = over(&objects, Arc::new(index)).await;
    assert!(!store.verify().await.unwrap().is_empty());
    let missing = store.missing(digests(&nodes)).await.unwrap();
    assert!(!missing.is_empty());
    let again = nodes.iter().filter(|node| missing.contains(&node.digest)).cloned().collect();
    store.put(again).await.unwrap();
    let mark = store.mark().await.unwrap();
    store.sweep(mark, vec![root.digest, nodes[2].digest], Timestamp::MAX).await.unwrap();
    assert_eq!(store.verify().await.unwrap(), []);
    assert!(store.damaged.is_empty());
    reads_back(&store, &nodes).await;
}
