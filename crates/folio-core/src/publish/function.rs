//! Publishes functions, and the packages that functions made of files need.

use folio_model::{
    Edit, FunctionSpec, Kind, Name, Origin, PackagePin, PackageSpec, Qualifier, Snapshot, Unit,
    VersionId, VersionKey,
};

use super::{Base, Error, Job, check_id, check_new_name, package, same_as_latest};
use crate::builder::{Builder, NewVersion};
use crate::compose::{self, UsedPackage};
use crate::ports::State;
use crate::request::IfSame;
use crate::resolve;
use crate::view::{self, PackageUse, Published, VersionView};

pub(super) fn publish(builder: &mut Builder<'_>, job: &Job<'_>) -> Result<Published, Error> {
    let unit = job.unit(builder.state)?;
    let base = job.base(builder.state, unit.as_ref())?;
    let base_spec = match &base {
        Some(base) => Some(compose::function_spec(builder.state, base.snapshot)?),
        None => None,
    };
    let source = find_code(builder.state, job, base.as_ref(), base_spec.as_ref())?;
    let code = source.code();
    let snapshot = Snapshot::Function(compose::function(base_spec.as_ref(), job.given, &code)?);
    if let Some(unit) = &unit
        && job.request.if_same == IfSame::Keep
        && let Some(latest) = same_as_latest(builder.state, unit, &snapshot)?
    {
        return Ok(Published {
            version: view::version(builder.state, unit, latest)?,
            package: None,
        });
    }
    let id = job.id(builder, unit.as_ref())?;
    let published = publish_code(builder, job, source, &id)?;
    let mut unit = match unit {
        Some(unit) => unit,
        None => {
            check_new_name(builder.state, job.key)?;
            builder.create(Kind::Function, job.key.name.clone(), Origin::User)?
        }
    };
    let description = job.request.description.clone();
    let uses = Some(published.key);
    let version = builder.publish(
        &mut unit,
        &snapshot,
        NewVersion { id, uses, archive: None, description },
    )?;
    super::say(builder, job.key, &version.id);
    let uses = PackageUse {
        name: code.pin.name,
        number: Some(published.key.number),
        id: Some(published.id),
    };
    let version = VersionView::new(&unit, version, snapshot, Some(uses), published.build);
    Ok(Published { version, package: published.view })
}

/// Where a function's code comes from.
enum Source {
    /// A package version that exists.
    Version(UsedPackage),
    /// A package of the function's own, to be published with it.
    Implied {
        unit: Option<Box<Unit>>,
        spec: PackageSpec,
        archive: Option<folio_model::Digest>,
        name: Name,
    },
}

impl Source {
    fn code(&self) -> UsedPackage {
        match self {
            Self::Version(code) => code.clone(),
            Self::Implied { spec, name, .. } => UsedPackage {
                pin: PackagePin {
                    name: name.clone(),
                    snapshot: Snapshot::Package(spec.clone()).digest(),
                },
                environment: spec.environment.clone(),
                uses: None,
            },
        }
    }
}

fn find_code(
    state: &dyn State,
    job: &Job<'_>,
    base: Option<&Base>,
    base_spec: Option<&FunctionSpec>,
) -> Result<Source, Error> {
    let function = &job.key.name;
    match (&job.given.files, &job.given.package, base.zip(base_spec)) {
        (Some(_), Some(_), _) => Err(compose::Error::TwoSources(function.clone()).into()),
        (None, Some(name), _) => named_package(state, job, name).map(Source::Version),
        (None, None, None) => Err(compose::Error::NoCode(function.clone()).into()),
        (None, None, Some((base, spec))) if job.given.build_command.is_none() => {
            kept_package(state, job, base, spec)
        }
        (_, None, base) => own_package(state, job, base),
    }
}

/// The package version that `--pkg` names, by the package's id, the shared id, or the latest.
fn named_package(state: &dyn State, job: &Job<'_>, name: &Name) -> Result<UsedPackage, Error> {
    let key = folio_model::UnitKey { kind: Kind::Package, name: name.clone(), ..job.key.clone() };
    if job.given.build_command.is_some() {
        let (function, package) = (job.key.name.clone(), name.clone());
        return Err(compose::Error::ForeignBuild { function, package }.into());
    }
    let unit = resolve::unit(state, &key)?;
    if unit.latest.is_none() {
        return Err(compose::Error::Unversioned(name.clone()).into());
    }
    let id = job.request.package_version.as_ref().or(job.request.id.as_ref());
    let at = id.map_or(Qualifier::Latest, |id| Qualifier::Named(id.clone()));
    let version = resolve::version(state, &unit, &at)?;
    Ok(compose::published_code(state, &unit, &version)?)
}

/// The package that the draft or latest version uses already.
fn kept_package(
    state: &dyn State,
    job: &Job<'_>,
    base: &Base,
    spec: &FunctionSpec,
) -> Result<Source, Error> {
    let kept = match base.uses {
        Some(key) => state.version(key)?.zip(state.unit_by_uid(key.unit)?),
        None => None,
    };
    if let Some((version, unit)) = kept {
        return Ok(Source::Version(compose::published_code(state, &unit, &version)?));
    }
    // A draft may use a package that has no version yet: its own, or one made by hand.
    let key = folio_model::UnitKey {
        kind: Kind::Package,
        name: spec.package.name.clone(),
        ..job.key.clone()
    };
    let unit = resolve::unit(state, &key)?;
    if let Some(version) = same_as_latest_digest(state, &unit, spec.package.snapshot)? {
        return Ok(Source::Version(compose::published_code(state, &unit, &version)?));
    }
    if unit.origin == Origin::User {
        return Err(compose::Error::Unversioned(key.name).into());
    }
    let package = compose::package_spec(state, spec.package.snapshot)?;
    let archive = unit.draft.as_ref().and_then(|draft| draft.archive);
    Ok(Source::Implied { unit: Some(Box::new(unit)), spec: package, archive, name: key.name })
}

