//! Measures canaries and takes their steps.
//!
//! The counters of versions live in this server, so a window is this server's too: one that starts anew measures
//! anew, and nothing is decided that was not measured. A step is taken only if the canary still is what was
//! measured, so it is taken once.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use folio_model::{
    Actor, AppName, Canary, CanaryPhase, CanaryPlan, FULL_WEIGHT, Name, OnBreach, Timestamp,
    percent,
};

use super::subject::{self, Measured, Source};
use super::view::{CanarySide, CanaryWindow};
use super::{Error, put};
use crate::ports::{StandingCanary, StoreError};
use crate::request::Caller;
use crate::view::Done;
use crate::{Folio, measure};

/// The time between two looks at running canaries.
const PAUSE: Duration = Duration::from_millis(200);

/// What is measured of every canary.
#[derive(Clone, Default)]
pub(crate) struct Windows(Arc<Mutex<HashMap<(AppName, Name), Window>>>);

/// What is measured of one step of a canary.
struct Window {
    /// The entry that took the step.
    revision: u64,
    /// Whose answers count.
    of: Measured,
    since: Timestamp,
    /// What the counters showed at that moment.
    before: Sides,
    counts: Sides,
}

/// Answers of the new code, and of the old.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Sides {
    new: Counts,
    old: Counts,
}

/// Answers of some versions or releases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Counts {
    requests: u64,
    failures: u64,
    /// Per bucket of latencies.
    buckets: Vec<u64>,
}

impl Counts {
    fn add(&mut self, measured: &crate::measure::Measured, failure_status: u16) {
        self.requests += measured.requests;
        self.failures += measured.server_errors;
        if failure_status < 500 {
            self.failures += measured.client_errors;
        }
        self.buckets.resize(measured.buckets.len().max(self.buckets.len()), 0);
        for (sum, count) in self.buckets.iter_mut().zip(&measured.buckets) {
            *sum += count;
        }
    }

    fn since(&self, before: &Self) -> Self {
        let then = before.buckets.iter().copied().chain(std::iter::repeat(0));
        let buckets = self.buckets.iter().zip(then);
        Self {
            requests: self.requests.saturating_sub(before.requests),
            failures: self.failures.saturating_sub(before.failures),
            buckets: buckets.map(|(now, then)| now.saturating_sub(then)).collect(),
        }
    }

    /// About how long the fastest ninety-nine of a hundred took.
    fn latency(&self) -> Option<Duration> {
        measure::estimate(&self.buckets, 0.99)
    }

    fn side(&self) -> CanarySide {
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let (requests, failures) = (self.requests, self.failures);
        CanarySide { requests, failures, latency_us: self.latency().map(us) }
    }
}

/// What is to become of a canary.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It goes on as it is.
    Wait,
    /// It takes its next step.
    Advance,
    /// It could, and somebody has to say so.
    Ask,
    /// The new code answers too badly.
    Breach(String),
}

impl Windows {
    /// What is measured of the step a canary is at.
    pub(super) fn of(&self, found: &StandingCanary) -> Option<CanaryWindow> {
        let windows = self.lock();
        let window = windows.get(&(found.app.clone(), found.name.clone()))?;
        let (new, old) = (window.counts.new.side(), window.counts.old.side());
        let current = window.revision == found.revision && found.is_running();
        current.then_some(CanaryWindow { since: window.since, new, old })
    }

