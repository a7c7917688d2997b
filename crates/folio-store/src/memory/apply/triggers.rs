//! Notes which functions triggers lead to, in memory.

use std::collections::BTreeSet;

use folio_model::{Digest, Name, Snapshot, Target, Unit};

use crate::memory::rows::Rows;

impl Rows {
    /// Aims a trigger at the functions its latest version names, or at nothing if it has none.
    pub(super) fn aim(&mut self, unit: &Unit, latest: Option<Digest>) {
        let before = self.aims.get(&unit.uid).cloned().unwrap_or_default();
        for function in before {
            let key = (unit.key.app.clone(), function);
            self.aimed_at.update(key, |triggers| triggers.remove(&unit.uid));
        }
        let Some(latest) = latest else { return self.aims.remove(&unit.uid) };
        let functions = self.targets_of(latest);
        for function in &functions {
            let key = (unit.key.app.clone(), function.clone());
            self.aimed_at.update(key, |triggers| triggers.insert(unit.uid));
        }
        self.aims.put(unit.uid, functions);
    }

    fn targets_of(&self, snapshot: Digest) -> BTreeSet<Name> {
        match self.snapshots.get(&snapshot) {
            Some(Snapshot::Trigger(spec)) => {
                spec.targets().iter().filter_map(Target::name).cloned().collect()
            }
            _ => BTreeSet::new(),
        }
    }
}
