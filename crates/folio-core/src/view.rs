//! What verbs answer: flat, self-explaining values that doors encode as they are. Built from the state by the
//! functions here and nowhere else, so every face shows the same thing.

mod done;

use folio_model::{
    Actor, Alias, AppName, Build, Content, Digest, Git, Kind, Name, Number, PackageSpec, Snapshot,
    Tag, Timestamp, Unit, UnitUid, Version, VersionId, VersionKey,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ports::{State, StoreError};

pub use self::done::Done;

/// One version, with what points at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionView {
    /// The app.
    pub app: AppName,
    /// What it is a version of.
    pub kind: Kind,
    /// The unit's name.
    pub name: Name,
    /// Its number.
    pub number: Number,
    /// Its id.
    pub id: VersionId,
    /// The digest of its snapshot.
    pub digest: Digest,
    /// When it was published.
    pub created_at: Timestamp,
    /// Who published it.
    pub created_by: Actor,
    /// What its author says about it.
    pub description: String,
    /// When its description was last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described_at: Option<Timestamp>,
    /// Whether it is the unit's latest.
    pub latest: bool,
    /// The aliases that send calls to it.
    pub aliases: Vec<VersionId>,
    /// The tags it is a member of.
    pub tags: Vec<VersionId>,
    /// The package version a function uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<PackageUse>,
    /// How far the build of its package is.
    pub build: Build,
    /// Its complete spec.
    pub spec: Snapshot,
}

/// The package version behind a function version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageUse {
    /// The package.
    pub name: Name,
    /// Its version's number, once published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<Number>,
    /// Its version's id, once published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<VersionId>,
}

/// One unit as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitView {
    /// The app.
    pub app: AppName,
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// Its identity, which a later unit of the same name does not share.
    pub uid: UnitUid,
    /// Changes whenever the unit or one of its aliases does; what `--expect` and `If-Match` compare.
    pub revision: u64,
    /// Its latest version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<VersionView>,
    /// Its unpublished state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<DraftView>,
    /// Its aliases.
    pub aliases: Vec<AliasView>,
}

/// Unpublished state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftView {
    /// The digest of its snapshot.
    pub digest: Digest,
    /// The package a function draft uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<PackageUse>,
    /// How far the build of its package is.
    pub build: Build,
    /// Its complete spec.
    pub spec: Snapshot,
}

/// One alias.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AliasView {
    /// The function.
    pub function: Name,
    /// The alias.
    pub name: VersionId,
    /// Where it sends calls.
    pub targets: Vec<TargetView>,
    /// Changes whenever it moves.
    pub revision: u64,
}

/// One target of an alias.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetView {
    /// The version's number.
    pub number: Number,
    /// The version's id, as long as it survives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<VersionId>,
    /// Its share of 10,000.
    pub weight: u32,
}

/// One tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TagView {
    /// The app.
    pub app: AppName,
    /// The tag.
    pub name: VersionId,
    /// Its function versions.
    pub members: Vec<MemberView>,
    /// Changes whenever it does.
    pub revision: u64,
}

/// One member of a tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberView {
    /// The function.
    pub function: Name,
    /// The version's number.
    pub number: Number,
    /// The version's id.
    pub id: VersionId,
}

/// A published version, and the package version published with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// The version.
    pub version: VersionView,
    /// The package version that was published with a function made from files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<VersionView>,
}

/// What a delete removed, by reference.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// Units.
    pub units: Vec<UnitName>,
    /// Versions.
    pub versions: Vec<VersionName>,
    /// Aliases, as `function@alias`.
    pub aliases: Vec<String>,
}

/// A unit by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitName {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
}

/// A version by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionName {
    /// The unit's kind.
    pub kind: Kind,
    /// The unit's name.
    pub name: Name,
    /// The version's number.
    pub number: Number,
    /// The version's id.
    pub id: VersionId,
}

