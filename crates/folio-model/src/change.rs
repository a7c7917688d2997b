//! Changes: how anything ever changes. One command makes one [`Change`]; the ledger keeps it as one [`Entry`].
//!
//! An edit says what it replaces, so that it can be compared before and inverted after. There is no edit that
//! alters a version, a snapshot or a blob.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Actor, AppName, BuildRecord, Digest, Draft, Git, Number, Origin, Owner, Place, Placement,
    Pointer, Snapshot, Timestamp, TokenRecord, UnitKey, UnitUid, Version, VersionId, VersionKey,
    canonical,
};

/// One step of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "edit", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Edit {
    /// An app appears.
    CreateApp {
        /// Its name.
        app: AppName,
    },
    /// An app without units leaves. Its name is never given to another.
    DeleteApp {
        /// Its name.
        app: AppName,
    },
    /// A token may now be used.
    AddToken {
        /// Its public part.
        id: String,
        /// The rest.
        #[serde(flatten)]
        token: TokenRecord,
    },
    /// A token may no longer be used.
    RevokeToken {
        /// Its public part.
        id: String,
        /// The rest.
        #[serde(flatten)]
        token: TokenRecord,
    },
    /// A unit appears under a free name.
    CreateUnit {
        /// Its identity.
        uid: UnitUid,
        /// Its name.
        key: UnitKey,
        /// Who asked for it.
        origin: Origin,
    },
    /// A unit without draft, versions and aliases leaves, and its name is free.
    DeleteUnit {
        /// The unit.
        uid: UnitUid,
        /// Its name.
        key: UnitKey,
    },
    /// A deleted unit returns to its name, its counter where it was.
    RestoreUnit {
        /// The unit.
        uid: UnitUid,
        /// Its name.
        key: UnitKey,
    },
    /// A unit comes to belong to a deployment, or to none.
    Own {
        /// The unit.
        uid: UnitUid,
        /// Whose it was.
        from: Option<Owner>,
        /// Whose it is now.
        to: Option<Owner>,
    },
    /// A draft is set, replaced or cleared.
    SetDraft {
        /// The unit.
        uid: UnitUid,
        /// What was there.
        from: Option<Draft>,
        /// What is there now.
        to: Option<Draft>,
    },
    /// A version is published. Its number is the unit's next or, where versions before it were left behind, a later one.
    Publish {
        /// The unit.
        uid: UnitUid,
        /// The version.
        version: Version,
        /// Whether it has to be built before it can be called.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waits: bool,
    },
    /// A version leaves its tracker.
    DeleteVersion {
        /// The unit.
        uid: UnitUid,
        /// The version, with its description of that moment.
        version: Version,
    },
    /// A deleted version returns under its own number.
    RestoreVersion {
        /// The unit.
        uid: UnitUid,
        /// The version.
        version: Version,
    },
    /// A version is described in other words.
    Describe {
        /// The unit.
        uid: UnitUid,
        /// The version's number.
        number: Number,
        /// The words before.
        from: String,
        /// The words now.
        to: String,
        /// When it had been described so before, if that was not when it was published.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_at: Option<Timestamp>,
        /// When it is described so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_at: Option<Timestamp>,
    },
    /// A build ended, and the versions that waited for it can be called, or never.
    Built {
        /// What was built.
        key: Digest,
        /// How a build of the same ended before, where one is done again.
        from: Option<BuildRecord>,
        /// How it ended.
        to: BuildRecord,
        /// The surviving versions it makes callable.
        readies: Vec<VersionKey>,
    },
    /// A build whose result was given back is forgotten, so that it can be done again.
    Forget {
        /// What was built.
        key: Digest,
        /// How it ended.
        from: BuildRecord,
    },
    /// A pointer is made, moved or removed.
    Move {
        /// The pointer.
        pointer: Pointer,
        /// Where it pointed.
        from: Option<Place>,
        /// Where it points now.
        to: Option<Place>,
    },
}

