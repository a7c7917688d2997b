//! Hashing files: each is read once, on as many threads as there are cores.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use folio_core::content::{self, Chunked};
use folio_model::{Digest, NodeKind};

use super::{cannot_read, open};
use crate::output::Progress;

/// Threads at most; a disk does not get faster with more.
const THREADS_MAX: usize = 8;
/// Fewer files than this are hashed sooner than a thread starts.
const FILES_PER_THREAD: usize = 16;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hashed {
    /// The digest of all of it.
    pub(super) digest: Digest,
    /// Its length.
    pub(super) bytes: u64,
    /// What it is stored as, in order; nothing if it is stored whole.
    pub(super) pieces: Vec<Piece>,
}

/// A piece of a large file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) digest: Digest,
    pub(super) bytes: u32,
}

/// Reads files and returns what they hash to, in the same order.
pub(super) fn files(paths: &[PathBuf], progress: &Progress) -> Result<Vec<Hashed>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(THREADS_MAX).min(paths.len() / FILES_PER_THREAD + 1);
    if threads == 1 {
        return paths.iter().map(|path| file(path, progress)).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(path) = paths.get(at)
        {
            done.push((at, file(path, progress)));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, hashed)| hashed).collect()
}

/// Reads one file.
pub(super) fn file(path: &Path, progress: &Progress) -> Result<Hashed> {
    let mut pieces = Vec::new();
    let chunked = content::chunk(&mut progress.count(open(path)?), &mut |node| {
        if node.kind == NodeKind::Raw {
            let bytes = u32::try_from(node.bytes.len()).map_err(std::io::Error::other)?;
            pieces.push(Piece { digest: node.digest, bytes });
        }
        Ok(())
    });
    let Chunked { digest, bytes } = chunked.with_context(|| cannot_read(path))?;
    if let [whole] = &pieces[..]
        && whole.digest == digest
    {
        pieces.clear();
    }
    Ok(Hashed { digest, bytes, pieces })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_come_back_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..100).map(|at| directory.path().join(at.to_string())).collect();
        for (at, path) in paths.iter().enumerate() {
            std::fs::write(path, at.to_string()).unwrap();
        }
        let digests: Vec<_> =
            files(&paths, &Progress::default()).unwrap().iter().map(|file| file.digest).collect();
        let expected: Vec<_> = (0..100).map(|at| Digest::of(at.to_string().as_bytes())).collect();
        assert_eq!(digests, expected);
    }

    #[test]
    fn the_first_file_that_cannot_be_read_is_named() {
        let paths: Vec<_> = (0..100).map(|at| PathBuf::from(format!("/nowhere/{at}"))).collect();
        let error = files(&paths, &Progress::default()).unwrap_err();
        assert_eq!(error.to_string(), "cannot read `/nowhere/0`");
    }

    #[test]
    fn a_large_file_knows_its_pieces() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 3_000_000]).unwrap();
        let hashed = super::file(file.path(), &Progress::default()).unwrap();
        let bytes: u64 = hashed.pieces.iter().map(|piece| u64::from(piece.bytes)).sum();
        assert_eq!((bytes, hashed.bytes), (3_000_000, 3_000_000));
        assert!(hashed.pieces.len() > 1);
    }
}
