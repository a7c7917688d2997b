//! The bytes of a bundle: in which order they are written, and that those which come belong there.

use std::collections::{HashMap, HashSet};

use folio_model::{ChunkList, Digest, NodeKind, Tree, TreeEntry};

use super::Error;
use crate::ports::{Blobs, Node, StoreError};

/// More than any app has; what is known of each takes memory while a bundle is read.
const NODES_MAX: u64 = 1_000_000;

/// Digests that are asked about at a time.
const STRETCH: usize = 10_000;

/// Every node that roots hold, none before what it names, each once. They are kept from the sweep for the grace period.
pub(super) async fn order(blobs: &dyn Blobs, roots: &[Digest]) -> Result<Vec<Digest>, StoreError> {
    let (mut order, mut seen) = (Vec::new(), HashSet::new());
    for root in roots {
        // A node is left behind until what it names was written.
        let mut ahead = vec![(*root, false)];
        while let Some((digest, is_open)) = ahead.pop() {
            if is_open {
                order.push(digest);
                continue;
            }
            if !seen.insert(digest) {
                continue;
            }
            let about = blobs.about(digest).await?.ok_or(StoreError::MissingBlob { digest })?;
            ahead.push((digest, true));
            if about.kind != NodeKind::Raw {
                let named = children(&blobs.get(digest).await?);
                let damaged = || StoreError::corrupt(format!("node {digest}"));
                ahead.extend(named.ok_or_else(damaged)?.into_iter().rev().map(|to| (to, false)));
            }
        }
    }
    for digests in order.chunks(STRETCH) {
        if let Some(digest) = blobs.missing(digests.to_vec()).await?.first() {
            return Err(StoreError::MissingBlob { digest: *digest });
        }
    }
    Ok(order)
}

/// What a node names; nothing can be said of one that makes no sense.
fn children(node: &Node) -> Option<Vec<Digest>> {
    match node.kind {
        NodeKind::Raw => Some(Vec::new()),
        NodeKind::Chunked => ChunkList::decode(&node.bytes).map(|list| list.0),
        NodeKind::Tree => {
            let tree = Tree::decode(&node.bytes).ok()?;
            Some(tree.entries().iter().map(TreeEntry::digest).collect())
        }
    }
}

/// The nodes that came, and whether something in the bundle names them.
#[derive(Default)]
pub(super) struct Claims {
    named: HashMap<Digest, bool>,
}

impl Claims {
    /// Notes a node. What it names has to have come before.
    pub(super) fn take(&mut self, node: &Node) -> Result<(), Error> {
        let found = self.named.len() as u64 + 1;
        if found > NODES_MAX {
            return Err(Error::TooLarge { what: "nodes in one bundle", found, max: NODES_MAX });
        }
        let digest = node.digest;
        let odd = || damaged(format!("node {digest} is neither a directory nor a file"));
        for named in children(node).ok_or_else(odd)? {
            match self.named.get_mut(&named) {
                Some(is_named) => *is_named = true,
                None => {
                    return Err(damaged(format!(
                        "node {digest} names {named}, which did not come"
                    )));
                }
            }
        }
        match self.named.insert(digest, false) {
            None => Ok(()),
            Some(_) => Err(damaged(format!("node {digest} came twice"))),
        }
    }

    /// Refuses roots that did not come, and nodes that nothing needs.
    pub(super) fn finish(mut self, roots: &[Digest]) -> Result<(), Error> {
        for root in roots {
            match self.named.get_mut(root) {
                Some(is_named) => *is_named = true,
                None => return Err(damaged(format!("its files lack {root}"))),
            }
        }
        match self.named.iter().filter(|(_, is_named)| !**is_named).map(|(digest, _)| digest).min()
        {
            None => Ok(()),
            Some(foreign) => Err(damaged(format!("nothing in it needs node {foreign}"))),
        }
    }
}

fn damaged(what: String) -> Error {
    Error::Damaged { what }
}
