//! Reading everything back: every pack to the last bit, every row against its pack, every node against its
//! digest, everything a node names against the index. Objects without rows are no damage: a crash leaves them
//! and the sweep takes them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use folio_core::ports::{Damage, Node, StoreError};
use folio_model::Digest;

use super::damaged::Extent;
use super::index::{Home, Pack, PackId, Row, look};
use super::read::listed;
use super::sweep::named;
use super::{PackStore, blocking, pack};

type Rows = Vec<(Digest, Row)>;

impl PackStore {
    /// Lists what is damaged or missing.
    pub(super) async fn verify_all(&self) -> Result<Vec<Damage>, StoreError> {
        // Without sweeps, no pack disappears while it is looked for.
        let turn = self.turn.acquire().await;
        let _turn = turn.map_err(|error| StoreError::failed("begin a check", error))?;
        let read = look(&*self.index, |table| {
            let mut rows: BTreeMap<PackId, Rows> = BTreeMap::new();
            table.each(&mut |digest, row| {
                rows.entry(row.place.pack).or_default().push((digest, row));
            })?;
            Ok((rows, table.packs()?))
        });
        let (mut rows, packs) = read.await?;
        let stored: HashSet<Digest> = rows.values().flatten().map(|(digest, _)| *digest).collect();
        let stored = Arc::new(stored);
        let mut damages = Vec::new();
        for (id, pack) in packs {
            let rows = rows.remove(&id).unwrap_or_default();
            let bytes = match pack.home {
                Home::Object => self.objects.read(&pack.name).await?,
                Home::Index => {
                    let whole = 0..pack.bytes;
                    look(&*self.index, move |table| table.pack_part(id, whole)).await?
                }
            };
            match bytes {
                Some(bytes) => {
                    let stored = Arc::clone(&stored);
                    let check = move || Ok(check_pack(&pack, &bytes, rows, &stored));
                    let (found, extents) = blocking(check).await?;
                    damages.extend(found);
                    extents.into_iter().for_each(|extent| self.damaged.note(extent));
                }
                None => {
                    self.damaged.note(Extent::Pack(id));
                    damages.extend(lost(&rows, &format!("its pack {} is missing", pack.name)));
                }
            }
        }
        for (id, rows) in &rows {
            self.damaged.note(Extent::Pack(*id));
            damages.extend(lost(rows, "the index does not say which object its pack is"));
        }
        Ok(damages)
    }
}

fn lost(rows: &Rows, why: &str) -> Vec<Damage> {
    rows.iter().map(|(digest, _)| damage(*digest, why)).collect()
}

fn damage(digest: Digest, why: &str) -> Damage {
    Damage { what: format!("blob {digest}: {why}"), digest: Some(digest) }
}

/// What is damaged of a pack, and where its nodes cannot be read.
fn check_pack(
    pack: &Pack,
    bytes: &Bytes,
    rows: Rows,
    stored: &HashSet<Digest>,
) -> (Vec<Damage>, Vec<Extent>) {
    let contents: Option<HashMap<_, _>> = pack::contents(bytes)
        .map(|entries| entries.into_iter().map(|entry| (entry.digest, entry)).collect());
    let mut blocks: HashMap<u64, Option<Bytes>> = HashMap::new();
    let (mut damages, mut extents) = (Vec::new(), Vec::new());
    for (digest, row) in rows {
        let spot = row.place.spot;
        let block = blocks.entry(spot.block_at).or_insert_with(|| {
            let start = usize::try_from(spot.block_at).ok()?;
            let end = start.checked_add(usize::try_from(spot.block_bytes).ok()?)?;
            (end <= bytes.len()).then(|| bytes.slice(start..end)).and_then(|b| pack::open_block(&b))
        });
        let entry = listed(digest, &row);
        let node = block.as_ref().and_then(|block| pack::open_node(block, &entry));
        let Some(bytes) = node else {
            extents.push(Extent::Node(row.place));
            damages.push(damage(digest, &format!("its bytes in pack {} are damaged", pack.name)));
            continue;
        };
        if contents.as_ref().is_some_and(|contents| contents.get(&digest) != Some(&entry)) {
            damages.push(damage(digest, &format!("pack {} does not list it so", pack.name)));
        }
        damages.extend(check_names(&Node { kind: row.kind, digest, bytes }, stored));
    }
    if !pack::is_whole(bytes) || contents.is_none() {
        let what = format!("pack {}: not what was written", pack.name);
        damages.push(Damage { what, digest: None });
    }
    (damages, extents)
}

fn check_names(node: &Node, stored: &HashSet<Digest>) -> Vec<Damage> {
    let Ok(named) = named(node) else {
        return vec![damage(node.digest, "it is neither a directory nor a list of chunks")];
    };
    let missing = named.into_iter().filter(|digest| !stored.contains(digest));
    missing
        .map(|digest| damage(digest, &format!("{} names it and it is not stored", node.digest)))
        .collect()
}
