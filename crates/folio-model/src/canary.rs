//! Canaries: new code that gets more and more of the calls, as long as it answers well.
//!
//! A canary is a pointer like any other: each of its steps moves it, together with the weights it stands for, in
//! one entry of the ledger. When a step is due is decided by whoever measures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    FULL_WEIGHT, LiveShare, Name, Number, Owner, Reference, ReleaseId, Share, Sticky, Target,
    UnitUid, VersionId, Weights,
};

/// A canary as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Canary {
    /// What it moves the weights of.
    pub subject: CanarySubject,
    /// How it goes about it.
    pub plan: CanaryPlan,
    /// The share of the new code, of 10,000.
    pub weight: u32,
    /// How far it is.
    pub phase: CanaryPhase,
    /// The deployment it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
}

/// What a canary moves the weights of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CanarySubject {
    /// Two targets of a route.
    Route {
        /// The trigger.
        unit: UnitUid,
        /// Its name.
        route: Name,
        /// Where requests went.
        old: Reference,
        /// Where they are to go.
        new: Reference,
    },
    /// Two versions that an alias points to.
    Alias {
        /// The function.
        unit: UnitUid,
        /// Its name.
        function: Name,
        /// The alias.
        alias: VersionId,
        /// The version it pointed to.
        old: Number,
        /// The version it is to point to.
        new: Number,
    },
    /// Two releases that share what is live.
    Live {
        /// The release that was live.
        old: ReleaseId,
        /// The release that is to be.
        new: ReleaseId,
        /// What tells one client from another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sticky: Option<Sticky>,
    },
}

/// How a canary goes about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CanaryPlan {
    /// What the new code gets more with every step, of 10,000.
    pub step: u32,
    /// The time between two steps.
    pub interval_ms: u64,
    /// The failures, in hundredths of the requests, above which the old code gets everything back.
    pub threshold_percent: u32,
    /// The status from which on an answer is a failure: 400 or 500.
    pub failure_status: u16,
    /// The requests without which nothing is decided.
    pub requests_min: u64,
    /// The shares it goes through instead of even steps, each more than the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<CanaryStage>,
    /// What else ends or stops it.
    #[serde(default, skip_serializing_if = "CanaryGuards::is_empty")]
    pub guards: CanaryGuards,
}

/// One of the shares that a canary goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CanaryStage {
    /// The share, of 10,000.
    pub weight: u32,
    /// How long it is held; as long as the time between two steps if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_ms: Option<u64>,
    /// Whether somebody has to say that it goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
}

/// What the new code is held to, beside the failures it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CanaryGuards {
    /// By how many hundredths of the requests more may fail than of the old code in the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors_percent_over: Option<u32>,
    /// By how many hundredths its slowest hundredth may be slower than that of the old code in the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_percent_over: Option<u32>,
    /// How long the fastest ninety-nine of a hundred answers may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms_max: Option<u64>,
    /// What happens when it is too much.
    #[serde(skip_serializing_if = "OnBreach::is_rollback")]
    pub on_breach: OnBreach,
}

/// What happens when a canary answers too badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnBreach {
    /// The old code gets everything back.
    #[default]
    Rollback,
    /// It stops where it is until somebody decides.
    Pause,
}

impl OnBreach {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_rollback(&self) -> bool {
        *self == Self::Rollback
    }
}

impl CanaryGuards {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the old code is measured too.
    pub fn compares(&self) -> bool {
        self.errors_percent_over.is_some() || self.latency_percent_over.is_some()
    }
}

/// How far a canary is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CanaryPhase {
    /// Steps are to come.
    Running,
    /// The step was measured and is well; somebody has to say that it goes on.
    Waiting,
    /// It stays where it is until somebody has it go on.
    Paused {
        /// Why.
        why: String,
    },
    /// The new code has everything.
    Succeeded,
    /// The old code has everything again.
    Failed {
        /// What was measured.
        why: String,
    },
    /// Something else moved the weights, which stay where they are.
    Aborted {
        /// What happened.
        why: String,
    },
}

/// Why a canary cannot go about it that way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanaryPlanError {
    /// The step leads nowhere.
    #[error("a step of {0} hundredths of a percent is not between 1 and {FULL_WEIGHT}")]
    Step(u32),
    /// The interval is nothing, or for ever.
    #[error("an interval of {0} ms is not between a tenth of a second and 30 days")]
    Interval(u64),
    /// The threshold is no share.
    #[error("a threshold of {0} % is more than 100 %")]
    Threshold(u32),
    /// Answers are not counted by that status.
    #[error("failures are counted from status 400 or from status 500, not from {0}")]
    Status(u16),
    /// Nothing would be measured.
    #[error("a step needs at least one request to be decided")]
    Requests,
    /// The shares do not grow.
    #[error("a share of {} does not follow one of {}", crate::percent(*.next), crate::percent(*.before))]
    Stages {
        /// A share.
        before: u32,
        /// The one after it.
        next: u32,
    },
}

