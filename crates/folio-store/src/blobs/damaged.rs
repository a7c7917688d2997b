//! What was found damaged since the store was opened. A node that lies there counts as not stored for whoever is
//! about to write: its bytes are asked for and taken again, its row then names another place, and it is whole.
//!
//! Nothing of it is written down. After a restart whoever reads the node first finds it again.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::index::{PackId, Place};

/// A stretch of a pack that does not read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Extent {
    /// All of it.
    Pack(PackId),
    /// The block that begins there.
    Block(PackId, u64),
    /// One node, in a block that can be unpacked.
    Node(Place),
}

/// Every stretch that was found. Packs and their places are never used twice, so none is ever wrong.
#[derive(Debug, Default)]
pub(super) struct Damaged(Mutex<HashSet<Extent>>);

impl Damaged {
    /// Notes what was found.
    pub(super) fn note(&self, extent: Extent) {
        self.found().insert(extent);
    }

    /// Whether a node that lies there was found damaged.
    pub(super) fn holds(&self, place: Place) -> bool {
        let found = self.found();
        let block = Extent::Block(place.pack, place.spot.block_at);
        let extents = [Extent::Pack(place.pack), block, Extent::Node(place)];
        !found.is_empty() && extents.iter().any(|extent| found.contains(extent))
    }

    /// Whether anything of a pack was.
    pub(super) fn is_in(&self, pack: PackId) -> bool {
        self.found().iter().any(|extent| extent.pack() == pack)
    }

    /// Forgets packs that are gone.
    pub(super) fn forget(&self, packs: &[PackId]) {
        self.found().retain(|extent| !packs.contains(&extent.pack()));
    }

    /// Whether nothing was found.
    pub(super) fn is_empty(&self) -> bool {
        self.found().is_empty()
    }

    fn found(&self) -> MutexGuard<'_, HashSet<Extent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Extent {
    fn pack(self) -> PackId {
        match self {
            Self::Pack(pack) | Self::Block(pack, _) | Self::Node(Place { pack, .. }) => pack,
        }
    }
}
