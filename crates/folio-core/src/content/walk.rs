//! Walking trees.

use folio_model::{Digest, NodeKind, Tree, TreeEntry, TreePath};

use crate::ports::{Blobs, StoreError};

/// Lists every file of a tree, each directory's entries by name.
pub async fn list_files(
    blobs: &dyn Blobs,
    tree: Digest,
) -> Result<Vec<(TreePath, TreeEntry)>, StoreError> {
    let mut entries = walk(blobs, tree).await?;
    entries.retain(|(_, entry)| matches!(entry, TreeEntry::File { .. }));
    Ok(entries)
}

/// Whether a tree has a file at a path.
pub async fn has_file(blobs: &dyn Blobs, tree: Digest, path: &str) -> Result<bool, StoreError> {
    let mut here = tree;
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let listed = entries(blobs, here, None).await?;
        let found = listed.into_iter().map(|(_, entry)| entry);
        let found = found.into_iter().find(|entry| entry.name().as_str() == segment);
        match (found, segments.peek().is_none()) {
            (Some(TreeEntry::File { .. }), true) => return Ok(true),
            (Some(TreeEntry::Directory { digest, .. }), false) => here = digest,
            _ => return Ok(false),
        }
    }
    Ok(false)
}

/// Lists every file and directory of a tree, each directory before what it holds.
pub async fn walk(
    blobs: &dyn Blobs,
    tree: Digest,
) -> Result<Vec<(TreePath, TreeEntry)>, StoreError> {
    let mut found = Vec::new();
    let mut ahead = entries(blobs, tree, None).await?;
    while let Some((path, entry)) = ahead.pop() {
        if let TreeEntry::Directory { digest, .. } = &entry {
            ahead.extend(entries(blobs, *digest, Some(&path)).await?);
        }
        found.push((path, entry));
    }
    Ok(found)
}

/// The entries of one directory, last first.
async fn entries(
    blobs: &dyn Blobs,
    digest: Digest,
    above: Option<&TreePath>,
) -> Result<Vec<(TreePath, TreeEntry)>, StoreError> {
    let node = blobs.get(digest).await?;
    let tree = Some(&node.bytes).filter(|_| node.kind == NodeKind::Tree);
    let tree = tree.and_then(|bytes| Tree::decode(bytes).ok());
    let tree = tree.ok_or_else(|| StoreError::corrupt(format!("directory {digest}")))?;
    let named = |entry: &TreeEntry| {
        let name = entry.name().clone();
        let path = match above {
            None => TreePath::from(name),
            Some(above) => above.join(name).ok_or_else(|| too_deep(above))?,
        };
        Ok((path, entry.clone()))
    };
    tree.entries().iter().rev().map(named).collect()
}

fn too_deep(above: &TreePath) -> StoreError {
    StoreError::Refused { what: format!("the tree goes deeper below `{above}` than a path may") }
}
