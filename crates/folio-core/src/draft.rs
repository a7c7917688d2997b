//! Makes and changes drafts: the unpublished state of a function or package.

use folio_model::{Draft, Kind, Name, Origin, PackagePin, Snapshot, Unit, UnitKey, VersionKey};

use crate::builder::Builder;
use crate::code::{self, Base, Choice, OwnPackage, UsedPackage};
use crate::compose::{self, Freeze, Given, Scope};
use crate::ports::State;
use crate::publish;
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
        if let Some(done) = self.recall(caller).await? {
            return Ok(done);
        }
        let given = self.find(fields).await?;
        let (app, key) = (key.app.clone(), key.clone());
        self.commit(caller, &app, move |builder| {
            let unit = builder.state.unit(&key)?;
            check(builder.state, (&key, unit.as_ref()), onto, expect)?;
            let made = !unit.as_ref().is_some_and(Unit::is_visible);
            let drafted = match key.kind {
                Kind::Function => draft_function(builder, &key, unit, &given)?,
                Kind::Package => draft_package(builder, &key, unit, &given)?,
                kind => return Err(compose::Error::NotDrafted(kind).into()),
            };
            let verb = if made { "create" } else { "change" };
            builder.say(format!("{verb} the draft of {} {}", key.kind, key.name));
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
    let build = builder.build_of(&spec)?;
    let draft = Some(DraftView { digest: spec.digest(), package, build, spec });
    Ok(UnitView { draft, ..view::unit(builder.state, &unit)? })
}

fn check(
    state: &dyn State,
    (key, unit): (&UnitKey, Option<&Unit>),
    onto: Onto,
    expect: Option<u64>,
) -> Result<(), Error> {
    let visible = unit.filter(|unit| unit.is_visible());
    let found = visible.map_or(0, |unit| unit.revision);
    match (expect, onto) {
        (Some(expected), _) if expected != found => {
            let (kind, name) = (key.kind, key.name.clone());
            Err(publish::Error::Stale { kind, name, expected, found }.into())
        }
        (_, Onto::Nothing) if visible.is_some() => {
            Err(Error::Exists { kind: key.kind, name: key.name.clone() })
        }
        (_, Onto::Nothing) => Ok(()),
        (_, Onto::Existing) => Ok(resolve::unit(state, key).map(|_| ())?),
    }
}

fn draft_package(
    builder: &mut Builder<'_>,
    key: &UnitKey,
    unit: Option<Unit>,
    given: &Given,
) -> Result<Drafted, Error> {
    let scope = Scope { state: builder.state, app: &key.app, freeze: Freeze::Anew };
    let current = current(builder.state, unit.as_ref())?;
    let base = match &current {
        Some(draft) => Some(compose::package_spec(builder.state, draft.snapshot)?),
        None => None,
    };
    let snapshot = Snapshot::Package(compose::package(scope, &key.name, base, given)?);
    let kept = current.and_then(|draft| draft.archive);
    let archive = given.files.as_ref().map_or(kept, |files| files.archive);
    let mut unit = code::claim(builder, key, Origin::User)?;
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
    let uses = current.as_ref().and_then(|draft| draft.uses);
    let laid_over = base.as_ref().map(|spec| Base { spec, uses });
    let code = draft_code(builder, key, laid_over, given)?;
    let scope = Scope { state: builder.state, app: &key.app, freeze: Freeze::Anew };
    let spec = compose::function(scope, base.as_ref(), given, &code)?;
    let snapshot = Snapshot::Function(spec);
    let mut unit = code::claim(builder, key, Origin::User)?;
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

fn draft_code(
    builder: &mut Builder<'_>,
    key: &UnitKey,
    base: Option<Base<'_>>,
    given: &Given,
) -> Result<UsedPackage, Error> {
    match (code::choose(&key.name, given, base)?, base) {
        (Choice::Named(name), _) => package_as_it_stands(builder.state, key, name),
        (Choice::Kept, Some(base)) => Ok(UsedPackage {
            pin: base.spec.package.clone(),
            environment: base.spec.environment.clone(),
            uses: base.uses,
        }),
        (_, base) => {
            let own = code::own(builder.state, key, base, given, Freeze::Anew)?;
            draft_own_package(builder, own)
        }
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
            Ok(code::published(state, &unit, &latest)?)
        }
    }
}

/// Makes the state of the function's own package its draft.
fn draft_own_package(builder: &mut Builder<'_>, own: OwnPackage) -> Result<UsedPackage, Error> {
    let used = own.used();
    let mut unit = code::claim(builder, &own.key, Origin::Implied)?;
    let draft = Draft { snapshot: used.pin.snapshot, uses: None, archive: own.archive };
    builder.set_draft(&mut unit, &Snapshot::Package(own.spec), draft)?;
    Ok(used)
}

impl Folio {
    /// Shows one unit with its draft, latest version and aliases.
    pub async fn show(&self, key: &UnitKey) -> Result<UnitView, resolve::Error> {
        let key = key.clone();
        let builds = std::sync::Arc::clone(&self.builds);
        self.look(move |state| {
            let mut view = view::unit(state, &resolve::unit(state, &key)?)?;
            if let Some(draft) = &mut view.draft {
                crate::build::overlay(&builds, state, &draft.spec, &mut draft.build)?;
            }
            Ok(view)
        })
        .await
    }
}