/// One move of a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MoveView {
    /// The ledger entry.
    pub entry: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Actor,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where it pointed; empty when it was made.
    pub from: Vec<TargetView>,
    /// Where it points since; empty when it was removed.
    pub to: Vec<TargetView>,
}

/// The whole app at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppView {
    /// The app version's id, which also names the group.
    pub id: VersionId,
    /// Its place in the app's history.
    pub number: Number,
    /// When it was made.
    pub at: Timestamp,
    /// Who made it.
    pub by: Actor,
    /// What was done.
    pub message: String,
    /// The author's work tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// Every unit and what it was.
    pub units: Vec<PlacedView>,
}

/// A unit in an app version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacedView {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// Its latest version's number then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<Number>,
    /// Its latest version's id then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<VersionId>,
    /// A newer version that could not be called then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<VersionId>,
    /// The snapshot an unqualified call meant then.
    pub digest: Digest,
    /// Whether that was a draft.
    pub draft: bool,
}

impl PlacedView {
    /// Its newest version then, whether that could be called or not.
    pub fn newest(&self) -> Option<&VersionId> {
        self.pending.as_ref().or(self.id.as_ref())
    }
}

/// What a reference means right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedView {
    /// The app.
    pub app: AppName,
    /// The unit's kind.
    pub kind: Kind,
    /// The unit's name.
    pub name: Name,
    /// Whether it is the draft.
    pub draft: bool,
    /// The versions a call may reach, with their shares.
    pub targets: Vec<TargetView>,
}

/// Where the files of a version can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// The version's id, or `draft`.
    pub id: String,
    /// The tree and its layout.
    pub content: Content,
    /// The archive they came from, byte for byte.
    pub archive: Option<Digest>,
}

impl VersionView {
    /// A version as it will be seen once the change that publishes it is written.
    pub(crate) fn new(
        unit: &Unit,
        version: Version,
        spec: Snapshot,
        package: Option<PackageUse>,
        build: Build,
    ) -> Self {
        Self {
            app: unit.key.app.clone(),
            kind: unit.key.kind,
            name: unit.key.name.clone(),
            number: version.number,
            id: version.id,
            digest: version.snapshot,
            created_at: version.created_at,
            created_by: version.created_by,
            description: version.description,
            described_at: version.described_at,
            latest: unit.latest == Some(version.number),
            aliases: Vec::new(),
            tags: Vec::new(),
            package,
            build,
            spec: spec.shown(),
        }
    }
}

pub(crate) fn version(
    state: &dyn State,
    unit: &Unit,
    version: Version,
) -> Result<VersionView, StoreError> {
    let key = VersionKey { unit: unit.uid, number: version.number };
    let spec = snapshot(state, version.snapshot)?;
    let (mut aliases, mut tags) = (Vec::new(), Vec::new());
    for pointer in state.pointers_to(key)? {
        match pointer {
            folio_model::Pointer::Alias { name, .. } => aliases.push(name),
            folio_model::Pointer::Tag { name, .. } => tags.push(name),
            _ => {}
        }
    }
    let package = package_use(state, &spec, version.uses)?;
    let build = build(state, &spec)?;
    Ok(VersionView { aliases, tags, ..VersionView::new(unit, version, spec, package, build) })
}

pub(crate) fn unit(state: &dyn State, unit: &Unit) -> Result<UnitView, StoreError> {
    let latest = match unit.latest {
        Some(number) => {
            let found = state.version(VersionKey { unit: unit.uid, number })?;
            found.map(|found| version(state, unit, found)).transpose()?
        }
        None => None,
    };
    let draft = match &unit.draft {
        Some(draft) => {
            let spec = snapshot(state, draft.snapshot)?;
            let package = package_use(state, &spec, draft.uses)?;
            let build = build(state, &spec)?;
            Some(DraftView { digest: draft.snapshot, package, build, spec })
        }
        None => None,
    };
    let aliases = state.aliases(unit.uid)?;
    let aliases =
        aliases.into_iter().map(|found| alias(state, unit, found)).collect::<Result<_, _>>()?;
    Ok(UnitView {
        app: unit.key.app.clone(),
        kind: unit.key.kind,
        name: unit.key.name.clone(),
        uid: unit.uid,
        revision: unit.revision,
        latest,
        draft,
        aliases,
    })
}

