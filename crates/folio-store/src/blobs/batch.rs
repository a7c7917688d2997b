//! A batch on its way in: what its nodes are, what they name, and what of it is new. Pure decisions over a
//! [`Table`]; nothing here reads or writes bytes.
//!
//! The same bytes may be wanted as a file and as a directory (`[]` is both an empty list and an empty
//! directory). A directory's node serves as a file too, a whole file serves as a chunk, so of two kinds of one
//! digest the more useful is kept: directory, whole file, chunked file.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use folio_core::ports::{About, Node, StoreError};
use folio_model::{ChunkList, Digest, NodeKind, Timestamp, Tree, TreeEntry, TreeTotals};

use super::damaged::Damaged;
use super::index::{Age, Table};

/// Nodes whose bytes are what their digests say.
#[derive(Clone)]
pub(super) struct Batch {
    items: HashMap<Digest, Item>,
    /// The digests as they came, each once.
    order: Vec<Digest>,
    /// How many nodes came.
    came: u64,
    /// What counts as not stored although it has a row.
    damaged: Arc<Damaged>,
}

#[derive(Clone)]
struct Item {
    node: Node,
    names: Names,
    /// Unknown for a chunked file until its chunks were put together.
    totals: Option<TreeTotals>,
}

/// What a node names.
#[derive(Clone)]
enum Names {
    Nothing,
    Entries(Tree),
    Chunks(ChunkList),
}

/// What only reading can tell.
#[derive(Default)]
pub(super) struct Unknown {
    /// New chunked files, not yet put together.
    pub(super) files: Vec<Digest>,
    /// Stored as files, named as directories.
    pub(super) directories: Vec<Digest>,
}

/// What storing a batch would do.
pub(super) struct Plan {
    /// Not stored, damaged, or stored as something less useful; in the order they came.
    pub(super) new: Vec<Digest>,
    /// Stored and to be touched.
    pub(super) used: Vec<Digest>,
    /// How many nodes of the batch were there already.
    pub(super) reused: u64,
}

/// What can be said of a digest, be it in the batch or stored.
struct Known {
    kind: NodeKind,
    file_bytes: u64,
    totals: TreeTotals,
}

impl Batch {
    /// Checks every node by itself. Takes long: call it where blocking is allowed.
    pub(super) fn check(nodes: Vec<Node>, damaged: Arc<Damaged>) -> Result<Self, StoreError> {
        let came = nodes.len() as u64;
        let mut batch = Self { items: HashMap::new(), order: Vec::new(), came, damaged };
        for node in nodes {
            batch.add(item(node)?);
        }
        Ok(batch)
    }

    fn add(&mut self, item: Item) {
        let digest = item.node.digest;
        let rank_of = |item: &Item| rank(item.node.kind);
        match self.items.get(&digest).map(rank_of) {
            Some(known) if known >= rank_of(&item) => return,
            Some(_) => {}
            None => self.order.push(digest),
        }
        self.items.insert(digest, item);
    }

    /// The nodes of these digests.
    pub(super) fn nodes(&self, digests: &[Digest]) -> Vec<Node> {
        digests.iter().map(|digest| self.items[digest].node.clone()).collect()
    }

    /// What its nodes name that is not in it.
    pub(super) fn elsewhere(&self) -> impl Iterator<Item = Digest> {
        let named = self.items.values().flat_map(Item::named);
        named.filter(|named| !self.items.contains_key(named))
    }

    /// The bytes of a node that is not in chunks.
    pub(super) fn raw(&self, digest: Digest) -> Option<Bytes> {
        let node = &self.items.get(&digest)?.node;
        (node.kind != NodeKind::Chunked).then(|| node.bytes.clone())
    }

    /// The chunks of a chunked file of the batch.
    pub(super) fn chunks(&self, digest: Digest) -> &[Digest] {
        match &self.items[&digest].names {
            Names::Chunks(list) => &list.0,
            Names::Nothing | Names::Entries(_) => &[],
        }
    }

