//! Deletes versions and units. A refused delete changes nothing and names everything in its way; an allowed one
//! removes names only: bytes go when nothing reaches them.

use std::collections::BTreeSet;

use folio_model::{
    Edit, Kind, Members, Name, Place, Pointer, Qualifier, Tag, Unit, UnitKey, UnitUid, Version,
    VersionId, VersionKey,
};

use crate::builder::Builder;
use crate::ports::{Page, State, StoreError};
use crate::request::{Caller, Cascade, Which};
use crate::view::{Done, Removed, UnitName, VersionName};
use crate::{Class, Code, Explain, Folio, Referrer, folio, resolve, trigger};

use self::guard::Leaving;

pub(crate) mod guard;
mod orphans;
pub(crate) mod whole;

/// Why nothing was deleted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something uses it.
    #[error("cannot delete {what}: {} in use by {}", if *.several { "they are" } else { "it is" }, guard::names(.referrers))]
    InUse {
        /// What was to be deleted.
        what: String,
        /// Whether that is more than one thing.
        several: bool,
        /// Everything in the way.
        referrers: Vec<Referrer>,
    },
    /// The unit is not as the caller saw it.
    #[error("{kind} `{name}` is at revision {found}, not {expected}")]
    Stale {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
        /// What the caller saw.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// An alias was named where a version is to go.
    #[error("`{alias}` is an alias of function `{function}`, not a version")]
    AliasNotVersion {
        /// The function.
        function: Name,
        /// The alias.
        alias: VersionId,
        /// The versions it points at.
        versions: Vec<VersionId>,
    },
    /// A kind whose versions are only its history.
    #[error("versions of a {0} are not deleted one by one; they are what it was")]
    VersionsKept(Kind),
    /// A name leads nowhere.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::InUse { .. } => Code("in_use"),
            Self::Stale { .. } => Code("stale"),
            Self::AliasNotVersion { .. } => Code("alias_not_version"),
            Self::VersionsKept(_) => Code("versions_kept"),
            Self::Resolve(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::InUse { .. } | Self::Stale { .. } => Class::Conflict,
            Self::AliasNotVersion { .. } | Self::VersionsKept(_) => Class::Invalid,
            Self::Resolve(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::InUse { referrers, .. } => referrers.first().map(guard::way_out),
            Self::Stale { kind, name, .. } => Some(format!(
                "look at it with `folio {kind} describe {name}`, then repeat with its revision"
            )),
            Self::AliasNotVersion { function, versions, .. } => versions.first().map(|version| {
                format!(
                    "name the version: `folio fn version delete {function} --version {version}`"
                )
            }),
            Self::VersionsKept(kind) => Some(format!("delete the whole {kind}, or change it")),
            Self::Resolve(error) => error.hint(),
            Self::Folio(error) => error.hint(),
        }
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::InUse { referrers, .. } => referrers.clone(),
            _ => Vec::new(),
        }
    }
}

impl Folio {
    /// Deletes one version of a unit, or all. A package's version takes the function versions that use it along.
    pub async fn delete_versions(
        &self,
        caller: &Caller,
        key: &UnitKey,
        which: Which,
        expect: Option<u64>,
    ) -> Result<Done<Removed>, Error> {
        if !matches!(key.kind, Kind::Function | Kind::Package) {
            return Err(Error::VersionsKept(key.kind));
        }
        // What was deleted by the same request before is not there to be looked at.
        if let Some(done) = self.recall(caller).await? {
            return Ok(done);
        }
        self.refuse_running(key, &which).await?;
        let (app, key) = (key.app.clone(), key.clone());
        self.commit(caller, &app, move |builder| {
            let unit = expected(builder.state, &key, expect)?;
            let (what, versions) = doomed(builder.state, &unit, &which)?;
            let victims = victims(builder.state, &unit, versions)?;
            let referrers = version_referrers(builder.state, &unit, &victims)?;
            refuse_if_used(what.clone(), which == Which::All, referrers)?;
            let removed = remove(builder, victims)?;
            builder.say(format!("delete {}", what.replace('`', "")));
            Ok(removed)
        })
        .await
    }

