//! Triggers that are no routes: timers, message queues and watches.
//!
//! Every change of one is a version; what it names has to be there, and stays as long as the trigger does. Running them is the work of `timer`, `messages`
//! and `watch`. Start at [`Folio::set_trigger`].

mod error;
mod fields;

use folio_model::{
    AppName, Digest, Kind, Name, Origin, Snapshot, TimerSpec, Timestamp, TriggerSpec, Unit,
    UnitKey, Version, VersionId, VersionKey,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::error::Error;
pub use self::fields::{QueueFields, TimerFields, TriggerFields, WatchFields};

use crate::builder::{Builder, NewVersion};
use crate::ports::{State, StoreError};
use crate::request::{Caller, Cascade, Onto};
use crate::timer::{FireReport, Schedule};
use crate::view::{self, Done, Removed, VersionView};
use crate::{Folio, code, delete, history, resolve, route};

/// Which triggers are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TriggerType {
    /// Those of moments.
    Timer,
    /// Those of messages.
    Queue,
    /// Those of changed objects.
    Watch,
}

impl TriggerType {
    /// What a trigger is, unless it is a route.
    pub fn of(spec: &TriggerSpec) -> Option<Self> {
        match spec {
            TriggerSpec::Http(_) => None,
            TriggerSpec::Timer(_) => Some(Self::Timer),
            TriggerSpec::Queue(_) => Some(Self::Queue),
            TriggerSpec::Watch(_) => Some(Self::Watch),
        }
    }

    /// The word for it in commands and messages.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Queue => "mqtrigger",
            Self::Watch => "watch",
        }
    }
}

/// One trigger as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerView {
    /// The app.
    pub app: AppName,
    /// Its name.
    pub name: Name,
    /// Changes whenever it does.
    pub revision: u64,
    /// Its latest version.
    pub version: VersionView,
    /// What it says.
    pub spec: TriggerSpec,
    /// When a timer comes next, if it ever does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// What became of a timer's slots since this server started, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fires: Vec<FireReport>,
}

impl Folio {
    /// Makes or changes a trigger; each change is a version at once. A new one without a name is given one.
    pub async fn set_trigger(
        &self,
        caller: &Caller,
        (app, name): (&AppName, Option<&Name>),
        fields: TriggerFields,
        (onto, expect): (Onto, Option<u64>),
    ) -> Result<Done<TriggerView>, Error> {
        let max = self.limits().alias_targets_max;
        if let Some(found) = fields.targets().map(<[_]>::len).filter(|n| *n as u64 > max) {
            return Err(Error::TooManyTargets { found, max });
        }
        let connected = self.messages.is_some();
        let (app, name, now) = (app.clone(), name.cloned(), self.clock.now());
        self.commit(caller, &app.clone(), move |builder| {
            let name = match &name {
                Some(name) => name.clone(),
                None => fresh_name(builder, &fields)?,
            };
            let key = UnitKey { app: app.clone(), kind: Kind::Trigger, name };
            let unit = builder.state.unit(&key)?.filter(Unit::is_visible);
            check(builder.state, (&key, unit.as_ref()), &fields, (onto, expect))?;
            let base = match &unit {
                Some(unit) => Some(of_type(builder.state, unit, fields.of())?),
                None => None,
            };
            let spec = fields.over(base.as_ref())?;
            let spec = complete(builder.state, &app, (spec, base.as_ref()), now)?;
            if fields.of() == TriggerType::Queue && !connected {
                return Err(Error::NoQueue);
            }
            if let Some(unit) = unit.as_ref().filter(|_| base.as_ref() == Some(&spec)) {
                return Ok(seen(builder.state, unit)?);
            }
            set(builder, &key, spec)
        })
        .await
    }

    /// Lists an app's triggers that are no routes, by name.
    pub async fn triggers_of(
        &self,
        app: &AppName,
        of: Option<TriggerType>,
    ) -> Result<Vec<TriggerView>, history::Error> {
        let (app, now) = (app.clone(), self.clock.now());
        self.look(move |state| {
            history::known(state, &app)?;
            let mut views = Vec::new();
            for unit in state.units(&app, Kind::Trigger)?.iter().filter(|unit| unit.is_visible()) {
                let found = TriggerType::of(&latest(state, unit)?.1);
                if found.is_some() && (of.is_none() || found == of) {
                    views.push(seen(state, unit)?.at(now));
                }
            }
            Ok(views)
        })
        .await
    }

