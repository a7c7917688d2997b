//! A store of blobs as a set in memory, and random operations that both must answer alike.

use std::collections::{BTreeMap, BTreeSet};

use folio_core::ports::{Blobs, Node, StoreError, SweepMark};
use folio_model::{ChunkList, Digest, NodeKind, Timestamp, Tree, TreeEntry};
use proptest::collection::vec;
use proptest::prelude::*;

use super::samples::{chunked, file, of_entries};

const FILES: usize = 5;
const NODES: usize = 14;

/// One call of the port. Numbers choose among the nodes of a small world.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Store these nodes, and nothing they name.
    Put(Vec<usize>),
    /// Store a node and everything below it.
    PutAll(usize),
    /// Ask for nodes.
    Missing(Vec<usize>),
    /// Begin a sweep.
    Mark,
    /// Finish the sweep begun last, keeping these.
    Sweep(Vec<usize>),
}

/// A world of nodes that name one another, and what is done to it.
pub fn any_operations() -> impl Strategy<Value = (Vec<Vec<usize>>, Vec<Operation>)> {
    let names = vec(vec(0..NODES, 0..4), NODES - FILES);
    let some = || vec(0..NODES, 1..4);
    let operation = prop_oneof![
        2 => some().prop_map(Operation::Put),
        3 => (0..NODES).prop_map(Operation::PutAll),
        2 => some().prop_map(Operation::Missing),
        2 => Just(Operation::Mark),
        2 => vec(0..NODES, 0..3).prop_map(Operation::Sweep),
    ];
    (names, vec(operation, 1..40))
}

/// Runs operations on an empty store and on the model; they must agree on every answer and every node.
pub async fn follows_the_model(blobs: &dyn Blobs, names: &[Vec<usize>], operations: &[Operation]) {
    let mut model = Model::new(names);
    for operation in operations {
        model.run(blobs, operation).await;
        model.compare(blobs).await;
    }
    for digest in model.stored.keys() {
        let node = blobs.get(*digest).await.expect("the model has it");
        assert_eq!(Some(&node), model.node(*digest));
    }
    let damages = blobs.verify().await.expect("verify runs");
    assert!(damages.is_empty(), "{damages:?}");
}

struct Model {
    world: Vec<Node>,
    /// What is stored, and when it was last used.
    stored: BTreeMap<Digest, u64>,
    now: u64,
    mark: Option<(u64, SweepMark)>,
}

impl Model {
    /// Files first, then chunk lists and directories over what comes before them.
    fn new(names: &[Vec<usize>]) -> Self {
        let mut world: Vec<Node> = (0..FILES)
            .map(|seed| file(vec![b'a' + u8::try_from(seed).expect("few files"); seed + 1]))
            .collect();
        for (number, named) in names.iter().enumerate() {
            let named: Vec<usize> = named.iter().map(|name| name % world.len()).collect();
            let chunks: Vec<&Node> = named.iter().map(|name| &world[name % FILES]).collect();
            let node = if number % 3 == 0 && chunks.len() > 1 {
                chunked(&chunks)
            } else {
                of_entries(entries(&world, &named))
            };
            world.push(node);
        }
        Self { world, stored: BTreeMap::new(), now: 0, mark: None }
    }

    fn node(&self, digest: Digest) -> Option<&Node> {
        self.world.iter().find(|node| node.digest == digest)
    }

    fn choose(&self, numbers: &[usize]) -> Vec<Node> {
        numbers.iter().map(|number| self.world[number % self.world.len()].clone()).collect()
    }

    async fn run(&mut self, blobs: &dyn Blobs, operation: &Operation) {
        self.now += 1;
        match operation {
            Operation::Put(numbers) => self.put(blobs, self.choose(numbers)).await,
            Operation::PutAll(number) => {
                let roots = self.choose(&[*number]);
                let all = self.reach(roots.iter().map(|node| node.digest).collect());
                let nodes = all.iter().filter_map(|digest| self.node(*digest)).cloned();
                self.put(blobs, nodes.collect()).await;
            }
            Operation::Missing(numbers) => {
                let asked: Vec<Digest> =
                    self.choose(numbers).iter().map(|node| node.digest).collect();
                let missing = blobs.missing(asked.clone()).await.expect("missing runs");
                let absent = |digest: &Digest| !self.stored.contains_key(digest);
                assert_eq!(missing, asked.iter().copied().filter(absent).collect::<Vec<_>>());
                self.touch(asked);
            }
            Operation::Mark => {
                self.mark = Some((self.now, blobs.mark().await.expect("mark runs")));
            }
            Operation::Sweep(numbers) => self.sweep(blobs, numbers).await,
        }
    }