    /// Refuses to delete versions that executions run on. They are records outside the ledger, so one that begins
    /// after this finds its version gone, and says so.
    async fn refuse_running(&self, key: &UnitKey, which: &Which) -> Result<(), Error> {
        let Some(record) = &self.executions else { return Ok(()) };
        let (key, chosen) = (key.clone(), which.clone());
        let (what, several, going) = self
            .look(move |state| {
                let unit = resolve::unit(state, &key)?;
                let (what, versions) = doomed(state, &unit, &chosen)?;
                let going = keys(&victims(state, &unit, versions)?);
                Ok::<_, Error>((what, chosen == Which::All, going))
            })
            .await?;
        let mut referrers = Vec::new();
        let units: BTreeSet<_> = going.iter().map(|key| key.unit).collect();
        for unit in units {
            if record.running(unit, None).await?.is_empty() {
                continue;
            }
            for key in going.iter().filter(|key| key.unit == unit) {
                let running = record.running(unit, Some(key.number)).await?;
                referrers.extend(
                    running
                        .into_iter()
                        .map(|id| Referrer { kind: "execution".to_owned(), name: id.to_string() }),
                );
            }
        }
        refuse_if_used(what, several, referrers)
    }

    /// Deletes a unit with its draft, versions and aliases, and what uses a package's versions.
    pub async fn delete(
        &self,
        caller: &Caller,
        key: &UnitKey,
        cascade: Cascade,
        expect: Option<u64>,
    ) -> Result<Done<Removed>, Error> {
        let (app, key) = (key.app.clone(), key.clone());
        self.commit(caller, &app, move |builder| {
            let mut unit = expected(builder.state, &key, expect)?;
            let versions = builder.state.versions(unit.uid, Page::ALL)?;
            let victims = victims(builder.state, &unit, versions)?;
            let triggers = match cascade {
                Cascade::Yes if key.kind == Kind::Function => {
                    let mut triggers = builder.state.triggers_of(&key.app, &key.name)?;
                    triggers.extend(left_without_a_tag(builder.state, &unit)?);
                    triggers
                }
                _ => Vec::new(),
            };
            let going = triggers.iter().map(|trigger| trigger.uid).chain([unit.uid]).collect();
            let referrers = unit_referrers(builder.state, (&unit, going), &victims, cascade)?;
            refuse_if_used(unit.key.to_string(), false, referrers)?;
            let mut removed = Removed::default();
            for trigger in triggers {
                remove_trigger(builder, trigger, &mut removed)?;
            }
            drop_aliases(builder, &unit, &mut removed)?;
            drop_memberships(builder, &victims)?;
            removed.versions.extend(remove(builder, victims)?.versions);
            builder.clear_draft(&mut unit)?;
            builder.push(Edit::DeleteUnit { uid: unit.uid, key: key.clone() })?;
            builder.say(format!("delete {} {}", key.kind, key.name));
            removed.units.push(UnitName { kind: key.kind, name: key.name.clone() });
            Ok(removed)
        })
        .await
    }
}

/// The versions to delete, and what to call them.
fn doomed(state: &dyn State, unit: &Unit, which: &Which) -> Result<(String, Vec<Version>), Error> {
    Ok(match which {
        Which::One(at) => (format!("version {at} of {}", unit.key), vec![one(state, unit, at)?]),
        Which::All => {
            (format!("the versions of {}", unit.key), state.versions(unit.uid, Page::ALL)?)
        }
    })
}

