//! What configs and secrets share: a function freezes those it names, and a change of one gives every function
//! that names it a new version in the same entry. Nothing here tells a secret's value.

use std::collections::{BTreeMap, HashSet};

use folio_model::{
    AppName, Build, ConfigKeyError, Digest, Draft, FunctionSpec, Kind, MountPin, Name, Origin,
    Snapshot, SnapshotError, Unit, UnitKey, UnitUid, Version, VersionKey,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::builder::{Builder, NewVersion};
use crate::compose::{self, Freeze, Scope};
use crate::ports::{State, StoreError, VaultError};
use crate::request::{Caller, Cascade, Mounting, Onto};
use crate::view::{self, Done, Removed, VersionName, VersionView};
use crate::{Class, Code, Explain, Folio, code, delete, folio, history, publish, resolve};

/// No config or secret of a name.
#[derive(Debug, thiserror::Error)]
#[error("{kind} `{name}` does not exist")]
pub struct NotFound {
    /// Which of the two.
    pub kind: Kind,
    /// The name.
    pub name: Name,
    /// What exists.
    pub known: Vec<String>,
}

impl Explain for NotFound {
    fn code(&self) -> Code {
        match self.kind {
            Kind::Secret => Code("secret_not_found"),
            _ => Code("config_not_found"),
        }
    }

    fn class(&self) -> Class {
        Class::NotFound
    }

    fn hint(&self) -> Option<String> {
        let make = match self.kind {
            Kind::Secret => format!("folio secret create {} --value KEY=VALUE", self.name),
            _ => format!("folio config set --name {} KEY=VALUE", self.name),
        };
        Some(match self.known.as_slice() {
            [] => format!("make it with `{make}`"),
            known => format!("there are {}; make it with `{make}`", known.join(", ")),
        })
    }
}

/// Why a config or secret was not found or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none of that name.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// It exists already.
    #[error("{kind} `{name}` already exists")]
    Exists {
        /// Which of the two.
        kind: Kind,
        /// The name.
        name: Name,
    },
    /// It is not as the caller saw it.
    #[error("{kind} `{name}` is at revision {found}, not {expected}")]
    Stale {
        /// Which of the two.
        kind: Kind,
        /// The name.
        name: Name,
        /// What the caller saw.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// A value that is not there.
    #[error("{kind} `{name}` has no `{key}`")]
    NoKey {
        /// Which of the two.
        kind: Kind,
        /// The name.
        name: Name,
        /// The key.
        key: String,
        /// The keys there are.
        known: Vec<String>,
    },
    /// Nothing to make it of.
    #[error("nothing was given for {kind} `{name}`")]
    Nothing {
        /// Which of the two.
        kind: Kind,
        /// The name.
        name: Name,
    },
    /// A key that is none.
    #[error(transparent)]
    Key(#[from] ConfigKeyError),
    /// The values are too many, or too long.
    #[error(transparent)]
    Spec(#[from] SnapshotError),
    /// Nothing could be sealed or opened.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// What publishing refuses.
    #[error(transparent)]
    Publish(#[from] Box<publish::Error>),
    /// What deleting refuses.
    #[error(transparent)]
    Delete(#[from] delete::Error),
    /// What looking at an app refuses.
    #[error(transparent)]
    History(#[from] Box<history::Error>),
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl From<publish::Error> for Error {
    fn from(error: publish::Error) -> Self {
        match error {
            publish::Error::Folio(error) => Self::Folio(error),
            error => Self::Publish(Box::new(error)),
        }
    }
}

impl From<history::Error> for Error {
    fn from(error: history::Error) -> Self {
        match error {
            history::Error::Folio(error) => Self::Folio(error),
            error => Self::History(Box::new(error)),
        }
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::NotFound(error) => error.code(),
            Self::Exists { .. } => Code("unit_exists"),
            Self::Stale { .. } => Code("stale"),
            Self::NoKey { .. } => Code("key_not_found"),
            Self::Nothing { .. } | Self::Key(_) | Self::Spec(_) => Code("bad_spec"),
            Self::Vault(error) => error.code(),
            Self::Publish(error) => error.code(),
            Self::Delete(error) => error.code(),
            Self::History(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NotFound(error) => error.class(),
            Self::Exists { .. } | Self::Stale { .. } => Class::Conflict,
            Self::NoKey { .. } => Class::NotFound,
            Self::Nothing { .. } | Self::Key(_) | Self::Spec(_) => Class::Invalid,
            Self::Vault(error) => error.class(),
            Self::Publish(error) => error.class(),
            Self::Delete(error) => error.class(),
            Self::History(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound(error) => return error.hint(),
            Self::Exists { kind, name } => format!("change it with `folio {kind} set {name}`"),
            Self::Stale { kind, .. } => {
                format!("look at it with `folio {kind} list`, then repeat with its revision")
            }
            Self::NoKey { known, .. } => format!("it has {}", known.join(", ")),
            Self::Nothing { .. } => "give at least one KEY=VALUE".to_owned(),
            Self::Key(_) | Self::Spec(_) => return None,
            Self::Vault(error) => return error.hint(),
            Self::Publish(error) => return error.hint(),
            Self::Delete(error) => return error.hint(),
            Self::History(error) => return error.hint(),
            Self::Folio(error) => return error.hint(),
        })
    }
}

/// The functions that a change of a config or secret gave a new version or draft, or that use one that went.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Users {
    /// Versions of functions.
    pub functions: Vec<VersionName>,
    /// Functions whose draft names it.
    pub drafts: Vec<Name>,
}

/// What removing a config or secret answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingRemoved {
    /// What went.
    #[serde(flatten)]
    pub removed: Removed,
    /// Who still uses the value it had: their versions froze it.
    pub used_by: Users,
}

impl Folio {
    /// Deletes a config or secret. What froze it keeps it; the answer says what that is.
    pub(crate) async fn remove_setting(
        &self,
        caller: &Caller,
        key: &UnitKey,
        expect: Option<u64>,
    ) -> Result<Done<SettingRemoved>, Error> {
        let deleted = self.delete(caller, key, Cascade::No, expect).await;
        let key = key.clone();
        let done = match deleted {
            Err(delete::Error::Resolve(resolve::Error::NoUnit { .. })) => {
                return Err(self.look(move |state| not_found(state, &key)).await?.into());
            }
            other => other?,
        };
        let used_by = self.look(move |state| users(state, &key)).await?;
        let Done { result: removed, changed, app_version, entry, release } = done;
        let result = SettingRemoved { removed, used_by };
        Ok(Done { result, changed, app_version, entry, release })
    }
}

/// Refuses what does not fit the unit there is.
pub(crate) fn check(
    state: &dyn State,
    (key, unit): (&UnitKey, Option<&Unit>),
    onto: Option<Onto>,
    expect: Option<u64>,
) -> Result<(), Error> {
    let found = unit.map_or(0, |unit| unit.revision);
    let (kind, name) = (key.kind, key.name.clone());
    match (expect, onto, unit) {
        (Some(expected), _, _) if expected != found => {
            Err(Error::Stale { kind, name, expected, found })
        }
        (_, Some(Onto::Nothing), Some(_)) => Err(Error::Exists { kind, name }),
        (_, Some(Onto::Existing), None) => Err(not_found(state, key)?.into()),
        _ => Ok(()),
    }
}

/// Publishes the next version of a config or secret.
pub(crate) fn publish(
    builder: &mut Builder<'_>,
    key: &UnitKey,
    snapshot: &Snapshot,
) -> Result<VersionView, Error> {
    snapshot.validate()?;
    let mut unit = code::claim(builder, key, Origin::User)?;
    let id = builder.fresh_id()?;
    let new = NewVersion { id, uses: None, archive: None, description: String::new() };
    let version = builder.publish(&mut unit, snapshot, new)?;
    Ok(VersionView::new(&unit, version, snapshot.clone(), None, Build::None))
}

/// The latest version of a config or secret that is there.
pub(crate) fn latest(state: &dyn State, unit: &Unit) -> Result<(Version, Snapshot), StoreError> {
    let version = match unit.latest {
        Some(number) => state.version(VersionKey { unit: unit.uid, number })?,
        None => None,
    };
    let version = version.ok_or_else(|| StoreError::corrupt(unit.key.to_string()))?;
    let snapshot = view::snapshot(state, version.snapshot)?;
    Ok((version, snapshot))
}

pub(crate) fn not_found(state: &dyn State, key: &UnitKey) -> Result<NotFound, StoreError> {
    let made = state.units(&key.app, key.kind)?;
    let made = made.iter().filter(|unit| unit.is_visible());
    let known = made.map(|unit| unit.key.name.to_string()).collect();
    Ok(NotFound { kind: key.kind, name: key.name.clone(), known })
}

/// What a function freezes of the configs or secrets it names. One that is gone stays what was frozen before.
pub(crate) fn freeze(
    scope: Scope<'_>,
    kind: Kind,
    given: Option<&[Mounting]>,
    before: &[MountPin],
) -> Result<Vec<MountPin>, compose::Error> {
    let kept =
        |pin: &MountPin| Mounting { name: pin.name.clone(), mount_path: pin.mount_path.clone() };
    let named = given.map_or_else(|| before.iter().map(kept).collect(), <[_]>::to_vec);
    let freeze = |Mounting { name, mount_path }| {
        let before = before.iter().find(|pin| pin.name == name).map(|pin| pin.snapshot);
        let app = scope.app.clone();
        let key = UnitKey { app, kind, name };
        let snapshot = match before.filter(|_| scope.freeze == Freeze::Kept) {
            Some(digest) => Some(digest),
            None => standing(scope.state, &key)?.or(before),
        };
        match snapshot {
            Some(snapshot) => Ok(MountPin { name: key.name, snapshot, mount_path }),
            None => Err(not_found(scope.state, &key)?.into()),
        }
    };
    named.into_iter().map(freeze).collect()
}

/// The digest of what a config or secret is now, if it is there.
pub(crate) fn standing(state: &dyn State, key: &UnitKey) -> Result<Option<Digest>, StoreError> {
    let Some(unit) = state.unit(key)?.filter(|unit| unit.latest.is_some()) else { return Ok(None) };
    Ok(Some(latest(state, &unit)?.0.snapshot))
}

/// What a config or secret is to those that name it, after a change.
pub(crate) struct Renewed<'a> {
    /// What it is called now.
    pub(crate) name: &'a Name,
    pub(crate) snapshot: Digest,
    /// What new versions of functions say about themselves.
    pub(crate) description: &'a str,
}

/// Gives every function that names a config or secret a new version that freezes it as it is now, and a draft
/// that does, where it has one.
pub(crate) fn renew(
    builder: &mut Builder<'_>,
    key: &UnitKey,
    to: &Renewed<'_>,
) -> Result<Users, Error> {
    let mut users = Users::default();
    for mut unit in builder.state.naming(key)? {
        for version in standing_versions(builder.state, &unit)? {
            let Some(snapshot) = renewed(builder.state, key, version.snapshot, to)? else {
                continue;
            };
            let id = publish::free_id(builder, &unit)?;
            let description = to.description.to_owned();
            let new = NewVersion { id, uses: version.uses, archive: version.archive, description };
            let version = builder.publish(&mut unit, &snapshot, new)?;
            users.functions.push(version_name(&unit, version));
        }
        if let Some(draft) = unit.draft.clone()
            && let Some(snapshot) = renewed(builder.state, key, draft.snapshot, to)?
        {
            let draft = Draft { snapshot: snapshot.digest(), ..draft };
            builder.set_draft(&mut unit, &snapshot, draft)?;
            users.drafts.push(unit.key.name.clone());
        }
    }
    Ok(users)
}

/// Gives the functions that name configs a new version that freezes them as they are now, but for those of which
/// another is made anyway.
pub(crate) fn renew_others(
    builder: &mut Builder<'_>,
    configs: &[(UnitKey, Digest)],
    planned: &HashSet<UnitKey>,
) -> Result<(), publish::Error> {
    let mut naming: BTreeMap<UnitUid, Unit> = BTreeMap::new();
    for (key, _) in configs {
        let units = builder.state.naming(key)?.into_iter();
        naming.extend(units.map(|unit| (unit.uid, unit)));
    }
    for mut unit in naming.into_values().filter(|unit| !planned.contains(&unit.key)) {
        for version in standing_versions(builder.state, &unit)? {
            let mut spec = compose::function_spec(builder.state, version.snapshot)?;
            for pin in &mut spec.configs {
                let now = configs.iter().find(|(key, _)| key.name == pin.name);
                pin.snapshot = now.map_or(pin.snapshot, |(_, digest)| *digest);
            }
            let snapshot = Snapshot::Function(spec);
            if snapshot.digest() == version.snapshot {
                continue;
            }
            let id = publish::free_id(builder, &unit)?;
            let description = "its configs changed".to_owned();
            let new = NewVersion { id, uses: version.uses, archive: version.archive, description };
            builder.publish(&mut unit, &snapshot, new)?;
        }
    }
    Ok(())
}

/// A function's latest version, and the newest if that still waits for its build, in their order.
fn standing_versions(state: &dyn State, unit: &Unit) -> Result<Vec<Version>, StoreError> {
    let mut versions = Vec::new();
    for number in unit.latest.into_iter().chain(unit.newest.filter(|_| unit.newest != unit.latest))
    {
        let version = state.version(VersionKey { unit: unit.uid, number })?;
        let version = version.ok_or_else(|| StoreError::corrupt(unit.key.to_string()))?;
        // What could not be built would not be built now either.
        let spec = view::snapshot(state, version.snapshot)?;
        if view::build(state, &spec)? != Build::Failed {
            versions.push(version);
        }
    }
    Ok(versions)
}

/// A function's snapshot with a config or secret as it is now; none if it does not name it, or has it so already.
fn renewed(
    state: &dyn State,
    key: &UnitKey,
    digest: Digest,
    to: &Renewed<'_>,
) -> Result<Option<Snapshot>, StoreError> {
    let mut spec: FunctionSpec = compose::function_spec(state, digest)?;
    let pins = if key.kind == Kind::Secret { &mut spec.secrets } else { &mut spec.configs };
    let Some(pin) = pins.iter_mut().find(|pin| pin.name == key.name) else { return Ok(None) };
    pin.name = to.name.clone();
    pin.snapshot = to.snapshot;
    let snapshot = Snapshot::Function(spec);
    Ok(Some(snapshot).filter(|snapshot| snapshot.digest() != digest))
}

/// The functions that name a config or secret as they stand.
fn users(state: &dyn State, key: &UnitKey) -> Result<Users, StoreError> {
    let mut users = Users::default();
    for unit in state.naming(key)? {
        let names = |digest| {
            let snapshot = view::snapshot(state, digest)?;
            let named =
                snapshot.named().any(|(kind, pin)| kind == key.kind && pin.name == key.name);
            Ok::<_, StoreError>(named)
        };
        for version in standing_versions(state, &unit)? {
            if names(version.snapshot)? {
                users.functions.push(version_name(&unit, version));
            }
        }
        if let Some(draft) = &unit.draft
            && names(draft.snapshot)?
        {
            users.drafts.push(unit.key.name.clone());
        }
    }
    Ok(users)
}

fn version_name(unit: &Unit, version: Version) -> VersionName {
    let UnitKey { kind, name, .. } = unit.key.clone();
    VersionName { kind, name, number: version.number, id: version.id }
}

/// The key of a config or secret.
pub(crate) fn key(app: &AppName, kind: Kind, name: &Name) -> UnitKey {
    UnitKey { app: app.clone(), kind, name: name.clone() }
}