    /// Shows one trigger, with what became of its slots.
    pub async fn show_trigger(&self, app: &AppName, name: &Name) -> Result<TriggerView, Error> {
        let key = UnitKey { app: app.clone(), kind: Kind::Trigger, name: name.clone() };
        let now = self.clock.now();
        let (uid, view) = self
            .look(move |state| {
                let unit = resolve::unit(state, &key)?;
                let spec = latest(state, &unit)?.1;
                match TriggerType::of(&spec) {
                    Some(_) => Ok((unit.uid, seen(state, &unit)?.at(now))),
                    None => Err(Error::Other { name: key.name.clone(), is: spec.noun() }),
                }
            })
            .await?;
        Ok(TriggerView { fires: self.fires.of(uid), ..view })
    }

    /// Deletes a trigger. What it led to stays.
    pub async fn delete_trigger(
        &self,
        caller: &Caller,
        (app, name): (&AppName, &Name),
        expect: Option<u64>,
    ) -> Result<Done<Removed>, Error> {
        self.show_trigger(app, name).await?;
        let key = UnitKey { app: app.clone(), kind: Kind::Trigger, name: name.clone() };
        Ok(self.delete(caller, &key, Cascade::No, expect).await?)
    }
}

impl TriggerView {
    /// With when it comes next after a moment.
    fn at(self, now: Timestamp) -> Self {
        let schedule = match &self.spec {
            TriggerSpec::Timer(timer) => Schedule::of(timer).ok(),
            _ => None,
        };
        let next = schedule.and_then(|schedule| schedule.next(now));
        Self { next, ..self }
    }
}

/// Refuses a spec that cannot be, and writes its targets out by name.
pub(crate) fn complete(
    state: &dyn State,
    app: &AppName,
    (mut spec, base): (TriggerSpec, Option<&TriggerSpec>),
    now: Timestamp,
) -> Result<TriggerSpec, Error> {
    let targets = match &mut spec {
        TriggerSpec::Http(route) => &mut route.targets,
        TriggerSpec::Timer(timer) => &mut timer.targets,
        TriggerSpec::Queue(queue) => &mut queue.targets,
        TriggerSpec::Watch(watch) => &mut watch.targets,
    };
    for target in targets.iter_mut() {
        *target = route::written_out(state, app, target)?;
    }
    if spec.targets().is_empty() && spec.tag().is_none() {
        return Err(Error::NoTarget(spec.noun()));
    }
    Snapshot::Trigger(spec.clone()).validate()?;
    for target in spec.targets() {
        route::resolves(state, app, &target.function)?;
    }
    if let TriggerSpec::Timer(timer) = &spec {
        let said = |base: &TimerSpec| base.cron == timer.cron && base.zone == timer.zone;
        let schedule = match base {
            Some(TriggerSpec::Timer(base)) if said(base) => Schedule::of(timer)?,
            _ => Schedule::parse(&timer.cron, timer.zone.as_deref())?,
        };
        schedule.next(now).ok_or_else(|| Error::Never(timer.cron.clone()))?;
    }
    check_tag(state, app, &spec)?;
    Ok(spec)
}

fn check_tag(state: &dyn State, app: &AppName, spec: &TriggerSpec) -> Result<(), Error> {
    match spec.tag() {
        Some(tag) if state.tag(app, tag)?.is_none() => Err(Error::NoTag(tag.clone())),
        _ => Ok(()),
    }
}

