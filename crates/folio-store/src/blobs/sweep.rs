//! Removing what nothing reaches. Marks from the roots and from everything used lately, removes the rest in a
//! transaction that checks it again, then the objects. Rewrites packs that are mostly dead.
//!
//! The protection of a use is its `touched` being younger than the mark; the mark of the caller is kept for
//! all rounds, because the roots were taken after it.

use std::collections::{HashMap, HashSet};

use folio_core::crash;
use folio_core::ports::{Encoding, Node, StoreError, SweepMark, Swept};
use folio_model::{Digest, NodeKind, Timestamp, Tree, TreeEntry};

use super::PackStore;
use super::commit::Written;
use super::index::{Home, Pack, PackId, Place, Row, Table, change, look, milliseconds};
use super::objects::Found;
use super::read::chunks;

/// How often a sweep looks again because something it wanted to remove was used meanwhile.
const ROUNDS_MAX: usize = 4;

/// Raw bytes copied into one new pack at most.
const COPY_RAW_MAX: u64 = 32 * 1024 * 1024;

/// What counts as used.
#[derive(Clone, Copy)]
struct Recent {
    mark: u64,
    keep_since: u64,
}

impl Recent {
    fn holds(self, touched: u64) -> bool {
        touched > self.mark || touched >= self.keep_since
    }
}

/// The index at one moment.
struct Snapshot {
    rows: HashMap<Digest, Row>,
    packs: Vec<(PackId, Pack)>,
    /// Files that have a node of other encodings.
    encoded: HashMap<Digest, Digest>,
}

impl PackStore {
    /// Sweeps once.
    pub(super) async fn sweep_now(
        &self,
        mark: SweepMark,
        roots: Vec<Digest>,
        keep_since: Timestamp,
    ) -> Result<Swept, StoreError> {
        let turn = self.turn.acquire().await;
        let _turn = turn.map_err(|error| StoreError::failed("begin a sweep", error))?;
        // With a clock that stands, the count of uses runs ahead of it. Who asks to keep nothing older than
        // now means the mark alone.
        let no_grace = keep_since >= self.clock.now();
        let since = if no_grace { u64::MAX } else { milliseconds(keep_since) };
        let recent = Recent { mark: mark.0, keep_since: since };
        let mut swept = Swept::default();
        for _ in 0..ROUNDS_MAX {
            if let Some(removed) = self.sweep_round(recent, &roots).await? {
                swept = removed;
                break;
            }
        }
        swept.bytes += self.rewrite_packs().await?;
        swept.bytes += self.remove_forgotten(keep_since).await?;
        Ok(swept)
    }

    /// Removes what is not reached; None if some of it was used meanwhile, and then nothing is removed.
    async fn sweep_round(
        &self,
        recent: Recent,
        roots: &[Digest],
    ) -> Result<Option<Swept>, StoreError> {
        let snapshot = self.snapshot().await?;
        let reached = self.reach(&snapshot, recent, roots).await?;
        crash::point("sweep.marked");
        let (alive, dead): (Vec<_>, Vec<_>) =
            snapshot.rows.iter().partition(|(digest, _)| reached.contains(*digest));
        let dead: Vec<Digest> = dead.into_iter().map(|(digest, _)| *digest).collect();
        // Rows join a pack only in the transaction that adds the pack, so one without rows stays without.
        let alive: HashSet<PackId> = alive.into_iter().map(|(_, row)| row.place.pack).collect();
        let empty = snapshot.packs.into_iter().filter(|(id, _)| !alive.contains(id));
        let (empty_ids, empty): (Vec<_>, Vec<_>) = empty.unzip();
        let (nodes, emptied) = (dead.len() as u64, empty_ids.clone());
        let removed =
            change(&*self.index, move |table| remove(table, &dead, &empty_ids, recent)).await?;
        if !removed {
            return Ok(None);
        }
        self.abouts.forget();
        self.damaged.forget(&emptied);
        crash::point("sweep.committed");
        let bytes = self.remove_objects(&empty).await?;
        crash::point("sweep.unlinked");
        Ok(Some(Swept { nodes, bytes }))
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let read = look(&*self.index, |table| {
            let mut rows = HashMap::new();
            table.each(&mut |digest, row| {
                rows.insert(digest, row);
            })?;
            let mut encoded = HashMap::new();
            table.each_encoded(&mut |Encoding { file, node }| {
                encoded.insert(file, node);
            })?;
            Ok(Snapshot { rows, packs: table.packs()?, encoded })
        });
        read.await
    }

