//! Environments: what runs and builds code. Every change of one is a version; functions and packages freeze the
//! one they were published in, so neither changing nor deleting it touches anything published.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use folio_model::{
    AppName, Digest, EnvironmentSpec, FunctionSpec, Kind, Name, Network, Origin, RuntimeKind,
    Snapshot, SnapshotError, Unit, UnitKey, VersionKey, image,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::builder::{Builder, NewVersion};
use crate::ports::{State, StoreError};
use crate::request::{Caller, Cascade, Onto};
use crate::view::{self, Done, Removed, VersionView};
use crate::{Class, Code, Explain, Folio, code, compose, delete, folio, history, publish, resolve};

/// Why an environment was not found or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such environment.
    #[error("environment `{name}` does not exist")]
    NotFound {
        /// The name.
        name: Name,
        /// What exists.
        known: Vec<String>,
    },
    /// It exists already.
    #[error("environment `{0}` already exists")]
    Exists(Name),
    /// It is not as the caller saw it.
    #[error("environment `{name}` is at revision {found}, not {expected}")]
    Stale {
        /// The name.
        name: Name,
        /// What the caller saw.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// It exists without having been made.
    #[error("environment `{0}` is built in")]
    BuiltIn(Name),
    /// An image that says nothing about what to start.
    #[error("image `{0}` is none that folio knows, and no command says what to start")]
    UnknownImage(String),
    /// Nothing says what to start.
    #[error("environment `{0}` needs an image that folio knows, a runtime, or a command")]
    NoRuntime(Name),
    /// The fields contradict themselves.
    #[error(transparent)]
    Spec(#[from] SnapshotError),
    /// What publishing refuses.
    #[error(transparent)]
    Publish(Box<publish::Error>),
    /// What deleting refuses.
    #[error(transparent)]
    Delete(#[from] delete::Error),
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
            other => Self::Publish(Box::new(publish::Error::Resolve(match other {
                history::Error::Resolve(error) => error,
                other => StoreError::failed("look at an app", other.to_string()).into(),
            }))),
        }
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => Code("environment_not_found"),
            Self::Exists(_) => Code("unit_exists"),
            Self::Stale { .. } => Code("stale"),
            Self::BuiltIn(_) => Code("environment_built_in"),
            Self::UnknownImage(_) => Code("image_unknown"),
            Self::NoRuntime(_) => Code("runtime_required"),
            Self::Spec(_) => Code("bad_spec"),
            Self::Publish(error) => error.code(),
            Self::Delete(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NotFound { .. } => Class::NotFound,
            Self::Exists(_) | Self::Stale { .. } => Class::Conflict,
            Self::BuiltIn(_) | Self::UnknownImage(_) | Self::NoRuntime(_) | Self::Spec(_) => {
                Class::Invalid
            }
            Self::Publish(error) => error.class(),
            Self::Delete(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { known, .. } => {
                format!("there are {}; make another with `folio env create`", known.join(", "))
            }
            Self::Exists(name) => format!("change it with `folio env update --name {name}`"),
            Self::Stale { .. } => {
                "look at it with `folio env list`, then repeat with its revision".to_owned()
            }
            Self::BuiltIn(name) => {
                format!("make one of your own in its place with `folio env create --name {name}`")
            }
            Self::UnknownImage(_) => {
                "folio runs no images: give the program that starts the server with --command"
                    .to_owned()
            }
            Self::NoRuntime(_) => format!(
                "give --command, or --image such as fission/node-env, or --runtime one of {}",
                EnvironmentSpec::BUILT_IN.join(", ")
            ),
            Self::Spec(_) => return None,
            Self::Publish(error) => return error.hint(),
            Self::Delete(error) => return error.hint(),
            Self::Folio(error) => return error.hint(),
        })
    }
}

/// The fields of an environment that a command gives; what it leaves out stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EnvironmentFields {
    /// What starts the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeKind>,
    /// The image a manifest names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The server to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program that builds packages which name none of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builder: Option<String>,
    /// How many generic workers wait for a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poolsize: Option<u32>,
    /// What its functions can reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// What its metadata says besides its name, laid over what it says; folio keeps it and never reads it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl EnvironmentFields {
    /// The environment they describe by themselves.
    pub fn fresh(&self, name: &Name) -> Result<EnvironmentSpec, Error> {
        lay_over(name, None, self)
    }
}

