//! Which nodes are whole with everything they lead to. Whoever is told that a directory is missing asks about what is
//! in it, so a directory above damage has to be missing as well, or nobody would be asked for the bytes.

use std::collections::HashSet;

use folio_core::ports::StoreError;
use folio_model::{Digest, NodeKind};

use super::PackStore;
use super::batch::Batch;
use super::index::{Row, look};
use super::read::Way;
use super::sweep::named;

/// How closely nodes are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Directories and lists of chunks are read; of files what is known.
    Names,
    /// Everything is read, from where it is kept.
    Bytes,
}

impl PackStore {
    /// Those nodes from which something damaged is reached, as far as is known. Free while nothing is.
    pub(super) async fn known_damaged(
        &self,
        digests: &[Digest],
    ) -> Result<HashSet<Digest>, StoreError> {
        if self.damaged.is_empty() {
            return Ok(HashSet::new());
        }
        self.leading_to_damage(digests, Depth::Names).await
    }

    /// Those nodes from which something damaged is reached.
    pub(super) async fn leading_to_damage(
        &self,
        digests: &[Digest],
        depth: Depth,
    ) -> Result<HashSet<Digest>, StoreError> {
        let (mut whole, mut damaged) = (HashSet::new(), HashSet::new());
        for digest in digests {
            if whole.contains(digest) || damaged.contains(digest) {
                continue;
            }
            let mut seen = HashSet::from([*digest]);
            if self.reaches_damage(&mut seen, &whole, depth).await? {
                damaged.insert(*digest);
            } else {
                whole.extend(seen);
            }
        }
        Ok(damaged)
    }

    /// Refuses a batch that names, outside itself, what leads to damage.
    pub(super) async fn require_whole(&self, batch: &Batch) -> Result<(), StoreError> {
        if self.damaged.is_empty() {
            return Ok(());
        }
        let elsewhere: Vec<Digest> = batch.elsewhere().collect();
        match self.leading_to_damage(&elsewhere, Depth::Names).await?.into_iter().next() {
            Some(digest) => Err(StoreError::MissingBlob { digest }),
            None => Ok(()),
        }
    }

    /// Goes through everything below one node, level by level, and to the end, so that all damage is known then.
    async fn reaches_damage(
        &self,
        seen: &mut HashSet<Digest>,
        whole: &HashSet<Digest>,
        depth: Depth,
    ) -> Result<bool, StoreError> {
        let mut level: Vec<Digest> = seen.iter().copied().collect();
        let mut reaches = false;
        while !level.is_empty() {
            let asked = level.len();
            let rows = self.rows(std::mem::take(&mut level)).await?;
            reaches |= rows.len() < asked;
            for (digest, row) in rows {
                if self.damaged.holds(row.place) {
                    reaches = true;
                    continue;
                }
                let way = match (depth, row.kind) {
                    (Depth::Names, NodeKind::Raw) => continue,
                    (Depth::Names, _) => Way::Remembered,
                    (Depth::Bytes, _) => Way::Afresh,
                };
                let below = match self.read_by(digest, way).await {
                    Ok(node) => named(&node)?,
                    Err(error) if error.is_lasting() => {
                        reaches = true;
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let new = below.into_iter().filter(|digest| !whole.contains(digest));
                level.extend(new.filter(|digest| seen.insert(*digest)));
            }
        }
        Ok(reaches)
    }

    /// The rows of those that are stored, neighbours in a pack one after the other.
    async fn rows(&self, digests: Vec<Digest>) -> Result<Vec<(Digest, Row)>, StoreError> {
        let find = look(&*self.index, move |table| {
            let mut rows = Vec::with_capacity(digests.len());
            for digest in digests {
                rows.extend(table.row(digest)?.map(|row| (digest, row)));
            }
            rows.sort_by_key(|(_, Row { place, .. })| (place.pack, place.spot.block_at));
            Ok(rows)
        });
        find.await
    }
}