    /// Everything that the roots and what was used lately lead to. Fails rather than miss something.
    async fn reach(
        &self,
        snapshot: &Snapshot,
        recent: Recent,
        roots: &[Digest],
    ) -> Result<HashSet<Digest>, StoreError> {
        let used = snapshot.rows.iter().filter(|(_, row)| recent.holds(row.touched));
        let used = used.map(|(digest, _)| *digest);
        let mut reached: HashSet<Digest> = used.chain(roots.iter().copied()).collect();
        let mut ahead: Vec<Digest> = reached.iter().copied().collect();
        while !ahead.is_empty() {
            // Neighbours in a pack one after the other, so that each block is unpacked once.
            ahead.sort_by_key(|digest| place_of(snapshot, digest));
            let mut next = Vec::new();
            for digest in ahead {
                let encoded = snapshot.encoded.get(&digest).copied();
                next.extend(encoded.filter(|node| reached.insert(*node)));
                let leads_on = |row: &Row| row.kind != NodeKind::Raw;
                if !snapshot.rows.get(&digest).is_some_and(leads_on) {
                    continue;
                }
                let named = named(&self.read(digest).await?)?;
                next.extend(named.into_iter().filter(|digest| reached.insert(*digest)));
            }
            ahead = next;
        }
        Ok(reached)
    }

    async fn remove_objects(&self, packs: &[Pack]) -> Result<u64, StoreError> {
        for pack in packs.iter().filter(|pack| pack.home == Home::Object) {
            self.objects.remove(&pack.name).await?;
        }
        Ok(packs.iter().map(|pack| pack.bytes).sum())
    }

    /// Copies what lives in mostly dead packs into new ones, and out of packs in which something was damaged before its
    /// bytes were stored again. Returns the bytes given back.
    async fn rewrite_packs(&self) -> Result<u64, StoreError> {
        let snapshot = self.snapshot().await?;
        let mut living: HashMap<PackId, Vec<(Digest, Row)>> = HashMap::new();
        for (digest, row) in snapshot.rows {
            living.entry(row.place.pack).or_default().push((digest, row));
        }
        let mut bytes = 0;
        let mut open = Rewrite::default();
        for (id, pack) in snapshot.packs {
            let rows = living.remove(&id).unwrap_or_default();
            let alive: u64 = rows.iter().map(|(_, row)| row.bytes).sum();
            if self.damaged.is_in(id) {
                // By itself: while something in it cannot be read, none of what is copied with it could go.
                let raw_bytes = alive;
                bytes += self.rewrite(Rewrite { rows, packs: vec![(id, pack)], raw_bytes }).await?;
                continue;
            }
            if alive * 2 >= pack.raw_bytes {
                continue;
            }
            open.raw_bytes += alive;
            open.rows.extend(rows);
            open.packs.push((id, pack));
            if open.raw_bytes >= COPY_RAW_MAX {
                bytes += self.rewrite(std::mem::take(&mut open)).await?;
            }
        }
        bytes += self.rewrite(open).await?;
        Ok(bytes)
    }

