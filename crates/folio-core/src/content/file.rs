//! Reading files back, whether they are stored whole or in chunks.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use folio_model::{ChunkList, Digest, NodeKind};
use futures::stream::{self, BoxStream, StreamExt};

use crate::ports::{Blobs, StoreError};

/// A file on its way out.
pub struct FileStream {
    /// Its length.
    pub bytes: u64,
    /// Its bytes, in order.
    pub content: BoxStream<'static, Result<Bytes, StoreError>>,
}

/// Opens a file for streaming. One chunk is in memory at a time.
pub async fn read_file(blobs: Arc<dyn Blobs>, digest: Digest) -> Result<FileStream, StoreError> {
    read_file_from(blobs, digest, 0).await
}

/// As [`read_file`], from a byte on; its length is that of the whole. Chunks before it are not read.
pub async fn read_file_from(
    blobs: Arc<dyn Blobs>,
    digest: Digest,
    from: u64,
) -> Result<FileStream, StoreError> {
    let about = blobs.about(digest).await?.ok_or(StoreError::MissingBlob { digest })?;
    let mut reader = FileReader::open(&*blobs, digest).await?;
    let bytes = match &reader.first {
        Some(whole) => whole.len() as u64,
        None => about.totals.bytes,
    };
    reader.skip(&*blobs, from).await?;
    let content = stream::try_unfold((blobs, reader), async |(blobs, mut reader)| {
        let next = reader.next(&*blobs).await?;
        Ok(next.map(|bytes| (bytes, (blobs, reader))))
    });
    Ok(FileStream { bytes, content: content.boxed() })
}

/// Reads a whole file into memory. For files whose size was checked before.
pub async fn read_whole(blobs: &dyn Blobs, digest: Digest) -> Result<Bytes, StoreError> {
    let mut reader = FileReader::open(blobs, digest).await?;
    if let Some(whole) = reader.first.take() {
        return Ok(whole);
    }
    let mut whole = BytesMut::new();
    while let Some(bytes) = reader.next(blobs).await? {
        whole.extend_from_slice(&bytes);
    }
    Ok(whole.freeze())
}

/// A place in a file.
pub(super) struct FileReader {
    first: Option<Bytes>,
    chunks: VecDeque<Digest>,
}

impl FileReader {
    /// Starts at a file's first byte.
    pub(super) async fn open(blobs: &dyn Blobs, digest: Digest) -> Result<Self, StoreError> {
        let node = blobs.get(digest).await?;
        match node.kind {
            // The bytes of a directory may be a file's as well.
            NodeKind::Raw | NodeKind::Tree => {
                Ok(Self { first: Some(node.bytes), chunks: VecDeque::new() })
            }
            NodeKind::Chunked => {
                let damaged = || StoreError::corrupt(format!("the chunk list of {digest}"));
                let list = ChunkList::decode(&node.bytes).ok_or_else(damaged)?;
                Ok(Self { first: None, chunks: list.0.into() })
            }
        }
    }

    /// Leaves out so many bytes.
    async fn skip(&mut self, blobs: &dyn Blobs, bytes: u64) -> Result<(), StoreError> {
        let mut left = bytes;
        while self.first.is_none() && left > 0 {
            let Some(chunk) = self.chunks.front().copied() else { return Ok(()) };
            let about = blobs.about(chunk).await?;
            let about = about.ok_or(StoreError::MissingBlob { digest: chunk })?;
            self.chunks.pop_front();
            if about.totals.bytes > left {
                self.first = Some(blobs.get(chunk).await?.bytes);
            } else {
                left -= about.totals.bytes;
            }
        }
        if let Some(first) = &mut self.first {
            let gone = usize::try_from(left).unwrap_or(usize::MAX).min(first.len());
            *first = first.slice(gone..);
        }
        Ok(())
    }

    /// The next stretch of bytes, None at the end.
    pub(super) async fn next(&mut self, blobs: &dyn Blobs) -> Result<Option<Bytes>, StoreError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        match self.chunks.pop_front() {
            Some(chunk) => Ok(Some(blobs.get(chunk).await?.bytes)),
            None => Ok(None),
        }
    }
}