/// One environment as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentView {
    /// The app.
    pub app: AppName,
    /// Its name.
    pub name: Name,
    /// Whether it exists without having been made.
    pub built_in: bool,
    /// Changes whenever it does; 0 for one that is built in.
    pub revision: u64,
    /// Its latest version, unless it is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionView>,
    /// What functions and packages freeze that are published in it now.
    pub spec: EnvironmentSpec,
}

impl Folio {
    /// Makes or changes an environment; each change is a version at once.
    pub async fn set_environment(
        &self,
        caller: &Caller,
        key: &UnitKey,
        fields: EnvironmentFields,
        (onto, expect): (Onto, Option<u64>),
    ) -> Result<Done<EnvironmentView>, Error> {
        let key = UnitKey { kind: Kind::Environment, ..key.clone() };
        let app = key.app.clone();
        self.commit(caller, &app, move |builder| {
            let unit = builder.state.unit(&key)?.filter(Unit::is_visible);
            check(builder.state, (&key, unit.as_ref()), onto, expect)?;
            let base = match &unit {
                Some(unit) => latest(builder.state, unit)?,
                // Changing one that is built in makes one in its place that starts out the same.
                None => EnvironmentSpec::built_in(key.name.as_str()),
            };
            let spec = lay_over(&key.name, base.clone(), &fields)?;
            if let Some(unit) = unit.as_ref().filter(|_| base.as_ref() == Some(&spec)) {
                return Ok(seen(builder.state, unit)?);
            }
            set(builder, &key, spec)
        })
        .await
    }

    /// Lists an app's environments by name, with those that are built in.
    pub async fn environments(&self, app: &AppName) -> Result<Vec<EnvironmentView>, Error> {
        let app = app.clone();
        self.look(move |state| {
            history::known(state, &app)?;
            let units = state.units(&app, Kind::Environment)?;
            let made = units.iter().filter(|unit| unit.is_visible());
            let mut views = made.map(|unit| seen(state, unit)).collect::<Result<Vec<_>, _>>()?;
            for name in EnvironmentSpec::BUILT_IN {
                if !views.iter().any(|view| view.name.as_str() == name) {
                    views.extend(built_in(&app, &name.parse().expect("a plain word")));
                }
            }
            views.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(views)
        })
        .await
    }

    /// Shows one environment.
    pub async fn show_environment(&self, key: &UnitKey) -> Result<EnvironmentView, Error> {
        let key = UnitKey { kind: Kind::Environment, ..key.clone() };
        self.look(move |state| {
            history::known(state, &key.app)?;
            match state.unit(&key)?.filter(Unit::is_visible) {
                Some(unit) => Ok(seen(state, &unit)?),
                None => match built_in(&key.app, &key.name) {
                    Some(view) => Ok(view),
                    None => Err(not_found(state, &key.app, &key.name)?),
                },
            }
        })
        .await
    }

    /// Deletes an environment. What was published in it keeps what it froze.
    pub async fn delete_environment(
        &self,
        caller: &Caller,
        key: &UnitKey,
        expect: Option<u64>,
    ) -> Result<Done<Removed>, Error> {
        let key = UnitKey { kind: Kind::Environment, ..key.clone() };
        let deleted = self.delete(caller, &key, Cascade::No, expect).await;
        match deleted {
            Err(delete::Error::Resolve(resolve::Error::NoUnit { .. })) => {
                if EnvironmentSpec::built_in(key.name.as_str()).is_some() {
                    return Err(Error::BuiltIn(key.name));
                }
                let (app, name) = (key.app.clone(), key.name);
                Err(self.look(move |state| not_found(state, &app, &name)).await?)
            }
            other => Ok(other?),
        }
    }
}

