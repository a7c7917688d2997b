//! What files hashed to the last time, so that only those that changed are read again. One small file for each
//! directory that is published; whatever is wrong with it, it is as if it were not there.
//!
//! A remembered digest is only ever a claim: whoever sends a file's bytes hashes them first.

mod format;

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::hash::Hashed;
use super::nodes::{KnownDirectory, Ready};
use super::walk::Found;
use crate::memory::{self, Stamp};

/// What is known of one directory that was published.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cache {
    files: HashMap<String, KnownFile>,
    directories: HashMap<String, KnownDirectory>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownFile {
    /// None if the file was too young to be sure of it.
    stamp: Option<Stamp>,
    executable: bool,
    hashed: Hashed,
}

impl Cache {
    /// Reads what was remembered; nothing if that is not there or damaged.
    pub(super) fn load(path: &Path) -> Option<Self> {
        format::decode(&memory::load(path)?)
    }

    /// What is to be remembered of files and directories, if looking at the files began at this moment.
    pub(super) fn new(
        files: Vec<Ready>,
        directories: Vec<(String, KnownDirectory)>,
        began: i128,
    ) -> Self {
        let known = |Ready { found, hashed, .. }| {
            let Found { path, stamp, executable, .. } = found;
            let is_sure = stamp.is_settled(began) && stamp.bytes == hashed.bytes;
            (path, KnownFile { stamp: is_sure.then_some(stamp), executable, hashed })
        };
        let files = files.into_iter().map(known).collect();
        Self { files, directories: directories.into_iter().collect() }
    }

    /// What a file hashed to, if nothing happened to it since.
    pub(super) fn file(&self, found: &Found) -> Option<&Hashed> {
        let known = self.files.get(&found.path)?;
        (known.stamp == Some(found.stamp)).then_some(&known.hashed)
    }

    /// Whether a file is what it was, whatever happened to it.
    pub(super) fn is_same(&self, found: &Found, hashed: &Hashed) -> bool {
        let known = self.files.get(&found.path);
        known.is_some_and(|known| known.hashed == *hashed && known.executable == found.executable)
    }

    /// Whether nothing is to be learned from files and directories.
    pub(super) fn is_all(&self, files: &[Ready], directories: &[(String, KnownDirectory)]) -> bool {
        self.files.len() == files.len()
            && self.directories.len() == directories.len()
            && files.iter().all(|file| self.file(&file.found).is_some())
            && directories.iter().all(|(path, known)| self.directory(path) == Some(*known))
    }

    /// The directory at a path, as it was.
    pub(super) fn directory(&self, path: &str) -> Option<KnownDirectory> {
        self.directories.get(path).copied()
    }

    /// Keeps it for the next time.
    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        memory::save(path, &format::encode(self))
    }
}

#[cfg(test)]
mod tests;
