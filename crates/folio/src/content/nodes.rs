//! Nodes and where their bytes are. Nothing is held in memory but directories and lists of chunks.

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use anyhow::{Context, Result};
use bytes::Bytes;
use folio_model::{ChunkList, Digest, NodeKind, Tree, TreeEntry, TreeError, TreeTotals};

use super::cache::Cache;
use super::hash::Hashed;
use super::walk::{Directory, Entry, Found};
use super::{cannot_read, open};
use crate::problem::Problem;

/// A node and where its bytes are.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) kind: NodeKind,
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Memory(Bytes),
    File { path: PathBuf, offset: u64 },
}

/// A file does not hold what its digest says.
#[derive(Debug, thiserror::Error)]
#[error("its bytes are not those that were hashed")]
pub(crate) struct Changed;

impl Planned {
    /// The nodes it names.
    pub(crate) fn children(&self) -> Vec<Digest> {
        let Place::Memory(bytes) = &self.place else { return Vec::new() };
        match self.kind {
            NodeKind::Raw => Vec::new(),
            NodeKind::Chunked => ChunkList::decode(bytes).map(|list| list.0).unwrap_or_default(),
            NodeKind::Tree => Tree::decode(bytes)
                .map(|tree| tree.entries().iter().map(TreeEntry::digest).collect())
                .unwrap_or_default(),
        }
    }

    /// Reads its bytes, which must be what its digest says; [`Changed`] if they are not.
    pub(crate) fn read(&self) -> Result<Bytes> {
        let (path, offset) = match &self.place {
            Place::Memory(bytes) => return Ok(bytes.clone()),
            Place::File { path, offset } => (path, *offset),
        };
        let mut bytes = Vec::new();
        let mut file = open(path)?;
        let read = file.seek(SeekFrom::Start(offset));
        let read = read.and_then(|_| file.take(self.bytes).read_to_end(&mut bytes));
        read.with_context(|| cannot_read(path))?;
        if Digest::of(&bytes) != self.digest {
            let problem = format!("`{}` was changed while it was uploaded", path.display());
            let problem = Problem::new(problem).hint("repeat the command");
            return Err(anyhow::Error::new(Changed).context(problem));
        }
        Ok(bytes.into())
    }
}

/// A file and what it hashes to.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) found: Found,
    pub(super) hashed: Hashed,
    /// Whether it is what it was the last time.
    pub(super) is_same: bool,
}

/// A directory whose node is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownDirectory {
    pub(super) digest: Digest,
    pub(super) totals: TreeTotals,
    /// How many entries it has.
    pub(super) entries: u64,
}

/// Nodes as they are found, each once, none before what it names.
#[derive(Default)]
pub(super) struct Nodes {
    pub(super) planned: Vec<Planned>,
    /// Every directory by its path.
    pub(super) directories: Vec<(String, KnownDirectory)>,
    seen: HashSet<Digest>,
}

impl Nodes {
    /// Adds a file that was hashed.
    pub(super) fn file(&mut self, path: PathBuf, hashed: &Hashed) {
        if hashed.pieces.is_empty() {
            let place = Place::File { path, offset: 0 };
            let Hashed { digest, bytes, .. } = *hashed;
            return self.add(Planned { kind: NodeKind::Raw, digest, bytes, place });
        }
        let mut offset = 0;
        for piece in &hashed.pieces {
            let (digest, bytes) = (piece.digest, u64::from(piece.bytes));
            let place = Place::File { path: path.clone(), offset };
            self.add(Planned { kind: NodeKind::Raw, digest, bytes, place });
            offset += bytes;
        }
        let list = ChunkList(hashed.pieces.iter().map(|piece| piece.digest).collect());
        self.add_in_memory(NodeKind::Chunked, hashed.digest, list.encode());
    }

    /// Adds a directory and those in it, but none that is what it was the last time; says whether this one is.
    pub(super) fn directory(
        &mut self,
        directory: Directory,
        files: &[Ready],
        last: Option<&Cache>,
    ) -> Result<(KnownDirectory, bool), TreeError> {
        let mut is_same = true;
        let mut entries = Vec::with_capacity(directory.entries.len());
        for (name, entry) in directory.entries {
            let (entry, same) = match entry {
                Entry::File(at) => {
                    let Ready { found, hashed, is_same } = &files[at];
                    let (digest, bytes, executable) =
                        (hashed.digest, hashed.bytes, found.executable);
                    (TreeEntry::File { name, digest, bytes, executable }, *is_same)
                }
                Entry::Directory(directory) => {
                    let (KnownDirectory { digest, totals, .. }, is_same) =
                        self.directory(directory, files, last)?;
                    (TreeEntry::Directory { name, digest, totals }, is_same)
                }
            };
            is_same &= same;
            entries.push(entry);
        }
        let count = entries.len() as u64;
        let known = last.and_then(|last| last.directory(&directory.path));
        let known = known.filter(|known| is_same && known.entries == count);
        let (directory_is_same, known) = match known {
            Some(known) => (true, known),
            None => (false, self.encode(entries)?),
        };
        self.directories.push((directory.path, known));
        Ok((known, directory_is_same))
    }

    fn encode(&mut self, entries: Vec<TreeEntry>) -> Result<KnownDirectory, TreeError> {
        let count = entries.len() as u64;
        let tree = Tree::new(entries)?;
        let bytes = tree.encode();
        let digest = Digest::of(&bytes);
        self.add_in_memory(NodeKind::Tree, digest, bytes);
        Ok(KnownDirectory { digest, totals: tree.totals(), entries: count })
    }

    fn add_in_memory(&mut self, kind: NodeKind, digest: Digest, bytes: Vec<u8>) {
        let length = bytes.len() as u64;
        self.add(Planned { kind, digest, bytes: length, place: Place::Memory(bytes.into()) });
    }

    fn add(&mut self, planned: Planned) {
        if self.seen.insert(planned.digest) {
            self.planned.push(planned);
        }
    }
}
