//! Canaries for people.

use folio_model::{
    AppName, CanaryPhase, CanaryPlan, CanarySubject, Entry, Name, Number, Place, Pointer,
    Timestamp, UnitUid, VersionKey,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Error;
use crate::moves::{self, Step};
use crate::ports::{StandingCanary, State, StoreError};

/// One canary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanaryView {
    /// The app.
    pub app: AppName,
    /// Its name.
    pub name: Name,
    /// Changes whenever it does.
    pub revision: u64,
    /// The route whose shares it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Name>,
    /// The alias whose shares it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Where calls went before it.
    pub old: String,
    /// Where they are to go.
    pub new: String,
    /// How it goes about it.
    pub plan: CanaryPlan,
    /// The share of the new code, of 10,000.
    pub weight: u32,
    /// How far it is.
    pub phase: CanaryPhase,
    /// What is measured of the step it is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<CanaryWindow>,
    /// Its steps, oldest first.
    pub steps: Vec<CanaryStep>,
}

/// What is measured of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanaryWindow {
    /// Since when.
    pub since: Timestamp,
    /// Answers of the new code.
    #[serde(flatten)]
    pub new: CanarySide,
    /// Answers of the old code in the same time.
    pub old: CanarySide,
}

/// What is measured of the old or the new code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanarySide {
    /// Answers.
    pub requests: u64,
    /// Of these, failures.
    pub failures: u64,
    /// About how long the fastest ninety-nine of a hundred took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<u64>,
}

/// One step of a canary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanaryStep {
    /// When.
    pub at: Timestamp,
    /// The share of the new code from then on.
    pub weight: u32,
    /// What was done.
    pub message: String,
}

pub(super) fn view(
    state: &dyn State,
    found: StandingCanary,
    window: Option<CanaryWindow>,
) -> Result<CanaryView, Error> {
    let steps = steps(state, &found)?;
    let (trigger, alias, old, new) = match &found.canary.subject {
        CanarySubject::Route { route, old, new, .. } => {
            (Some(route.clone()), None, old.to_string(), new.to_string())
        }
        CanarySubject::Alias { unit, function, alias, old, new } => {
            let named = |number| version_name(state, (*unit, function), number);
            (None, Some(format!("{function}@{alias}")), named(*old)?, named(*new)?)
        }
        CanarySubject::Live { old, new, .. } => (None, None, old.to_string(), new.to_string()),
    };
    let StandingCanary { app, name, canary, revision } = found;
    let (plan, weight, phase) = (canary.plan, canary.weight, canary.phase);
    Ok(CanaryView {
        app,
        name,
        revision,
        trigger,
        alias,
        old,
        new,
        plan,
        weight,
        phase,
        window,
        steps,
    })
}

/// A version by its id, or by its number once it is gone.
fn version_name(
    state: &dyn State,
    (unit, function): (UnitUid, &Name),
    number: Number,
) -> Result<String, StoreError> {
    let version = state.version(VersionKey { unit, number })?;
    Ok(match version {
        Some(version) => format!("{function}@{}", version.id),
        None => format!("{function}@{number}"),
    })
}

/// The steps since the canary was started last.
fn steps(state: &dyn State, found: &StandingCanary) -> Result<Vec<CanaryStep>, StoreError> {
    let pointer = Pointer::Canary { app: found.app.clone(), name: found.name.clone() };
    let mut steps: Vec<CanaryStep> = Vec::new();
    for Step { entry, from, to } in moves::steps(state, &pointer)? {
        if !matches!(from, Some(Place::Canary(canary)) if canary.is_running()) {
            steps.clear();
        }
        if let Some(Place::Canary(canary)) = to {
            let Entry { at, message, .. } = entry;
            steps.push(CanaryStep { at, weight: canary.weight, message });
        }
    }
    Ok(steps)
}