    async fn put(&mut self, blobs: &dyn Blobs, nodes: Vec<Node>) {
        let batch: BTreeSet<Digest> = nodes.iter().map(|node| node.digest).collect();
        let is_new = |digest: &Digest| !self.stored.contains_key(digest);
        let new: Vec<Digest> = batch.iter().copied().filter(is_new).collect();
        let named: Vec<Digest> = new.iter().flat_map(|digest| self.names(*digest)).collect();
        let is_known = |digest: &Digest| batch.contains(digest) || !is_new(digest);
        let stored = blobs.put(nodes.clone()).await;
        if !named.iter().all(is_known) {
            assert!(matches!(stored, Err(StoreError::MissingBlob { .. })), "{stored:?}");
            return;
        }
        let stored = stored.expect("all it names is there");
        assert_eq!(stored.added, new.len() as u64);
        assert_eq!(stored.added + stored.reused, nodes.len() as u64);
        self.stored.extend(new.into_iter().map(|digest| (digest, 0)));
        self.touch(batch.into_iter().chain(named));
    }

    async fn sweep(&mut self, blobs: &dyn Blobs, roots: &[usize]) {
        let Some((marked, mark)) = self.mark.take() else { return };
        let roots: Vec<Digest> = self.choose(roots).iter().map(|node| node.digest).collect();
        let swept = blobs.sweep(mark, roots.clone(), Timestamp::MAX).await.expect("sweep runs");
        let used = self.stored.iter().filter(|(_, touched)| **touched > marked);
        // A root that is not stored leads nowhere: what it would name is not known.
        let roots = roots.into_iter().filter(|digest| self.stored.contains_key(digest));
        let kept = self.reach(used.map(|(digest, _)| *digest).chain(roots).collect());
        let before = self.stored.len();
        self.stored.retain(|digest, _| kept.contains(digest));
        assert_eq!(swept.nodes, (before - self.stored.len()) as u64);
    }

    fn touch(&mut self, digests: impl IntoIterator<Item = Digest>) {
        for digest in digests {
            self.stored.entry(digest).and_modify(|touched| *touched = self.now);
        }
    }

    fn reach(&self, mut ahead: Vec<Digest>) -> BTreeSet<Digest> {
        let mut reached = BTreeSet::new();
        while let Some(digest) = ahead.pop() {
            if reached.insert(digest) {
                ahead.extend(self.names(digest));
            }
        }
        reached
    }

    fn names(&self, digest: Digest) -> Vec<Digest> {
        let node = self.node(digest).expect("of this world");
        match node.kind {
            NodeKind::Raw => Vec::new(),
            NodeKind::Chunked => ChunkList::decode(&node.bytes).expect("a list").0,
            NodeKind::Tree => {
                let tree = Tree::decode(&node.bytes).expect("a directory");
                tree.entries().iter().map(TreeEntry::digest).collect()
            }
        }
    }

    async fn compare(&self, blobs: &dyn Blobs) {
        for node in &self.world {
            let about = blobs.about(node.digest).await.expect("about runs");
            assert_eq!(about.is_some(), self.stored.contains_key(&node.digest), "{node:?}");
        }
    }
}

fn entries(world: &[Node], named: &[usize]) -> Vec<TreeEntry> {
    let entry = |(place, number): (usize, &usize)| {
        let node = &world[*number];
        let name = format!("entry{place}").parse().expect("a good name");
        let digest = node.digest;
        match node.kind {
            NodeKind::Tree => {
                let totals = Tree::decode(&node.bytes).expect("a directory").totals();
                TreeEntry::Directory { name, digest, totals }
            }
            NodeKind::Raw => {
                let bytes = node.bytes.len() as u64;
                TreeEntry::File { name, digest, bytes, executable: place % 2 == 0 }
            }
            NodeKind::Chunked => {
                let chunks = ChunkList::decode(&node.bytes).expect("a list").0;
                let length = |chunk| world.iter().find(|node| node.digest == chunk);
                let length = |chunk| length(chunk).map_or(0, |node| node.bytes.len() as u64);
                let bytes = chunks.into_iter().map(length).sum();
                TreeEntry::File { name, digest, bytes, executable: false }
            }
        }
    };
    named.iter().enumerate().map(entry).collect()
}
