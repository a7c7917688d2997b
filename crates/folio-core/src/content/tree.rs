//! Building directories from files, from the leaves up.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use folio_model::{Digest, EntryName, NodeKind, Tree, TreeEntry, TreeError, TreePath, TreeTotals};

use crate::ports::Node;

/// A file, as its directory has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileEntry {
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its length.
    pub bytes: u64,
    /// Whether its owner may execute it.
    pub executable: bool,
}

/// Two things want the same path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is there twice, or both as a file and as a directory")]
pub struct Clash {
    /// The path.
    pub path: TreePath,
}

/// Collects files, then makes the directories that hold them.
#[derive(Debug, Default)]
pub struct TreeBuilder {
    root: Directory,
}

/// The directories of a tree, ready to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Every directory's node, each once, none before what it names.
    pub nodes: Vec<Node>,
    /// The root's digest.
    pub root: Digest,
    /// What the tree holds.
    pub totals: TreeTotals,
}

#[derive(Debug, Default)]
struct Directory(BTreeMap<EntryName, Child>);

#[derive(Debug)]
enum Child {
    File(FileEntry),
    Directory(Directory),
}

impl TreeBuilder {
    /// Adds a file. Refuses a path that is taken, or that leads through a file.
    pub fn insert(&mut self, path: &TreePath, file: FileEntry) -> Result<(), Clash> {
        let (name, above) = path.segments().split_last().expect("a path is never empty");
        let directory = self.root.descend(above).ok_or_else(|| clash(path))?;
        match directory.0.entry(name.clone()) {
            Entry::Vacant(free) => {
                free.insert(Child::File(file));
                Ok(())
            }
            Entry::Occupied(_) => Err(clash(path)),
        }
    }

    /// Adds a directory, which may stay empty. Refuses a path that is or leads through a file.
    pub fn insert_directory(&mut self, path: &TreePath) -> Result<(), Clash> {
        self.root.descend(path.segments()).map(|_| ()).ok_or_else(|| clash(path))
    }

    /// Makes the nodes. Fails only if the lengths of all files overflow.
    pub fn build(self) -> Result<Built, TreeError> {
        let mut nodes = BTreeMap::new();
        let mut order = Vec::new();
        let (root, totals) = self.root.build(&mut |node| {
            if nodes.insert(node.digest, ()).is_none() {
                order.push(node);
            }
        })?;
        Ok(Built { nodes: order, root, totals })
    }
}

fn clash(path: &TreePath) -> Clash {
    Clash { path: path.clone() }
}

impl Directory {
    /// The directory at the end of some names, made if it is not there; None if a file is in the way.
    fn descend(&mut self, names: &[EntryName]) -> Option<&mut Self> {
        let mut directory = self;
        for name in names {
            let child = directory.0.entry(name.clone());
            match child.or_insert_with(|| Child::Directory(Self::default())) {
                Child::Directory(next) => directory = next,
                Child::File(_) => return None,
            }
        }
        Some(directory)
    }

    fn build(self, sink: &mut dyn FnMut(Node)) -> Result<(Digest, TreeTotals), TreeError> {
        let mut entries = Vec::with_capacity(self.0.len());
        for (name, child) in self.0 {
            entries.push(match child {
                Child::File(FileEntry { digest, bytes, executable }) => {
                    TreeEntry::File { name, digest, bytes, executable }
                }
                Child::Directory(directory) => {
                    let (digest, totals) = directory.build(sink)?;
                    TreeEntry::Directory { name, digest, totals }
                }
            });
        }
        let tree = Tree::new(entries)?;
        let bytes = tree.encode();
        let digest = Digest::of(&bytes);
        sink(Node { kind: NodeKind::Tree, digest, bytes: bytes.into() });
        Ok((digest, tree.totals()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TreePath {
        text.parse().unwrap()
    }

    fn file(bytes: u64) -> FileEntry {
        FileEntry { digest: Digest::of(&bytes.to_le_bytes()), bytes, executable: false }
    }

    #[test]
    fn the_order_of_files_does_not_matter() {
        let paths = ["a/b", "a/c/d", "e", "a/c/f"];
        let build = |paths: &mut dyn Iterator<Item = &&str>| {
            let mut builder = TreeBuilder::default();
            for text in paths {
                builder.insert(&path(text), file(text.len() as u64)).unwrap();
            }
            builder.build().unwrap()
        };
        let built = build(&mut paths.iter());
        assert_eq!(build(&mut paths.iter().rev()), built);
        assert_eq!(built.totals, TreeTotals { files: 4, bytes: 14 });
        assert_eq!(built.nodes.len(), 3);
        assert_eq!(built.nodes.last().map(|node| node.digest), Some(built.root));
    }

    #[test]
    fn equal_directories_are_one_node() {
        let mut builder = TreeBuilder::default();
        for text in ["a/x", "b/x", "c/d/x"] {
            builder.insert(&path(text), file(1)).unwrap();
        }
        builder.insert_directory(&path("c/empty")).unwrap();
        assert_eq!(builder.build().unwrap().nodes.len(), 4);
    }

    #[test]
    fn a_path_holds_one_thing() {
        let mut builder = TreeBuilder::default();
        builder.insert(&path("a/b"), file(1)).unwrap();
        for taken in ["a", "a/b", "a/b/c"] {
            assert_eq!(builder.insert(&path(taken), file(1)), Err(clash(&path(taken))));
        }
        assert!(builder.insert_directory(&path("a/b")).is_err());
        assert!(builder.insert_directory(&path("a")).is_ok());
    }
}