    // Nothing that holds the lock leaves the windows half changed.
    fn lock(&self) -> MutexGuard<'_, HashMap<(AppName, Name), Window>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Folio {
    /// Takes the steps of canaries until told to stop.
    pub async fn run_canaries(&self, shutdown: impl Future<Output = ()>) -> Result<(), StoreError> {
        let mut head = self.head();
        tokio::pin!(shutdown);
        loop {
            head.borrow_and_update();
            let running = match self.step_canaries().await {
                Ok(running) => running,
                Err(error) => {
                    tracing::error!(%error, "Canaries could not be looked at");
                    true
                }
            };
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                _ = head.changed(), if !running => {}
                () = tokio::time::sleep(PAUSE), if running => {}
            }
        }
    }

    /// Looks once at every running canary and takes the steps that are due. Says whether any is running.
    pub async fn step_canaries(&self) -> Result<bool, Error> {
        let running = self.look(|state| {
            let running = state.canaries(None)?.into_iter().filter(StandingCanary::is_running);
            let mut seen = Vec::new();
            for found in running {
                let measured = subject::measured(state, &found.app, &found.canary)?;
                seen.push((found, measured));
            }
            Ok::<_, StoreError>(seen)
        });
        let running = running.await?;
        self.windows.lock().retain(|(app, name), _| {
            running.iter().any(|(found, _)| found.app == *app && found.name == *name)
        });
        let any = !running.is_empty();
        for (found, measured) in running {
            match measured {
                Ok(of) => self.decide_canary(found, of).await?,
                Err(why) => {
                    let phase = CanaryPhase::Aborted { why: why.clone() };
                    let to = Canary { phase, ..found.canary.clone() };
                    let message = format!("abort canary {}: {why}", found.name);
                    self.take_step(found, to, message).await?;
                }
            }
        }
        Ok(any)
    }

    async fn decide_canary(&self, found: StandingCanary, of: Measured) -> Result<(), Error> {
        let (canary, name) = (&found.canary, &found.name);
        if canary.phase != CanaryPhase::Running {
            return Ok(());
        }
        let Some((counts, took)) = self.measure_canary(&found, of) else { return Ok(()) };
        match decide(canary, &counts, took) {
            Verdict::Wait => Ok(()),
            Verdict::Ask => {
                let message = format!("canary {name} waits at {}", percent(canary.weight));
                let to = Canary { phase: CanaryPhase::Waiting, ..canary.clone() };
                self.take_step(found, to, message).await
            }
            Verdict::Advance => {
                let to = canary.advanced();
                let message = match to.phase {
                    CanaryPhase::Succeeded => format!("complete canary {name}"),
                    _ => format!("step canary {name} to {}", percent(to.weight)),
                };
                self.take_step(found, to, message).await
            }
            Verdict::Breach(why) => {
                let (to, message) = match canary.plan.guards.on_breach {
                    OnBreach::Rollback => {
                        let message = format!("roll back canary {name}: {why}");
                        (canary.failed(why), message)
                    }
                    OnBreach::Pause => {
                        let message = format!("pause canary {name}: {why}");
                        let phase = CanaryPhase::Paused { why };
                        (Canary { phase, ..canary.clone() }, message)
                    }
                };
                self.take_step(found, to, message).await
            }
        }
    }

    /// Goes on measuring a step, or begins to.
    fn measure_canary(&self, found: &StandingCanary, of: Measured) -> Option<(Sides, Duration)> {
        let now = self.clock.now();
        let status = found.canary.plan.failure_status;
        let counted =
            Sides { new: self.counted(&of.new, status), old: self.counted(&of.old, status) };
        let mut windows = self.windows.lock();
        let key = (found.app.clone(), found.name.clone());
        if let Some(window) = windows.get_mut(&key)
            && window.revision == found.revision
            && window.of == of
        {
            window.counts = Sides {
                new: counted.new.since(&window.before.new),
                old: counted.old.since(&window.before.old),
            };
            let took = Duration::try_from(now.duration_since(window.since)).unwrap_or_default();
            return Some((window.counts.clone(), took));
        }
        let (revision, counts) = (found.revision, Sides::default());
        windows.insert(key, Window { revision, of, since: now, before: counted, counts });
        None
    }

    /// What the counters show.
    fn counted(&self, of: &[Source], failure_status: u16) -> Counts {
        let mut counts = Counts::default();
        for source in of {
            let measured = match source {
                Source::Version(unit, number) => self.serving.measured_version(*unit, *number),
                Source::Release(app, release) => self.serving.measured_release(app, release),
            };
            if let Some(measured) = measured {
                counts.add(&measured, failure_status);
            }
        }
        counts
    }

    /// Takes a step, unless the canary moved since it was looked at.
    async fn take_step(
        &self,
        found: StandingCanary,
        to: Canary,
        message: String,
    ) -> Result<(), Error> {
        let app = found.app.clone();
        let said = message.clone();
        let done: Done<bool> = self
            .commit(&Caller::new(Actor::system()), &app, move |builder| {
                let now = builder.state.canary(&found.app, &found.name)?;
                if now.as_ref() != Some(&found) {
                    return Ok(false);
                }
                // What moved the shares meanwhile is found at the next look.
                if subject::measured(builder.state, &found.app, &found.canary)?.is_err()
                    && !matches!(to.phase, CanaryPhase::Aborted { .. })
                {
                    return Ok(false);
                }
                builder.say(said.clone());
                put(builder, found.clone(), to.clone())?;
                Ok::<_, Error>(true)
            })
            .await?;
        if done.result {
            tracing::info!(app.name = %app, "{message}");
        }
        Ok(())
    }
}

/// Decides from what was measured of a step for some time. What is too bad ends it as soon as enough requests were
/// measured; going on takes all of its time, and enough requests of whatever it is compared with.
fn decide(canary: &Canary, counts: &Sides, took: Duration) -> Verdict {
    let (plan, Sides { new, old }) = (&canary.plan, counts);
    if new.requests < plan.requests_min {
        return Verdict::Wait;
    }
    // Where the new code has everything, there is nothing to compare it with.
    let compares = plan.guards.compares() && canary.weight < FULL_WEIGHT;
    let old = Some(old).filter(|old| compares && old.requests >= plan.requests_min);
    if let Some(why) = breach(plan, new, old) {
        return Verdict::Breach(why);
    }
    let held = took >= Duration::from_millis(plan.hold_ms(canary.weight));
    match held && (old.is_some() || !compares) {
        true if plan.needs_approval(canary.weight) => Verdict::Ask,
        true => Verdict::Advance,
        false => Verdict::Wait,
    }
}

