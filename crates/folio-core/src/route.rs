//! Routes: which requests at the gateway go to which function. A route is a trigger; every change of one is a
//! version. What it names has to be there, and stays as long as the route does.

mod overlap;
mod reach;
mod standing;

use std::collections::BTreeSet;
use std::sync::Arc;

use folio_model::{
    AppName, Cors, FULL_WEIGHT, Kind, Name, Origin, Qualifier, Reference, RoutePath, RouteSpec,
    Snapshot, SnapshotError, Sticky, Subject, Target, TriggerSpec, Unit, UnitKey,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::overlap::{Paths, check_patterns, clashes, taken};
pub(crate) use self::reach::{check_host, check_path};
use self::standing::latest;
pub(crate) use self::standing::{standing, with_split};

use crate::builder::{Builder, NewVersion};
use crate::ports::{State, StoreError};
use crate::request::{Caller, Cascade, Onto};
use crate::view::{self, Done, Removed, VersionView};
use crate::{
    Class, Code, Explain, Folio, Referrer, code, delete, folio, history, publish, resolve,
};

/// Why a route was not found or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It exists already.
    #[error("route `{0}` already exists")]
    Exists(Name),
    /// It is not as the caller saw it.
    #[error("route `{name}` is at revision {found}, not {expected}")]
    Stale {
        /// The name.
        name: Name,
        /// What the caller saw.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// Nothing says which requests it takes.
    #[error("a route needs a path")]
    NoPath,
    /// Nothing says where they go.
    #[error("a route needs a function")]
    NoTarget,
    /// The name is that of another kind of trigger.
    #[error("`{0}` is a trigger, but no route")]
    NotARoute(Name),
    /// Another route takes the same requests.
    #[error("{methods} {path} is taken by route `{other}`{}", if .app.is_empty() { String::new() } else { format!(" of app `{}`", .app) })]
    Taken {
        /// The methods both answer to.
        methods: String,
        /// The path, with its host.
        path: String,
        /// The other route.
        other: Name,
        /// Its app, if that is another.
        app: String,
    },
    /// The host is another app's own.
    #[error("host `{host}` is a domain of app `{app}`")]
    ForeignDomain {
        /// The host.
        host: String,
        /// The app that has it.
        app: AppName,
    },
    /// A placeholder's pattern is none.
    #[error("the pattern `{pattern}` in the path is not a regular expression: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// A host that no request names.
    #[error("the host `{host}` {why}")]
    Host {
        /// The host.
        host: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Too many targets.
    #[error("{found} targets are more than the {max} a route may have")]
    TooManyTargets {
        /// How many were given.
        found: usize,
        /// The limit.
        max: u64,
    },
    /// The fields contradict themselves.
    #[error(transparent)]
    Spec(#[from] SnapshotError),
    /// A name leads nowhere.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// What publishing refuses.
    #[error(transparent)]
    Publish(#[from] publish::Error),
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

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::Exists(_) => Code("unit_exists"),
            Self::Stale { .. } => Code("stale"),
            Self::NotARoute(_) => Code("other_trigger"),
            Self::NoPath | Self::NoTarget => Code("route_incomplete"),
            Self::Taken { .. } => Code("route_taken"),
            Self::ForeignDomain { .. } => Code("domain_taken"),
            Self::Pattern { .. } | Self::Host { .. } | Self::Spec(_) => Code("bad_spec"),
            Self::TooManyTargets { .. } => Code("too_many_targets"),
            Self::Resolve(error) => error.code(),
            Self::Publish(error) => error.code(),
            Self::Delete(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Exists(_) | Self::Stale { .. } | Self::Taken { .. } => Class::Conflict,
            Self::NotARoute(_) | Self::ForeignDomain { .. } => Class::Conflict,
            Self::NoPath | Self::NoTarget | Self::Pattern { .. } => Class::Invalid,
            Self::Host { .. } | Self::Spec(_) => Class::Invalid,
            Self::TooManyTargets { .. } => Class::TooLarge,
            Self::Resolve(error) => error.class(),
            Self::Publish(error) => error.class(),
            Self::Delete(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Exists(name) => format!("change it with `folio route update {name}`"),
            Self::Stale { .. } => {
                "look at it with `folio route list`, then repeat with its revision".to_owned()
            }
            Self::NotARoute(_) => {
                "see `folio timer list`, `folio mqtrigger list` and `folio watch list`".to_owned()
            }
            Self::NoPath => "give --url /PATH or --prefix /PATH".to_owned(),
            Self::NoTarget => "give --function NAME".to_owned(),
            Self::Taken { other, .. } => format!(
                "change it with `folio route update {other}`, delete it, or choose another path"
            ),
            Self::ForeignDomain { app, .. } => {
                format!("route it in app `{app}`, or choose another host")
            }
            Self::Host { .. } => "write it as `shop.example.com`".to_owned(),
            Self::Pattern { .. } => "write it as `{name:[0-9]+}`".to_owned(),
            Self::TooManyTargets { .. } => "use fewer, or raise `aliasTargetsMax`".to_owned(),
            Self::Spec(SnapshotError::Weights(_)) => {
                format!("weights are shares of {FULL_WEIGHT}")
            }
            Self::Spec(_) => return None,
            Self::Resolve(error) => return error.hint(),
            Self::Publish(error) => return error.hint(),
            Self::Delete(error) => return error.hint(),
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::Taken { other, .. } => {
                vec![Referrer { kind: "trigger".to_owned(), name: other.to_string() }]
            }
            Self::Delete(error) => error.referrers(),
            _ => Vec::new(),
        }
    }
}

/// The fields of a route that a command gives; what it leaves out stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RouteFields {
    /// The host it answers to; an empty one means all of the app's hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The path it answers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<RoutePath>,
    /// The methods it answers to; all if empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<BTreeSet<String>>,
    /// Where requests go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<Target>>,
    /// What keeps a client with one target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Sticky>,
    /// What browsers on other sites may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cors: Option<Cors>,
    /// What it has no longer.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unset: BTreeSet<RouteSetting>,
}

impl RouteFields {
    /// The route they describe by themselves, with its functions as they are written.
    pub fn fresh(&self) -> Result<RouteSpec, Error> {
        checked(self.over(None, self.targets.clone())?, None)
    }

    fn over(
        &self,
        base: Option<RouteSpec>,
        targets: Option<Vec<Target>>,
    ) -> Result<RouteSpec, Error> {
        let kept = base.as_ref();
        let path = self.path.clone().or_else(|| kept.map(|base| base.path.clone()));
        let targets = targets.or_else(|| kept.map(|base| base.targets.clone()));
        let host = match &self.host {
            Some(host) => Some(host.to_ascii_lowercase()).filter(|host| !host.is_empty()),
            None => kept.and_then(|base| base.host.clone()),
        };
        let methods = match &self.methods {
            Some(methods) => methods.iter().map(|method| method.to_ascii_uppercase()).collect(),
            None => kept.map(|base| base.methods.clone()).unwrap_or_default(),
        };
        let bag = kept.map(|base| base.bag.clone()).unwrap_or_default();
        let (sticky, cors) = base.map_or((None, None), |base| (base.sticky, base.cors));
        let sticky = sticky.filter(|_| !self.unset.contains(&RouteSetting::Sticky));
        let cors = cors.filter(|_| !self.unset.contains(&RouteSetting::Cors));
        Ok(RouteSpec {
            host,
            path: path.ok_or(Error::NoPath)?,
            methods,
            targets: targets.filter(|targets| !targets.is_empty()).ok_or(Error::NoTarget)?,
            sticky: self.sticky.clone().or(sticky),
            cors: self.cors.clone().or(cors),
            bag,
        })
    }
}

/// What a route can do without.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum RouteSetting {
    /// What keeps a client with one target.
    Sticky,
    /// What browsers on other sites may do.
    Cors,
}

/// One route as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteView {
    /// The app.
    pub app: AppName,
    /// Its name.
    pub name: Name,
    /// Changes whenever it does.
    pub revision: u64,
    /// Its latest version.
    pub version: VersionView,
    /// What it says.
    pub spec: RouteSpec,
}

impl Folio {
    /// Makes or changes a route; each change is a version at once. A new one without a name is given one.
    pub async fn set_route(
        &self,
        caller: &Caller,
        (app, name): (&AppName, Option<&Name>),
        fields: RouteFields,
        (onto, expect): (Onto, Option<u64>),
    ) -> Result<Done<RouteView>, Error> {
        let max = self.limits().alias_targets_max;
        if let Some(found) = fields.targets.as_ref().map(Vec::len).filter(|n| *n as u64 > max) {
            return Err(Error::TooManyTargets { found, max });
        }
        let (app, name) = (app.clone(), name.cloned());
        let paths = Arc::clone(&self.paths);
        self.commit(caller, &app.clone(), move |builder| {
            let name = match &name {
                Some(name) => name.clone(),
                None => fresh_name(builder, &fields)?,
            };
            let key = UnitKey { app: app.clone(), kind: Kind::Trigger, name };
            let unit = builder.state.unit(&key)?.filter(Unit::is_visible);
            check(builder.state, (&key, unit.as_ref()), onto, expect)?;
            let base = match &unit {
                Some(unit) => Some(latest(builder.state, unit)?.ok_or_else(|| other(&key))?.1),
                None => None,
            };
            let spec = lay_over(builder.state, &app, base.clone(), &fields)?;
            if let Some(unit) = unit.as_ref().filter(|_| base.as_ref() == Some(&spec)) {
                let view = seen(builder.state, unit)?.ok_or_else(|| other(&key))?;
                if fields.targets.is_none() || view.spec == spec {
                    return Ok(view);
                }
                // A canary moved its shares, and now they are to be what the spec says again.
                builder.clear_split(unit)?;
                builder.say(format!("change route {}", key.name));
                let revision = builder.state.head()? + 1;
                return Ok(RouteView { revision, spec, ..view });
            }
            paths.check(builder.state, &key, &spec)?;
            set(builder, &key, spec)
        })
        .await
    }

    /// Lists an app's routes, by name.
    pub async fn routes_of(&self, app: &AppName) -> Result<Vec<RouteView>, history::Error> {
        let app = app.clone();
        self.look(move |state| {
            history::known(state, &app)?;
            let units = state.units(&app, Kind::Trigger)?;
            let made = units.iter().filter(|unit| unit.is_visible());
            let seen = made.filter_map(|unit| seen(state, unit).transpose());
            Ok(seen.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Shows one route.
    pub async fn show_route(&self, app: &AppName, name: &Name) -> Result<RouteView, Error> {
        let key = UnitKey { app: app.clone(), kind: Kind::Trigger, name: name.clone() };
        self.look(move |state| {
            let unit = resolve::unit(state, &key)?;
            seen(state, &unit)?.ok_or_else(|| other(&key))
        })
        .await
    }

    /// Deletes a route. What it led to stays.
    pub async fn delete_route(
        &self,
        caller: &Caller,
        (app, name): (&AppName, &Name),
        expect: Option<u64>,
    ) -> Result<Done<Removed>, Error> {
        self.show_route(app, name).await?;
        let key = UnitKey { app: app.clone(), kind: Kind::Trigger, name: name.clone() };
        Ok(self.delete(caller, &key, Cascade::No, expect).await?)
    }
}

/// A name for a route that was given none: its function's, with some random characters.
fn fresh_name(builder: &mut Builder<'_>, fields: &RouteFields) -> Result<Name, Error> {
    let target = fields.targets.iter().flatten().next().ok_or(Error::NoTarget)?;
    let id = builder.fresh_id()?;
    let function = target.name().map_or("route", Name::as_str);
    let name = format!("{function}-{id}").parse().or_else(|_| format!("route-{id}").parse());
    Ok(name.expect("a word and an id are a name"))
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
        (_, Onto::Existing, None) => Ok(resolve::unit(state, key).map(|_| ())?),
        _ => Ok(()),
    }
}

/// A route whose parts do not contradict one another, in the place of another.
fn checked(spec: RouteSpec, base: Option<&RouteSpec>) -> Result<RouteSpec, Error> {
    Snapshot::Trigger(TriggerSpec::Http(spec.clone())).validate()?;
    reach::check(&spec, base)?;
    overlap::check_patterns(&spec)?;
    Ok(spec)
}

fn lay_over(
    state: &dyn State,
    app: &AppName,
    base: Option<RouteSpec>,
    fields: &RouteFields,
) -> Result<RouteSpec, Error> {
    let written = |target| written_out(state, app, target);
    let targets = fields.targets.as_ref().map(|targets| targets.iter().map(written).collect());
    let targets: Option<Result<Vec<_>, resolve::Error>> = targets;
    let spec = checked(fields.over(base.clone(), targets.transpose()?)?, base.as_ref())?;
    for target in &spec.targets {
        resolves(state, app, &target.function)?;
    }
    Ok(spec)
}

/// A target by plain name: `hello_qa` becomes `hello@qa`, and the route's own app is left out.
pub(crate) fn written_out(
    state: &dyn State,
    app: &AppName,
    target: &Target,
) -> Result<Target, resolve::Error> {
    let mut function = target.function.clone();
    if function.app.as_ref() == Some(app) {
        function.app = None;
    }
    let whole = match &function.name {
        Subject::Name(name) => {
            let key = UnitKey { app: app.clone(), kind: Kind::Function, name: name.clone() };
            function.at.is_some() || state.unit(&key)?.is_some_and(|unit| unit.is_visible())
        }
        Subject::Joined(_) => false,
    };
    if !whole && function.app.is_none() {
        // Refuses what can be read in several ways, or in none.
        resolve::resolve(state, app, Kind::Function, &function)?;
        let mut readings = function.name.splits().map(|(name, at)| Reference::to(name).at(at));
        let reads =
            |reading: &Reference| resolve::resolve(state, app, Kind::Function, reading).is_ok();
        let found = readings.find(reads);
        drop(readings);
        function = found.unwrap_or(function);
    }
    Ok(Target { function, weight: target.weight })
}

/// Refuses a target that leads nowhere. One that is still being built is there.
pub(crate) fn resolves(
    state: &dyn State,
    app: &AppName,
    function: &Reference,
) -> Result<(), resolve::Error> {
    match resolve::resolve(state, app, Kind::Function, &served(function)) {
        Ok(_) | Err(resolve::Error::Unready(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// What a route means by a reference: a function without a version is its latest, never its draft.
pub(crate) fn served(reference: &Reference) -> Reference {
    let at = reference.at.clone().unwrap_or(Qualifier::Latest);
    Reference { at: Some(at), ..reference.clone() }
}

/// Publishes a route's next version.
fn set(builder: &mut Builder<'_>, key: &UnitKey, spec: RouteSpec) -> Result<RouteView, Error> {
    let mut unit = code::claim(builder, key, Origin::User)?;
    let verb = if unit.is_visible() { "change" } else { "create" };
    let id = builder.fresh_id()?;
    let new = NewVersion { id, uses: None, archive: None, description: String::new() };
    let snapshot = Snapshot::Trigger(TriggerSpec::Http(spec.clone()));
    let version = builder.publish(&mut unit, &snapshot, new)?;
    builder.say(format!("{verb} route {}", key.name));
    Ok(RouteView {
        app: key.app.clone(),
        name: key.name.clone(),
        revision: builder.state.head()? + 1,
        version: VersionView::new(&unit, version, snapshot, None, folio_model::Build::None),
        spec,
    })
}

/// The refusal of a trigger that is no route.
fn other(key: &UnitKey) -> Error {
    Error::NotARoute(key.name.clone())
}

fn seen(state: &dyn State, unit: &Unit) -> Result<Option<RouteView>, StoreError> {
    let Some((version, spec)) = standing(state, unit)? else { return Ok(None) };
    Ok(Some(RouteView {
        app: unit.key.app.clone(),
        name: unit.key.name.clone(),
        revision: unit.revision,
        version: view::version(state, unit, version)?,
        spec,
    }))
}
