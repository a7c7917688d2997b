//! Canaries: new code gets more and more of the calls, as long as it answers well.
//!
//! A canary moves the shares of a route's targets, of an alias's versions, or of the releases that are live. It begins with its first step, and every
//! step is one entry that moves the canary and the shares together. Start at [`Folio::start_canary`]; `run` measures
//! and decides, `subject` knows what is moved.

mod error;
mod rollout;
mod run;
mod subject;
mod view;

use folio_model::{
    AppName, Canary, CanaryGuards, CanaryPhase, CanaryPlan, CanaryStage, CanarySubject, Name,
    Owner, Place, Pointer, Reference, Right, Target, VersionId, percent,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::error::Error;
pub use self::rollout::{NewRollout, RolloutMove};
pub(crate) use self::rollout::{end_rollout, rollout};
pub(crate) use self::run::Windows;
pub use self::view::{CanarySide, CanaryStep, CanaryView, CanaryWindow};

use crate::builder::Builder;
use crate::ports::{StandingCanary, State, StoreError};
use crate::request::Caller;
use crate::view::Done;
use crate::{Folio, folio, resolve};

/// What a canary is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewCanary {
    /// The route whose shares it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Name>,
    /// The alias whose shares it moves, such as `hello@prod`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<Reference>,
    /// Where calls go before it; found by itself where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Reference>,
    /// Where they are to go.
    pub new: Reference,
    /// How it goes about it.
    #[serde(default)]
    pub fields: PlanFields,
}

/// How a canary goes about it; what is left out stays as it is, or as usual.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PlanFields {
    /// What the new code gets more with every step, of 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The time between two steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<u64>,
    /// The failures, in hundredths of the requests, above which the old code gets everything back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_percent: Option<u32>,
    /// The status from which on an answer is a failure: 400 or 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_status: Option<u16>,
    /// The requests without which nothing is decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_min: Option<u64>,
    /// The shares it goes through instead of even steps, each more than the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<Vec<CanaryStage>>,
    /// What else ends or stops it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guards: Option<CanaryGuards>,
}

impl PlanFields {
    pub(crate) fn over(&self, base: &CanaryPlan) -> Result<CanaryPlan, Error> {
        let plan = CanaryPlan {
            step: self.step.unwrap_or(base.step),
            interval_ms: self.interval_ms.unwrap_or(base.interval_ms),
            threshold_percent: self.threshold_percent.unwrap_or(base.threshold_percent),
            failure_status: self.failure_status.unwrap_or(base.failure_status),
            requests_min: self.requests_min.unwrap_or(base.requests_min),
            stages: self.stages.clone().unwrap_or_else(|| base.stages.clone()),
            guards: self.guards.unwrap_or(base.guards),
        };
        plan.validate()?;
        Ok(plan)
    }
}

impl Folio {
    /// Starts a canary with its first step. One that ended gives its name to the next.
    pub async fn start_canary(
        &self,
        caller: &Caller,
        (app, name): (&AppName, &Name),
        new: NewCanary,
    ) -> Result<Done<CanaryView>, Error> {
        let (app, name) = (app.clone(), name.clone());
        if name.as_str() == rollout::NAME {
            return Err(Error::Reserved(name));
        }
        for function in new.alias.iter().chain(&new.old).chain([&new.new]) {
            caller.may_name(Right::Deploy, function).map_err(resolve::Error::from)?;
        }
        self.commit(caller, &app.clone(), move |builder| {
            let before = builder.state.canary(&app, &name)?;
            if before.as_ref().is_some_and(StandingCanary::is_running) {
                return Err(Error::Exists(name.clone()));
            }
            let canary = first(builder.state, (&app, &name), &new)?;
            let standing = begin(builder, (&app, &name), before, canary, None)?;
            view::view(builder.state, standing, None)
        })
        .await
    }

    /// Changes how a running canary goes on. What was measured for the step it is at counts no more.
    pub async fn change_canary(
        &self,
        caller: &Caller,
        (app, name): (&AppName, &Name),
        fields: PlanFields,
        expect: Option<u64>,
    ) -> Result<Done<CanaryView>, Error> {
        let (app, name) = (app.clone(), name.clone());
        self.commit(caller, &app.clone(), move |builder| {
            let found = find(builder.state, &app, &name)?;
            check_revision(&found, expect)?;
            if !found.is_running() {
                return Err(Error::Ended(name.clone()));
            }
            let plan = fields.over(&found.canary.plan)?;
            let to = Canary { plan, ..found.canary.clone() };
            builder.say(format!("change canary {name}"));
            let standing = put(builder, found, to)?;
            view::view(builder.state, standing, None)
        })
        .await
    }

    /// Lists an app's canaries, by name.
    pub async fn canaries(&self, app: &AppName) -> Result<Vec<CanaryView>, Error> {
        let (app, windows) = (app.clone(), self.windows.clone());
        self.look(move |state| {
            known(state, &app)?;
            let found = state.canaries(Some(&app))?.into_iter();
            let seen = found.map(|found| {
                let window = windows.of(&found);
                view::view(state, found, window)
            });
            seen.collect()
        })
        .await
    }

