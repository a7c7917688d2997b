//! Reading nodes. Whatever comes off the disk is compared with its digest before anyone sees it.

use bytes::Bytes;
use folio_core::ports::{Node, StoreError};
use folio_model::{ChunkList, Digest, NodeKind};

use super::damaged::Extent;
use super::index::{Home, Pack, Place, Row, look};
use super::pack::{self, Listed};
use super::{PackStore, blocking};

/// A node up to here is checked in less time than it takes to hand it to another thread.
const CHECKED_AT_ONCE_MAX: u64 = 32 * 1024;

/// Where a node may be read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Memory, if it is there.
    Remembered,
    /// Only from where it is kept.
    Afresh,
}

impl PackStore {
    /// Reads a node and checks it.
    pub(super) async fn read(&self, digest: Digest) -> Result<Node, StoreError> {
        self.read_by(digest, Way::Remembered).await
    }

    /// Reads a node and checks it. Damage is noted.
    pub(super) async fn read_by(&self, digest: Digest, way: Way) -> Result<Node, StoreError> {
        let mut vanished = None;
        loop {
            let (row, pack) = self.find(digest).await?;
            match self.block(&pack, row.place, way).await? {
                Some(block) => {
                    let opened = open(digest, &row, block).await;
                    if let Err(StoreError::Corrupt { .. }) = opened {
                        self.damaged.note(Extent::Node(row.place));
                    }
                    return opened;
                }
                // A sweep moved the node after it was looked up: it is in another pack by now.
                None if vanished != Some(row.place) => vanished = Some(row.place),
                None => {
                    self.damaged.note(Extent::Pack(row.place.pack));
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
            Ok((row, table.pack(row.place.pack)?))
        });
        let (row, pack) = find.await?;
        let lost = || {
            self.damaged.note(Extent::Pack(row.place.pack));
            StoreError::corrupt(format!("the row of {digest}"))
        };
        Ok((row, pack.ok_or_else(lost)?))
    }

    /// Reads the block a node lies in; None if its pack is not there.
    async fn block(
        &self,
        pack: &Pack,
        place: Place,
        way: Way,
    ) -> Result<Option<Bytes>, StoreError> {
        let remembered = (way == Way::Remembered).then(|| self.cache.get(place)).flatten();
        if remembered.is_some() {
            return Ok(remembered);
        }
        let read = self.read_block(pack, place).await;
        match &read {
            Ok(Some(block)) if way == Way::Remembered => self.cache.keep(place, block.clone()),
            Err(StoreError::Corrupt { .. }) => {
                self.damaged.note(Extent::Block(place.pack, place.spot.block_at));
            }
            _ => {}
        }
        read
    }

    async fn read_block(&self, pack: &Pack, place: Place) -> Result<Option<Bytes>, StoreError> {
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
        blocking(move || pack::open_block(&stored).ok_or(damaged)).await.map(Some)
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