impl Edit {
    /// The edit that takes this one back, or none for what is never taken back.
    pub fn inverse(self) -> Option<Self> {
        Some(match self {
            Self::CreateApp { .. }
            | Self::DeleteApp { .. }
            | Self::AddToken { .. }
            | Self::RevokeToken { .. }
            | Self::Built { .. }
            | Self::Forget { .. } => return None,
            Self::CreateUnit { uid, key, .. } | Self::RestoreUnit { uid, key } => {
                Self::DeleteUnit { uid, key }
            }
            Self::DeleteUnit { uid, key } => Self::RestoreUnit { uid, key },
            Self::Own { uid, from, to } => Self::Own { uid, from: to, to: from },
            Self::SetDraft { uid, from, to } => Self::SetDraft { uid, from: to, to: from },
            Self::Publish { uid, version, .. } | Self::RestoreVersion { uid, version } => {
                Self::DeleteVersion { uid, version }
            }
            Self::DeleteVersion { uid, version } => Self::RestoreVersion { uid, version },
            Self::Describe { uid, number, from, to, from_at, to_at } => {
                Self::Describe { uid, number, from: to, to: from, from_at: to_at, to_at: from_at }
            }
            Self::Move { pointer, from, to } => Self::Move { pointer, from: to, to: from },
        })
    }

    /// The unit it touches, if it touches one.
    pub fn unit(&self) -> Option<UnitUid> {
        match self {
            Self::CreateUnit { uid, .. }
            | Self::DeleteUnit { uid, .. }
            | Self::RestoreUnit { uid, .. }
            | Self::Own { uid, .. }
            | Self::SetDraft { uid, .. }
            | Self::Publish { uid, .. }
            | Self::DeleteVersion { uid, .. }
            | Self::RestoreVersion { uid, .. }
            | Self::Describe { uid, .. } => Some(*uid),
            Self::Move { pointer, .. } => pointer.unit(),
            Self::CreateApp { .. }
            | Self::DeleteApp { .. }
            | Self::AddToken { .. }
            | Self::RevokeToken { .. }
            | Self::Built { .. }
            | Self::Forget { .. } => None,
        }
    }
}

/// What one command wants to happen, all or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The app it happens in.
    pub app: AppName,
    /// When.
    pub at: Timestamp,
    /// Who asked.
    pub by: Actor,
    /// What was done, in words: `publish function hello as v1.0.0`.
    pub message: String,
    /// Why, in the author's words.
    pub reason: Option<String>,
    /// The steps, in order.
    pub edits: Vec<Edit>,
    /// Values the steps name and the store may not have yet.
    pub snapshots: Vec<Snapshot>,
    /// Blobs that must exist when the change is written, and are kept from the sweep from then on.
    pub requires: Vec<Digest>,
    /// Blobs that lose a user: their grace period starts now.
    pub frees: Vec<Digest>,
    /// The id of the app version this makes, if the map from unit to snapshot changed.
    pub app_version: Option<VersionId>,
    /// The units whose place in that map changed, each once: what they are now, or nothing.
    pub placements: Vec<(UnitUid, Option<Placement>)>,
    /// The author's work tree.
    pub git: Option<Git>,
    /// The entry this takes back.
    pub undoes: Option<u64>,
    /// Whether it takes a move back as a rollback does: a command of its own, which an undo may take back.
    pub rollback: bool,
    /// Whether its author wants the app version kept from being released.
    pub unreleased: bool,
    /// The answer to give again when the same request is repeated.
    pub answer: Option<Answer>,
}

/// The remembered answer of a request that carried an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The key the client chose.
    pub key: String,
    /// The digest of the request, so that the key cannot be used for another.
    pub request: Digest,
    /// What was answered.
    pub body: Value,
}

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its place: 1, 2, 3, over all apps.
    pub seq: u64,
    /// The app.
    pub app: AppName,
    /// When. Tells nothing about order; `seq` does.
    pub at: Timestamp,
    /// Who.
    pub by: Actor,
    /// What was done.
    pub message: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The steps.
    pub edits: Vec<Edit>,
    /// The app version it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<VersionId>,
    /// The author's work tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// The entry it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// Whether it takes a move back as a rollback does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rollback: bool,
    /// Whether its author wanted the app version kept from being released.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreleased: bool,
}

/// The hash of an entry and, through it, of every entry before.
pub type EntryHash = Digest;

