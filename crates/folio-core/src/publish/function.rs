//! Publishes functions, and the packages that functions made of files need.

use folio_model::{
    Build, FunctionSpec, Kind, Name, Origin, Qualifier, Snapshot, Unit, UnitKey, Version,
    VersionId, VersionKey,
};

use super::{Error, Job, check_id, same_as_latest};
use crate::builder::{Builder, NewVersion};
use crate::code::{self, Choice, OwnPackage, UsedPackage};
use crate::compose;
use crate::ports::State;
use crate::request::{Drafted, IfSame};
use crate::resolve;
use crate::serving::Unready;
use crate::view::{self, PackageUse, Published, VersionView};

pub(super) fn publish(builder: &mut Builder<'_>, job: &Job<'_>) -> Result<Published, Error> {
    let unit = job.unit(builder.state)?;
    let base = job.base(builder.state, unit.as_ref())?;
    let base_spec = match &base {
        Some(base) => Some(compose::function_spec(builder.state, base.snapshot)?),
        None => None,
    };
    let uses = base.as_ref().and_then(|base| base.uses);
    let base = base_spec.as_ref().map(|spec| code::Base { spec, uses });
    let source = find_code(builder.state, job, base)?;
    let used = source.used();
    let scope = job.scope(builder.state);
    let spec = compose::function(scope, base_spec.as_ref(), job.given, &used)?;
    let snapshot = Snapshot::Function(spec);
    if let Some(unit) = &unit
        && job.request.if_same == IfSame::Keep
        && let Some(latest) = same_as_latest(builder.state, unit, snapshot.digest())?
    {
        let version = view::version(builder.state, unit, latest)?;
        return Ok(Published { version, package: None });
    }
    let id = job.id(builder, unit.as_ref())?;
    let code = publish_code(builder, job, source, &id)?;
    let mut unit = code::claim(builder, job.key, Origin::User)?;
    if job.replaces_draft() {
        builder.clear_draft(&mut unit)?;
    }
    let description = job.request.description.clone();
    let new = NewVersion { id, uses: Some(code.key), archive: None, description };
    let version = builder.publish(&mut unit, &snapshot, new)?;
    super::say(builder, job.key, &version.id);
    let uses = PackageUse { name: used.pin.name, number: Some(code.key.number), id: Some(code.id) };
    let version = VersionView::new(&unit, version, snapshot, Some(uses), code.build);
    Ok(Published { version, package: code.view })
}

/// Where a function's code comes from.
enum Source {
    /// A package version that exists.
    Version { used: UsedPackage, key: VersionKey, id: VersionId },
    /// A package of the function's own, to be published with it.
    Own(OwnPackage),
}

impl Source {
    fn version(state: &dyn State, package: &Unit, version: &Version) -> Result<Self, Error> {
        let key = VersionKey { unit: package.uid, number: version.number };
        let used = code::published(state, package, version)?;
        Ok(Self::Version { used, key, id: version.id.clone() })
    }

    fn used(&self) -> UsedPackage {
        match self {
            Self::Version { used, .. } => used.clone(),
            Self::Own(own) => own.used(),
        }
    }
}

fn find_code(
    state: &dyn State,
    job: &Job<'_>,
    base: Option<code::Base<'_>>,
) -> Result<Source, Error> {
    match (code::choose(&job.key.name, job.given, base)?, base) {
        (Choice::Named(name), _) => {
            let id = job.request.package_version.as_ref().or(job.request.id.as_ref());
            named_package(state, job.key, name, id)
        }
        (Choice::Kept, Some(base)) => match &job.request.package_version {
            Some(id) => named_package(state, job.key, &base.spec.package.name, Some(id)),
            None => kept_package(state, job.key, base),
        },
        (_, base) => {
            let own = code::own(state, job.key, base, job.given, job.scope(state).freeze)?;
            Ok(Source::Own(own))
        }
    }
}

