//! Which slots there are, and which of them an entry concerns. Looking that up costs one hash lookup per edit,
//! however many slots there are.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use folio_model::{AppName, Digest, Edit, Entry, Kind, Name, Reference, UnitUid, VersionKey};

use super::Slot;

/// Something whose change may change what a slot means.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Interest {
    /// A function of this name appears.
    Name(AppName, Name),
    /// Anything of a function but what a version says of itself.
    Unit(UnitUid),
    /// A version goes, returns or becomes callable.
    Version(VersionKey),
    /// A build ends.
    Build(Digest),
}

/// All slots.
#[derive(Default)]
pub(super) struct Table(RwLock<Rows>);

#[derive(Default)]
struct Rows {
    slots: HashMap<AppName, HashMap<Reference, Arc<Slot>>>,
    interested: HashMap<Interest, Vec<Arc<Slot>>>,
    count: usize,
}

/// How many slots there may be before those nobody holds or used lately go.
const SLOTS_MAX: usize = 65_536;

impl Table {
    /// The slot of a reference, if there is one.
    pub(super) fn get(&self, app: &AppName, reference: &Reference) -> Option<Arc<Slot>> {
        let rows = self.read();
        let slot = rows.slots.get(app)?.get(reference)?;
        slot.used.store(true, Ordering::Relaxed);
        Some(Arc::clone(slot))
    }

    /// The slot of a reference, made if there is none. Returns the slots that had to leave for it.
    pub(super) fn add(&self, app: &AppName, reference: &Reference) -> (Arc<Slot>, Vec<Arc<Slot>>) {
        let mut rows = self.write();
        let gone = if rows.count >= SLOTS_MAX { rows.evict() } else { Vec::new() };
        let slots = rows.slots.entry(app.clone()).or_default();
        let before = slots.len();
        let slot = slots.entry(reference.clone()).or_insert_with(|| Slot::empty(app, reference));
        let slot = Arc::clone(slot);
        let added = slots.len() - before;
        rows.count += added;
        (slot, gone)
    }

    /// Notes what a slot depends on. Returns whether all of that was noted before.
    pub(super) fn note(&self, slot: &Arc<Slot>, interests: HashSet<Interest>) -> bool {
        let known = {
            let standing = slot.standing();
            interests.is_subset(&standing.interests)
        };
        if known {
            return true;
        }
        let mut rows = self.write();
        let mut standing = slot.standing();
        for interest in interests {
            if standing.interests.insert(interest.clone()) {
                rows.interested.entry(interest).or_default().push(Arc::clone(slot));
            }
        }
        false
    }

    /// The slots that an entry concerns, each once.
    pub(super) fn concerned(&self, entry: &Entry) -> Vec<Arc<Slot>> {
        let rows = self.read();
        if rows.interested.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<Arc<Slot>> = Vec::new();
        for edit in &entry.edits {
            touched(edit, &mut |interest| {
                for slot in rows.interested.get(&interest).into_iter().flatten() {
                    if !found.iter().any(|known| Arc::ptr_eq(known, slot)) {
                        found.push(Arc::clone(slot));
                    }
                }
            });
        }
        found
    }

    // Nothing that holds the lock leaves the rows half changed.

    fn read(&self) -> RwLockReadGuard<'_, Rows> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Rows> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    /// Lets go of the slots that nobody holds and nobody asked for since the last time.
    fn evict(&mut self) -> Vec<Arc<Slot>> {
        let mut gone = Vec::new();
        for slots in self.slots.values_mut() {
            slots.retain(|_, slot| {
                // The table holds it once by name and once for each interest.
                let own = 1 + slot.standing().interests.len();
                let idle = Arc::strong_count(slot) == own;
                let keep = !idle || slot.used.swap(false, Ordering::Relaxed);
                if !keep {
                    gone.push(Arc::clone(slot));
                }
                keep
            });
        }
        for slot in &gone {
            for interest in slot.standing().interests.drain() {
                if let Some(interested) = self.interested.get_mut(&interest) {
                    interested.retain(|other| !Arc::ptr_eq(other, slot));
                    if interested.is_empty() {
                        self.interested.remove(&interest);
                    }
                }
            }
        }
        self.count -= gone.len();
        gone
    }
}

/// What an edit changes, as far as slots can be interested in it.
fn touched(edit: &Edit, tell: &mut dyn FnMut(Interest)) {
    match edit {
        Edit::CreateUnit { uid, key, .. } | Edit::RestoreUnit { uid, key } => {
            if key.kind == Kind::Function {
                tell(Interest::Name(key.app.clone(), key.name.clone()));
                tell(Interest::Unit(*uid));
            }
        }
        Edit::DeleteUnit { uid, .. } | Edit::SetDraft { uid, .. } | Edit::Publish { uid, .. } => {
            tell(Interest::Unit(*uid));
        }
        Edit::DeleteVersion { uid, version } | Edit::RestoreVersion { uid, version } => {
            tell(Interest::Version(VersionKey { unit: *uid, number: version.number }));
            tell(Interest::Unit(*uid));
        }
        Edit::Built { key, readies, .. } => {
            tell(Interest::Build(*key));
            for ready in readies {
                tell(Interest::Version(*ready));
                tell(Interest::Unit(ready.unit));
            }
        }
        Edit::Forget { key, .. } => tell(Interest::Build(*key)),
        Edit::Move { .. } => {
            if let Some(uid) = edit.unit() {
                tell(Interest::Unit(uid));
            }
        }
        Edit::Describe { .. } | Edit::Own { .. } => {}
        Edit::CreateApp { .. }
        | Edit::DeleteApp { .. }
        | Edit::AddToken { .. }
        | Edit::RevokeToken { .. } => {}
    }
}
