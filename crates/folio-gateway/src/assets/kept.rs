//! How much of static files is kept in memory, over all releases. A file is kept from its first request on for as long
//! as a release holds it, if there is room.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use folio_core::serving::AssetFile;

/// Files larger than this are read from the store a piece at a time.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Bytes kept over all files and encodings; what is beyond is read anew for every request.
const KEPT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How much is kept.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    bytes: AtomicU64,
}

impl Kept {
    /// Keeps a file's bytes, if there is room.
    pub(crate) fn keep(&self, file: &AssetFile, bytes: &Bytes) {
        if self.take(bytes.len() as u64) && file.kept.set(bytes.clone()).is_err() {
            self.give_back(bytes.len() as u64);
        }
    }

    /// Whether there is room for so much more, which is then taken.
    pub(crate) fn take(&self, more: u64) -> bool {
        let room = |now: u64| now.checked_add(more).filter(|sum| *sum <= KEPT_BYTES_MAX);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok()
    }

    pub(crate) fn give_back(&self, less: u64) {
        self.bytes.fetch_sub(less, Ordering::Relaxed);
    }

    /// Counts anew what releases still hold.
    pub(crate) fn recount(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

/// What is kept of a file.
pub(crate) fn of(file: &AssetFile) -> u64 {
    let length = |bytes: Option<&Bytes>| bytes.map_or(0, |bytes| bytes.len() as u64);
    let encoded = file.encoded.get().map_or(0, |encoded| {
        length(encoded.br.as_ref()) + length(encoded.zstd.as_ref()) + length(encoded.gzip.as_ref())
    });
    length(file.kept.get()) + encoded
}
