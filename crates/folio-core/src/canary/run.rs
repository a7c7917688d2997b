//! Measures canaries and takes their steps.
//!
//! The counters of versions live in this server, so a window is this server's too: one that starts anew measures
//! anew, and nothing is decided that was not measured. A step is taken only if the canary still is what was
//! measured, so it is taken once.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use folio_model::{Actor, AppName, Canary, CanaryPhase, Name, Timestamp, percent};

use super::subject::{self, Measured};
use super::view::CanaryWindow;
use super::{Error, put};
use crate::Folio;
use crate::ports::{StandingCanary, StoreError};
use crate::request::Caller;
use crate::view::Done;

/// The time between two looks at running canaries.
const PAUSE: Duration = Duration::from_millis(200);

/// What is measured of every canary.
#[derive(Clone, Default)]
pub(crate) struct Windows(Arc<Mutex<HashMap<(AppName, Name), Window>>>);

/// What is measured of one step of a canary.
struct Window {
    /// The entry that took the step.
    revision: u64,
    /// The versions whose answers count.
    of: Measured,
    since: Timestamp,
    /// What their counters showed at that moment.
    before: Counts,
    counts: Counts,
}

/// Answers of some versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    requests: u64,
    failures: u64,
}

/// What is to become of a canary.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It goes on as it is.
    Wait,
    /// It takes its next step.
    Advance,
    /// The old code gets everything back.
    Fail(String),
}

impl Windows {
    /// What is measured of the step a canary is at.
    pub(super) fn of(&self, found: &StandingCanary) -> Option<CanaryWindow> {
        let windows = self.lock();
        let window = windows.get(&(found.app.clone(), found.name.clone()))?;
        let Counts { requests, failures } = window.counts;
        let current = window.revision == found.revision && found.is_running();
        current.then_some(CanaryWindow { since: window.since, requests, failures })
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
        let Some((counts, took)) = self.measure_canary(&found, of) else { return Ok(()) };
        match decide(canary, counts, took) {
            Verdict::Wait => Ok(()),
            Verdict::Advance => {
                let to = canary.advanced();
                let message = match to.phase {
                    CanaryPhase::Succeeded => format!("complete canary {name}"),
                    _ => format!("step canary {name} to {}", percent(to.weight)),
                };
                self.take_step(found, to, message).await
            }
            Verdict::Fail(why) => {
                let message = format!("roll back canary {name}: {why}");
                let to = canary.failed(why);
                self.take_step(found, to, message).await
            }
        }
    }

    /// Goes on measuring a step, or begins to.
    fn measure_canary(&self, found: &StandingCanary, of: Measured) -> Option<(Counts, Duration)> {
        let now = self.clock.now();
        let counted = self.counted(&of, found.canary.plan.failure_status);
        let mut windows = self.windows.lock();
        let key = (found.app.clone(), found.name.clone());
        if let Some(window) = windows.get_mut(&key)
            && window.revision == found.revision
            && window.of == of
        {
            window.counts = Counts {
                requests: counted.requests.saturating_sub(window.before.requests),
                failures: counted.failures.saturating_sub(window.before.failures),
            };
            let took = Duration::try_from(now.duration_since(window.since)).unwrap_or_default();
            return Some((window.counts, took));
        }
        let (revision, counts) = (found.revision, Counts::default());
        windows.insert(key, Window { revision, of, since: now, before: counted, counts });
        None
    }

    /// What the counters of versions show.
    fn counted(&self, of: &Measured, failure_status: u16) -> Counts {
        let mut counts = Counts::default();
        for (unit, number) in of {
            let Some(measured) = self.serving.measured_version(*unit, *number) else { continue };
            counts.requests += measured.requests;
            counts.failures += measured.server_errors;
            if failure_status < 500 {
                counts.failures += measured.client_errors;
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

/// Decides from what was measured of a step for some time. Too many failures end it as soon as enough requests
/// were measured; going on takes the whole interval.
fn decide(canary: &Canary, counts: Counts, took: Duration) -> Verdict {
    let Counts { requests, failures } = counts;
    if requests < canary.plan.requests_min {
        return Verdict::Wait;
    }
    if canary.plan.is_exceeded(failures, requests) {
        return Verdict::Fail(format!("{failures} of {requests} requests failed"));
    }
    match took >= Duration::from_millis(canary.plan.interval_ms) {
        true => Verdict::Advance,
        false => Verdict::Wait,
    }
}
