//! What a bundle says of an app version: its units with the versions that are needed, and the values they hold. The bytes
//! follow it in the file. Nothing in it names an identity of the server it came from.

use std::collections::BTreeMap;

use folio_model::{
    Actor, AppName, Digest, Git, Kind, Marks, Name, Number, Origin, Owner, SecretKey, Snapshot,
    Timestamp, VersionId, Weights,
};
use serde::{Deserialize, Serialize};

/// The form of bundles that this program writes, and the newest it reads.
pub(super) const FORMAT: u32 = 1;

/// An app version, and everything that it needs but for the bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) format: u32,
    pub(super) app: AppName,
    pub(super) app_version: AppVersionSaid,
    /// Those first that others stand on.
    pub(super) units: Vec<UnitSaid>,
    /// What versions and drafts hold, by the digests they are named with.
    pub(super) snapshots: BTreeMap<Digest, SnapshotSaid>,
    /// The tags, with the versions of functions that each names.
    pub(super) tags: BTreeMap<VersionId, BTreeMap<Name, Number>>,
    /// The secrets that functions read, with the keys they had. Their values are not here.
    pub(super) secrets: BTreeMap<Name, Vec<SecretKey>>,
}

/// Where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AppVersionSaid {
    pub(super) id: VersionId,
    pub(super) number: Number,
    pub(super) at: Timestamp,
    pub(super) by: Actor,
    pub(super) message: String,
    pub(super) git: Option<Git>,
}

/// One unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UnitSaid {
    pub(super) kind: Kind,
    pub(super) name: Name,
    pub(super) origin: Origin,
    pub(super) owner: Option<Owner>,
    /// Its versions that something needs, oldest first.
    pub(super) versions: Vec<VersionSaid>,
    pub(super) draft: Option<DraftSaid>,
    pub(super) aliases: BTreeMap<VersionId, Weights>,
    pub(super) marks: Option<Marks>,
}

/// One version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct VersionSaid {
    pub(super) number: Number,
    pub(super) id: VersionId,
    pub(super) snapshot: Digest,
    pub(super) uses: Option<UseSaid>,
    pub(super) archive: Option<Digest>,
    pub(super) created_at: Timestamp,
    pub(super) created_by: Actor,
    pub(super) description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) described_at: Option<Timestamp>,
}

/// A draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DraftSaid {
    pub(super) snapshot: Digest,
    pub(super) uses: Option<UseSaid>,
    pub(super) archive: Option<Digest>,
}

/// The package version that a function uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UseSaid {
    pub(super) package: Name,
    pub(super) number: Number,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SnapshotSaid {
    /// Whether it was published in an older form than this, so that its digest is not that of what is here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) older: bool,
    pub(super) value: Snapshot,
}

impl Manifest {
    /// The trees and archives that it needs, each once, in order.
    pub(super) fn roots(&self) -> Vec<Digest> {
        let values = self.snapshots.values().flat_map(|said| said.value.contents());
        let trees = values.map(|content| content.tree);
        let versions = self.units.iter().flat_map(|unit| &unit.versions);
        let drafts = self.units.iter().filter_map(|unit| unit.draft.as_ref());
        let archives = versions.filter_map(|version| version.archive);
        let archives = archives.chain(drafts.filter_map(|draft| draft.archive));
        let mut roots: Vec<_> = trees.chain(archives).collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    /// The snapshots of what each unit is latest, with the unit's name.
    pub(super) fn newest(&self, kind: Kind) -> impl Iterator<Item = (&Name, &Snapshot)> {
        let units = self.units.iter().filter(move |unit| unit.kind == kind);
        units.filter_map(|unit| {
            let said = self.snapshots.get(&unit.versions.last()?.snapshot)?;
            Some((&unit.name, &said.value))
        })
    }
}
