//! `folio app`: the whole app, now and at every moment before.

use std::fmt::Write;

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::diff::{AppDiffView, UnitChange};
use folio_core::view::{AppView, PlacedView};
use folio_model::{AppVersion, Timestamp};

use super::Session;
use crate::output::{Details, Table, list, moment};

/// What one can ask about an app.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the app's versions, newest first
    #[command(visible_alias = "list-history")]
    ListVersion(ListVersion),
    /// Show every unit of the app, by default as it is now
    Show(Show),
    /// Show which units differ between two app versions
    Diff(Diff),
}

/// How much to list.
#[derive(Debug, Args)]
pub(crate) struct ListVersion {
    /// Show at most this many
    #[arg(long, value_name = "COUNT", default_value_t = usize::MAX, hide_default_value = true)]
    limit: usize,
}

/// Which moment to show.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// An app version: its id, its number, or `latest`
    #[arg(value_name = "ID", default_value = "latest")]
    id: String,
    /// What was deployed at this time, such as `2026-01-01T12:00:00Z`
    #[arg(long, value_name = "TIME", conflicts_with = "id")]
    at: Option<Timestamp>,
}

/// Which app versions to compare.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The older one: its id, its number, or `latest`
    #[arg(value_name = "FROM")]
    from: String,
    /// The newer one
    #[arg(value_name = "TO")]
    to: String,
}

/// Runs a command on the app.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    let app = session.app(None);
    let client = &session.client;
    let versions = ["apps", app.as_str(), "versions"];
    match command {
        Command::ListVersion(ListVersion { limit }) => {
            let found: Vec<AppVersion> = client.pages(&versions, ("below", limit)).await?;
            session.output.item(&found, |found| listing(app.as_str(), found))
        }
        Command::Show(Show { id, at }) => {
            let view: AppView = match at {
                Some(at) => {
                    let query = [("time", at.to_string())];
                    client.get(&["apps", app.as_str(), "at"], &query).await?
                }
                None => client.get(&[&versions[..], &[&id]].concat(), &[]).await?,
            };
            session.output.item(&view, |view| details(app.as_str(), view))
        }
        Command::Diff(Diff { from, to }) => {
            let query = [("from", from), ("to", to)];
            let path = ["apps", app.as_str(), "compare"];
            let found: AppDiffView = client.get(&path, &query).await?;
            session.output.item(&found, difference)
        }
    }
}

/// The columns of the app's history; what an app version was released as follows the bar.
fn listing(app: &str, versions: &[AppVersion]) -> String {
    let mut text = format!("App name: {app}\nApp versions:\n");
    let width = versions.iter().map(|version| version.message.chars().count()).max().unwrap_or(0);
    for AppVersion { id, at, message, .. } in versions {
        writeln!(text, "{id} {} {message:width$} |", moment(*at))
            .expect("a string takes everything");
    }
    text
}

fn details(app: &str, view: &AppView) -> String {
    let git = view.git.as_ref().map(|git| {
        let clean = if git.clean { "yes" } else { "no" };
        format!("{} on {}, clean: {clean}", git.commit, git.branch)
    });
    let details = Details::default()
        .line("App name", app)
        .line("App version", format!("{} ({})", view.id, view.number))
        .line("Created", format!("{} by {}", moment(view.at), view.by))
        .line("Message", &view.message)
        .line("Git", git.unwrap_or_default());
    let mut table = Table::new(["KIND", "NAME", "VERSION", "NUMBER", "DRAFT", "DIGEST"]);
    for unit in &view.units {
        let PlacedView { kind, name, number, id, pending, digest, draft } = unit;
        let draft = if *draft { "yes" } else { "no" }.to_owned();
        let (kind, name) = (kind.to_string(), name.to_string());
        let version = match pending {
            Some(pending) => format!("{pending} (to be built)"),
            None => list(id),
        };
        table.row([kind, name, version, list(number), draft, digest.short()]);
    }
    if view.units.is_empty() { details.to_string() } else { format!("{details}\n{table}") }
}

pub(super) fn difference(diff: &AppDiffView) -> String {
    if diff.units.is_empty() {
        return format!("{} and {} do not differ", diff.from, diff.to);
    }
    let mut text = format!("{} -> {}\n", diff.from, diff.to);
    for UnitChange { kind, name, from, to } in &diff.units {
        let (from, to) = (placed(from.as_ref()), placed(to.as_ref()));
        writeln!(text, "{kind} {name}: {from} -> {to}").expect("a string takes everything");
    }
    text
}

fn placed(unit: Option<&PlacedView>) -> String {
    match unit {
        None => "nothing".to_owned(),
        Some(unit) if unit.draft => format!("draft {}", unit.digest.short()),
        Some(unit) => list(unit.newest()),
    }
}
