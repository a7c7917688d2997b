//! Where a function's code comes from: a package it names, the package it uses already, or one of its own made
//! of the files it is given. Drafts and versions choose alike, because both choose here.

use folio_model::{
    AppName, Digest, Edit, FunctionSpec, Kind, Name, Origin, PackagePin, PackageSpec, Snapshot,
    Unit, UnitKey, Version, VersionKey,
};

use crate::builder::Builder;
use crate::compose::{self, Error, Freeze, Given, Scope};
use crate::ports::{State, StoreError};
use crate::publish;

/// What a function's own package is called after it.
const OWN_SUFFIX: &str = "-pkg";

/// What the fields ask for.
pub(crate) enum Choice<'a> {
    /// A package by name.
    Named(&'a Name),
    /// Whatever the state they are laid over uses.
    Kept,
    /// The function's own package, with files or a build command laid over it.
    Own,
}

/// A package as a function uses it.
#[derive(Debug, Clone)]
pub(crate) struct UsedPackage {
    pub(crate) pin: PackagePin,
    pub(crate) environment: Name,
    pub(crate) uses: Option<VersionKey>,
}

/// The state of a function that fields are laid over.
#[derive(Clone, Copy)]
pub(crate) struct Base<'a> {
    pub(crate) spec: &'a FunctionSpec,
    pub(crate) uses: Option<VersionKey>,
}

/// The package a function makes for itself.
pub(crate) struct OwnPackage {
    pub(crate) key: UnitKey,
    pub(crate) spec: PackageSpec,
    pub(crate) archive: Option<Digest>,
}

impl OwnPackage {
    /// As the function will use it, before or without being published.
    pub(crate) fn used(&self) -> UsedPackage {
        let snapshot = Snapshot::Package(self.spec.clone()).digest();
        UsedPackage {
            pin: PackagePin { name: self.key.name.clone(), snapshot },
            environment: self.spec.environment.clone(),
            uses: None,
        }
    }
}

/// Reads what fields ask for; refuses what contradicts itself.
pub(crate) fn choose<'a>(
    function: &Name,
    given: &'a Given,
    base: Option<Base<'_>>,
) -> Result<Choice<'a>, Error> {
    match (&given.files, &given.package, base) {
        (Some(_), Some(_), _) => Err(Error::TwoSources(function.clone())),
        (None, Some(package), _) if given.build_command.is_some() => {
            Err(Error::ForeignBuild { function: function.clone(), package: package.clone() })
        }
        (None, Some(package), _) => Ok(Choice::Named(package)),
        (None, None, None) => Err(Error::NoCode(function.clone())),
        (None, None, Some(_)) if given.build_command.is_none() => Ok(Choice::Kept),
        (_, None, _) => Ok(Choice::Own),
    }
}

/// The function's own package, with the given files or build command laid over what the base uses of it.
pub(crate) fn own(
    state: &dyn State,
    function: &UnitKey,
    base: Option<Base<'_>>,
    given: &Given,
    freeze: Freeze,
) -> Result<OwnPackage, Error> {
    let key = own_key(&function.app, &function.name)?;
    let unit = state.unit(&key)?;
    if unit.as_ref().is_some_and(|unit| unit.is_visible() && unit.origin == Origin::User) {
        let function = function.name.clone();
        return Err(Error::PackageTaken { function, package: key.name });
    }
    let kept = base.filter(|base| base.spec.package.name == key.name);
    if let (None, Some(base), None) = (kept, base, &given.files) {
        let (function, package) = (function.name.clone(), base.spec.package.name.clone());
        return Err(Error::ForeignBuild { function, package });
    }
    let (spec, kept_archive) = match kept {
        Some(base) => (
            Some(compose::package_spec(state, base.spec.package.snapshot)?),
            archive(state, base, unit.as_ref())?,
        ),
        None => (None, None),
    };
    // The environment of a function that moves to code of its own is the package's too.
    let environment = || base.map(|base| base.spec.environment.clone());
    let given =
        Given { environment: given.environment.clone().or_else(environment), ..given.clone() };
    let archive = given.files.as_ref().map_or(kept_archive, |files| files.archive);
    let scope = Scope { state, app: &function.app, freeze };
    let spec = compose::own_package(scope, &function.name, spec, &given)?;
    Ok(OwnPackage { key, spec, archive })
}

/// The archive behind the package state that a base pins: of the version it uses, or of the very draft.
fn archive(
    state: &dyn State,
    base: Base<'_>,
    package: Option<&Unit>,
) -> Result<Option<Digest>, StoreError> {
    if let Some(key) = base.uses {
        return Ok(state.version(key)?.and_then(|version| version.archive));
    }
    let draft = package.and_then(|package| package.draft.as_ref());
    let pinned = draft.filter(|draft| draft.snapshot == base.spec.package.snapshot);
    Ok(pinned.and_then(|draft| draft.archive))
}

/// The own package of a base that pins a state of it nobody published.
pub(crate) fn unpublished_own(
    state: &dyn State,
    base: Base<'_>,
    package: &Unit,
) -> Result<OwnPackage, StoreError> {
    Ok(OwnPackage {
        key: package.key.clone(),
        spec: compose::package_spec(state, base.spec.package.snapshot)?,
        archive: archive(state, base, Some(package))?,
    })
}

/// A published package version, as a function uses it.
pub(crate) fn published(
    state: &dyn State,
    package: &Unit,
    version: &Version,
) -> Result<UsedPackage, StoreError> {
    let spec = compose::package_spec(state, version.snapshot)?;
    Ok(UsedPackage {
        pin: PackagePin { name: package.key.name.clone(), snapshot: version.snapshot },
        environment: spec.environment,
        uses: Some(VersionKey { unit: package.uid, number: version.number }),
    })
}

/// The unit of a name, for whoever is about to fill it. An empty one that somebody else left gives way.
pub(crate) fn claim(
    builder: &mut Builder<'_>,
    key: &UnitKey,
    origin: Origin,
) -> Result<Unit, publish::Error> {
    match builder.state.unit(key)? {
        Some(unit) if unit.is_visible() => return Ok(unit),
        Some(unit) if unit.origin == origin => {
            publish::check_new_name(builder.state, key)?;
            return Ok(unit);
        }
        Some(left) => builder.push(Edit::DeleteUnit { uid: left.uid, key: key.clone() })?,
        None => {}
    }
    publish::check_new_name(builder.state, key)?;
    Ok(builder.create(key.kind, key.name.clone(), origin)?)
}

fn own_key(app: &AppName, function: &Name) -> Result<UnitKey, Error> {
    let name = format!("{function}{OWN_SUFFIX}").parse();
    let name = name.map_err(|_| Error::NameTooLong(function.clone()))?;
    Ok(UnitKey { app: app.clone(), kind: Kind::Package, name })
}