impl Default for CanaryPlan {
    fn default() -> Self {
        Self {
            step: 2_000,
            interval_ms: 120_000,
            threshold_percent: 10,
            failure_status: 400,
            requests_min: 10,
            stages: Vec::new(),
            guards: CanaryGuards::default(),
        }
    }
}

impl CanaryPlan {
    /// Refuses a plan that can never end, or ends without having measured.
    pub fn validate(&self) -> Result<(), CanaryPlanError> {
        const INTERVAL_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1000;
        if !(1..=FULL_WEIGHT).contains(&self.step) {
            return Err(CanaryPlanError::Step(self.step));
        }
        let holds = self.stages.iter().filter_map(|stage| stage.hold_ms);
        for time in holds.chain([self.interval_ms]) {
            if !(100..=INTERVAL_MS_MAX).contains(&time) {
                return Err(CanaryPlanError::Interval(time));
            }
        }
        let mut before = 0;
        for stage in &self.stages {
            if stage.weight <= before || stage.weight > FULL_WEIGHT {
                return Err(CanaryPlanError::Stages { before, next: stage.weight });
            }
            before = stage.weight;
        }
        if self.threshold_percent > 100 {
            return Err(CanaryPlanError::Threshold(self.threshold_percent));
        }
        if ![400, 500].contains(&self.failure_status) {
            return Err(CanaryPlanError::Status(self.failure_status));
        }
        if self.requests_min == 0 { Err(CanaryPlanError::Requests) } else { Ok(()) }
    }

    /// The share after another; the whole after the last.
    fn after(&self, weight: u32) -> u32 {
        let next = self.stages.iter().find(|stage| stage.weight > weight);
        match next {
            Some(stage) => stage.weight,
            None if self.stages.is_empty() => weight.saturating_add(self.step).min(FULL_WEIGHT),
            None => FULL_WEIGHT,
        }
    }

    /// How long a share is held before the next.
    pub fn hold_ms(&self, weight: u32) -> u64 {
        let stage = self.stages.iter().find(|stage| stage.weight == weight);
        stage.and_then(|stage| stage.hold_ms).unwrap_or(self.interval_ms)
    }

    /// Whether somebody has to say that it goes on from a share.
    pub fn needs_approval(&self, weight: u32) -> bool {
        self.stages.iter().any(|stage| stage.weight == weight && stage.approval)
    }

    /// Whether so many failures among so many requests are too many.
    pub fn is_exceeded(&self, failures: u64, requests: u64) -> bool {
        u128::from(failures) * 100 > u128::from(requests) * u128::from(self.threshold_percent)
    }
}

impl Canary {
    /// The canary one step on: with more weight, or done.
    #[must_use]
    pub fn advanced(&self) -> Self {
        let done = self.weight == FULL_WEIGHT;
        let weight = self.plan.after(self.weight);
        let phase = if done { CanaryPhase::Succeeded } else { CanaryPhase::Running };
        Self { weight, phase, ..self.clone() }
    }

    /// The canary with everything back where it was.
    #[must_use]
    pub fn failed(&self, why: String) -> Self {
        Self { weight: 0, phase: CanaryPhase::Failed { why }, ..self.clone() }
    }

    /// Whether it may still move its shares.
    pub fn is_running(&self) -> bool {
        matches!(
            self.phase,
            CanaryPhase::Running | CanaryPhase::Waiting | CanaryPhase::Paused { .. }
        )
    }

    /// Which releases are live at this moment of a canary between two of them. As long as it runs, both are kept.
    pub fn live_shares(&self, old: &ReleaseId, new: &ReleaseId) -> Vec<LiveShare> {
        let share = |release: &ReleaseId, weight| LiveShare { release: release.clone(), weight };
        if self.is_running() {
            return vec![share(old, FULL_WEIGHT - self.weight), share(new, self.weight)];
        }
        vec![share(if self.weight == 0 { old } else { new }, FULL_WEIGHT)]
    }

    /// What an alias points to at this moment of a canary over it. As long as it runs, both versions are kept.
    pub fn weights(&self, old: Number, new: Number) -> Weights {
        if self.is_running() {
            let share = |number, weight| Share { number, weight };
            let both = vec![share(old, FULL_WEIGHT - self.weight), share(new, self.weight)];
            return Weights::new(both).expect("two versions share the whole");
        }
        Weights::only(if self.weight == 0 { old } else { new })
    }

