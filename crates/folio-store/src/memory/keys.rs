//! Everything a ledger has a name for, so that two ledgers can be compared.

use std::collections::BTreeSet;
use std::hash::Hash;

use folio_model::{AppName, Digest, Name, Number, Pointer, UnitKey, UnitUid, VersionId};

use super::rows::Rows;
use super::table::Table;

/// The names of everything that ever was.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) apps: BTreeSet<AppName>,
    pub(crate) tokens: BTreeSet<String>,
    pub(crate) units: BTreeSet<UnitUid>,
    pub(crate) versions: BTreeSet<(UnitUid, VersionId)>,
    pub(crate) taken_ids: BTreeSet<(AppName, VersionId)>,
    pub(crate) moved: BTreeSet<Pointer>,
    pub(crate) app_versions: BTreeSet<(AppName, Number)>,
    pub(crate) builds: BTreeSet<Digest>,
    pub(crate) aimed_at: BTreeSet<(AppName, Name)>,
    pub(crate) named: BTreeSet<UnitKey>,
}

impl Rows {
    /// Everything these rows have a name for.
    pub(super) fn keys(&self) -> Keys {
        let aimed_at = self.aimed_at.range(..).filter(|(_, triggers)| !triggers.is_empty());
        let named = self.named_by.range(..).filter(|(_, units)| !units.is_empty());
        Keys {
            apps: of(&self.apps),
            tokens: of(&self.tokens),
            units: of(&self.units),
            versions: of(&self.ids),
            taken_ids: of(&self.taken_ids),
            moved: of(&self.moves),
            app_versions: of(&self.app_versions),
            builds: of(&self.builds),
            aimed_at: aimed_at.map(|(key, _)| key.clone()).collect(),
            named: named.map(|(key, _)| key.clone()).collect(),
        }
    }
}

fn of<K: Clone + Eq + Hash + Ord, V: Clone>(table: &Table<K, V>) -> BTreeSet<K> {
    table.range(..).map(|(key, _)| key.clone()).collect()
}