    /// Shows one canary, with what is measured of the step it is at.
    pub async fn show_canary(&self, app: &AppName, name: &Name) -> Result<CanaryView, Error> {
        let (app, name, windows) = (app.clone(), name.clone(), self.windows.clone());
        self.look(move |state| {
            let found = find(state, &app, &name)?;
            let window = windows.of(&found);
            view::view(state, found, window)
        })
        .await
    }

    /// Ends a canary and forgets it. The shares stay as they are.
    pub async fn delete_canary(
        &self,
        caller: &Caller,
        (app, name): (&AppName, &Name),
        expect: Option<u64>,
    ) -> Result<Done<CanaryView>, Error> {
        let (app, name) = (app.clone(), name.clone());
        self.commit(caller, &app.clone(), move |builder| {
            let found = find(builder.state, &app, &name)?;
            check_revision(&found, expect)?;
            builder.say(format!("delete canary {name}"));
            remove(builder, &found)?;
            view::view(builder.state, found, None)
        })
        .await
    }
}

impl StandingCanary {
    /// Whether steps are to come.
    pub fn is_running(&self) -> bool {
        self.canary.is_running()
    }

    fn pointer(&self) -> Pointer {
        Pointer::Canary { app: self.app.clone(), name: self.name.clone() }
    }
}

/// A canary before its first step. Refuses one that could move nothing, or that another is in the way of.
pub(crate) fn first(
    state: &dyn State,
    at: (&AppName, &Name),
    new: &NewCanary,
) -> Result<Canary, Error> {
    let plan = new.fields.over(&CanaryPlan::default())?;
    let functions = (new.old.as_ref(), &new.new);
    let subject = match (&new.trigger, &new.alias) {
        (Some(route), None) => subject::of_route(state, at, route, functions)?,
        (None, Some(alias)) => subject::of_alias(state, at, alias, functions)?,
        _ => return Err(Error::NoSubject),
    };
    Ok(unstarted(subject, plan, None))
}

/// A canary that has everything before it.
pub(crate) fn unstarted(subject: CanarySubject, plan: CanaryPlan, owner: Option<Owner>) -> Canary {
    Canary { subject, plan, weight: 0, phase: CanaryPhase::Running, owner }
}

/// A route as the change leaves it that starts a canary over it.
pub(crate) struct RouteNow {
    pub(crate) targets: Vec<Target>,
    /// What its targets get, where that is no longer what its spec says.
    pub(crate) split: Option<Vec<Target>>,
}

/// Takes a canary's first step, in the place of one that ended.
pub(crate) fn begin(
    builder: &mut Builder<'_>,
    (app, name): (&AppName, &Name),
    before: Option<StandingCanary>,
    canary: Canary,
    route: Option<RouteNow>,
) -> Result<StandingCanary, Error> {
    let to = canary.advanced();
    match route {
        Some(route) => subject::shift_route(builder, &to, route)?,
        None => subject::shift(builder, &to)?,
    }
    builder.say(format!("start canary {name} with {}", percent(to.weight)));
    let pointer = Pointer::Canary { app: app.clone(), name: name.clone() };
    let from = before.map(|before| Place::Canary(Box::new(before.canary)));
    builder.point(pointer, from, Some(Place::Canary(Box::new(to.clone()))))?;
    let revision = builder.state.head()? + 1;
    Ok(StandingCanary { app: app.clone(), name: name.clone(), canary: to, revision })
}

/// Moves a canary, with the shares it stands for unless something else moved those.
fn put(
    builder: &mut Builder<'_>,
    found: StandingCanary,
    to: Canary,
) -> Result<StandingCanary, Error> {
    if !matches!(to.phase, CanaryPhase::Aborted { .. }) {
        subject::shift(builder, &to)?;
    }
    let (from, place) = (Place::Canary(Box::new(found.canary.clone())), to.clone());
    builder.point(found.pointer(), Some(from), Some(Place::Canary(Box::new(place))))?;
    Ok(StandingCanary { canary: to, revision: builder.state.head()? + 1, ..found })
}

/// Forgets a canary.
pub(crate) fn remove(builder: &mut Builder<'_>, found: &StandingCanary) -> Result<(), StoreError> {
    let place = Place::Canary(Box::new(found.canary.clone()));
    builder.point(found.pointer(), Some(place), None)
}

fn find(state: &dyn State, app: &AppName, name: &Name) -> Result<StandingCanary, Error> {
    known(state, app)?;
    if let Some(found) = state.canary(app, name)? {
        return Ok(found);
    }
    let all = state.canaries(Some(app))?;
    let near = resolve::nearest(name.as_str(), all.iter().map(|found| found.name.as_str()));
    Err(Error::NotFound { name: name.clone(), near })
}

fn known(state: &dyn State, app: &AppName) -> Result<(), Error> {
    if state.has_app(app)? { Ok(()) } else { Err(folio::Error::NoApp(app.clone()).into()) }
}

fn check_revision(found: &StandingCanary, expect: Option<u64>) -> Result<(), Error> {
    match expect {
        Some(expected) if expected != found.revision => {
            Err(Error::Stale { name: found.name.clone(), expected, found: found.revision })
        }
        _ => Ok(()),
    }
}

/// The alias that a reference names, with its function.
fn alias_of(reference: &Reference) -> Option<(&Name, &VersionId)> {
    match (&reference.name, &reference.at) {
        (folio_model::Subject::Name(name), Some(folio_model::Qualifier::Named(alias))) => {
            Some((name, alias))
        }
        _ => None,
    }
}
