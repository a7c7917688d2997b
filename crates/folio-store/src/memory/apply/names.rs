//! Notes which configs and secrets units name, in memory.

use std::collections::BTreeSet;

use folio_model::{Change, Edit, Kind, Name, Unit, UnitKey, UnitUid, VersionKey};

use crate::memory::rows::Rows;

impl Rows {
    /// Finds out anew what the units that a change touched name.
    pub(super) fn note_names(&mut self, change: &Change) {
        let touched: BTreeSet<UnitUid> = change.edits.iter().flat_map(touched).collect();
        for uid in touched {
            let Some(row) = self.units.get(&uid).cloned() else { continue };
            let app = row.unit.key.app.clone();
            let key = |(kind, name)| UnitKey { app: app.clone(), kind, name };
            for before in self.names_of.get(&uid).cloned().unwrap_or_default() {
                self.named_by.update(key(before), |units| units.remove(&uid));
            }
            let names = if row.lives { self.standing_names(&row.unit) } else { BTreeSet::new() };
            for name in names.clone() {
                self.named_by.update(key(name), |units| units.insert(uid));
            }
            self.names_of.put(uid, names);
        }
    }

    /// What a unit's latest and newest version and its draft name.
    fn standing_names(&self, unit: &Unit) -> BTreeSet<(Kind, Name)> {
        let numbers = unit.latest.into_iter().chain(unit.newest);
        let versions =
            numbers.filter_map(|number| self.versions.get(&VersionKey { unit: unit.uid, number }));
        let snapshots = versions.map(|version| version.snapshot);
        let snapshots = snapshots.chain(unit.draft.as_ref().map(|draft| draft.snapshot));
        let snapshots = snapshots.filter_map(|digest| self.snapshots.get(&digest));
        snapshots.flat_map(|one| one.named().map(|(kind, pin)| (kind, pin.name.clone()))).collect()
    }
}

/// The units whose versions or draft an edit may change.
fn touched(edit: &Edit) -> Vec<UnitUid> {
    match edit {
        Edit::Built { readies, .. } => readies.iter().map(|key| key.unit).collect(),
        other => other.unit().into_iter().collect(),
    }
}
