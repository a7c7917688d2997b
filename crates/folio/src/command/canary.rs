//! `folio canary`: new code gets more and more of the calls, as long as it answers well.

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::canary::{CanarySide, CanaryStep, CanaryView, CanaryWindow, NewCanary, PlanFields};
use folio_core::view::Done;
use folio_model::{CanaryPhase, FULL_WEIGHT, Name, Qualifier, Reference, percent};
use jiff::SignedDuration;
use reqwest::Method;
use serde_json::json;

use super::{Session, settings};
use crate::client::{Change, Items};
use crate::name::Named;
use crate::output::{Details, Format, Table, moment};
use crate::problem::Problem;

/// What one can do with canaries.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Let new code have more and more of the calls
    Create(Box<Create>),
    /// Change how a running canary goes on
    Update(Update),
    /// List canaries
    List,
    /// Show how far a canary is
    #[command(visible_alias = "get")]
    Show(Which),
    /// End a canary; the shares stay as they are
    Delete(Which),
}

/// Which canary.
#[derive(Debug, Args)]
pub(crate) struct Which {
    #[command(flatten)]
    named: Named,
}

/// A canary to start.
#[derive(Debug, Args)]
pub(crate) struct Create {
    #[command(flatten)]
    named: Named,
    /// Move the shares of this route's functions
    #[arg(
        long,
        visible_alias = "httptrigger",
        value_name = "ROUTE",
        conflicts_with = "alias",
        required_unless_present = "alias"
    )]
    trigger: Option<Name>,
    /// Move the shares of this alias's versions: `hello@prod`
    #[arg(long, value_name = "FUNCTION@ALIAS")]
    alias: Option<Reference>,
    /// The function of the route that is to get everything, such as `hello` or `hello@v2`
    #[arg(long, visible_aliases = ["newfunction"], value_name = "FUNCTION", conflicts_with = "alias")]
    newfn: Option<Reference>,
    /// The function it replaces; the route's other one if left out
    #[arg(long, visible_aliases = ["oldfunction"], value_name = "FUNCTION", conflicts_with = "alias")]
    oldfn: Option<Reference>,
    /// The version that the alias is to point to
    #[arg(long, value_name = "VERSION", requires = "alias")]
    new_version: Option<Qualifier>,
    /// The version it replaces; what the alias points to if left out
    #[arg(long, value_name = "VERSION", requires = "alias")]
    old_version: Option<Qualifier>,
    #[command(flatten)]
    plan: Plan,
}

/// Changes to a canary.
#[derive(Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    plan: Plan,
    /// Refuse unless it is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// How a canary goes about it.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// What the new code gets more with every step [default: 20]
    #[arg(long, visible_alias = "step", value_name = "PERCENT")]
    increment_step: Option<u32>,
    /// The time between two steps, such as `30s` or `2m` [default: 2m]
    #[arg(long, visible_alias = "interval", value_name = "TIME", value_parser = settings::span)]
    increment_interval: Option<Duration>,
    /// The failures above which everything goes back [default: 10]
    #[arg(long, visible_alias = "threshold", value_name = "PERCENT")]
    failure_threshold: Option<u32>,
    /// The status from which on an answer is a failure: 400 or 500 [default: 400]
    #[arg(long, value_name = "STATUS")]
    failure_status: Option<u16>,
    /// The requests without which no step is decided [default: 10]
    #[arg(long, value_name = "NUMBER")]
    min_requests: Option<u64>,
}

/// Runs a command on canaries.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Create(command) => create(session, *command).await,
        Command::Update(command) => update(session, command).await,
        Command::List => list(session).await,
        Command::Show(which) => show(session, &which).await,
        Command::Delete(which) => delete(session, &which).await,
    }
}

async fn create(session: &Session, command: Create) -> Result<()> {
    let at = command.named.unit(session)?;
    let canary = command.canary()?;
    let body = json!({ "name": at.name, "canary": canary });
    let change = Change::new(Method::POST).body(&body)?;
    let path = ["apps", at.app.as_str(), "canaries"];
    let done: Done<CanaryView> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| {
        let CanaryView { name, old, new, weight, .. } = &done.result;
        format!("canary {name} started: {new} gets {} of {old}", percent(*weight))
    })
}