fn expected(state: &dyn State, key: &UnitKey, expect: Option<u64>) -> Result<Unit, Error> {
    let unit = resolve::unit(state, key)?;
    match expect {
        Some(expected) if expected != unit.revision => Err(Error::Stale {
            kind: key.kind,
            name: key.name.clone(),
            expected,
            found: unit.revision,
        }),
        _ => Ok(unit),
    }
}

/// Finds a version to delete. An alias is refused: deleting through a name that moves is a trap.
fn one(state: &dyn State, unit: &Unit, at: &Qualifier) -> Result<Version, Error> {
    if let Qualifier::Named(name) = at
        && let Some(alias) = state.alias(unit.uid, name)?
    {
        let targets = crate::view::targets(state, unit.uid, alias.weights.shares())?;
        let versions = targets.into_iter().filter_map(|target| target.id).collect();
        let function = unit.key.name.clone();
        return Err(Error::AliasNotVersion { function, alias: alias.name, versions });
    }
    Ok(resolve::version(state, unit, at)?)
}

/// A version that is to go, with its unit.
struct Victim {
    unit: Unit,
    version: Version,
}

impl Victim {
    fn key(&self) -> VersionKey {
        VersionKey { unit: self.unit.uid, number: self.version.number }
    }
}

/// The versions and everything that cannot stay without them, what uses others first.
fn victims(state: &dyn State, unit: &Unit, versions: Vec<Version>) -> Result<Vec<Victim>, Error> {
    let mut users = Vec::new();
    if unit.key.kind == Kind::Package {
        for version in &versions {
            let key = VersionKey { unit: unit.uid, number: version.number };
            for user in state.users(key)? {
                let found = state.unit_by_uid(user.unit)?.zip(state.version(user)?);
                let (unit, version) =
                    found.ok_or_else(|| StoreError::corrupt("a function version"))?;
                users.push(Victim { unit, version });
            }
        }
    }
    let own = versions.into_iter().map(|version| Victim { unit: unit.clone(), version });
    users.extend(own);
    Ok(users)
}

/// Everything that stays and uses one of these versions.
fn version_referrers(
    state: &dyn State,
    unit: &Unit,
    victims: &[Victim],
) -> Result<Vec<Referrer>, Error> {
    let leaving = Leaving { versions: keys(victims), ..Leaving::default() };
    let mut referrers = guard::users(state, &leaving)?;
    let draft = unit.draft.as_ref().map(|draft| draft.snapshot);
    let own = victims.iter().filter(|victim| victim.unit.uid == unit.uid);
    let shows = draft.is_some() || {
        let page = Page { after: 0, limit: own.count() + 1 };
        state.versions(unit.uid, page)?.len() == page.limit
    };
    let held = |snapshot| {
        let goes = victims.iter().any(|victim| victim.version.snapshot == snapshot);
        let kept = !goes
            || draft == Some(snapshot)
            || guard::survives(state, unit.uid, snapshot, &leaving)?;
        Ok(shows && kept)
    };
    referrers.extend(guard::stranded_drafts(state, unit, &leaving, &held)?);
    Ok(referrers)
}

/// Everything that stays and uses a unit or one of these versions. Its own aliases go with it, and with a
/// cascade its memberships in tags and its triggers.
fn unit_referrers(
    state: &dyn State,
    (unit, units): (&Unit, BTreeSet<UnitUid>),
    victims: &[Victim],
    cascade: Cascade,
) -> Result<Vec<Referrer>, Error> {
    let aliases = state.aliases(unit.uid)?.into_iter();
    let aliases = aliases.map(|alias| Pointer::Alias { unit: unit.uid, name: alias.name });
    let tags = match cascade {
        Cascade::Yes => state.tags(&unit.key.app)?,
        Cascade::No => Vec::new(),
    };
    let versions = keys(victims);
    let stays = |(&unit, &number): (&UnitUid, &_)| !versions.contains(&VersionKey { unit, number });
    let pointer = |tag: &Tag| Pointer::Tag { app: unit.key.app.clone(), name: tag.name.clone() };
    let emptied = tags.iter().filter(|tag| !tag.members.iter().any(stays));
    let gone = emptied.map(pointer).collect();
    let tags = tags.iter().map(pointer);
    let leaving = Leaving {
        gone,
        pointers: aliases.chain(tags).collect(),
        units,
        versions,
        ..Leaving::default()
    };
    let mut referrers = guard::users(state, &leaving)?;
    referrers.extend(guard::stranded_drafts(state, unit, &leaving, &|_| Ok(false))?);
    Ok(referrers)
}

