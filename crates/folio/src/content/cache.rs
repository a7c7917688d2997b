//! What files hashed to the last time, so that only those that changed are read again. One small file for each
//! directory that is published; whatever is wrong with it, it is as if it were not there.
//!
//! A remembered digest is only ever a claim: whoever sends a file's bytes hashes them first.

mod format;

use std::collections::HashMap;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use folio_model::Digest;
use tempfile::NamedTempFile;

use super::hash::Hashed;
use super::nodes::{KnownDirectory, Ready};
use super::walk::{Found, Stamp};

/// Bytes of one file; four times what the largest package needs.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Directories remembered; the one not published for longest is forgotten first.
const FILES_MAX: usize = 100;

/// How much older than the moment of hashing a file must be to be remembered.
///
/// A write after the hash moves the file's times, unless it falls into the same tick of the clock that stamps
/// files. Linux ticks at least every 10 ms; a file system that keeps only seconds (or two of them, as FAT
/// does) shows by the zeros at the end of its times.
const TICK: i128 = 100_000_000;
const TICK_OF_SECONDS: i128 = 3_000_000_000;
const MILLISECOND: i128 = 1_000_000;

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
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
        format::decode(&bytes)
    }

    /// What is to be remembered of files and directories, if looking at the files began at this moment.
    pub(super) fn new(
        files: Vec<Ready>,
        directories: Vec<(String, KnownDirectory)>,
        began: i128,
    ) -> Self {
        let known = |Ready { found, hashed, .. }| {
            let Found { path, stamp, executable, .. } = found;
            let is_sure = is_settled(&stamp, began) && stamp.bytes == hashed.bytes;
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

    /// The directory at a path, as it was.
    pub(super) fn directory(&self, path: &str) -> Option<KnownDirectory> {
        self.directories.get(path).copied()
    }

    /// Keeps it for the next time, whole or not at all. Needs no sync: damage is found when it is read.
    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        let bytes = format::encode(self);
        let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        if bytes.len() as u64 > BYTES_MAX {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let is_new = !path.exists();
        // Only its owner may read it: it names files.
        let mut file = NamedTempFile::new_in(directory)?;
        file.write_all(&bytes)?;
        file.persist(path)?;
        if is_new { forget_oldest(directory) } else { Ok(()) }
    }
}

/// Where the digests of a directory's files are kept.
pub(super) fn path(caches: &Path, directory: &Path) -> io::Result<PathBuf> {
    let directory = directory.canonicalize()?;
    let name = Digest::of(directory.as_os_str().as_encoded_bytes()).hex();
    Ok(caches.join(name))
}

fn is_settled(stamp: &Stamp, began: i128) -> bool {
    let is_fine = |moment: i128| moment % MILLISECOND != 0;
    let tick = if is_fine(stamp.changed) { TICK } else { TICK_OF_SECONDS };
    stamp.modified.max(stamp.changed) < began - tick
}

fn forget_oldest(directory: &Path) -> io::Result<()> {
    let mut caches = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        caches.push((entry.metadata()?.modified()?, entry.path()));
    }
    caches.sort();
    let many = caches.len().saturating_sub(FILES_MAX);
    caches.into_iter().take(many).try_for_each(|(_, path)| std::fs::remove_file(path))
}

#[cfg(test)]
mod tests;