/// A version of a package by name: the one of an id, or the latest.
fn named_package(
    state: &dyn State,
    function: &UnitKey,
    name: &Name,
    id: Option<&VersionId>,
) -> Result<Source, Error> {
    let unit = resolve::unit(state, &package_key(function, name))?;
    if unit.newest.is_none() {
        return Err(compose::Error::Unversioned(name.clone()).into());
    }
    let at = id.map_or(Qualifier::Latest, |id| Qualifier::Named(id.clone()));
    let version = resolve::version(state, &unit, &at)?;
    let spec = compose::package_spec(state, version.snapshot)?;
    if view::package_build(state, &spec)? == Build::Failed {
        let what = format!("version `{}` of package `{name}`", version.id);
        let package = format!("{name}@{}", version.id);
        return Err(Unready::Failed { what, package }.into());
    }
    Source::version(state, &unit, &version)
}

/// The package that the draft or latest version uses already. A draft may stand on a state without a version.
fn kept_package(
    state: &dyn State,
    function: &UnitKey,
    base: code::Base<'_>,
) -> Result<Source, Error> {
    let kept = match base.uses {
        Some(key) => state.version(key)?.zip(state.unit_by_uid(key.unit)?),
        None => None,
    };
    if let Some((version, unit)) = kept {
        return Source::version(state, &unit, &version);
    }
    let FunctionSpec { package: pin, .. } = base.spec;
    let unit = resolve::unit(state, &package_key(function, &pin.name))?;
    if unit.origin == Origin::Implied {
        return Ok(Source::Own(code::unpublished_own(state, base, &unit)?));
    }
    match same_as_latest(state, &unit, pin.snapshot)? {
        Some(version) => Source::version(state, &unit, &version),
        None if unit.newest.is_none() => Err(compose::Error::Unversioned(pin.name.clone()).into()),
        None => {
            let (function, package) = (function.name.clone(), pin.name.clone());
            Err(compose::Error::Outdated { function, package }.into())
        }
    }
}

fn package_key(function: &UnitKey, name: &Name) -> UnitKey {
    UnitKey { kind: Kind::Package, name: name.clone(), app: function.app.clone() }
}

/// The package version a function ends up with.
struct PublishedCode {
    key: VersionKey,
    id: VersionId,
    build: Build,
    view: Option<VersionView>,
}

fn publish_code(
    builder: &mut Builder<'_>,
    job: &Job<'_>,
    source: Source,
    id: &VersionId,
) -> Result<PublishedCode, Error> {
    let own = match source {
        Source::Own(own) => own,
        Source::Version { used, key, id } => {
            let spec = compose::package_spec(builder.state, used.pin.snapshot)?;
            let build = builder.package_build(&spec)?;
            return Ok(PublishedCode { key, id, build, view: None });
        }
    };
    let OwnPackage { key, spec, archive } = own;
    let build = builder.package_build(&spec)?;
    let snapshot = Snapshot::Package(spec);
    let existing = builder.state.unit(&key)?;
    if let Some(unit) = &existing
        && job.request.if_same == IfSame::Keep
        && let Some(latest) = same_as_latest(builder.state, unit, snapshot.digest())?
    {
        let key = VersionKey { unit: unit.uid, number: latest.number };
        return Ok(PublishedCode { key, id: latest.id, build, view: None });
    }
    let id = job.request.package_version.as_ref().unwrap_or(id).clone();
    let same_origin = existing.filter(|unit| unit.origin == Origin::Implied);
    check_id(builder.state, &key, same_origin.as_ref(), &id)?;
    let mut unit = code::claim(builder, &key, Origin::Implied)?;
    if job.request.draft == Drafted::Clears {
        builder.clear_draft(&mut unit)?;
    }
    let new = NewVersion { id: id.clone(), uses: None, archive, description: String::new() };
    let version = builder.publish(&mut unit, &snapshot, new)?;
    let key = VersionKey { unit: unit.uid, number: version.number };
    let view = VersionView::new(&unit, version, snapshot, None, build);
    Ok(PublishedCode { key, id, build, view: Some(view) })
}
