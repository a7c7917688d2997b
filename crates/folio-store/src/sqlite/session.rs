//! The writer's connection and what it knows without asking. A publish would otherwise ask the database a dozen
//! things that the publish before it has just written: they are half of what a publish costs.
//!
//! Everything here is what the writer's open transaction would read. Whoever changes a row notes or forgets it in
//! the same step, and whatever is rolled back takes all of this with it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Deref;

use folio_core::ports::StandingRelease;
use folio_model::{
    AppName, Digest, EntryHash, Number, Place, Placement, Pointer, ReleaseId, Unit, UnitKey,
    UnitUid, VersionId,
};
use rusqlite::Connection;

use crate::blobs::index::{Meta, Row};

/// Rows of one sort that are kept at most.
const ROWS_MAX: usize = 4096;

/// The one connection that writes.
pub(crate) struct Session {
    conn: Connection,
    known: RefCell<Known>,
}

impl Session {
    pub(crate) fn new(conn: Connection) -> Self {
        Self { conn, known: RefCell::default() }
    }

    /// Reads or changes what is known. Must not be nested.
    pub(crate) fn known<T>(&self, job: impl FnOnce(&mut Known) -> T) -> T {
        job(&mut self.known.borrow_mut())
    }

    /// Forgets everything, because some of it was rolled back.
    pub(crate) fn forget(&self) {
        self.known.replace(Known::default());
    }
}

impl Deref for Session {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        &self.conn
    }
}

/// What the writer knows.
#[derive(Default)]
pub(crate) struct Known {
    /// The last entry's place and hash.
    pub(crate) tip: Option<(u64, EntryHash)>,
    pub(crate) apps: Recent<AppName, ()>,
    /// The number and id of each app's newest app version.
    pub(crate) newest: Recent<AppName, (Number, VersionId)>,
    /// Living units.
    pub(crate) units: Recent<UnitUid, Unit>,
    pub(crate) names: Recent<UnitKey, UnitUid>,
    /// What units are in the newest app version; nothing for those that are not in it.
    pub(crate) places: Recent<UnitUid, Option<Placement>>,
    /// Snapshots that are stored. They are never removed.
    pub(crate) snapshots: Recent<Digest, ()>,
    /// Blobs that are stored.
    pub(crate) blobs: Recent<Digest, Row>,
    pub(crate) numbers: HashMap<Meta, u64>,
    /// Whether any snapshot names a config or secret.
    pub(crate) any_names: Option<bool>,
    /// What is live in apps, and their plans: every deploy asks for both. Nothing where there is none.
    pointers: Recent<Pointer, Option<(Place, u64)>>,
    /// The releases of apps that can be reached, in the order in which they were made.
    pub(crate) releases: Recent<AppName, Vec<StandingRelease>>,
    /// The tags on an app's releases.
    pub(crate) release_tags: Recent<AppName, Vec<(ReleaseId, ReleaseId)>>,
}

impl Known {
    /// A living unit by name.
    pub(crate) fn unit(&self, key: &UnitKey) -> Option<&Unit> {
        self.names.get(key).and_then(|uid| self.units.get(uid))
    }

    /// Notes a living unit.
    pub(crate) fn note_unit(&mut self, unit: Unit) {
        self.names.put(unit.key.clone(), unit.uid);
        self.units.put(unit.uid, unit);
    }

    /// Where a pointer is, if that is known.
    pub(crate) fn pointer(&self, pointer: &Pointer) -> Option<Option<(Place, u64)>> {
        self.pointers.get(pointer).cloned()
    }

    /// Whether a pointer is known to be a tag that no release of its app has.
    pub(crate) fn lacks_release_tag(&self, pointer: &Pointer) -> bool {
        let Pointer::ReleaseTag { app, name } = pointer else { return false };
        self.release_tags.get(app).is_some_and(|tags| tags.iter().all(|(tag, _)| tag != name))
    }

    /// Notes where a pointer is, if it is one of those that every deploy asks for.
    pub(crate) fn note_pointer(&mut self, pointer: &Pointer, place: Option<(Place, u64)>) {
        if matches!(pointer, Pointer::Live { .. } | Pointer::Plan { .. }) {
            self.pointers.put(pointer.clone(), place);
        }
    }

    /// Forgets a unit that was changed.
    pub(crate) fn forget_unit(&mut self, uid: UnitUid) {
        self.units.remove(&uid);
    }
}

/// A map that starts anew when it is full.
pub(crate) struct Recent<K, V>(HashMap<K, V>);

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash, V> Recent<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.0.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.get_mut(key)
    }

    pub(crate) fn put(&mut self, key: K, value: V) {
        if self.0.len() >= ROWS_MAX {
            self.0.clear();
        }
        self.0.insert(key, value);
    }

    pub(crate) fn remove(&mut self, key: &K) {
        self.0.remove(key);
    }
}