    /// What is behind a node that was planned to be stored.
    pub(super) fn totals(&self, digest: Digest) -> TreeTotals {
        self.items[&digest].totals.expect("a batch is planned after its files were measured")
    }

    /// Its directories, as they are known once it is stored.
    pub(super) fn directories(&self) -> impl Iterator<Item = (Digest, About)> {
        let directories = self.items.values().filter(|item| item.node.kind == NodeKind::Tree);
        directories.filter_map(|item| {
            let about = About { kind: NodeKind::Tree, totals: item.totals? };
            Some((item.node.digest, about))
        })
    }

    /// Sets the length of a chunked file whose chunks were put together and found right.
    pub(super) fn measured(&mut self, digest: Digest, bytes: u64) {
        if let Some(item) = self.items.get_mut(&digest) {
            item.totals = Some(TreeTotals { files: 1, bytes });
        }
    }

    /// Takes the bytes of a stored file into the batch as the directory they are.
    pub(super) fn adopt(&mut self, digest: Digest, bytes: Option<Bytes>) -> Result<(), StoreError> {
        let node = bytes.map(|bytes| Node { kind: NodeKind::Tree, digest, bytes });
        let adopted = node.and_then(|node| item(node).ok());
        self.add(adopted.ok_or_else(|| not_a_directory(digest))?);
        Ok(())
    }

    /// Finds what has to be read before the batch can be planned.
    pub(super) fn unknown(&self, table: &dyn Table) -> Result<Unknown, StoreError> {
        let mut unknown = Unknown::default();
        for digest in &self.order {
            let item = &self.items[digest];
            if item.totals.is_none() && !self.is_stored(table, &item.node)? {
                unknown.files.push(*digest);
            }
            for entry in item.entries() {
                if let TreeEntry::Directory { digest, .. } = entry
                    && let Some(known) = self.known(table, *digest)?
                    && known.kind != NodeKind::Tree
                    && !unknown.directories.contains(digest)
                {
                    unknown.directories.push(*digest);
                }
            }
        }
        Ok(unknown)
    }

    /// Decides what is new and checks that everything new nodes name is there and fits. None if something
    /// is unknown again because a sweep removed it.
    pub(super) fn plan(
        &self,
        table: &dyn Table,
        now: Timestamp,
    ) -> Result<Option<Plan>, StoreError> {
        let age = Age::now(table, now)?;
        let mut new = Vec::new();
        let mut used = Vec::new();
        for digest in &self.order {
            let item = &self.items[digest];
            if self.is_stored(table, &item.node)? {
                used.push(*digest);
            } else if item.totals.is_none() {
                return Ok(None);
            } else {
                new.push(*digest);
                // What is named within the batch is looked at by itself.
                used.extend(item.named().filter(|named| !self.items.contains_key(named)));
            }
        }
        new.iter().try_for_each(|digest| self.check_names(table, &self.items[digest]))?;
        used.sort_unstable();
        used.dedup();
        let mut stale = Vec::new();
        for digest in used {
            let touched = table.row(digest)?.map(|row| row.touched);
            stale.extend(touched.filter(|touched| age.is_stale(*touched)).map(|_| digest));
        }
        let reused = self.came.saturating_sub(new.len() as u64);
        Ok(Some(Plan { new, used: stale, reused }))
    }

    fn check_names(&self, table: &dyn Table, item: &Item) -> Result<(), StoreError> {
        for entry in item.entries() {
            self.check_entry(table, entry)?;
        }
        if let Names::Chunks(list) = &item.names {
            for chunk in &list.0 {
                let known = self.named(table, *chunk)?;
                if known.kind == NodeKind::Chunked {
                    return refuse(format!("chunk {chunk} is itself in chunks"));
                }
            }
        }
        Ok(())
    }