impl Create {
    fn canary(self) -> Result<NewCanary> {
        let fields = self.plan.fields();
        let (old, new) = match &self.alias {
            Some(alias) => {
                let at = |at: Qualifier| Reference { at: Some(at), ..alias.clone() };
                (self.old_version.map(at), self.new_version.map(at))
            }
            None => (self.oldfn, self.newfn),
        };
        let Some(new) = new else {
            let problem = Problem::usage("what is the new code?");
            return Err(problem.hint("give --newfn FUNCTION or --new-version VERSION").into());
        };
        Ok(NewCanary { trigger: self.trigger, alias: self.alias, old, new, fields })
    }
}

async fn update(session: &Session, command: Update) -> Result<()> {
    let at = command.named.unit(session)?;
    let body = json!({ "fields": command.plan.fields() });
    let change = Change::new(Method::PATCH).body(&body)?.expect(command.expect);
    let path = ["apps", at.app.as_str(), "canaries", at.name.as_str()];
    let done: Done<CanaryView> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| {
        format!("canary {} {}", at.name, if done.changed { "changed" } else { "unchanged" })
    })
}

async fn list(session: &Session) -> Result<()> {
    let app = session.app(None);
    let path = ["apps", app.as_str(), "canaries"];
    let found: Items<CanaryView> = session.client.get(&path, &[]).await?;
    session.output.items(&found.items, table)
}

async fn show(session: &Session, which: &Which) -> Result<()> {
    let at = which.named.unit(session)?;
    let path = ["apps", at.app.as_str(), "canaries", at.name.as_str()];
    let view: CanaryView = session.client.get(&path, &[]).await?;
    session.output.item(&view, shown)
}

/// A canary with its steps.
pub(super) fn shown(view: &CanaryView) -> String {
    format!("{}\n{}", details(view), steps(&view.steps))
}

async fn delete(session: &Session, which: &Which) -> Result<()> {
    let at = which.named.unit(session)?;
    let path = ["apps", at.app.as_str(), "canaries", at.name.as_str()];
    let done: Done<CanaryView> = session.client.change(&path, Change::new(Method::DELETE)).await?;
    session.output.item(&done, |done| {
        let CanaryView { new, weight, .. } = &done.result;
        format!("canary {} deleted; {new} keeps {}", at.name, percent(*weight))
    })
}

impl Plan {
    fn fields(&self) -> PlanFields {
        let interval_ms = self.increment_interval.map(|interval| interval.as_millis());
        let interval_ms = interval_ms.map(|ms| u64::try_from(ms).unwrap_or(u64::MAX));
        PlanFields {
            step: self.increment_step.map(|step| step.saturating_mul(100)),
            interval_ms,
            threshold_percent: self.failure_threshold,
            failure_status: self.failure_status,
            requests_min: self.min_requests,
            ..PlanFields::default()
        }
    }
}

fn table(canaries: &[CanaryView], _: Format) -> Table {
    let mut table = Table::new([
        "NAME",
        "TRIGGER",
        "FUNCTION-N",
        "FUNCTION-N-1",
        "WEIGHT",
        "WEIGHT-INCREMENT",
        "INTERVAL",
        "FAILURE-THRESHOLD",
        "STATUS",
    ]);
    for view in canaries {
        table.row([
            view.name.to_string(),
            moved(view),
            view.new.clone(),
            view.old.clone(),
            percent(view.weight),
            percent(view.plan.step),
            interval(view),
            format!("{} %", view.plan.threshold_percent),
            status(&view.phase).to_owned(),
        ]);
    }
    table
}