    /// Where a route leads at this moment of a canary between two of its targets.
    pub fn targets(&self, targets: &[Target], old: &Reference, new: &Reference) -> Vec<Target> {
        let ours = |target: &&Target| target.function == *old || target.function == *new;
        let whole: u32 = targets.iter().filter(ours).map(|target| target.weight).sum();
        let share = u64::from(whole) * u64::from(self.weight) / u64::from(FULL_WEIGHT);
        let share = u32::try_from(share).unwrap_or(whole);
        let weigh = |target: &Target| {
            let weight = match &target.function {
                function if function == new => share,
                function if function == old => whole - share,
                _ => target.weight,
            };
            Target { weight, ..target.clone() }
        };
        targets.iter().map(weigh).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canary(step: u32) -> Canary {
        let (old, new) = ("a".parse().unwrap(), "b".parse().unwrap());
        Canary {
            subject: CanarySubject::Route {
                unit: UnitUid(uuid::Uuid::nil()),
                route: "r".parse().unwrap(),
                old,
                new,
            },
            plan: CanaryPlan { step, ..CanaryPlan::default() },
            weight: step,
            phase: CanaryPhase::Running,
            owner: None,
        }
    }

    proptest! {
        #[test]
        fn every_weight_is_measured_before_the_next(step in 1..=FULL_WEIGHT) {
            let (mut canary, mut windows) = (canary(step), 0);
            while canary.phase == CanaryPhase::Running {
                windows += 1;
                let before = canary.weight;
                canary = canary.advanced();
                prop_assert!(canary.weight > before || canary.phase == CanaryPhase::Succeeded);
            }
            prop_assert_eq!(canary.weight, FULL_WEIGHT);
            prop_assert_eq!(windows, FULL_WEIGHT.div_ceil(step));
        }

        #[test]
        fn a_route_keeps_its_whole_and_its_other_targets(
            step in 1..=FULL_WEIGHT,
            cut in 0..=FULL_WEIGHT,
            other in 0..=FULL_WEIGHT,
        ) {
            let (a, b) = (cut.min(other), cut.max(other) - cut.min(other));
            let target = |name: &str, weight| Target { function: name.parse().unwrap(), weight };
            let before = [target("a", a), target("b", b), target("c", FULL_WEIGHT - a - b)];
            let canary = canary(step);
            let after = canary.targets(&before, &before[0].function, &before[1].function);
            prop_assert_eq!(after.iter().map(|target| target.weight).sum::<u32>(), FULL_WEIGHT);
            prop_assert_eq!(&after[2], &before[2]);
            let back = canary.failed(String::new()).targets(&after, &before[0].function, &before[1].function);
            prop_assert_eq!(back[1].weight, 0);
        }

        #[test]
        fn an_alias_is_split_exactly_over_all_draws(step in 1..=FULL_WEIGHT) {
            let (old, new) = (Number::FIRST, Number::FIRST.next());
            let weights = canary(step).weights(old, new);
            let drawn = (0..FULL_WEIGHT).filter(|draw| weights.pick(*draw) == new).count();
            prop_assert_eq!(drawn, step as usize);
        }
    }

    #[test]
    fn too_many_is_more_than_the_threshold() {
        let plan = CanaryPlan::default();
        assert!(!plan.is_exceeded(1, 10));
        assert!(plan.is_exceeded(2, 19));
        assert!(!CanaryPlan { threshold_percent: 100, ..plan.clone() }.is_exceeded(5, 5));
        assert!(CanaryPlan { threshold_percent: 0, ..plan }.is_exceeded(1, 1_000_000));
    }

    #[test]
    fn a_plan_that_measures_nothing_is_refused() {
        let plan = CanaryPlan::default();
        let step = CanaryPlan { step: 0, ..plan.clone() };
        assert_eq!(step.validate(), Err(CanaryPlanError::Step(0)));
        let status = CanaryPlan { failure_status: 404, ..plan.clone() };
        assert_eq!(status.validate(), Err(CanaryPlanError::Status(404)));
        let requests = CanaryPlan { requests_min: 0, ..plan.clone() };
        assert_eq!(requests.validate(), Err(CanaryPlanError::Requests));
        let threshold = CanaryPlan { threshold_percent: 101, ..plan.clone() };
        assert_eq!(threshold.validate(), Err(CanaryPlanError::Threshold(101)));
        let interval = CanaryPlan { interval_ms: 99, ..plan.clone() };
        assert_eq!(interval.validate(), Err(CanaryPlanError::Interval(99)));
        assert_eq!(plan.validate(), Ok(()));
    }
}
