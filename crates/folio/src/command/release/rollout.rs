//! `folio release rollout`: a release gets more and more of what is live, as long as it answers well.

use std::str::FromStr;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::canary::{CanaryView, PlanFields, RolloutMove};
use folio_core::release::ReleaseRef;
use folio_core::view::Done;
use folio_model::{CanaryGuards, CanaryStage, OnBreach, Sticky, percent};
use reqwest::Method;
use serde_json::json;

use super::sharing::sticky;
use crate::client::Change;
use crate::command::{Session, alias, canary, settings};

/// What one can do with a rollout.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Let a release have more and more of what is live
    Start(Box<Start>),
    /// Show how far it is, and what is measured
    Show,
    /// Stop where it is
    Pause,
    /// Go on, and measure the step anew
    Resume,
    /// Take the step it waits to take
    Approve,
    /// Give everything back to the release before
    Abort,
}

/// A rollout to start.
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The release that is to get everything: its id, a tag on it or `latest`
    #[arg(value_name = "RELEASE")]
    release: ReleaseRef,
    /// A share, how long it is held, and `approve` if somebody has to say that it goes on: `5%:10m:approve`; repeat it
    /// [default: 20% more every 2m]
    #[arg(long, value_name = "SHARE[:TIME][:approve]")]
    stage: Vec<Stage>,
    /// How long a share is held that says nothing itself [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = settings::span)]
    hold: Option<Duration>,
    /// The failures above which it ends [default: 10]
    #[arg(long, value_name = "PERCENT")]
    failure_threshold: Option<u32>,
    /// The status from which on an answer is a failure: 400 or 500 [default: 500]
    #[arg(long, value_name = "STATUS")]
    failure_status: Option<u16>,
    /// The requests of each release without which no step is decided [default: 10]
    #[arg(long, value_name = "NUMBER")]
    min_requests: Option<u64>,
    /// By how many percent of the requests more may fail than of the release before in the same time
    #[arg(long, value_name = "PERCENT")]
    errors_over: Option<u32>,
    /// By how many percent its slowest answers may be slower than those of the release before in the same time
    #[arg(long, value_name = "PERCENT")]
    latency_over: Option<u32>,
    /// How long 99 of 100 answers may take, such as `800ms`
    #[arg(long, value_name = "TIME", value_parser = settings::span)]
    latency_max: Option<Duration>,
    /// When it answers too badly, stop where it is instead of giving everything back
    #[arg(long)]
    pause_on_failure: bool,
    /// Keep each client with its release: `client` for its address, `cookie[:NAME]` or `header:NAME`
    #[arg(long, value_name = "WHAT", value_parser = sticky)]
    sticky: Option<Sticky>,
}

/// One share of a rollout.
#[derive(Debug, Clone)]
struct Stage(CanaryStage);

impl FromStr for Stage {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let share = parts.next().unwrap_or_default();
        let weight = alias::weight(share).ok_or_else(|| {
            anyhow::anyhow!("`{share}` is neither a share of 10000 nor a percentage")
        })?;
        let mut stage = CanaryStage { weight, hold_ms: None, approval: false };
        for part in parts {
            match part {
                "approve" => stage.approval = true,
                time => {
                    let hold = settings::span(time);
                    let hold = hold.map_err(|error| anyhow::anyhow!("{error}, or `approve`"))?;
                    stage.hold_ms = Some(millis(hold));
                }
            }
        }
        Ok(Self(stage))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Runs a command on the rollout of an app.
pub(super) async fn run(session: &Session, command: Command) -> Result<()> {
    let app = session.app(None);
    let path = ["apps", app.as_str(), "rollout"];
    let (to, done) = match command {
        Command::Start(command) => return start(session, *command).await,
        Command::Show => {
            let view: CanaryView = session.client.get(&path, &[]).await?;
            return session.output.item(&view, canary::shown);
        }
        Command::Pause => (RolloutMove::Pause, "paused"),
        Command::Resume => (RolloutMove::Resume, "resumed"),
        Command::Approve => (RolloutMove::Approve, "approved"),
        Command::Abort => (RolloutMove::Abort, "aborted"),
    };
    let change = Change::new(Method::PATCH).body(&json!({ "to": to }))?;
    let view: Done<CanaryView> = session.client.change(&path, change).await?;
    session.output.item(&view, |view| {
        let CanaryView { old, new, weight, .. } = &view.result;
        format!("rollout {done}: {new} gets {} of {old}", percent(*weight))
    })
}

async fn start(session: &Session, command: Start) -> Result<()> {
    let app = session.app(None);
    let (release, sticky) = (command.release.to_string(), command.sticky.clone());
    let body = json!({ "release": release, "sticky": sticky, "fields": command.fields() });
    let change = Change::new(Method::POST).body(&body)?;
    let path = ["apps", app.as_str(), "rollout"];
    let done: Done<CanaryView> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| {
        let CanaryView { old, new, weight, .. } = &done.result;
        format!("rollout started: {new} gets {} of {old}", percent(*weight))
    })
}

impl Start {
    fn fields(&self) -> PlanFields {
        let on_breach = if self.pause_on_failure { OnBreach::Pause } else { OnBreach::Rollback };
        let guards = CanaryGuards {
            errors_percent_over: self.errors_over,
            latency_percent_over: self.latency_over,
            latency_ms_max: self.latency_max.map(millis),
            on_breach,
        };
        let stages: Vec<_> = self.stage.iter().map(|stage| stage.0).collect();
        PlanFields {
            interval_ms: self.hold.map(millis),
            threshold_percent: self.failure_threshold,
            failure_status: self.failure_status,
            requests_min: self.min_requests,
            stages: (!stages.is_empty()).then_some(stages),
            guards: Some(guards),
            ..PlanFields::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_a_share_a_time_and_an_approval() {
        let check = |text: &str, expected: (u32, Option<u64>, bool)| {
            let Stage(stage) = text.parse().unwrap();
            assert_eq!((stage.weight, stage.hold_ms, stage.approval), expected, "{text}");
        };
        check("5%", (500, None, false));
        check("5%:10m:approve", (500, Some(600_000), true));
        check("12.5%:1d", (1_250, Some(86_400_000), false));
    }

    #[test]
    fn what_is_no_stage_is_refused_with_what_would_be_one() {
        let check = |text: &str, expected: &str| {
            let error = text.parse::<Stage>().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("5%:soon", "`soon` is no time; write `500ms`");
        check("5%:10m:aprove", "`aprove` is no time");
        check("5%:-1h", "or `approve`");
        check("some:10m", "`some` is neither a share of 10000 nor a percentage");
    }
}