fn same_as_latest_digest(
    state: &dyn State,
    unit: &Unit,
    digest: folio_model::Digest,
) -> Result<Option<folio_model::Version>, Error> {
    let Some(number) = unit.latest else { return Ok(None) };
    let latest = state.version(VersionKey { unit: unit.uid, number })?;
    Ok(latest.filter(|latest| latest.snapshot == digest))
}

/// The function's own package, with the given files or build command laid over it.
fn own_package(
    state: &dyn State,
    job: &Job<'_>,
    base: Option<(&Base, &FunctionSpec)>,
) -> Result<Source, Error> {
    let key = compose::implied_key(&job.key.app, &job.key.name)?;
    let unit = state.unit(&key)?;
    let unit = unit.filter(|unit| unit.is_visible() || unit.origin == Origin::Implied);
    if unit.as_ref().is_some_and(|unit| unit.origin == Origin::User) {
        let function = job.key.name.clone();
        return Err(compose::Error::PackageTaken { function, package: key.name }.into());
    }
    let own = base.filter(|(_, spec)| spec.package.name == key.name);
    if let (None, Some((_, spec)), None) = (own, base, &job.given.files) {
        let (function, package) = (job.key.name.clone(), spec.package.name.clone());
        return Err(compose::Error::ForeignBuild { function, package }.into());
    }
    let (base_spec, kept_archive) = match own {
        Some((base, spec)) => (
            Some(compose::package_spec(state, spec.package.snapshot)?),
            archive_of(state, base, unit.as_ref())?,
        ),
        None => (None, None),
    };
    let archive = job.given.files.as_ref().map_or(kept_archive, |files| files.archive);
    let mut given = job.given.clone();
    // The environment of a function that moves to code of its own is the package's too.
    given.environment =
        given.environment.or_else(|| base.map(|(_, spec)| spec.environment.clone()));
    let spec = compose::implied_package(&job.key.name, base_spec, &given)?;
    Ok(Source::Implied { unit: unit.map(Box::new), spec, archive, name: key.name })
}

fn archive_of(
    state: &dyn State,
    base: &Base,
    package: Option<&Unit>,
) -> Result<Option<folio_model::Digest>, Error> {
    match base.uses {
        Some(key) => Ok(state.version(key)?.and_then(|version| version.archive)),
        None => Ok(package.and_then(|unit| unit.draft.as_ref()).and_then(|draft| draft.archive)),
    }
}

/// The package version a function ends up with.
struct PublishedCode {
    key: VersionKey,
    id: VersionId,
    build: folio_model::Build,
    view: Option<VersionView>,
}

fn publish_code(
    builder: &mut Builder<'_>,
    job: &Job<'_>,
    source: Source,
    id: &VersionId,
) -> Result<PublishedCode, Error> {
    let (unit, spec, archive, name) = match source {
        Source::Version(UsedPackage { uses: Some(key), pin, .. }) => {
            let version = builder.state.version(key)?;
            let version = version.expect("found in this very state");
            let build = compose::package_spec(builder.state, pin.snapshot)?.build();
            return Ok(PublishedCode { key, id: version.id, build, view: None });
        }
        Source::Version(UsedPackage { uses: None, .. }) => {
            unreachable!("a version found is a version")
        }
        Source::Implied { unit, spec, archive, name } => (unit, spec, archive, name),
    };
    let build = spec.build();
    let snapshot = Snapshot::Package(spec);
    if let Some(unit) = &unit
        && job.request.if_same == IfSame::Keep
        && let Some(latest) = same_as_latest(builder.state, unit, &snapshot)?
    {
        let key = VersionKey { unit: unit.uid, number: latest.number };
        return Ok(PublishedCode { key, id: latest.id, build, view: None });
    }
    let key = folio_model::UnitKey { kind: Kind::Package, name: name.clone(), ..job.key.clone() };
    check_id(builder.state, &key, unit.as_deref(), id)?;
    let mut unit = match unit {
        Some(unit) => *unit,
        None => create_implied(builder, &key)?,
    };
    let new = NewVersion { id: id.clone(), uses: None, archive, description: String::new() };
    let version = builder.publish(&mut unit, &snapshot, new)?;
    let key = VersionKey { unit: unit.uid, number: version.number };
    let view = package::seen(&unit, version, snapshot);
    Ok(PublishedCode { key, id: id.clone(), build, view: Some(view) })
}

/// Makes the function's own package, in place of an empty one a user left behind.
pub(crate) fn create_implied(
    builder: &mut Builder<'_>,
    key: &folio_model::UnitKey,
) -> Result<Unit, Error> {
    if let Some(left) = builder.state.unit(key)? {
        builder.push(Edit::DeleteUnit { uid: left.uid, key: key.clone() })?;
    }
    check_new_name(builder.state, key)?;
    Ok(builder.create(Kind::Package, key.name.clone(), Origin::Implied)?)
}
