//! Reading nodes. Whatever comes off the disk is compared with its digest before anyone sees it.

use bytes::Bytes;
use folio_core::ports::{Node, StoreError};
use folio_model::{ChunkList, Digest, NodeKind};

use super::index::{Home, Pack, Place, Row, look};
use super::pack::{self, Listed};
use super::{PackStore, blocking};

/// A node up to here is checked in less time than it takes to hand it to another thread.
const CHECKED_AT_ONCE_MAX: u64 = 32 * 1024;

impl PackStore {
    /// Reads a node and checks it.
    pub(super) async fn read(&self, digest: Digest) -> Result<Node, StoreError> {
        let mut vanished = None;
        loop {
            let (row, pack) = self.find(digest).await?;
            match self.block(&pack, row.place).await? {
                Some(block) => return open(digest, &row, block).await,
                // A sweep moved the node after it was looked up: it is in another pack by now.
                None if vanished != Some(row.place) => vanished = Some(row.place),
                None => {
                    let what = format!("blob {digest}: its pack {}", pack.name);
                    return Err(StoreError::corrupt(what));
                }
            }
        }
    }

    /// Reads a file that is stored whole or in chunks and fits into memory.
    pub(super) async fn read_whole(
        &self,
        digest: Digest,
        bytes_max: u64,
    ) -> Result<Option<Bytes>, StoreError> {
        let (row, _) = self.find(digest).await?;
        if row.file_bytes() > bytes_max {
            return Ok(None);
        }
        let node = self.read(digest).await?;
        if node.kind != NodeKind::Chunked {
            return Ok(Some(node.bytes));
        }
        let mut whole = Vec::new();
        for chunk in chunks(&node)?.0 {
            whole.extend_from_slice(&self.read(chunk).await?.bytes);
        }
        Ok(Some(whole.into()))
    }

    async fn find(&self, digest: Digest) -> Result<(Row, Pack), StoreError> {
        let find = look(&*self.index, move |table| {
            let row = table.row(digest)?.ok_or(StoreError::MissingBlob { digest })?;
            let pack = table.pack(row.place.pack)?;
            let pack = pack.ok_or_else(|| StoreError::corrupt(format!("the row of {digest}")))?;
            Ok((row, pack))
        });
        find.await
    }

    /// Reads the block a node lies in; None if its pack is not there.
    async fn block(&self, pack: &Pack, place: Place) -> Result<Option<Bytes>, StoreError> {
        if let Some(block) = self.cache.get(place) {
            return Ok(Some(block));
        }
        let start = place.spot.block_at;
        let part = start..start + u64::from(place.spot.block_bytes);
        let stored = match pack.home {
            Home::Object => self.objects.read_part(&pack.name, part).await?,
            Home::Index => {
                look(&*self.index, move |table| table.pack_part(place.pack, part)).await?
            }
        };
        let Some(stored) = stored else { return Ok(None) };
        let damaged = StoreError::corrupt(format!("pack {} at byte {start}", pack.name));
        let block = blocking(move || pack::open_block(&stored).ok_or(damaged)).await?;
        self.cache.keep(place, block.clone());
        Ok(Some(block))
    }
}

async fn open(digest: Digest, row: &Row, block: Bytes) -> Result<Node, StoreError> {
    let kind = row.kind;
    let entry = listed(digest, row);
    let damaged = StoreError::corrupt(format!("blob {digest}"));
    let check = move || pack::open_node(&block, &entry).ok_or(damaged);
    let bytes = if row.bytes <= CHECKED_AT_ONCE_MAX { check()? } else { blocking(check).await? };
    Ok(Node { kind, digest, bytes })
}

/// The row as a table of contents would have it.
pub(super) fn listed(digest: Digest, row: &Row) -> Listed {
    let Row { kind, bytes, checksum, .. } = *row;
    Listed { digest, kind, bytes, checksum, spot: row.place.spot }
}

/// The chunks of a stored file.
pub(super) fn chunks(node: &Node) -> Result<ChunkList, StoreError> {
    let damaged = || StoreError::corrupt(format!("the chunk list of {}", node.digest));
    ChunkList::decode(&node.bytes).ok_or_else(damaged)
}