fn keys(victims: &[Victim]) -> BTreeSet<VersionKey> {
    victims.iter().map(Victim::key).collect()
}

fn refuse_if_used(what: String, several: bool, referrers: Vec<Referrer>) -> Result<(), Error> {
    if referrers.is_empty() { Ok(()) } else { Err(Error::InUse { what, several, referrers }) }
}

fn remove(builder: &mut Builder<'_>, victims: Vec<Victim>) -> Result<Removed, StoreError> {
    let mut removed = Removed::default();
    for Victim { unit, version } in victims {
        removed.versions.push(VersionName {
            kind: unit.key.kind,
            name: unit.key.name,
            number: version.number,
            id: version.id.clone(),
        });
        builder.push(Edit::DeleteVersion { uid: unit.uid, version })?;
    }
    Ok(removed)
}

/// Removes a trigger with all its versions.
fn remove_trigger(
    builder: &mut Builder<'_>,
    trigger: Unit,
    removed: &mut Removed,
) -> Result<(), StoreError> {
    let versions = builder.state.versions(trigger.uid, Page::ALL)?;
    let victims = versions.into_iter().map(|version| Victim { unit: trigger.clone(), version });
    removed.versions.extend(remove(builder, victims.collect())?.versions);
    let UnitKey { kind, name, .. } = trigger.key.clone();
    builder.clear_split(&trigger)?;
    builder.push(Edit::DeleteUnit { uid: trigger.uid, key: trigger.key })?;
    removed.units.push(UnitName { kind, name });
    Ok(())
}

fn drop_aliases(
    builder: &mut Builder<'_>,
    unit: &Unit,
    removed: &mut Removed,
) -> Result<(), StoreError> {
    for alias in builder.state.aliases(unit.uid)? {
        removed.aliases.push(format!("{}@{}", unit.key.name, alias.name));
        let pointer = Pointer::Alias { unit: unit.uid, name: alias.name };
        builder.point(pointer, Some(Place::Versions(alias.weights)), None)?;
    }
    Ok(())
}

/// The triggers that run a tag in which a function is alone.
fn left_without_a_tag(state: &dyn State, function: &Unit) -> Result<Vec<Unit>, StoreError> {
    let app = &function.key.app;
    let mut triggers = Vec::new();
    for tag in state.tags(app)? {
        if tag.members.keys().all(|member| *member == function.uid) {
            triggers.extend(trigger::naming_tag(state, app, &tag.name)?);
        }
    }
    Ok(triggers)
}

/// Takes the victims out of every tag; a tag left empty goes.
fn drop_memberships(builder: &mut Builder<'_>, victims: &[Victim]) -> Result<(), Error> {
    let Some(app) = victims.first().map(|victim| victim.unit.key.app.clone()) else {
        return Ok(());
    };
    let gone = keys(victims);
    for tag in builder.state.tags(&app)? {
        let kept: Members = tag
            .members
            .iter()
            .filter(|&(&unit, &number)| !gone.contains(&VersionKey { unit, number }))
            .map(|(&unit, &number)| (unit, number))
            .collect();
        let pointer = Pointer::Tag { app: app.clone(), name: tag.name };
        let to = (!kept.is_empty()).then_some(Place::Members(kept));
        builder.point(pointer, Some(Place::Members(tag.members)), to)?;
    }
    Ok(())
}
