//! Trees: the files of a package as directories of digests, so that a small edit makes small new nodes.
//!
//! A node is named by the SHA-256 of its bytes. A directory's node lists files and directories by name; a
//! large file's node lists its chunks. Names are checked here, so no path can leave its tree.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::text_type;
use crate::{Digest, canonical};

const ENTRY_BYTES_MAX: usize = 255;
const PATH_BYTES_MAX: usize = 1024;

/// What the bytes behind a digest are.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A whole file or one chunk of a large one, as it is.
    Raw,
    /// A large file, stored as a [`ChunkList`]. Its digest is that of the whole file.
    Chunked,
    /// A directory, stored as a [`Tree`].
    Tree,
}

text_type! {
    /// The name of one file or directory inside a tree.
    EntryName, EntryNameError, check_entry
}

/// Why a text cannot name a file inside a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryNameError {
    /// Empty, `.` or `..`.
    #[error("a path cannot hold an empty, `.` or `..` segment")]
    Dots,
    /// A separator, a backslash or a control character.
    #[error("file name {0:?} holds a separator, backslash or control character")]
    Malformed(String),
    /// Over the limit.
    #[error("file name `{}` is longer than {ENTRY_BYTES_MAX} bytes", start_of(.0))]
    TooLong(String),
    /// The whole path is over its limit.
    #[error("path `{}` is longer than {PATH_BYTES_MAX} bytes", start_of(.0))]
    PathTooLong(String),
    /// Starts with a separator.
    #[error("path `{0}` is absolute; paths in a package are relative to its root")]
    Absolute(String),
}

/// Enough of a path to recognize it; all of it if it is no longer.
pub fn start_of(path: &str) -> String {
    const SHOWN_BYTES: usize = 100;
    match path.floor_char_boundary(SHOWN_BYTES) {
        end if end < path.len() => format!("{}…", &path[..end]),
        _ => path.to_owned(),
    }
}

fn check_entry(text: &str) -> Result<(), EntryNameError> {
    if matches!(text, "" | "." | "..") {
        return Err(EntryNameError::Dots);
    }
    if text.len() > ENTRY_BYTES_MAX {
        return Err(EntryNameError::TooLong(text.to_owned()));
    }
    if text.contains(['/', '\\']) || text.chars().any(char::is_control) {
        return Err(EntryNameError::Malformed(text.to_owned()));
    }
    Ok(())
}

/// The path of a file inside a tree: one or more entry names, never leading outside.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct TreePath(Vec<EntryName>);

impl TreePath {
    /// The names from the root down; never empty.
    pub fn segments(&self) -> &[EntryName] {
        &self.0
    }

    /// The path one level down, unless that is longer than a path may be.
    pub fn join(&self, name: EntryName) -> Option<Self> {
        let bytes: usize = self.0.iter().map(|name| name.as_str().len() + 1).sum();
        let fits = bytes + name.as_str().len() <= PATH_BYTES_MAX;
        fits.then(|| Self(self.0.iter().cloned().chain([name]).collect()))
    }
}

impl From<EntryName> for TreePath {
    fn from(name: EntryName) -> Self {
        Self(vec![name])
    }
}

impl FromStr for TreePath {
    type Err = EntryNameError;
    fn from_str(text: &str) -> Result<Self, EntryNameError> {
        if text.len() > PATH_BYTES_MAX {
            return Err(EntryNameError::PathTooLong(text.to_owned()));
        }
        if text.starts_with('/') {
            return Err(EntryNameError::Absolute(text.to_owned()));
        }
        text.split('/').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl TryFrom<String> for TreePath {
    type Error = EntryNameError;
    fn try_from(text: String) -> Result<Self, EntryNameError> {
        text.parse()
    }
}

impl From<TreePath> for String {
    fn from(path: TreePath) -> Self {
        path.to_string()
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            let separator = if index > 0 { "/" } else { "" };
            write!(f, "{separator}{name}")?;
        }
        Ok(())
    }
}

/// How much a tree holds, all levels together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TreeTotals {
    /// Files, and directories that hold none.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// One line of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum TreeEntry {
    /// A file.
    File {
        /// Its name in the directory.
        name: EntryName,
        /// The digest of its bytes, whether stored whole or in chunks.
        digest: Digest,
        /// Its length in bytes.
        bytes: u64,
        /// Whether its owner may execute it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
    },
    /// A directory.
    Directory {
        /// Its name in the directory above.
        name: EntryName,
        /// The digest of its node.
        digest: Digest,
        /// What it holds.
        #[serde(flatten)]
        totals: TreeTotals,
    },
}

impl TreeEntry {
    /// Its name.
    pub fn name(&self) -> &EntryName {
        match self {
            Self::File { name, .. } | Self::Directory { name, .. } => name,
        }
    }

    /// The node behind it.
    pub fn digest(&self) -> Digest {
        match self {
            Self::File { digest, .. } | Self::Directory { digest, .. } => *digest,
        }
    }

    fn totals(&self) -> TreeTotals {
        match self {
            Self::File { bytes, .. } => TreeTotals { files: 1, bytes: *bytes },
            // An empty directory counts as a file, so that no few nodes can stand for endless directories.
            Self::Directory { totals, .. } => TreeTotals { files: totals.files.max(1), ..*totals },
        }
    }
}

/// A directory: entries sorted by name, each name once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<TreeEntry>", into = "Vec<TreeEntry>")]
pub struct Tree(Vec<TreeEntry>);

