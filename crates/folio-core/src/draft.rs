//! Makes and changes drafts: the unpublished state of a function or package.

use folio_model::{
    Draft, FunctionSpec, Kind, Name, Origin, PackagePin, Snapshot, Unit, UnitKey, VersionKey,
};

use crate::builder::Builder;
use crate::compose::{self, Given, UsedPackage};
use crate::ports::State;
use crate::publish::{self, check_new_name, create_implied};
use crate::request::{Caller, Fields, Onto};
use crate::view::{self, Done, DraftView, PackageUse, UnitView};
use crate::{Class, Explain, Folio, folio, resolve};

/// Why a draft was not made or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is in use.
    #[error("{kind} `{name}` already exists")]
    Exists {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
    },
    /// What publishing would refuse, a draft refuses too.
    #[error(transparent)]
    Publish(#[from] publish::Error),
}

impl Explain for Error {
    fn code(&self) -> crate::Code {
        match self {
            Self::Exists { .. } => crate::Code("unit_exists"),
            Self::Publish(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Exists { .. } => Class::Conflict,
            Self::Publish(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Exists { kind, name } => {
                Some(format!("change its draft with `folio {kind} update {name}`"))
            }
            Self::Publish(error) => error.hint(),
        }
    }
}

/// Failures a draft shares with publishing come in through it.
macro_rules! as_publishing {
    ($($cause:ty),*) => {$(
        impl From<$cause> for Error {
            fn from(cause: $cause) -> Self {
                Self::Publish(cause.into())
            }
        }
    )*};
}
as_publishing!(folio::Error, crate::ports::StoreError, compose::Error, resolve::Error);

impl Folio {
    /// Makes a unit with a draft, or lays fields over the draft it has.
    pub async fn set_draft(
        &self,
        caller: &Caller,
        key: &UnitKey,
        fields: Fields,
        (onto, expect): (Onto, Option<u64>),
    ) -> Result<Done<UnitView>, Error> {
        let given = self.find(fields).await?;
        let (app, key) = (key.app.clone(), key.clone());
        self.commit(caller, &app, move |builder| {
            let unit = builder.state.unit(&key)?;
            check(&key, unit.as_ref(), onto, expect)?;
            let drafted = match key.kind {
                Kind::Function => draft_function(builder, &key, unit, &given)?,
                Kind::Package => draft_package(builder, &key, unit, &given)?,
            };
            builder.say(format!("change the draft of {} {}", key.kind, key.name));
            seen(builder, drafted)
        })
        .await
    }
}

/// A unit with the draft it gets by this change.
struct Drafted {
    unit: Unit,
    spec: Snapshot,
    package: Option<PackageUse>,
    changed: bool,
}

/// The unit as it will be seen once the change is written.
fn seen(builder: &Builder<'_>, drafted: Drafted) -> Result<UnitView, Error> {
    let Drafted { mut unit, spec, package, changed } = drafted;
    unit.draft = None;
    if changed {
        unit.revision = builder.state.head()? + 1;
    }
    let draft = Some(DraftView { digest: spec.digest(), package, spec });
    Ok(UnitView { draft, ..view::unit(builder.state, &unit)? })
}

fn check(key: &UnitKey, unit: Option<&Unit>, onto: Onto, expect: Option<u64>) -> Result<(), Error> {
    let found = unit.map_or(0, |unit| unit.revision);
    if let Some(expected) = expect
        && expected != found
    {
        let (kind, name) = (key.kind, key.name.clone());
        return Err(publish::Error::Stale { kind, name, expected, found }.into());
    }
    let visible = unit.is_some_and(Unit::is_visible);
    match onto {
        Onto::Nothing if visible => Err(Error::Exists { kind: key.kind, name: key.name.clone() }),
        Onto::Existing if !visible => {
            let (kind, name) = (key.kind, key.name.to_string());
            Err(resolve::Error::NoUnit { kind, name, near: None }.into())
        }
        _ => Ok(()),
    }
}

fn draft_package(
    builder: &mut Builder<'_>,
    key: &UnitKey,
    unit: Option<Unit>,
    given: &Given,
) -> Result<Drafted, Error> {
    let current = current(builder.state, unit.as_ref())?;
    let base = match &current {
        Some(draft) => Some(compose::package_spec(builder.state, draft.snapshot)?),
        None => None,
    };
    let snapshot = Snapshot::Package(compose::package(&key.name, base, given)?);
    let kept = current.and_then(|draft| draft.archive);
    let archive = given.files.as_ref().map_or(kept, |files| files.archive);
    let mut unit = own(builder, key, unit)?;
    let draft = Draft { snapshot: snapshot.digest(), uses: None, archive };
    let changed = unit.draft.as_ref() != Some(&draft);
    builder.set_draft(&mut unit, &snapshot, draft)?;
    Ok(Drafted { unit, spec: snapshot, package: None, changed })
}

fn draft_function(
    builder: &mut Builder<'_>,
    key: &UnitKey,
    unit: Option<Unit>,
    given: &Given,
) -> Result<Drafted, Error> {
    let current = current(builder.state, unit.as_ref())?;
    let base = match &current {
        Some(draft) => Some(compose::function_spec(builder.state, draft.snapshot)?),
        None => None,
    };
    let code = draft_code(builder, key, base.as_ref().zip(current.as_ref()), given)?;
    let snapshot = Snapshot::Function(compose::function(base.as_ref(), given, &code)?);
    let mut unit = own(builder, key, unit)?;
    let draft = Draft { snapshot: snapshot.digest(), uses: code.uses, archive: None };
    let changed = unit.draft.as_ref() != Some(&draft);
    builder.set_draft(&mut unit, &snapshot, draft)?;
    let package = view::package_use(builder.state, &snapshot, code.uses)?;
    Ok(Drafted { unit, spec: snapshot, package, changed })
}

/// The state a draft is laid over: the draft, else the latest version.
fn current(state: &dyn State, unit: Option<&Unit>) -> Result<Option<Draft>, Error> {
    let Some(unit) = unit else { return Ok(None) };
    if unit.draft.is_some() {
        return Ok(unit.draft.clone());
    }
    let latest = match unit.latest {
        Some(number) => state.version(VersionKey { unit: unit.uid, number })?,
        None => None,
    };
    Ok(latest.map(|latest| Draft {
        snapshot: latest.snapshot,
        uses: latest.uses,
        archive: latest.archive,
    }))
}

fn own(builder: &mut Builder<'_>, key: &UnitKey, unit: Option<Unit>) -> Result<Unit, Error> {
    match unit {
        Some(unit) => Ok(unit),
        None => {
            check_new_name(builder.state, key)?;
            Ok(builder.create(key.kind, key.name.clone(), Origin::User)?)
        }
    }
}

fn draft_code(
    builder: &mut Builder<'_>,
    key: &UnitKey,
    base: Option<(&FunctionSpec, &Draft)>,
    given: &Given,
) -> Result<UsedPackage, Error> {
    let function = &key.name;
    match (&given.files, &given.package, base) {
        (Some(_), Some(_), _) => Err(compose::Error::TwoSources(function.clone()).into()),
        (None, Some(name), _) => package_as_it_stands(builder.state, key, name),
        (None, None, None) => Err(compose::Error::NoCode(function.clone()).into()),
        (None, None, Some((spec, draft))) if given.build_command.is_none() => Ok(UsedPackage {
            pin: spec.package.clone(),
            environment: spec.environment.clone(),
            uses: draft.uses,
        }),
        (_, None, base) => draft_own_package(builder, key, base, given),
    }
}

/// A package by name, as an unqualified reference means it: its draft, else its latest version.
fn package_as_it_stands(
    state: &dyn State,
    key: &UnitKey,
    name: &Name,
) -> Result<UsedPackage, Error> {
    let key = UnitKey { kind: Kind::Package, name: name.clone(), ..key.clone() };
    let unit = resolve::unit(state, &key)?;
    match &unit.draft {
        Some(draft) => {
            let spec = compose::package_spec(state, draft.snapshot)?;
            let pin = PackagePin { name: name.clone(), snapshot: draft.snapshot };
            Ok(UsedPackage { pin, environment: spec.environment, uses: None })
        }
        None => {
            let latest = resolve::version(state, &unit, &folio_model::Qualifier::Latest)?;
            Ok(compose::published_code(state, &unit, &latest)?)
        }
    }
}

/// The draft of the function's own package, with the given files or build command laid over it.
fn draft_own_package(
    builder: &mut Builder<'_>,
    key: &UnitKey,
    base: Option<(&FunctionSpec, &Draft)>,
    given: &Given,
) -> Result<UsedPackage, Error> {
    let package = compose::implied_key(&key.app, &key.name)?;
    let unit = builder.state.unit(&package)?;
    let unit = unit.filter(|unit| unit.is_visible() || unit.origin == Origin::Implied);
    if unit.as_ref().is_some_and(|unit| unit.origin == Origin::User) {
        let (function, package) = (key.name.clone(), package.name);
        return Err(compose::Error::PackageTaken { function, package }.into());
    }
    let own = base.filter(|(spec, _)| spec.package.name == package.name);
    if let (None, Some((spec, _)), None) = (own, base, &given.files) {
        let (function, package) = (key.name.clone(), spec.package.name.clone());
        return Err(compose::Error::ForeignBuild { function, package }.into());
    }
    let base_spec = match own {
        Some((spec, _)) => Some(compose::package_spec(builder.state, spec.package.snapshot)?),
        None => None,
    };
    let mut given = given.clone();
    given.environment =
        given.environment.or_else(|| base.map(|(spec, _)| spec.environment.clone()));
    let spec = compose::implied_package(&key.name, base_spec, &given)?;
    let kept = current(builder.state, unit.as_ref())?.and_then(|draft| draft.archive);
    let archive = given.files.as_ref().map_or(kept, |files| files.archive);
    let mut unit = match unit {
        Some(unit) => unit,
        None => create_implied(builder, &package)?,
    };
    let environment = spec.environment.clone();
    let snapshot = Snapshot::Package(spec);
    let draft = Draft { snapshot: snapshot.digest(), uses: None, archive };
    builder.set_draft(&mut unit, &snapshot, draft)?;
    let pin = PackagePin { name: package.name, snapshot: snapshot.digest() };
    Ok(UsedPackage { pin, environment, uses: None })
}

impl Folio {
    /// Shows one unit with its draft, latest version and aliases.
    pub async fn show(&self, key: &UnitKey) -> Result<UnitView, resolve::Error> {
        let key = key.clone();
        self.look(move |state| Ok(view::unit(state, &resolve::unit(state, &key)?)?)).await
    }
}
