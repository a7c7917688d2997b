//! Writing a tree as a zip: the same tree gives the same bytes, with any folio, for ever.
//!
//! Therefore nothing is compressed (a compressor's output changes with its version), times are fixed, and
//! entries come in the tree's order. Numbers too large for the plain format make it Zip64 where needed.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Crc;
use folio_model::{Digest, TreeEntry, TreePath, TreeTotals};
use futures::stream::{self, BoxStream, StreamExt};

use super::file::FileReader;
use super::walk::walk;
use crate::ports::{Blobs, StoreError};

/// 1 January 1980, the first day the format knows.
const DATE: u16 = 1 << 5 | 1;
const UTF8: u16 = 1 << 11;
const MADE_ON_UNIX: u16 = 3 << 8 | 45;
const VERSION: u16 = 20;
const VERSION_64: u16 = 45;

/// Packs a tree into a zip in memory. For trees whose size was checked before; else [`zip_stream`].
pub async fn pack_zip(blobs: &dyn Blobs, tree: Digest) -> Result<Vec<u8>, StoreError> {
    let mut writer = ZipWriter::open(blobs, tree).await?;
    let mut zip = Vec::new();
    while let Some(bytes) = writer.next(blobs).await? {
        zip.extend_from_slice(&bytes);
    }
    Ok(zip)
}

/// Packs a tree into a zip as it is read. One chunk is in memory at a time.
pub async fn zip_stream(
    blobs: Arc<dyn Blobs>,
    tree: Digest,
) -> Result<BoxStream<'static, Result<Bytes, StoreError>>, StoreError> {
    let writer = ZipWriter::open(&*blobs, tree).await?;
    let zip = stream::try_unfold((blobs, writer), async |(blobs, mut writer)| {
        let next = writer.next(&*blobs).await?;
        Ok(next.map(|bytes| (bytes, (blobs, writer))))
    });
    Ok(zip.boxed())
}

/// A zip that is being written.
struct ZipWriter {
    ahead: VecDeque<(TreePath, TreeEntry)>,
    file: Option<FileReader>,
    directory: Vec<u8>,
    entries: u64,
    written: u64,
    is_done: bool,
}

/// What both headers of an entry say.
struct Header {
    name: String,
    crc: u32,
    bytes: u64,
    mode: u32,
    at: u64,
}

impl ZipWriter {
    async fn open(blobs: &dyn Blobs, tree: Digest) -> Result<Self, StoreError> {
        let mut ahead = VecDeque::from(walk(blobs, tree).await?);
        // Directories follow from the files in them; only empty ones have to be said.
        ahead.retain(|(_, entry)| match entry {
            TreeEntry::File { .. } => true,
            TreeEntry::Directory { totals, .. } => *totals == TreeTotals::default(),
        });
        let (directory, file) = (Vec::new(), None);
        Ok(Self { ahead, file, directory, entries: 0, written: 0, is_done: false })
    }

    /// The next stretch of bytes, None at the end.
    async fn next(&mut self, blobs: &dyn Blobs) -> Result<Option<Bytes>, StoreError> {
        let content = match &mut self.file {
            Some(file) => file.next(blobs).await?,
            None => None,
        };
        let bytes = match content {
            Some(bytes) => bytes,
            None => match self.ahead.pop_front() {
                Some((path, entry)) => self.begin(blobs, &path, &entry).await?,
                None if self.is_done => return Ok(None),
                None => self.end(),
            },
        };
        self.written += bytes.len() as u64;
        Ok(Some(bytes))
    }

    /// Starts an entry: reads a file once for its checksum, which comes before its bytes.
    async fn begin(
        &mut self,
        blobs: &dyn Blobs,
        path: &TreePath,
        entry: &TreeEntry,
    ) -> Result<Bytes, StoreError> {
        let at = self.written;
        let header = match entry {
            TreeEntry::Directory { .. } => {
                self.file = None;
                Header { name: format!("{path}/"), crc: 0, bytes: 0, mode: 0o040_755, at }
            }
            TreeEntry::File { digest, bytes, executable, .. } => {
                let mut crc = Crc::new();
                let mut reader = FileReader::open(blobs, *digest).await?;
                while let Some(bytes) = reader.next(blobs).await? {
                    crc.update(&bytes);
                }
                self.file = Some(FileReader::open(blobs, *digest).await?);
                let mode = if *executable { 0o100_755 } else { 0o100_644 };
                Header { name: path.to_string(), crc: crc.sum(), bytes: *bytes, mode, at }
            }
        };
        self.entries += 1;
        header.write_central(&mut self.directory);
        Ok(header.local().into())
    }

