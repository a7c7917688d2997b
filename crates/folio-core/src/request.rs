//! What verbs are asked: the fields of a unit as flags or bodies describe them, and who asks.

use std::collections::{BTreeMap, BTreeSet};

use folio_model::{
    Actor, AppName, Digest, Git, Grant, Labels, Layout, Name, Pointer, Qualifier, Reference,
    ReleaseId, Right, RunSettings, VersionId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::token;

/// Who asks, and in what circumstances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Who.
    pub actor: Actor,
    /// What they may do.
    pub grant: Grant,
    /// Why, in their words; kept in the ledger.
    pub reason: Option<String>,
    /// Where their files stand in git; kept in the ledger.
    pub git: Option<Git>,
    /// How to recognise the same request again.
    pub repeat: Option<Repeat>,
    /// What becomes of the app version that their change makes.
    pub releasing: Releasing,
    /// Whether what they ask for is to happen.
    pub run: Run,
    /// What they say about an object, in the same entry.
    pub marking: Option<Marking>,
    /// Pointers they have seen, each with the entry that had last moved it, or none where there was none. Nothing is
    /// changed if one has moved since.
    pub seen: Vec<(Pointer, Option<u64>)>,
}

/// What is said about an object of the app that is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marking {
    /// The object's identity.
    pub object: Uuid,
    /// What it is called, for people.
    pub name: String,
    /// Its labels, annotations and managers; none if it goes.
    pub said: Option<(Labels, Labels, Vec<serde_json::Value>)>,
    /// Whether the same entry makes it. What was said of another of its name does not hold then.
    pub is_new: bool,
}

/// Whether something is to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Run {
    /// It is.
    #[default]
    Real,
    /// Only whether it could is to be said; nothing is changed.
    Dry,
}

impl Caller {
    /// Someone who may do everything and gives no reason.
    pub fn new(actor: Actor) -> Self {
        Self {
            actor,
            grant: Grant::default(),
            reason: None,
            git: None,
            repeat: None,
            releasing: Releasing::default(),
            run: Run::Real,
            marking: None,
            seen: Vec::new(),
        }
    }

    /// Refuses what they may not do in an app; without one, for the server as a whole. What is refused does not
    /// depend on whether the app exists.
    pub fn may(&self, right: Right, app: Option<&AppName>) -> Result<(), token::Forbidden> {
        if self.grant.allows(right, app) {
            return Ok(());
        }
        let (actor, grant) = (self.actor.clone(), self.grant.clone());
        Err(token::Forbidden { actor, grant, right, app: app.cloned() })
    }

    /// Refuses a reference into an app in which they may not do this; one that names no app stays where it is written.
    /// Every verb that is given a reference asks this before it looks at anything, so no door has to.
    pub(crate) fn may_name(
        &self,
        right: Right,
        reference: &Reference,
    ) -> Result<(), token::Forbidden> {
        reference.app.as_ref().map_or(Ok(()), |app| self.may(right, Some(app)))
    }

    /// Refuses what they may do nowhere.
    pub fn may_somewhere(&self, right: Right) -> Result<(), token::Forbidden> {
        self.may(right, self.grant.app.as_ref())
    }
}

/// What becomes of the app version that a change makes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Releasing {
    /// It is released, and live if live follows.
    #[default]
    Release,
    /// It is kept from being released.
    Hold,
    /// It is released, and live follows from here on.
    Promote,
    /// It is released aside, under a tag, in place of what was there; everybody else sees nothing of it.
    Aside(ReleaseId),
}

impl Releasing {
    /// Whether what everybody sees stays as it is.
    pub(crate) fn is_held(&self) -> bool {
        matches!(self, Self::Hold | Self::Aside(_))
    }
}

/// An idempotency key and the request it was used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// What the client chose.
    pub key: String,
    /// The digest of everything that decides the outcome.
    pub request: Digest,
}

/// Files on the server, as a client names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", untagged, deny_unknown_fields)]
pub enum ContentRef {
    /// A tree whose nodes were uploaded.
    Tree {
        /// The root directory's node.
        tree: Digest,
        /// One bare file or a directory.
        layout: Layout,
    },
    /// An uploaded archive, to be unpacked.
    Archive {
        /// The archive's digest.
        archive: Digest,
    },
}

/// The fields of a function or package that a command gives; what it leaves out comes from where it starts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fields {
    /// The environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Name>,
    /// Files to build from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ContentRef>,
    /// Files to run as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<ContentRef>,
    /// How to build the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_command: Option<String>,
    /// The package a function takes its code from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<Name>,
    /// What a function calls inside its package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<String>,
    /// How a function is run; variables are laid over those it has.
    #[serde(default, skip_serializing_if = "RunSettings::is_default")]
    pub run: RunSettings,
    /// Environment variables that a function loses.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unset: BTreeSet<String>,
    /// The configs a function reads, in place of those it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configs: Option<Vec<Mounting>>,
    /// The secrets a function reads, in place of those it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Vec<Mounting>>,
    /// What a function's metadata says besides its name, laid over what it says; folio keeps it and never reads it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A config or secret that a function reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mounting {
    /// Its name.
    pub name: Name,
    /// The directory for its files, where it is not to be the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount_path: Option<String>,
}

/// What a new version starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// The fields alone, or the draft where they hold no content.
    Fresh,
    /// The latest version, with the fields laid over it.
    Latest,
}

/// What to do when a version would equal the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IfSame {
    /// Publish it; it shares all storage.
    #[default]
    Publish,
    /// Answer with the latest and change nothing.
    Keep,
}

/// What to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publish {
    /// The fields given.
    pub fields: Fields,
    /// What they are laid over.
    pub start: Start,
    /// The id of the new version; with a package, also of the package version to use.
    pub id: Option<VersionId>,
    /// The id of the package version to use, when it differs.
    pub package_version: Option<VersionId>,
    /// What to say about it.
    pub description: String,
    /// What to do when nothing changed.
    pub if_same: IfSame,
    /// A tag to add the version to.
    pub tag: Option<VersionId>,
    /// The unit's revision the caller has seen.
    pub expect: Option<u64>,
    /// What becomes of the draft that is published.
    pub draft: Drafted,
}

/// What becomes of a draft that is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Drafted {
    /// It goes: the version is what it was.
    #[default]
    Clears,
    /// It stays, to be worked on.
    Stays,
}

impl Publish {
    /// A new version of what fields describe, under a random id and without further ado.
    pub fn fresh(fields: Fields) -> Self {
        Self {
            fields,
            start: Start::Fresh,
            id: None,
            package_version: None,
            description: String::new(),
            if_same: IfSame::Publish,
            tag: None,
            expect: None,
            draft: Drafted::Clears,
        }
    }
}

/// Whether a draft may exist already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Onto {
    /// The name must be unused.
    Nothing,
    /// Lay the fields over the draft, or over the latest version where there is none.
    Existing,
}

/// Which versions to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// One.
    One(Qualifier),
    /// Every one.
    All,
}

/// Whether pointers outside the deleted thing go along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cascade {
    /// Refuse, naming them.
    No,
    /// Take the memberships in tags, and the routes, along.
    Yes,
}

/// Where to point an alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasTarget {
    /// A version: number, id, another alias that is not split, or latest.
    pub version: Qualifier,
    /// Its share of 10,000.
    pub weight: u32,
}

/// What must hold for a pointer to be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// It must not exist yet.
    Absent,
    /// It must exist.
    Present,
    /// It must be as it was at this revision.
    Revision(u64),
}