impl Entry {
    /// The entry a change becomes at a place in the ledger.
    pub fn of(change: &Change, seq: u64) -> Self {
        Self {
            seq,
            app: change.app.clone(),
            at: change.at,
            by: change.by.clone(),
            message: change.message.clone(),
            reason: change.reason.clone(),
            edits: change.edits.clone(),
            app_version: change.app_version.clone(),
            git: change.git.clone(),
            undoes: change.undoes,
            rollback: change.rollback,
            unreleased: change.unreleased,
        }
    }

    /// Chains the entry to the one before, so that no line can be altered unnoticed.
    pub fn hash(&self, previous: EntryHash) -> EntryHash {
        Self::hash_of(&canonical::encode(self), previous)
    }

    /// As [`Entry::hash`], of an entry that is encoded already.
    pub fn hash_of(encoded: &[u8], previous: EntryHash) -> EntryHash {
        Digest::of(&[previous.as_bytes(), encoded].concat())
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn any_uid() -> impl Strategy<Value = UnitUid> {
        any::<u128>().prop_map(|number| UnitUid(uuid::Uuid::from_u128(number)))
    }

    fn any_digest() -> impl Strategy<Value = Digest> {
        any::<[u8; 32]>().prop_map(Digest::from_bytes)
    }

    fn any_number() -> impl Strategy<Value = Number> {
        (1..=i64::MAX as u64).prop_map(|number| Number::new(number).unwrap())
    }

    fn any_key() -> impl Strategy<Value = VersionKey> {
        (any_uid(), any_number()).prop_map(|(unit, number)| VersionKey { unit, number })
    }

    fn any_moment() -> impl Strategy<Value = Timestamp> {
        (0..4_000_000_000_i64).prop_map(|second| Timestamp::from_second(second).unwrap())
    }

    fn any_draft() -> impl Strategy<Value = Option<Draft>> {
        let parts = (any_digest(), option::of(any_key()), option::of(any_digest()));
        option::of(parts.prop_map(|(snapshot, uses, archive)| Draft { snapshot, uses, archive }))
    }

    fn any_version() -> impl Strategy<Value = Version> {
        let what = (any_number(), "v[a-z]{1,9}", any_digest());
        let why = (any_moment(), "[a-z ]{0,9}", option::of(any_moment()));
        (what, option::of(any_key()), option::of(any_digest()), why).prop_map(
            |((number, id, snapshot), uses, archive, (created_at, description, described_at))| {
                Version {
                    number,
                    id: id.parse().unwrap(),
                    snapshot,
                    uses,
                    archive,
                    created_at,
                    created_by: "ada".parse().unwrap(),
                    description,
                    described_at,
                }
            },
        )
    }

    fn any_record() -> impl Strategy<Value = BuildRecord> {
        let content =
            any_digest().prop_map(|tree| crate::Content { tree, layout: crate::Layout::File });
        (option::of(content), option::of(any_digest()), option::of("[a-z ]{1,9}"), any_moment())
            .prop_map(|(result, log, failure, at)| BuildRecord { result, log, failure, at })
    }

    fn any_unit_key() -> impl Strategy<Value = UnitKey> {
        ("[a-z]{1,9}", "[a-zA-Z]{1,9}", proptest::sample::select(&crate::Kind::ALL[..])).prop_map(
            |(app, name, kind)| UnitKey {
                app: app.parse().unwrap(),
                kind,
                name: name.parse().unwrap(),
            },
        )
    }

    fn any_place() -> impl Strategy<Value = Option<Place>> {
        let members = proptest::collection::btree_map(any_uid(), any_number(), 0..4);
        option::of(members.prop_map(Place::Members))
    }

    fn any_move() -> impl Strategy<Value = Edit> {
        let pointer = ("[a-z]{1,9}", "v[a-z]{1,9}").prop_map(|(app, name)| Pointer::Tag {
            app: app.parse().unwrap(),
            name: name.parse().unwrap(),
        });
        let moved = |(pointer, from, to)| Edit::Move { pointer, from, to };
        (pointer, any_place(), any_place()).prop_map(moved)
    }

    /// Edits of units and their drafts.
    fn any_unit_edit() -> impl Strategy<Value = Edit> {
        let owner = ("[a-z]{1,9}", "[a-z]{1,9}").prop_map(|(uid, name)| Owner { uid, name });
        let owner = option::of(owner);
        let origin = proptest::sample::select(&[Origin::User, Origin::Implied][..]);
        prop_oneof![
            (any_uid(), any_unit_key(), origin).prop_map(|(uid, key, origin)| Edit::CreateUnit {
                uid,
                key,
                origin
            }),
            (any_uid(), any_unit_key()).prop_map(|(uid, key)| Edit::DeleteUnit { uid, key }),
            (any_uid(), any_unit_key()).prop_map(|(uid, key)| Edit::RestoreUnit { uid, key }),
            (any_uid(), owner.clone(), owner).prop_map(|(uid, from, to)| Edit::Own {
                uid,
                from,
                to
            }),
            (any_uid(), any_draft(), any_draft()).prop_map(|(uid, from, to)| Edit::SetDraft {
                uid,
                from,
                to
            }),
        ]
    }

    /// Edits of versions and builds.
    fn any_version_edit() -> impl Strategy<Value = Edit> {
        let words = || ("[a-z ]{0,5}", option::of(any_moment()));
        let described = (any_uid(), any_number(), words(), words());
        prop_oneof![
            (any_uid(), any_version(), any::<bool>())
                .prop_map(|(uid, version, waits)| Edit::Publish { uid, version, waits }),
            (any_uid(), any_version())
                .prop_map(|(uid, version)| Edit::DeleteVersion { uid, version }),
            (any_uid(), any_version())
                .prop_map(|(uid, version)| Edit::RestoreVersion { uid, version }),
            described.prop_map(|(uid, number, (from, from_at), (to, to_at))| {
                Edit::Describe { uid, number, from, to, from_at, to_at }
            }),
            (any_digest(), option::of(any_record()), any_record(), vec(any_key(), 0..4))
                .prop_map(|(key, from, to, readies)| Edit::Built { key, from, to, readies }),
            (any_digest(), any_record()).prop_map(|(key, from)| Edit::Forget { key, from }),
        ]
    }

    /// Edits of apps and tokens.
    fn any_other_edit() -> impl Strategy<Value = Edit> {
        let token = || {
            ("[a-z]{1,9}", any_digest()).prop_map(|(id, secret)| {
                let (actor, terms) = ("ada".parse().unwrap(), crate::TokenTerms::default());
                (id, TokenRecord { secret, actor, terms })
            })
        };
        prop_oneof![
            "[a-z]{1,9}".prop_map(|app| Edit::CreateApp { app: app.parse().unwrap() }),
            "[a-z]{1,9}".prop_map(|app| Edit::DeleteApp { app: app.parse().unwrap() }),
            token().prop_map(|(id, token)| Edit::AddToken { id, token }),
            token().prop_map(|(id, token)| Edit::RevokeToken { id, token }),
        ]
    }

    fn any_edit() -> impl Strategy<Value = Edit> {
        prop_oneof![any_unit_edit(), any_version_edit(), any_other_edit(), any_move()]
    }

    proptest! {
        #[test]
        fn what_was_taken_back_can_be_done_again_and_taken_back_again(edit in any_edit()) {
            let Some(back) = edit.clone().inverse() else {
                // Never taken back: it is about no unit's state, or about a build that ended.
                prop_assert_eq!(edit.unit(), None);
                return Ok(());
            };
            prop_assert_eq!(back.unit(), edit.unit());
            let again = back.clone().inverse().unwrap();
            prop_assert_eq!(again.clone().inverse(), Some(back));
            // Only the first appearance of a unit or version is another edit than its return.
            if !matches!(edit, Edit::CreateUnit { .. } | Edit::Publish { .. }) {
                prop_assert_eq!(again, edit);
            }
        }

        #[test]
        fn an_edit_reads_back(edit in any_edit()) {
            let text = serde_json::to_string(&edit).unwrap();
            prop_assert_eq!(serde_json::from_str::<Edit>(&text).unwrap(), edit);
        }
    }
}
