//! Publishes and sweeps at the same time.

use super::*;

/// A ledger of roots: what is named is used and named in one step, as an append does.
#[derive(Default)]
struct Roots {
    index: MemoryIndex,
    roots: Mutex<Vec<Digest>>,
}

impl Roots {
    fn append(&self, root: Digest, now: Timestamp) -> Result<(), StoreError> {
        let mut roots = self.roots.lock().unwrap();
        self.index.require(&[root], now)?;
        // Older versions are deleted, so that there is always something to sweep.
        if roots.len() > 10 {
            roots.remove(0);
        }
        roots.push(root);
        Ok(())
    }
}

/// A version of a small project: most of it is shared with other versions, some of which are being swept.
fn version(seed: u64) -> (Node, Vec<Node>) {
    let part = |number: u64| {
        let text = file(format!("part {number}"));
        let more = file(format!("more of {number}"));
        let directory = directory(&[("text", &text), ("more", &more)]);
        (directory.clone(), vec![text, more, directory])
    };
    let (one, mut nodes) = part(seed % 5);
    let (two, more) = part(seed % 7);
    let root = tree(&[("one", &one), ("two", &two)]);
    nodes.extend(more);
    nodes.push(root.clone());
    (root, nodes)
}

/// Publishes as a client does: asks what is missing, stores only that, then names it.
async fn publish(store: &PackStore, roots: &Roots, seed: u64) -> Result<(), StoreError> {
    let (root, mut nodes) = version(seed);
    let missing = store.missing(nodes.iter().map(|node| node.digest).collect()).await?;
    nodes.retain(|node| missing.contains(&node.digest));
    store.put(nodes).await?;
    roots.append(root.digest, store.clock.now())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn publishes_and_sweeps_race_without_loss() {
    let roots = Arc::new(Roots::default());
    let objects = Arc::new(InMemory::new());
    let store = Arc::new(over(&objects, Arc::new(roots.index.clone())).await);
    let mut publishers = tokio::task::JoinSet::new();
    for publisher in 0..4 {
        let (store, roots) = (Arc::clone(&store), Arc::clone(&roots));
        publishers.spawn(async move {
            for round in 0..150 {
                // A sweep may be faster than a publish that relied on what is going; it is told and repeats.
                while let Err(error) = publish(&store, &roots, publisher * 31 + round * 3).await {
                    assert!(matches!(error, StoreError::MissingBlob { .. }), "{error}");
                }
            }
        });
    }
    while !publishers.is_empty() {
        let mark = store.mark().await.unwrap();
        let living = roots.roots.lock().unwrap().clone();
        store.sweep(mark, living, Timestamp::MAX).await.unwrap();
        let living = roots.roots.lock().unwrap().clone();
        for root in living {
            let stored = store.about(root).await.unwrap().is_some();
            let named = roots.roots.lock().unwrap().contains(&root);
            assert!(stored || !named, "a named root was swept");
        }
        if let Some(finished) = publishers.try_join_next() {
            finished.unwrap();
        }
    }
    assert_eq!(store.verify().await.unwrap(), []);
    let living = roots.roots.lock().unwrap().clone();
    for root in living {
        assert!(folio_core::content::list_files(&*store, root).await.is_ok());
    }
}