pub(crate) fn alias(state: &dyn State, unit: &Unit, alias: Alias) -> Result<AliasView, StoreError> {
    let targets = targets(state, unit.uid, alias.weights.shares())?;
    Ok(AliasView {
        function: unit.key.name.clone(),
        name: alias.name,
        targets,
        revision: alias.revision,
    })
}

pub(crate) fn targets(
    state: &dyn State,
    unit: UnitUid,
    shares: &[folio_model::Share],
) -> Result<Vec<TargetView>, StoreError> {
    let look = |share: &folio_model::Share| {
        let found = state.version(VersionKey { unit, number: share.number })?;
        Ok(TargetView {
            number: share.number,
            id: found.map(|version| version.id),
            weight: share.weight,
        })
    };
    shares.iter().map(look).collect()
}

pub(crate) fn tag(state: &dyn State, app: &AppName, tag: Tag) -> Result<TagView, StoreError> {
    let mut members = Vec::new();
    for (unit, number) in tag.members {
        let found = state.unit_by_uid(unit)?.zip(state.version(VersionKey { unit, number })?);
        let (unit, version) =
            found.ok_or_else(|| StoreError::corrupt(format!("tag `{}`", tag.name)))?;
        members.push(MemberView { function: unit.key.name, number, id: version.id });
    }
    members.sort_by(|a, b| a.function.cmp(&b.function));
    Ok(TagView { app: app.clone(), name: tag.name, members, revision: tag.revision })
}

pub(crate) fn snapshot(state: &dyn State, digest: Digest) -> Result<Snapshot, StoreError> {
    state.snapshot(digest)?.ok_or_else(|| StoreError::corrupt(format!("snapshot {digest}")))
}

pub(crate) fn package_use(
    state: &dyn State,
    spec: &Snapshot,
    uses: Option<VersionKey>,
) -> Result<Option<PackageUse>, StoreError> {
    let Snapshot::Function(spec) = spec else { return Ok(None) };
    let version = uses.map(|key| state.version(key)).transpose()?.flatten();
    Ok(Some(PackageUse {
        name: spec.package.name.clone(),
        number: version.as_ref().map(|version| version.number),
        id: version.map(|version| version.id),
    }))
}

pub(crate) fn build(state: &dyn State, spec: &Snapshot) -> Result<Build, StoreError> {
    match spec {
        Snapshot::Package(spec) => package_build(state, spec),
        Snapshot::Function(spec) => match snapshot(state, spec.package.snapshot)? {
            Snapshot::Package(package) => package_build(state, &package),
            _ => Err(StoreError::corrupt("a package's snapshot")),
        },
        Snapshot::Environment(_)
        | Snapshot::Trigger(_)
        | Snapshot::Config(_)
        | Snapshot::Secret(_)
        | Snapshot::Static(_) => Ok(Build::None),
    }
}

/// How far the build of a package is.
pub(crate) fn package_build(state: &dyn State, spec: &PackageSpec) -> Result<Build, StoreError> {
    let Some(key) = spec.build_key() else { return Ok(Build::None) };
    Ok(state.build(key)?.map_or(Build::Pending, |record| record.status()))
}

/// What has to be built before a function or package can run, if anything.
pub(crate) fn build_key(state: &dyn State, spec: &Snapshot) -> Result<Option<Digest>, StoreError> {
    match spec {
        Snapshot::Package(spec) => Ok(spec.build_key()),
        Snapshot::Function(spec) => {
            Ok(crate::compose::package_spec(state, spec.package.snapshot)?.build_key())
        }
        Snapshot::Environment(_)
        | Snapshot::Trigger(_)
        | Snapshot::Config(_)
        | Snapshot::Secret(_)
        | Snapshot::Static(_) => Ok(None),
    }
}