    fn end(&mut self) -> Bytes {
        self.is_done = true;
        let mut end = std::mem::take(&mut self.directory);
        let (at, bytes) = (self.written, end.len() as u64);
        let entries = self.entries;
        if is_large(at) || is_large(bytes) || entries >= u64::from(u16::MAX) {
            let end_at = at + bytes;
            put(&mut end, &[b"PK\x06\x06", &44_u64.to_le_bytes()]);
            put(&mut end, &[&MADE_ON_UNIX.to_le_bytes(), &VERSION_64.to_le_bytes(), &[0; 8]]);
            for value in [entries, entries, bytes, at] {
                put(&mut end, &[&value.to_le_bytes()]);
            }
            put(&mut end, &[b"PK\x06\x07", &[0; 4], &end_at.to_le_bytes(), &1_u32.to_le_bytes()]);
        }
        let count = u16::try_from(entries).unwrap_or(u16::MAX).to_le_bytes();
        let (bytes, at) = (plain(bytes).to_le_bytes(), plain(at).to_le_bytes());
        put(&mut end, &[b"PK\x05\x06", &[0; 4], &count, &count, &bytes, &at, &[0; 2]]);
        end.into()
    }
}

impl Header {
    fn local(&self) -> Vec<u8> {
        let mut header = b"PK\x03\x04".to_vec();
        let mut extra = Vec::new();
        if is_large(self.bytes) {
            put(&mut extra, &[&self.bytes.to_le_bytes(), &self.bytes.to_le_bytes()]);
        }
        self.write_common(&mut header, &extra);
        put(&mut header, &[self.name.as_bytes(), &tagged(&extra)]);
        header
    }

    fn write_central(&self, directory: &mut Vec<u8>) {
        let mut extra = Vec::new();
        if is_large(self.bytes) {
            put(&mut extra, &[&self.bytes.to_le_bytes(), &self.bytes.to_le_bytes()]);
        }
        if is_large(self.at) {
            put(&mut extra, &[&self.at.to_le_bytes()]);
        }
        put(directory, &[b"PK\x01\x02", &MADE_ON_UNIX.to_le_bytes()]);
        self.write_common(directory, &extra);
        let attributes = (self.mode << 16).to_le_bytes();
        put(directory, &[&[0; 6], &attributes, &plain(self.at).to_le_bytes()]);
        put(directory, &[self.name.as_bytes(), &tagged(&extra)]);
    }

    /// From the version needed to the lengths of name and extra field.
    fn write_common(&self, header: &mut Vec<u8>, extra: &[u8]) {
        let version = if extra.is_empty() { VERSION } else { VERSION_64 };
        put(header, &[&version.to_le_bytes(), &UTF8.to_le_bytes(), &[0; 4], &DATE.to_le_bytes()]);
        let bytes = plain(self.bytes).to_le_bytes();
        put(header, &[&self.crc.to_le_bytes(), &bytes, &bytes]);
        let name_bytes = u16::try_from(self.name.len()).expect("paths are at most 1024 bytes");
        let extra_bytes = u16::try_from(tagged(extra).len()).expect("at most three numbers");
        put(header, &[&name_bytes.to_le_bytes(), &extra_bytes.to_le_bytes()]);
    }
}

/// Whether a number needs the larger format.
fn is_large(value: u64) -> bool {
    value >= u64::from(u32::MAX)
}

/// A number in the plain format, all ones if it does not fit.
fn plain(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn tagged(extra: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    if !extra.is_empty() {
        let length = u16::try_from(extra.len()).expect("at most three numbers");
        put(&mut field, &[&1_u16.to_le_bytes(), &length.to_le_bytes(), extra]);
    }
    field
}

fn put(bytes: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
}
