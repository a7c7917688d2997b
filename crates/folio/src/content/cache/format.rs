//! The bytes of a cache: a mark, directories, files, and the digest of all before it. Numbers are little-endian.

use std::collections::HashMap;

use folio_model::{Digest, TreeTotals};

use super::super::hash::{Hashed, Piece};
use super::super::nodes::KnownDirectory;
use super::super::walk::Stamp;
use super::{Cache, KnownFile};

/// Changes whenever what follows means something else.
const MARK: &[u8] = b"folio hashes 1\n";
const DIGEST_BYTES: usize = 32;

/// Writes a cache.
pub(super) fn encode(cache: &Cache) -> Vec<u8> {
    let mut bytes = MARK.to_vec();
    put_count(&mut bytes, cache.directories.len());
    for (path, KnownDirectory { digest, totals, entries }) in &cache.directories {
        put_text(&mut bytes, path);
        bytes.extend_from_slice(digest.as_bytes());
        put_numbers(&mut bytes, &[totals.files, totals.bytes, *entries]);
    }
    put_count(&mut bytes, cache.files.len());
    for (path, KnownFile { stamp, executable, hashed }) in &cache.files {
        put_text(&mut bytes, path);
        bytes.extend_from_slice(&[u8::from(*executable), u8::from(stamp.is_some())]);
        if let Some(stamp) = stamp {
            put_numbers(&mut bytes, &[stamp.device, stamp.inode, stamp.bytes]);
            bytes.extend_from_slice(&stamp.modified.to_le_bytes());
            bytes.extend_from_slice(&stamp.changed.to_le_bytes());
        }
        bytes.extend_from_slice(hashed.digest.as_bytes());
        put_numbers(&mut bytes, &[hashed.bytes]);
        put_count(&mut bytes, hashed.pieces.len());
        for piece in &hashed.pieces {
            bytes.extend_from_slice(piece.digest.as_bytes());
            bytes.extend_from_slice(&piece.bytes.to_le_bytes());
        }
    }
    let sum = Digest::of(&bytes);
    bytes.extend_from_slice(sum.as_bytes());
    bytes
}

/// Reads a cache; None unless it is exactly what was written.
pub(super) fn decode(bytes: &[u8]) -> Option<Cache> {
    let (bytes, sum) = bytes.split_last_chunk::<DIGEST_BYTES>()?;
    let mut rest = Rest(bytes.strip_prefix(MARK)?);
    if Digest::of(bytes).as_bytes() != sum {
        return None;
    }
    let count = rest.count(DIGEST_BYTES)?;
    let mut directories = HashMap::with_capacity(count);
    for _ in 0..count {
        directories.insert(rest.text()?, rest.directory()?);
    }
    let count = rest.count(DIGEST_BYTES)?;
    let mut files = HashMap::with_capacity(count);
    for _ in 0..count {
        files.insert(rest.text()?, rest.file()?);
    }
    rest.0.is_empty().then_some(Cache { files, directories })
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    // A count that does not fit makes a cache that cannot be read, which is none.
    bytes.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_count(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

fn put_numbers(bytes: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn text(&mut self) -> Option<String> {
        let length = self.count(1)?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn digest(&mut self) -> Option<Digest> {
        self.array().map(Digest::from_bytes)
    }

    /// How many things of at least so many bytes follow.
    fn count(&mut self, each: usize) -> Option<usize> {
        let count = usize::try_from(u32::from_le_bytes(self.array()?)).ok()?;
        (count.checked_mul(each)? <= self.0.len()).then_some(count)
    }

    fn directory(&mut self) -> Option<KnownDirectory> {
        let digest = self.digest()?;
        let totals = TreeTotals { files: self.u64()?, bytes: self.u64()? };
        Some(KnownDirectory { digest, totals, entries: self.u64()? })
    }

    fn file(&mut self) -> Option<KnownFile> {
        let executable = self.flag()?;
        let stamp = if self.flag()? { Some(self.stamp()?) } else { None };
        let (digest, bytes) = (self.digest()?, self.u64()?);
        let count = self.count(DIGEST_BYTES)?;
        let pieces = (0..count).map(|_| self.piece()).collect::<Option<_>>()?;
        Some(KnownFile { stamp, executable, hashed: Hashed { digest, bytes, pieces } })
    }

    fn stamp(&mut self) -> Option<Stamp> {
        Some(Stamp {
            device: self.u64()?,
            inode: self.u64()?,
            bytes: self.u64()?,
            modified: i128::from_le_bytes(self.array()?),
            changed: i128::from_le_bytes(self.array()?),
        })
    }

    fn piece(&mut self) -> Option<Piece> {
        Some(Piece { digest: self.digest()?, bytes: u32::from_le_bytes(self.array()?) })
    }
}