    async fn rewrite(&self, rewrite: Rewrite) -> Result<u64, StoreError> {
        let Rewrite { mut rows, packs, .. } = rewrite;
        rows.sort_by_key(|(_, row)| (row.place.pack, row.place.spot.block_at, row.place.spot.at));
        let mut nodes = Vec::with_capacity(rows.len());
        for (digest, _) in &rows {
            match self.read(*digest).await {
                Ok(node) => nodes.push(node),
                Err(error @ StoreError::Corrupt { .. }) => {
                    // What is damaged stays where it is, for whoever wants to save some of it.
                    tracing::error!(%error, blob.digest = %digest, "A pack was not rewritten");
                    return Ok(0);
                }
                Err(error) => return Err(error),
            }
        }
        let written = self.write_pack(nodes).await?;
        let added = written.as_ref().map_or(0, |written| written.pack.bytes);
        let ids: Vec<PackId> = packs.iter().map(|(id, _)| *id).collect();
        let emptied = ids.clone();
        let moved = move |table: &mut dyn Table| {
            relocate(table, &rows, written.as_ref(), &ids).map(|()| written)
        };
        // The new pack's name stays reserved until its rows are committed.
        drop(change(&*self.index, moved).await?);
        self.damaged.forget(&emptied);
        let packs: Vec<Pack> = packs.into_iter().map(|(_, pack)| pack).collect();
        Ok(self.remove_objects(&packs).await?.saturating_sub(added))
    }

    /// Removes objects that no row ever named: what a crash left between writing a pack and its rows.
    async fn remove_forgotten(&self, keep_since: Timestamp) -> Result<u64, StoreError> {
        let mut found = self.objects.list().await?;
        found.retain(|object| object.written < keep_since);
        if found.is_empty() {
            return Ok(0);
        }
        let writing = self.objects.writing();
        // In a transaction of its own, so that a batch whose caller went away is either still being written
        // or already in the index.
        let forgotten = change(&*self.index, move |table| {
            let writing = writing.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            found.retain(|object| !writing.contains(&object.name));
            let packs = table.packs()?;
            let known: HashSet<&str> = packs.iter().map(|(_, pack)| &*pack.name).collect();
            found.retain(|object| !known.contains(&*object.name));
            Ok(found)
        });
        let mut bytes = 0;
        for Found { name, bytes: more, .. } in forgotten.await? {
            self.objects.remove(&name).await?;
            bytes += more;
        }
        Ok(bytes)
    }
}

/// Packs to be copied together.
#[derive(Default)]
struct Rewrite {
    rows: Vec<(Digest, Row)>,
    packs: Vec<(PackId, Pack)>,
    raw_bytes: u64,
}

/// Removes rows and empty packs, unless one of the rows was used since the mark.
fn remove(
    table: &mut dyn Table,
    dead: &[Digest],
    empty: &[PackId],
    recent: Recent,
) -> Result<bool, StoreError> {
    for digest in dead {
        if table.row(*digest)?.is_some_and(|row| recent.holds(row.touched)) {
            return Ok(false);
        }
    }
    crash::point("sweep.rechecked");
    dead.iter().try_for_each(|digest| table.remove(*digest))?;
    empty.iter().try_for_each(|id| table.remove_pack(*id))?;
    Ok(true)
}

/// Moves rows to where their nodes were copied, and forgets the packs they came from.
fn relocate(
    table: &mut dyn Table,
    rows: &[(Digest, Row)],
    written: Option<&Written>,
    emptied: &[PackId],
) -> Result<(), StoreError> {
    if let Some(written) = written {
        let pack = written.add_to(table)?;
        for (digest, copied) in rows {
            // A row that moved meanwhile was stored anew as something more useful.
            let row = table.row(*digest)?.filter(|row| row.place == copied.place);
            if let Some(mut row) = row {
                row.place = Place { pack, spot: written.listed[digest].spot };
                table.set(*digest, &row)?;
            }
        }
    }
    emptied.iter().try_for_each(|id| table.remove_pack(*id))
}

/// What a node names.
pub(super) fn named(node: &Node) -> Result<Vec<Digest>, StoreError> {
    match node.kind {
        NodeKind::Raw => Ok(Vec::new()),
        NodeKind::Chunked => Ok(chunks(node)?.0),
        NodeKind::Tree => {
            let damaged = |_| StoreError::corrupt(format!("directory {}", node.digest));
            let tree = Tree::decode(&node.bytes).map_err(damaged)?;
            Ok(tree.entries().iter().map(TreeEntry::digest).collect())
        }
    }
}

fn place_of(snapshot: &Snapshot, digest: &Digest) -> Option<(PackId, u64)> {
    let place = snapshot.rows.get(digest)?.place;
    Some((place.pack, place.spot.block_at))
}