/// Why bytes or entries are not a directory node.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// Two entries of one name.
    #[error("`{0}` appears twice in one directory")]
    Twice(EntryName),
    /// Not JSON of the expected shape.
    #[error("not a tree node: {0}")]
    Shape(#[from] serde_json::Error),
    /// Not the one encoding of its value, so its digest would name two byte strings.
    #[error("the node is not in canonical form")]
    NotCanonical,
    /// Totals beyond what can be counted.
    #[error("the totals of the tree overflow")]
    Overflow,
}

impl Tree {
    /// Checks and sorts entries.
    pub fn new(mut entries: Vec<TreeEntry>) -> Result<Self, TreeError> {
        entries.sort_by(|a, b| a.name().cmp(b.name()));
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].name() == pair[1].name()) {
            return Err(TreeError::Twice(pair[0].name().clone()));
        }
        let tree = Self(entries);
        tree.try_totals().ok_or(TreeError::Overflow)?;
        Ok(tree)
    }

    /// The entries, by name.
    pub fn entries(&self) -> &[TreeEntry] {
        &self.0
    }

    /// What the tree holds, all levels together.
    pub fn totals(&self) -> TreeTotals {
        self.try_totals().expect("checked when the tree was made")
    }

    fn try_totals(&self) -> Option<TreeTotals> {
        self.0.iter().map(TreeEntry::totals).try_fold(TreeTotals::default(), |sum, more| {
            Some(TreeTotals {
                files: sum.files.checked_add(more.files)?,
                bytes: sum.bytes.checked_add(more.bytes)?,
            })
        })
    }

    /// The node's bytes.
    pub fn encode(&self) -> Vec<u8> {
        canonical::encode(self)
    }

    /// Reads a node, refusing any spelling but the canonical one.
    pub fn decode(bytes: &[u8]) -> Result<Self, TreeError> {
        let tree: Self = serde_json::from_slice(bytes)?;
        if tree.encode() == bytes { Ok(tree) } else { Err(TreeError::NotCanonical) }
    }
}

impl TryFrom<Vec<TreeEntry>> for Tree {
    type Error = TreeError;
    fn try_from(entries: Vec<TreeEntry>) -> Result<Self, TreeError> {
        Self::new(entries)
    }
}

impl From<Tree> for Vec<TreeEntry> {
    fn from(tree: Tree) -> Self {
        tree.0
    }
}

/// A large file as the chunks it is made of, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChunkList(pub Vec<Digest>);

impl ChunkList {
    /// The node's bytes.
    pub fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|digest| *digest.as_bytes()).collect()
    }

    /// Reads a node: 32 bytes a chunk, at least one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (chunks, rest) = bytes.as_chunks::<32>();
        let whole = rest.is_empty() && !chunks.is_empty();
        whole.then(|| Self(chunks.iter().map(|chunk| Digest::from_bytes(*chunk)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(name: &str) -> TreeEntry {
        let digest = Digest::of(name.as_bytes());
        TreeEntry::File { name: name.parse().unwrap(), digest, bytes: 3, executable: false }
    }

    proptest! {
        #[test]
        fn a_node_reads_back_whatever_order_its_entries_came_in(
            mut names in proptest::collection::btree_set("[a-z]{1,6}", 0..8).prop_map(Vec::from_iter),
            turn in 0_usize..8,
        ) {
            let tree = Tree::new(names.iter().map(|name| file(name)).collect()).unwrap();
            let turn = turn.checked_rem(names.len()).unwrap_or(0);
            names.rotate_left(turn);
            let turned = Tree::new(names.iter().map(|name| file(name)).collect()).unwrap();
            prop_assert_eq!(&tree, &turned);
            prop_assert_eq!(Tree::decode(&tree.encode()).unwrap(), tree);
        }

        #[test]
        fn no_path_leaves_its_tree(text in "[a./\\\\\u{0}-]{0,12}") {
            if let Ok(path) = text.parse::<TreePath>() {
                prop_assert_eq!(path.to_string(), text);
                prop_assert!(path.segments().iter().all(|name| !matches!(name.as_str(), "" | "." | "..")));
            }
        }
    }

    #[test]
    fn hostile_paths_are_refused() {
        let long = format!("{}/x", "a/".repeat(600));
        for text in
            ["", "/etc/passwd", "..", "a/../b", "a//b", "./a", "a/", "a\\b", "a\0b", "a\nb", &long]
        {
            assert!(text.parse::<TreePath>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn few_nodes_cannot_stand_for_endless_directories() {
        let mut tree = Tree::default();
        for _ in 0..60 {
            let digest = Digest::of(&tree.encode());
            let totals = tree.totals();
            let twice = ["a", "b"].map(|name| TreeEntry::Directory {
                name: name.parse().unwrap(),
                digest,
                totals,
            });
            tree = Tree::new(twice.into()).unwrap();
        }
        assert_eq!(tree.totals().files, 1 << 60);
    }

    #[test]
    fn a_path_does_not_grow_beyond_its_limit() {
        let name: EntryName = "a".repeat(255).parse().unwrap();
        let mut path = TreePath::from(name.clone());
        for _ in 0..3 {
            path = path.join(name.clone()).unwrap();
        }
        assert_eq!(path.join(name), None);
        assert!(path.to_string().parse::<TreePath>().is_ok());
    }

    #[test]
    fn a_name_appears_once() {
        assert!(matches!(Tree::new(vec![file("a"), file("a")]), Err(TreeError::Twice(_))));
    }

    #[test]
    fn only_the_canonical_spelling_is_a_node() {
        let tree = Tree::new(vec![file("a")]).unwrap();
        let spaced = serde_json::to_vec_pretty(&tree).unwrap();
        assert!(matches!(Tree::decode(&spaced), Err(TreeError::NotCanonical)));
    }
}