/// What is too bad about the new code, in itself and compared with the old.
fn breach(plan: &CanaryPlan, new: &Counts, old: Option<&Counts>) -> Option<String> {
    let Counts { requests, failures, .. } = new;
    if plan.is_exceeded(*failures, *requests) {
        return Some(format!("{failures} of {requests} requests failed"));
    }
    let ms = |time: Duration| time.as_millis();
    let slowest = new.latency();
    if let (Some(most), Some(slowest)) = (plan.guards.latency_ms_max, slowest)
        && slowest > Duration::from_millis(most)
    {
        return Some(format!("99 % of answers took up to {} ms, not {most} ms", ms(slowest)));
    }
    let old = old?;
    if let Some(over) = plan.guards.errors_percent_over {
        let share = |failed: u64, of: u64| u128::from(failed) * 100 * u128::from(of.max(1));
        // new/requests - old/requests > over/100, without fractions.
        let (more, less) = (share(*failures, old.requests), share(old.failures, *requests));
        let room = u128::from(over) * u128::from(*requests) * u128::from(old.requests);
        if more > less + room {
            let Counts { requests: of, failures: before, .. } = old;
            return Some(format!(
                "{failures} of {requests} requests failed, and {before} of {of} before it"
            ));
        }
    }
    let (over, before, slowest) = (plan.guards.latency_percent_over?, old.latency()?, slowest?);
    let allowed = before.mul_f64(1.0 + f64::from(over) / 100.0);
    (slowest > allowed).then(|| {
        format!("99 % of answers took up to {} ms, and {} ms before it", ms(slowest), ms(before))
    })
}

#[cfg(test)]
mod tests {
    use folio_model::{CanaryGuards, CanaryStage, CanarySubject};

    use super::*;

    fn counts(requests: u64, failures: u64, us: u64) -> Counts {
        let meter = crate::measure::Meter::default();
        for at in 0..requests {
            let status = if at < failures { 500 } else { 200 };
            meter.record(status, Duration::from_micros(us));
        }
        let mut counts = Counts::default();
        counts.add(&meter.read(), 500);
        counts
    }

    fn canary(guards: CanaryGuards) -> Canary {
        let stages = vec![CanaryStage { weight: 500, hold_ms: Some(1_000), approval: true }];
        let plan = CanaryPlan { stages, guards, requests_min: 100, ..CanaryPlan::default() };
        let (old, new) = ("r1".parse().unwrap(), "r2".parse().unwrap());
        let subject = CanarySubject::Live { old, new, sticky: None };
        Canary { subject, plan, weight: 500, phase: CanaryPhase::Running, owner: None }
    }

    fn check(guards: CanaryGuards, new: Counts, old: Counts, expected: &str) {
        let took = Duration::from_secs(1);
        let said = match decide(&canary(guards), &Sides { new, old }, took) {
            Verdict::Wait => "wait".to_owned(),
            Verdict::Advance => "advance".to_owned(),
            Verdict::Ask => "ask".to_owned(),
            Verdict::Breach(why) => why,
        };
        assert!(said.contains(expected), "{said:?}, not {expected:?}");
    }

    #[test]
    fn too_few_requests_on_either_side_decide_nothing() {
        let compared = CanaryGuards { errors_percent_over: Some(1), ..CanaryGuards::default() };
        check(CanaryGuards::default(), counts(99, 99, 1), counts(0, 0, 1), "wait");
        check(CanaryGuards::default(), counts(100, 0, 1), counts(0, 0, 1), "ask");
        check(compared, counts(100, 0, 1), counts(99, 0, 1), "wait");
        check(compared, counts(100, 0, 1), counts(100, 0, 1), "ask");
    }

    #[test]
    fn errors_are_compared_with_those_of_the_current_release_in_the_same_window() {
        let guards = CanaryGuards { errors_percent_over: Some(2), ..CanaryGuards::default() };
        check(guards, counts(100, 7, 1), counts(1_000, 50, 1), "ask");
        check(
            guards,
            counts(100, 8, 1),
            counts(1_000, 50, 1),
            "8 of 100 requests failed, and 50 of 1000",
        );
        check(guards, counts(100, 3, 1), counts(1_000, 0, 1), "3 of 100 requests failed");
    }

    #[test]
    fn latency_is_compared_and_bounded() {
        let over = CanaryGuards { latency_percent_over: Some(50), ..CanaryGuards::default() };
        check(over, counts(100, 0, 15_000), counts(100, 0, 15_000), "ask");
        check(over, counts(100, 0, 90_000), counts(100, 0, 15_000), "99 % of answers took");
        let most = CanaryGuards { latency_ms_max: Some(30), ..CanaryGuards::default() };
        check(most, counts(100, 0, 15_000), counts(0, 0, 1), "ask");
        check(most, counts(100, 0, 90_000), counts(0, 0, 1), "not 30 ms");
    }
}