fn check(
    state: &dyn State,
    (key, unit): (&UnitKey, Option<&Unit>),
    onto: Onto,
    expect: Option<u64>,
) -> Result<(), Error> {
    let found = unit.map_or(0, |unit| unit.revision);
    let name = key.name.clone();
    match (expect, onto, unit) {
        (Some(expected), _, _) if expected != found => Err(Error::Stale { name, expected, found }),
        (_, Onto::Nothing, Some(_)) => Err(Error::Exists(name)),
        (_, Onto::Existing, None) if EnvironmentSpec::built_in(name.as_str()).is_none() => {
            Err(not_found(state, &key.app, &name)?)
        }
        _ => Ok(()),
    }
}

/// Lays fields over an environment. An image or a command that is given decides what is started.
fn lay_over(
    name: &Name,
    base: Option<EnvironmentSpec>,
    fields: &EnvironmentFields,
) -> Result<EnvironmentSpec, Error> {
    let from_image =
        |image: &String| image::runtime(image).ok_or_else(|| Error::UnknownImage(image.clone()));
    let runtime = match (fields.runtime, &fields.command, &fields.image, &base) {
        (Some(runtime), ..) => runtime,
        (None, Some(_), ..) => RuntimeKind::Command,
        (None, None, Some(_), Some(base)) if base.command.is_some() => RuntimeKind::Command,
        (None, None, Some(image), _) => from_image(image)?,
        (None, None, None, Some(base)) => base.runtime,
        (None, None, None, None) => return Err(Error::NoRuntime(name.clone())),
    };
    let base = base.unwrap_or_else(|| EnvironmentSpec::of(runtime));
    let kept_command = base.command.filter(|_| runtime == RuntimeKind::Command);
    let builder = match &fields.builder {
        // A builder image stands for the runtime's own way to build.
        Some(builder) if image::is_builder(builder) => None,
        Some(builder) => Some(builder.clone()),
        None => base.builder,
    };
    let spec = EnvironmentSpec {
        runtime,
        image: fields.image.clone().or(base.image),
        command: fields.command.clone().or(kept_command),
        builder,
        poolsize: fields.poolsize.or(base.poolsize),
        network: fields.network.unwrap_or(base.network),
        bag: compose::annotated(base.bag, &fields.annotations),
    };
    Snapshot::Environment(spec.clone()).validate()?;
    Ok(spec)
}

/// Publishes an environment's next version.
fn set(
    builder: &mut Builder<'_>,
    key: &UnitKey,
    spec: EnvironmentSpec,
) -> Result<EnvironmentView, Error> {
    let mut unit = code::claim(builder, key, Origin::User)?;
    let verb = if unit.is_visible() { "change" } else { "create" };
    let id = builder.fresh_id()?;
    let new = NewVersion { id, uses: None, archive: None, description: String::new() };
    let snapshot = Snapshot::Environment(spec.clone());
    let version = builder.publish(&mut unit, &snapshot, new)?;
    builder.say(format!("{verb} environment {}", key.name));
    let view = VersionView::new(&unit, version, snapshot, None, folio_model::Build::None);
    Ok(EnvironmentView {
        app: key.app.clone(),
        name: key.name.clone(),
        built_in: false,
        revision: builder.state.head()? + 1,
        version: Some(view),
        spec,
    })
}

fn seen(state: &dyn State, unit: &Unit) -> Result<EnvironmentView, StoreError> {
    let version = match unit.latest {
        Some(number) => state.version(VersionKey { unit: unit.uid, number })?,
        None => None,
    };
    let version = version.ok_or_else(|| StoreError::corrupt(unit.key.to_string()))?;
    let spec = spec(state, version.snapshot)?;
    Ok(EnvironmentView {
        app: unit.key.app.clone(),
        name: unit.key.name.clone(),
        built_in: false,
        revision: unit.revision,
        version: Some(view::version(state, unit, version)?),
        spec,
    })
}

fn built_in(app: &AppName, name: &Name) -> Option<EnvironmentView> {
    let spec = EnvironmentSpec::built_in(name.as_str())?;
    let (app, name) = (app.clone(), name.clone());
    Some(EnvironmentView { app, name, built_in: true, revision: 0, version: None, spec })
}

