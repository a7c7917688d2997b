//! Everything the ledger in memory holds, as tables that can be rolled back together.

use std::collections::{BTreeMap, BTreeSet};

use folio_core::ports::{StandingBinding, StandingCanary};
use folio_model::{
    Alias, Answer, AppName, AppVersion, BuildRecord, Digest, Entry, EntryHash, Kind, Name, Number,
    Place, Placement, Pointer, Snapshot, Tag, Target, Timestamp, TokenRecord, Unit, UnitKey,
    UnitUid, Version, VersionId, VersionKey,
};
use uuid::Uuid;

use super::table::{Journal, Table};

/// A unit and whether it lives.
#[derive(Clone)]
pub(super) struct UnitRow {
    pub(super) unit: Unit,
    pub(super) lives: bool,
}

/// What a unit is from one app version on, up to another.
#[derive(Clone)]
pub(super) struct Interval {
    pub(super) until: Option<Number>,
    pub(super) placement: Placement,
}

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident: $key:ty => $value:ty,)*) => {
        /// The tables.
        #[derive(Default)]
        pub(super) struct Rows {
            $($(#[$doc])* pub(super) $name: Table<$key, $value>,)*
        }

        impl Rows {
            fn tables(&mut self) -> Vec<&mut dyn Journal> {
                vec![$(&mut self.$name,)*]
            }
        }
    };
}

rows! {
    entries: u64 => Entry,
    hashes: u64 => EntryHash,
    app_entries: (AppName, u64) => (),
    /// The last entry that takes another back.
    undoing: u64 => u64,
    /// All apps, and whether they live.
    apps: AppName => bool,
    tokens: String => TokenRecord,
    answers: String => Answer,
    snapshots: Digest => Snapshot,
    /// When everything was in a version of the hub.
    storage_versions: String => Timestamp,
    /// The package that has a build key.
    recipes: Digest => Digest,
    builds: Digest => BuildRecord,
    /// All units, deleted ones too.
    units: UnitUid => UnitRow,
    app_units: (AppName, UnitUid) => (),
    /// Living units by name.
    names: UnitKey => UnitUid,
    /// All versions, deleted ones too.
    versions: VersionKey => Version,
    surviving: VersionKey => (),
    /// The builds that versions wait for, deleted ones too.
    waits: VersionKey => Digest,
    waiting: Digest => BTreeSet<VersionKey>,
    ids: (UnitUid, VersionId) => Number,
    taken_ids: (AppName, VersionId) => (),
    users: VersionKey => BTreeSet<VersionKey>,
    draft_users: VersionKey => BTreeSet<UnitUid>,
    aliases: UnitUid => BTreeMap<VersionId, Alias>,
    tags: AppName => BTreeMap<VersionId, Tag>,
    splits: UnitUid => Vec<Target>,
    canaries: (AppName, Name) => StandingCanary,
    bindings: (AppName, Uuid) => StandingBinding,
    /// Releases, the tags on them, what is live, and plans.
    app_pointers: Pointer => Place,
    targets: VersionKey => BTreeSet<Pointer>,
    moves: Pointer => BTreeSet<u64>,
    app_versions: (AppName, Number) => AppVersion,
    app_version_ids: (AppName, VersionId) => Number,
    app_version_times: (AppName, Timestamp, Number) => (),
    placements: (UnitUid, Number) => Interval,
    /// The functions each trigger's latest version names.
    aims: UnitUid => BTreeSet<Name>,
    aimed_at: (AppName, Name) => BTreeSet<UnitUid>,
    /// The configs and secrets that units name.
    names_of: UnitUid => BTreeSet<(Kind, Name)>,
    named_by: UnitKey => BTreeSet<UnitUid>,
}

impl Rows {
    /// Keeps what was done.
    pub(super) fn commit(&mut self) {
        self.tables().into_iter().for_each(Journal::commit);
    }

    /// Takes back what was done since the last commit.
    pub(super) fn roll_back(&mut self) {
        self.tables().into_iter().for_each(Journal::roll_back);
    }
}
