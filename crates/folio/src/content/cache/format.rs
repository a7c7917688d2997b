//! The bytes of a cache: directories, then files.

use std::collections::HashMap;

use folio_model::TreeTotals;

use super::super::hash::{Hashed, Piece};
use super::super::nodes::KnownDirectory;
use super::{Cache, KnownFile};
use crate::memory::{Reader, Writer};

const MARK: &str = "folio hashes 1\n";
const DIGEST_BYTES: usize = 32;

/// Writes a cache.
pub(super) fn encode(cache: &Cache) -> Vec<u8> {
    let mut bytes = Writer::new(MARK);
    bytes.count(cache.directories.len());
    for (path, KnownDirectory { digest, totals, entries }) in &cache.directories {
        bytes.text(path);
        bytes.digest(digest);
        bytes.numbers(&[totals.files, totals.bytes, *entries]);
    }
    bytes.count(cache.files.len());
    for (path, KnownFile { stamp, executable, hashed }) in &cache.files {
        bytes.text(path);
        bytes.flag(*executable);
        bytes.flag(stamp.is_some());
        if let Some(stamp) = stamp {
            bytes.stamp(stamp);
        }
        bytes.digest(&hashed.digest);
        bytes.numbers(&[hashed.bytes]);
        bytes.count(hashed.pieces.len());
        for piece in &hashed.pieces {
            bytes.digest(&piece.digest);
            bytes.numbers(&[u64::from(piece.bytes)]);
        }
    }
    bytes.finish()
}

/// Reads a cache; None unless it is exactly what was written.
pub(super) fn decode(bytes: &[u8]) -> Option<Cache> {
    let mut rest = Reader::new(bytes, MARK)?;
    let count = rest.count(DIGEST_BYTES)?;
    let mut directories = HashMap::with_capacity(count);
    for _ in 0..count {
        directories.insert(rest.text()?, directory(&mut rest)?);
    }
    let count = rest.count(DIGEST_BYTES)?;
    let mut files = HashMap::with_capacity(count);
    for _ in 0..count {
        files.insert(rest.text()?, file(&mut rest)?);
    }
    rest.is_done().then_some(Cache { files, directories })
}

fn directory(rest: &mut Reader<'_>) -> Option<KnownDirectory> {
    let digest = rest.digest()?;
    let totals = TreeTotals { files: rest.number()?, bytes: rest.number()? };
    Some(KnownDirectory { digest, totals, entries: rest.number()? })
}

fn file(rest: &mut Reader<'_>) -> Option<KnownFile> {
    let executable = rest.flag()?;
    let stamp = if rest.flag()? { Some(rest.stamp()?) } else { None };
    let (digest, bytes) = (rest.digest()?, rest.number()?);
    let count = rest.count(DIGEST_BYTES)?;
    let pieces = (0..count).map(|_| piece(rest)).collect::<Option<_>>()?;
    Some(KnownFile { stamp, executable, hashed: Hashed { digest, bytes, pieces } })
}

fn piece(rest: &mut Reader<'_>) -> Option<Piece> {
    Some(Piece { digest: rest.digest()?, bytes: rest.number()?.try_into().ok()? })
}