fn details(view: &CanaryView) -> Details {
    let of = match (&view.alias, &view.trigger) {
        (Some(_), _) => "Alias",
        (None, Some(_)) => "Trigger",
        (None, None) => "Moves",
    };
    let details = Details::default()
        .line("Name", &view.name)
        .line("App", &view.app)
        .line(of, moved(view))
        .line("Old", &view.old)
        .line("New", &view.new)
        .line("Status", in_words(&view.phase))
        .line("Weight", format!("{} {}", bar(view.weight), percent(view.weight)))
        .line("Step", plan(view))
        .line("Fails above", threshold(view))
        .line("Compared", guards(view));
    let details = match &view.window {
        Some(CanaryWindow { since, new, old }) => details
            .line("Measured", format!("{}, since {}", side(new), moment(*since)))
            .line("Old code", side(old)),
        None => details,
    };
    details.line("Revision", view.revision)
}

fn steps(steps: &[CanaryStep]) -> Table {
    let mut table = Table::new(["TIME", "WEIGHT", "", "WHAT"]);
    for step in steps {
        let CanaryStep { at, weight, message } = step;
        table.row([moment(*at), percent(*weight), bar(*weight), message.clone()]);
    }
    table
}

fn moved(view: &CanaryView) -> String {
    let trigger = view.trigger.as_ref().map(ToString::to_string);
    view.alias.clone().or(trigger).unwrap_or_else(|| "live".to_owned())
}

fn threshold(view: &CanaryView) -> String {
    let plan = &view.plan;
    format!(
        "{} % of at least {} requests with status {} or above",
        plan.threshold_percent, plan.requests_min, plan.failure_status
    )
}

/// The steps that are to come, in words.
fn plan(view: &CanaryView) -> String {
    if view.plan.stages.is_empty() {
        return format!("{} every {}", percent(view.plan.step), interval(view));
    }
    let stages = view.plan.stages.iter().map(|stage| {
        let approval = if stage.approval { ", then approval" } else { "" };
        let held = time(view.plan.hold_ms(stage.weight));
        format!("{} for {held}{approval}", percent(stage.weight))
    });
    stages.collect::<Vec<_>>().join("; ")
}

/// What else the new code is held to, in words.
fn guards(view: &CanaryView) -> String {
    let guards = &view.plan.guards;
    let said = [
        guards.errors_percent_over.map(|over| format!("{over} % more failures than the old code")),
        guards.latency_percent_over.map(|over| format!("{over} % slower than the old code")),
        guards.latency_ms_max.map(|most| format!("99 % of answers within {most} ms")),
    ];
    let said: Vec<_> = said.into_iter().flatten().collect();
    said.join(", ")
}

fn interval(view: &CanaryView) -> String {
    time(view.plan.interval_ms)
}

fn time(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    format!("{:#}", SignedDuration::from_millis(ms))
}

fn status(phase: &CanaryPhase) -> &'static str {
    match phase {
        CanaryPhase::Running => "running",
        CanaryPhase::Waiting => "waiting",
        CanaryPhase::Paused { .. } => "paused",
        CanaryPhase::Succeeded => "succeeded",
        CanaryPhase::Failed { .. } => "failed",
        CanaryPhase::Aborted { .. } => "aborted",
    }
}

fn in_words(phase: &CanaryPhase) -> String {
    match phase {
        CanaryPhase::Waiting => "waiting for approval".to_owned(),
        CanaryPhase::Paused { why }
        | CanaryPhase::Failed { why }
        | CanaryPhase::Aborted { why } => {
            format!("{}: {why}", status(phase))
        }
        CanaryPhase::Running | CanaryPhase::Succeeded => status(phase).to_owned(),
    }
}

fn side(side: &CanarySide) -> String {
    let CanarySide { requests, failures, latency_us } = side;
    let time = latency_us.map(|us| format!(", 99 % within {} ms", us.div_ceil(1_000)));
    format!("{requests} requests, {failures} failed{}", time.unwrap_or_default())
}

/// A share drawn as a bar of twenty.
fn bar(weight: u32) -> String {
    let full = usize::try_from(weight * 20 / FULL_WEIGHT).unwrap_or(20);
    format!("[{}{}]", "#".repeat(full), ".".repeat(20 - full))
}