/// What is wrong with a spec besides its targets, if anything is.
pub(crate) fn check_spec(
    state: &dyn State,
    app: &AppName,
    spec: &TriggerSpec,
) -> Result<Result<(), String>, StoreError> {
    match check_when(spec).and_then(|()| check_tag(state, app, spec)) {
        Ok(()) => Ok(Ok(())),
        Err(Error::Folio(crate::folio::Error::Store(error))) => Err(error),
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// Says what is wrong with when a trigger calls, if anything is.
pub(crate) fn check_schedule(spec: &TriggerSpec) -> Result<(), String> {
    check_when(spec).map_err(|error| error.to_string())
}

fn check_when(spec: &TriggerSpec) -> Result<(), Error> {
    match spec {
        TriggerSpec::Timer(timer) => Schedule::of(timer).map(|_| ()).map_err(Error::from),
        _ => Ok(()),
    }
}

/// A name for a trigger that was given none: its function's or tag's, with some random characters.
fn fresh_name(builder: &mut Builder<'_>, fields: &TriggerFields) -> Result<Name, Error> {
    let id = builder.fresh_id()?;
    let function = fields.targets().and_then(<[_]>::first).and_then(|target| target.name());
    let noun = fields.of().noun();
    let word = function.map_or(noun, Name::as_str);
    let name = format!("{word}-{id}").parse().or_else(|_| format!("{noun}-{id}").parse());
    Ok(name.expect("a word and an id are a name"))
}

fn check(
    state: &dyn State,
    (key, unit): (&UnitKey, Option<&Unit>),
    fields: &TriggerFields,
    (onto, expect): (Onto, Option<u64>),
) -> Result<(), Error> {
    let found = unit.map_or(0, |unit| unit.revision);
    let (name, noun) = (key.name.clone(), fields.of().noun());
    match (expect, onto, unit) {
        (Some(expected), _, _) if expected != found => {
            Err(Error::Stale { name, noun, expected, found })
        }
        (_, Onto::Nothing, Some(unit)) => {
            Err(Error::Exists { name, is: latest(state, unit)?.1.noun() })
        }
        (_, Onto::Existing, None) => Ok(resolve::unit(state, key).map(|_| ())?),
        _ => Ok(()),
    }
}

/// What a trigger says, if it is of a type.
fn of_type(state: &dyn State, unit: &Unit, of: TriggerType) -> Result<TriggerSpec, Error> {
    let (_, spec) = latest(state, unit)?;
    match TriggerType::of(&spec) == Some(of) {
        true => Ok(spec),
        false => Err(Error::Other { name: unit.key.name.clone(), is: spec.noun() }),
    }
}

/// Publishes a trigger's next version.
fn set(builder: &mut Builder<'_>, key: &UnitKey, spec: TriggerSpec) -> Result<TriggerView, Error> {
    let mut unit = code::claim(builder, key, Origin::User)?;
    let verb = if unit.is_visible() { "change" } else { "create" };
    let id = builder.fresh_id()?;
    let new = NewVersion { id, uses: None, archive: None, description: String::new() };
    let snapshot = Snapshot::Trigger(spec.clone());
    let version = builder.publish(&mut unit, &snapshot, new)?;
    builder.say(format!("{verb} {} {}", spec.noun(), key.name));
    Ok(TriggerView {
        app: key.app.clone(),
        name: key.name.clone(),
        revision: builder.state.head()? + 1,
        version: VersionView::new(&unit, version, snapshot, None, folio_model::Build::None),
        spec,
        next: None,
        fires: Vec::new(),
    })
}

fn seen(state: &dyn State, unit: &Unit) -> Result<TriggerView, StoreError> {
    let (version, spec) = latest(state, unit)?;
    Ok(TriggerView {
        app: unit.key.app.clone(),
        name: unit.key.name.clone(),
        revision: unit.revision,
        version: view::version(state, unit, version)?,
        spec,
        next: None,
        fires: Vec::new(),
    })
}

/// What a trigger's latest version says.
pub(crate) fn latest(state: &dyn State, unit: &Unit) -> Result<(Version, TriggerSpec), StoreError> {
    let version = match unit.latest {
        Some(number) => state.version(VersionKey { unit: unit.uid, number })?,
        None => None,
    };
    let version = version.ok_or_else(|| StoreError::corrupt(unit.key.to_string()))?;
    let spec = spec(state, version.snapshot)?;
    Ok((version, spec))
}

/// What a trigger's snapshot says.
pub(crate) fn spec(state: &dyn State, digest: Digest) -> Result<TriggerSpec, StoreError> {
    match view::snapshot(state, digest)? {
        Snapshot::Trigger(spec) => Ok(spec),
        _ => Err(StoreError::corrupt(format!("trigger snapshot {digest}"))),
    }
}

/// The triggers of an app that name a tag. Costs as much as there are triggers.
pub(crate) fn naming_tag(
    state: &dyn State,
    app: &AppName,
    tag: &VersionId,
) -> Result<Vec<Unit>, StoreError> {
    let all = state.triggers()?.into_iter();
    let naming = all.filter(|one| one.unit.key.app == *app && one.spec.tag() == Some(tag));
    Ok(naming.map(|one| one.unit).collect())
}

impl From<delete::Error> for Error {
    fn from(error: delete::Error) -> Self {
        Self::Delete(error)
    }
}