    fn check_entry(&self, table: &dyn Table, entry: &TreeEntry) -> Result<(), StoreError> {
        match entry {
            TreeEntry::File { name, digest, bytes, .. } => {
                let known = self.named(table, *digest)?;
                if known.file_bytes == *bytes {
                    return Ok(());
                }
                let real = known.file_bytes;
                refuse(format!("file `{name}` has {real} bytes, its directory says {bytes}"))
            }
            TreeEntry::Directory { name, digest, totals } => {
                let known = self.named(table, *digest)?;
                if known.kind != NodeKind::Tree {
                    return Err(not_a_directory(*digest));
                }
                if known.totals == *totals {
                    return Ok(());
                }
                refuse(format!("the totals of directory `{name}` are not what it holds"))
            }
        }
    }

    /// Whether a node is stored in a kind that serves for it.
    fn is_stored(&self, table: &dyn Table, node: &Node) -> Result<bool, StoreError> {
        let Some(row) = table.row(node.digest)? else { return Ok(false) };
        Ok(match rank(row.kind).cmp(&rank(node.kind)) {
            Ordering::Less => false,
            Ordering::Equal => !self.damaged.holds(row.place),
            // Damaged or not, whoever names it relies on its being more than this.
            Ordering::Greater => true,
        })
    }

    fn named(&self, table: &dyn Table, digest: Digest) -> Result<Known, StoreError> {
        self.known(table, digest)?.ok_or(StoreError::MissingBlob { digest })
    }

    fn known(&self, table: &dyn Table, digest: Digest) -> Result<Option<Known>, StoreError> {
        if let Some(item) = self.items.get(&digest)
            && let Some(totals) = item.totals
        {
            let kind = item.node.kind;
            let chunked = kind == NodeKind::Chunked;
            let file_bytes = if chunked { totals.bytes } else { item.node.bytes.len() as u64 };
            return Ok(Some(Known { kind, file_bytes, totals }));
        }
        let row = table.row(digest)?;
        Ok(row.map(|row| Known {
            kind: row.kind,
            file_bytes: row.file_bytes(),
            totals: row.totals,
        }))
    }
}

impl Item {
    fn entries(&self) -> &[TreeEntry] {
        match &self.names {
            Names::Entries(tree) => tree.entries(),
            Names::Nothing | Names::Chunks(_) => &[],
        }
    }

    fn named(&self) -> impl Iterator<Item = Digest> {
        let chunks = match &self.names {
            Names::Chunks(list) => &list.0[..],
            Names::Nothing | Names::Entries(_) => &[],
        };
        self.entries().iter().map(TreeEntry::digest).chain(chunks.iter().copied())
    }
}

/// Checks that a node's bytes are what its digest and kind say.
fn item(node: Node) -> Result<Item, StoreError> {
    let digest = node.digest;
    if node.kind != NodeKind::Chunked && Digest::of(&node.bytes) != digest {
        return refuse(format!("the bytes sent as {digest} have another digest"));
    }
    let (names, totals) = match node.kind {
        NodeKind::Raw => {
            let totals = TreeTotals { files: 1, bytes: node.bytes.len() as u64 };
            (Names::Nothing, Some(totals))
        }
        NodeKind::Tree => {
            let tree = Tree::decode(&node.bytes).map_err(|error| StoreError::Refused {
                what: format!("directory {digest} is not well formed: {error}"),
            })?;
            let totals = tree.totals();
            (Names::Entries(tree), Some(totals))
        }
        NodeKind::Chunked => {
            let list = ChunkList::decode(&node.bytes).ok_or_else(|| StoreError::Refused {
                what: format!("the chunk list of {digest} is not a list of digests"),
            })?;
            (Names::Chunks(list), None)
        }
    };
    Ok(Item { node, names, totals })
}

fn rank(kind: NodeKind) -> u8 {
    match kind {
        NodeKind::Chunked => 0,
        NodeKind::Raw => 1,
        NodeKind::Tree => 2,
    }
}

fn refuse<T>(what: String) -> Result<T, StoreError> {
    Err(StoreError::Refused { what })
}

fn not_a_directory(digest: Digest) -> StoreError {
    StoreError::Refused { what: format!("{digest} is named as a directory and is none") }
}
