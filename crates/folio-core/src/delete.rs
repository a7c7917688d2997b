//! Deletes versions and units. A refused delete changes nothing and names everything in its way; an allowed one
//! removes names only: bytes go when nothing reaches them.

use std::collections::BTreeSet;

use folio_model::{
    Edit, Kind, Members, Name, Place, Pointer, Qualifier, Unit, UnitKey, Version, VersionKey,
};

use crate::builder::Builder;
use crate::ports::{Page, State, StoreError};
use crate::request::{Caller, Cascade, Which};
use crate::view::{Done, Removed, UnitName, VersionName};
use crate::{Class, Code, Explain, Folio, Referrer, folio, resolve};

/// Why nothing was deleted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something uses it.
    #[error("cannot delete {what}: {} in use by {}", if *.several { "they are" } else { "it is" }, names(.referrers))]
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
    /// A name leads nowhere.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

fn names(referrers: &[Referrer]) -> String {
    let names: Vec<_> =
        referrers.iter().map(|referrer| format!("{} `{}`", referrer.kind, referrer.name)).collect();
    names.join(", ")
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
            Self::Resolve(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::InUse { .. } | Self::Stale { .. } => Class::Conflict,
            Self::Resolve(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::InUse { referrers, .. } => referrers.first().map(way_out),
            Self::Stale { kind, name, .. } => Some(format!(
                "look at it with `folio {kind} get {name}`, then repeat with its revision"
            )),
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

/// The command that takes one referrer out of the way.
fn way_out(referrer: &Referrer) -> String {
    let parts = referrer.name.split_once('@');
    match (referrer.kind.as_str(), parts) {
        ("alias", Some((function, alias))) => {
            format!(
                "move it with `folio fn alias update {function} --alias {alias} --version ...`, or delete it"
            )
        }
        ("tag", _) => {
            format!("remove it from the tag with `folio fn tag remove --tag {} ...`", referrer.name)
        }
        ("function draft", _) => {
            format!(
                "point the draft elsewhere with `folio fn update {} --pkg ...`, or publish it",
                referrer.name
            )
        }
        _ => format!("delete `{}` first", referrer.name),
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
        let (app, key) = (key.app.clone(), key.clone());
        self.commit(caller, &app, move |builder| {
            let unit = expected(builder.state, &key, expect)?;
            let versions = match &which {
                Which::One(at) => vec![one(builder.state, &unit, at)?],
                Which::All => builder.state.versions(unit.uid, Page::ALL)?,
            };
            let what = match &which {
                Which::One(at) => format!("version {at} of {}", unit.key),
                Which::All => format!("the versions of {}", unit.key),
            };
            let victims = victims(builder.state, &unit, versions)?;
            let referrers = guard(builder.state, &victims, Cascade::No)?;
            refuse_if_used(what.clone(), which == Which::All, referrers)?;
            let removed = remove(builder, victims)?;
            builder.say(format!("delete {}", what.replace('`', "")));
            Ok(removed)
        })
        .await
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
            let mut referrers = guard_unit(builder.state, &unit, &victims, cascade)?;
            referrers.extend(draft_referrers(builder.state, &unit)?);
            refuse_if_used(unit.key.to_string(), false, referrers)?;
            let mut removed = Removed::default();
            drop_aliases(builder, &unit, &mut removed)?;
            drop_memberships(builder, &victims)?;
            removed.versions = remove(builder, victims)?.versions;
            builder.clear_draft(&mut unit)?;
            builder.push(Edit::DeleteUnit { uid: unit.uid, key: key.clone() })?;
            builder.say(format!("delete {} {}", key.kind, key.name));
            removed.units.push(UnitName { kind: key.kind, name: key.name.clone() });
            Ok(removed)
        })
        .await
    }
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
    let version = resolve::version(state, unit, at)?;
    match at {
        Qualifier::Named(id) if *id != version.id => {
            let (kind, name) = (unit.key.kind, unit.key.name.clone());
            let near = Some(version.id.to_string());
            Err(resolve::Error::NoVersion { kind, name, at: id.to_string(), near }.into())
        }
        _ => Ok(version),
    }
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

/// Everything outside the victims that uses one of them.
fn guard(state: &dyn State, victims: &[Victim], cascade: Cascade) -> Result<Vec<Referrer>, Error> {
    let mut referrers = Vec::new();
    let mut seen = BTreeSet::new();
    for victim in victims {
        for pointer in state.pointers_to(victim.key())? {
            if seen.insert(pointer.clone()) {
                referrers.extend(referrer(state, &pointer, cascade)?);
            }
        }
        for draft in state.draft_users(victim.key())? {
            let name = state.unit_by_uid(draft)?.map(|unit| unit.key.name.to_string());
            let name = name.unwrap_or_default();
            referrers.push(Referrer { kind: "function draft".to_owned(), name });
        }
    }
    Ok(referrers)
}

/// As [`guard`], but a unit's own aliases go with it.
fn guard_unit(
    state: &dyn State,
    unit: &Unit,
    victims: &[Victim],
    cascade: Cascade,
) -> Result<Vec<Referrer>, Error> {
    let own: BTreeSet<_> = state
        .aliases(unit.uid)?
        .iter()
        .map(|alias| format!("{}@{}", unit.key.name, alias.name))
        .collect();
    let mut referrers = guard(state, victims, cascade)?;
    referrers.retain(|referrer| referrer.kind != "alias" || !own.contains(&referrer.name));
    Ok(referrers)
}

fn referrer(
    state: &dyn State,
    pointer: &Pointer,
    cascade: Cascade,
) -> Result<Option<Referrer>, Error> {
    Ok(match pointer {
        Pointer::Alias { unit, name } => {
            let function = state.unit_by_uid(*unit)?.map(|unit| unit.key.name.to_string());
            let name = format!("{}@{name}", function.unwrap_or_default());
            Some(Referrer { kind: "alias".to_owned(), name })
        }
        Pointer::Tag { .. } if cascade == Cascade::Yes => None,
        Pointer::Tag { name, .. } => {
            Some(Referrer { kind: "tag".to_owned(), name: name.to_string() })
        }
    })
}

/// The function drafts that stand on a package's draft.
fn draft_referrers(state: &dyn State, unit: &Unit) -> Result<Vec<Referrer>, Error> {
    let Some(draft) = unit.draft.as_ref().filter(|_| unit.key.kind == Kind::Package) else {
        return Ok(Vec::new());
    };
    let mut referrers = Vec::new();
    for function in state.units(&unit.key.app, Kind::Function)? {
        let Some(theirs) = &function.draft else { continue };
        let spec = crate::compose::function_spec(state, theirs.snapshot)?;
        let stands_on_it =
            spec.package.name == unit.key.name && spec.package.snapshot == draft.snapshot;
        if theirs.uses.is_none() && stands_on_it {
            let name = function.key.name.to_string();
            referrers.push(Referrer { kind: "function draft".to_owned(), name });
        }
    }
    Ok(referrers)
}

fn refuse_if_used(what: String, several: bool, referrers: Vec<Referrer>) -> Result<(), Error> {
    if referrers.is_empty() { Ok(()) } else { Err(Error::InUse { what, several, referrers }) }
}

fn remove(builder: &mut Builder<'_>, victims: Vec<Victim>) -> Result<Removed, Error> {
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

fn drop_aliases(
    builder: &mut Builder<'_>,
    unit: &Unit,
    removed: &mut Removed,
) -> Result<(), Error> {
    for alias in builder.state.aliases(unit.uid)? {
        removed.aliases.push(format!("{}@{}", unit.key.name, alias.name));
        let pointer = Pointer::Alias { unit: unit.uid, name: alias.name };
        builder.point(pointer, Some(Place::Versions(alias.weights)), None)?;
    }
    Ok(())
}

/// Takes the victims out of every tag; a tag left empty goes.
fn drop_memberships(builder: &mut Builder<'_>, victims: &[Victim]) -> Result<(), Error> {
    let Some(app) = victims.first().map(|victim| victim.unit.key.app.clone()) else {
        return Ok(());
    };
    let gone: BTreeSet<_> = victims.iter().map(Victim::key).collect();
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
