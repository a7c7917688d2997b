//! Rollouts: a canary over what is live. A release gets more and more of an app's traffic, as long as it answers as
//! well as the one before; one at a time, and every command says which app.

use folio_model::{AppName, Canary, CanaryPhase, CanaryPlan, CanarySubject, Name, Place, Sticky};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CanaryView, Error, PlanFields, begin, known, put, unstarted, view};
use crate::Folio;
use crate::builder::Builder;
use crate::ports::{StandingCanary, State, StoreError};
use crate::release::{self, ReleaseRef};
use crate::request::Caller;
use crate::view::Done;

/// What the canary over what is live is called.
pub(super) const NAME: &str = "live-rollout";

/// A rollout to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRollout {
    /// The release that is to get everything.
    pub release: ReleaseRef,
    /// What tells one client from another; chance decides if nothing does.
    pub sticky: Option<Sticky>,
    /// How it goes about it.
    pub fields: PlanFields,
}

/// What somebody has a rollout do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RolloutMove {
    /// It stays where it is.
    Pause,
    /// It goes on from where it was paused, and measures the step anew.
    Resume,
    /// It takes the step that it waits to take.
    Approve,
    /// The release before gets everything back.
    Abort,
}

impl Folio {
    /// Starts a rollout with its first step.
    pub async fn start_rollout(
        &self,
        caller: &Caller,
        app: &AppName,
        new: NewRollout,
    ) -> Result<Done<CanaryView>, Error> {
        let app = app.clone();
        self.commit(caller, &app.clone(), move |builder| {
            let state = builder.state;
            let before = state.canary(&app, &name())?;
            if before.as_ref().is_some_and(StandingCanary::is_running) {
                return Err(Error::Exists(name()));
            }
            let base = CanaryPlan { failure_status: 500, ..CanaryPlan::default() };
            let plan = new.fields.over(&base)?;
            let to = release::reach_public(state, &app, &new.release)?;
            let from = release::reach(state, &app, &ReleaseRef::Live)?;
            if from.id == to.id {
                return Err(Error::Same(format!("release {}", to.id)));
            }
            let (old, new, sticky) = (from.id, to.id, new.sticky.clone());
            let subject = CanarySubject::Live { old, new, sticky };
            let canary = unstarted(subject, plan, None);
            let standing = begin(builder, (&app, &name()), before, canary, None)?;
            view::view(builder.state, standing, None)
        })
        .await
    }

    /// Has the rollout of an app pause, go on, take its next step, or give everything back.
    pub async fn move_rollout(
        &self,
        caller: &Caller,
        app: &AppName,
        to: RolloutMove,
    ) -> Result<Done<CanaryView>, Error> {
        let app = app.clone();
        self.commit(caller, &app.clone(), move |builder| {
            let found = rollout(builder.state, &app)?;
            let found = found.ok_or_else(|| Error::NoRollout(app.clone()))?;
            let by = builder.reason().map(str::to_owned);
            let (canary, done) = moved(&found.canary, to, by)?;
            builder.say(format!("{done} rollout"));
            let standing = put(builder, found, canary)?;
            view::view(builder.state, standing, None)
        })
        .await
    }

    /// Shows the rollout that is running in an app, or the last there was, with what is measured of it.
    pub async fn show_rollout(&self, app: &AppName) -> Result<CanaryView, Error> {
        let (app, windows) = (app.clone(), self.windows.clone());
        self.look(move |state| {
            known(state, &app)?;
            let found = state.canary(&app, &name())?;
            let found = found.ok_or_else(|| Error::NoRollout(app.clone()))?;
            let window = windows.of(&found);
            view::view(state, found, window)
        })
        .await
    }
}

/// The canary after somebody said something, and what was done in a word.
fn moved(
    canary: &Canary,
    to: RolloutMove,
    reason: Option<String>,
) -> Result<(Canary, &'static str), Error> {
    let at = |phase| Canary { phase, ..canary.clone() };
    let is = match &canary.phase {
        CanaryPhase::Waiting => "waiting for approval",
        CanaryPhase::Paused { .. } => "paused",
        _ => "running",
    };
    let no = |wanted| Err(Error::NotNow { is, wanted });
    match (to, &canary.phase) {
        (RolloutMove::Abort, _) => {
            let why = reason.unwrap_or_else(|| "somebody ended it".to_owned());
            Ok((canary.failed(why), "abort"))
        }
        (RolloutMove::Pause, CanaryPhase::Paused { .. }) => no("paused"),
        (RolloutMove::Pause, _) => {
            let why = reason.unwrap_or_else(|| "somebody paused it".to_owned());
            Ok((at(CanaryPhase::Paused { why }), "pause"))
        }
        (RolloutMove::Resume, CanaryPhase::Paused { .. }) => {
            Ok((at(CanaryPhase::Running), "resume"))
        }
        (RolloutMove::Resume, _) => no("resumed"),
        (RolloutMove::Approve, CanaryPhase::Waiting) => Ok((canary.advanced(), "approve")),
        (RolloutMove::Approve, _) => no("approved"),
    }
}

/// The rollout that is running in an app.
pub(crate) fn rollout(
    state: &dyn State,
    app: &AppName,
) -> Result<Option<StandingCanary>, StoreError> {
    Ok(state.canary(app, &name())?.filter(StandingCanary::is_running))
}

/// Ends the rollout that is running, if one is, because something else decides what is live.
pub(crate) fn end_rollout(builder: &mut Builder<'_>, why: &str) -> Result<(), StoreError> {
    let Some(found) = rollout(builder.state, builder.app())? else { return Ok(()) };
    let phase = CanaryPhase::Aborted { why: why.to_owned() };
    let to = Canary { phase, ..found.canary.clone() };
    let from = Some(Place::Canary(Box::new(found.canary.clone())));
    builder.point(found.pointer(), from, Some(Place::Canary(Box::new(to))))
}

fn name() -> Name {
    NAME.parse().expect("it is a name")
}