fn latest(state: &dyn State, unit: &Unit) -> Result<Option<EnvironmentSpec>, StoreError> {
    Ok(match latest_snapshot(state, unit)? {
        Some(digest) => Some(spec(state, digest)?),
        None => None,
    })
}

fn latest_snapshot(state: &dyn State, unit: &Unit) -> Result<Option<Digest>, StoreError> {
    let Some(number) = unit.latest else { return Ok(None) };
    let version = state.version(VersionKey { unit: unit.uid, number })?;
    Ok(version.map(|version| version.snapshot))
}

fn spec(state: &dyn State, digest: Digest) -> Result<EnvironmentSpec, StoreError> {
    match view::snapshot(state, digest)? {
        Snapshot::Environment(spec) => Ok(spec),
        _ => Err(StoreError::corrupt(format!("environment snapshot {digest}"))),
    }
}

pub(crate) fn not_found(
    state: &dyn State,
    app: &AppName,
    name: &Name,
) -> Result<Error, StoreError> {
    let made = state.units(app, Kind::Environment)?;
    let made = made.iter().filter(|unit| unit.is_visible());
    let mut known: Vec<_> = made.map(|unit| unit.key.name.to_string()).collect();
    known.extend(EnvironmentSpec::BUILT_IN.map(str::to_owned));
    known.sort();
    known.dedup();
    Ok(Error::NotFound { name: name.clone(), known })
}

/// The digest that something published in an environment now freezes: of the app's own, else of the built-in one.
pub(crate) fn freeze(
    state: &dyn State,
    app: &AppName,
    name: &Name,
) -> Result<Option<Digest>, StoreError> {
    let key = UnitKey { app: app.clone(), kind: Kind::Environment, name: name.clone() };
    if let Some(unit) = state.unit(&key)?
        && let Some(digest) = latest_snapshot(state, &unit)?
    {
        return Ok(Some(digest));
    }
    Ok(BUILT_IN.get(name.as_str()).map(|(_, digest)| *digest))
}

/// The environment a function froze, or the built-in one of its name where it froze none.
pub(crate) fn frozen(
    state: &dyn State,
    function: &FunctionSpec,
) -> Result<Option<EnvironmentSpec>, StoreError> {
    frozen_as(state, function.environment_snapshot, &function.environment)
}

/// As [`frozen`], of a function or package.
pub(crate) fn frozen_as(
    state: &dyn State,
    snapshot: Option<Digest>,
    name: &Name,
) -> Result<Option<EnvironmentSpec>, StoreError> {
    match snapshot {
        Some(digest) => Ok(Some(spec(state, digest)?)),
        None => Ok(EnvironmentSpec::built_in(name.as_str())),
    }
}

/// The built-in environment that a snapshot freezes, if it freezes one.
pub(crate) fn built_in_of(snapshot: &Snapshot) -> Option<(&'static Snapshot, Digest)> {
    let frozen = match snapshot {
        Snapshot::Function(spec) => spec.environment_snapshot?,
        Snapshot::Package(spec) => spec.environment_snapshot?,
        Snapshot::Environment(_)
        | Snapshot::Trigger(_)
        | Snapshot::Config(_)
        | Snapshot::Secret(_)
        | Snapshot::Static(_) => return None,
    };
    let (environment, digest) = BUILT_IN.get(snapshot.environment()?.as_str())?;
    (*digest == frozen).then_some((environment, *digest))
}

/// Whether something may run as wasm: all but what froze a built-in environment of another kind.
pub(crate) fn may_be_wasm(snapshot: &Snapshot) -> bool {
    match built_in_of(snapshot) {
        Some((Snapshot::Environment(spec), _)) => spec.runtime == RuntimeKind::Wasm,
        _ => true,
    }
}

/// What is built in, with digests that would be the same at every publish.
static BUILT_IN: LazyLock<HashMap<&'static str, (Snapshot, Digest)>> = LazyLock::new(|| {
    let named = |name| {
        let snapshot = Snapshot::Environment(EnvironmentSpec::built_in(name)?);
        let digest = snapshot.digest();
        Some((name, (snapshot, digest)))
    };
    EnvironmentSpec::BUILT_IN.into_iter().filter_map(named).collect()
});
