//! `folio timer`: functions that are called at set times.

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use folio_core::timer::{FireOutcome, FireReport, Schedule};
use folio_core::trigger::{TimerFields, TriggerFields, TriggerType, TriggerView};
use folio_model::{Misfire, TimerSpec, Timestamp, TriggerSpec, VersionId};

use super::{Called, Calls, Which};
use crate::command::Session;
use crate::command::deleting::Deleting;
use crate::command::saving::Creating;
use crate::output::{Details, Format, Table};
use crate::problem::Problem;

/// What one can do with timers.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a function, or a group of them, at set times
    Create(Creating<Set>),
    /// Change a timer; what is left out stays
    Update(Set),
    /// List timers
    List,
    /// Show one timer, with what became of its slots
    #[command(visible_alias = "get")]
    Show(Which),
    /// Delete a timer; the functions stay
    Delete(Deleting),
    /// Show when a cron expression comes
    Showschedule(ShowSchedule),
}

/// A timer as it shall be.
#[derive(Debug, Args)]
pub(crate) struct Set {
    #[command(flatten)]
    called: Called,
    /// When: `30 6 * * *`, with seconds before it if need be, `@hourly` or `@every 5m`
    #[arg(long, value_name = "EXPRESSION")]
    cron: Option<String>,
    /// Read the expression in this time zone, such as `Europe/Berlin` [default: UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Call with this method [default: POST]
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,
    /// Call this path of the function [default: /]
    #[arg(long, value_name = "PATH")]
    subpath: Option<String>,
    #[command(flatten)]
    calls: Calls,
    /// Call every member of this tag
    #[arg(long, value_name = "TAG", conflicts_with = "function")]
    tag: Option<VersionId>,
    /// What becomes of slots that no server was there for [default: skip]
    #[arg(long, value_name = "POLICY")]
    misfire: Option<Policy>,
    /// Run a slot again whose run was cut off by the end of its server
    #[arg(long, value_name = "YES", num_args = 0..=1, default_missing_value = "true")]
    retry: Option<bool>,
}

/// What becomes of missed slots.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Policy {
    /// The newest is run, if it is not too long ago; the others are skipped, which is logged
    Skip,
    /// All are run, up to a limit
    All,
}

impl From<Policy> for Misfire {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Skip => Self::Skip,
            Policy::All => Self::All,
        }
    }
}

/// Which expression to read.
#[derive(Debug, Args)]
pub(crate) struct ShowSchedule {
    /// The expression
    #[arg(long, value_name = "EXPRESSION")]
    cron: String,
    /// Read it in this time zone [default: UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Show so many slots
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    round: usize,
    /// Begin after this moment [default: now]
    #[arg(long, value_name = "TIME")]
    after: Option<Timestamp>,
}

/// Runs a command on timers.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Create(Creating { what, saving }) => {
            let (called, fields) = what.fields()?;
            super::create(session, called, fields, saving).await
        }
        Command::Update(set) => {
            let (called, fields) = set.fields()?;
            super::update(session, called, fields).await
        }
        Command::List => super::list(session, TriggerType::Timer, table).await,
        Command::Show(which) => super::show(session, &which, details).await,
        Command::Delete(deleting) => super::delete(session, &deleting, TriggerType::Timer).await,
        Command::Showschedule(command) => show_schedule(&command, session.output),
    }
}

/// Shows when an expression comes; no server is asked.
pub(crate) fn show_schedule(command: &ShowSchedule, output: Format) -> Result<()> {
    let schedule = Schedule::parse(&command.cron, command.zone.as_deref())
        .map_err(|error| Problem::usage(error.to_string()).hint(error.hint()))?;
    let mut at = command.after.unwrap_or_else(Timestamp::now);
    let mut slots = Vec::new();
    while slots.len() < command.round
        && let Some(slot) = schedule.next(at)
    {
        slots.push(slot);
        at = slot;
    }
    output.items(&slots, |slots, _| {
        let mut table = Table::new(["ROUND", "TIME"]);
        for (slot, round) in slots.iter().zip(1..) {
            table.row([format!("{round}"), slot.to_string()]);
        }
        table
    })
}

impl Set {
    fn fields(self) -> Result<(Called, TriggerFields)> {
        let fields = TimerFields {
            cron: self.cron,
            zone: self.zone,
            method: self.method,
            path: self.subpath,
            targets: self.calls.targets()?,
            tag: self.tag,
            misfire: self.misfire.map(Misfire::from),
            retry: self.retry,
        };
        Ok((self.called, TriggerFields::Timer(fields)))
    }
}

fn timer(view: &TriggerView) -> Option<&TimerSpec> {
    match &view.spec {
        TriggerSpec::Timer(timer) => Some(timer),
        _ => None,
    }
}

fn table(timers: &[TriggerView], _: Format) -> Table {
    let mut table = Table::new(["NAME", "CRON", "FUNCTION_NAME", "METHOD", "SUBPATH", "READY"]);
    for view in timers {
        let Some(timer) = timer(view) else { continue };
        table.row([
            view.name.to_string(),
            timer.cron.clone(),
            super::leads(&view.spec),
            timer.method().to_owned(),
            timer.path().to_owned(),
            if view.next.is_some() { "yes" } else { "no" }.to_owned(),
        ]);
    }
    table
}

fn details(view: &TriggerView) -> Details {
    let timer = timer(view);
    let text = |of: fn(&TimerSpec) -> &str| timer.map(of).unwrap_or_default();
    let misfire = match timer.map(|timer| timer.misfire) {
        Some(Misfire::All) => "all",
        _ => "skip",
    };
    let next = view.next.map(|next| next.to_string());
    let mut details = Details::default()
        .line("Name", &view.name)
        .line("App", &view.app)
        .line("Version", view.version.number)
        .line("Cron", text(|timer| &timer.cron))
        .line("Zone", text(|timer| timer.zone.as_deref().unwrap_or("UTC")))
        .line("Calls", super::leads(&view.spec))
        .line("Method", text(TimerSpec::method))
        .line("Subpath", text(TimerSpec::path))
        .line("Misfire", misfire)
        .line("Retry", if timer.is_some_and(|timer| timer.retry) { "yes" } else { "" })
        .line("Next", next.unwrap_or_default())
        .line("Revision", view.revision);
    for report in view.fires.iter().rev().take(10) {
        details = details.line("Slot", slot(report));
    }
    details
}

fn slot(report: &FireReport) -> String {
    let word = match report.outcome {
        FireOutcome::Ran => "ran",
        FireOutcome::Failed => "failed",
        FireOutcome::Skipped => "skipped",
        FireOutcome::Interrupted => "interrupted",
    };
    match report.last {
        Some(last) => {
            let FireReport { slot, count, detail, .. } = report;
            format!("{slot} to {last} {word} ({count}): {detail}")
        }
        None => format!("{} {word}: {}", report.slot, report.detail),
    }
}
