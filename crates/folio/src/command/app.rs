//! `folio app`: apps, how much they may have, and the whole of one, now and at every moment before.

mod bundle;

use std::fmt::Write;
use std::num::NonZeroUsize;

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::app::{AppSummary, PlanChange, PlanView};
use folio_core::diff::{AppDiffView, UnitChange};
use folio_core::release::AppVersionView;
use folio_core::view::{AppView, Done, PlacedView};
use folio_model::{AppName, AppPlan, AppVersion, Timestamp};
use reqwest::Method;
use serde_json::json;

use super::Session;
use super::version::show::setting;
use crate::client::{Change, Items};
use crate::output::{Details, Format, Table, list, moment, one_line};

/// What one can ask about an app.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an app
    Create(Which),
    /// List apps
    List,
    /// Delete an app, which must have no units left unless they go with it
    Delete(Delete),
    /// Say how much an app may have
    #[command(subcommand)]
    Plan(Plan),
    /// List the app's versions, newest first
    #[command(visible_alias = "list-history")]
    ListVersion(ListVersion),
    /// Show every unit of the app, by default as it is now
    Show(Show),
    /// Show what differs between two app versions or releases
    Diff(Diff),
    /// Write an app version with all that it needs to one file, by default the newest
    Export(bundle::Export),
    /// Make an app of a file that was exported, here or elsewhere
    Import(bundle::Import),
}

/// Which app.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The app
    #[arg(value_name = "APP")]
    name: AppName,
}

/// An app to delete.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The app
    #[arg(value_name = "APP")]
    name: AppName,
    /// Delete everything that it has, too
    #[arg(long)]
    cascade: bool,
}

/// What one can do with a plan.
#[derive(Debug, Subcommand)]
pub(crate) enum Plan {
    /// Show it
    Show,
    /// Change it; what is then too much and nothing keeps expires
    Set(SetPlan),
}

/// A plan to set.
#[derive(Debug, Args)]
pub(crate) struct SetPlan {
    /// Releases that can be reached at once
    #[arg(long, value_name = "COUNT")]
    releases: Option<u32>,
    /// Releases that can be tagged at once
    #[arg(long, value_name = "COUNT")]
    tagged: Option<u32>,
}

/// How much to list.
#[derive(Debug, Args)]
pub(crate) struct ListVersion {
    /// Show at most this many
    #[arg(long, value_name = "COUNT", default_value_t = NonZeroUsize::MAX, hide_default_value = true)]
    limit: NonZeroUsize,
}

/// Which moment to show.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// An app version: its id, its number, `latest`, or a release of it by its id or tag
    #[arg(value_name = "ID", default_value = "latest")]
    id: String,
    /// What was deployed at this time, such as `2026-01-01T12:00:00Z`
    #[arg(long, value_name = "TIME", conflicts_with = "id")]
    at: Option<Timestamp>,
}

/// Which app versions to compare.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The older one: its id, its number, `latest`, `live`, or a release by its id or tag
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
        Command::Create(Which { name }) => {
            let change = Change::new(Method::POST).body(&json!({ "name": name }))?;
            let done: Done<AppSummary> = client.change(&["apps"], change).await?;
            session.output.item(&done, |_| format!("app {name} created"))
        }
        Command::List => {
            let found: Items<AppSummary> = client.get(&["apps"], &[]).await?;
            session.output.items(&found.items, table)
        }
        Command::Delete(Delete { name, cascade }) => {
            let path = ["apps", name.as_str()];
            let mut change = Change::new(Method::DELETE);
            if cascade {
                change = change.query("cascade", true);
            }
            let done: Done<AppSummary> = client.change(&path, change).await?;
            session.output.item(&done, |_| format!("app {name} deleted"))
        }
        Command::Plan(command) => plan(session, command).await,
        Command::ListVersion(ListVersion { limit }) => {
            let found: Vec<AppVersionView> =
                client.pages(&versions, ("below", limit.get())).await?;
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
        Command::Export(export) => bundle::export(session, export).await,
        Command::Import(import) => bundle::import(session, import).await,
        Command::Diff(Diff { from, to }) => {
            let query = [("from", from), ("to", to)];
            let path = ["apps", app.as_str(), "compare"];
            let found: AppDiffView = client.get(&path, &query).await?;
            session.output.item(&found, difference)
        }
    }
}

async fn plan(session: &Session, command: Plan) -> Result<()> {
    let app = session.app(None);
    match command {
        Plan::Show => {
            let found: AppSummary = session.client.get(&["apps", app.as_str()], &[]).await?;
            session.output.item(&found.plan, granted)
        }
        Plan::Set(SetPlan { releases, tagged }) => {
            let change = PlanChange { releases, tagged };
            let change = Change::new(Method::PATCH).body(&change)?;
            let path = ["apps", app.as_str(), "plan"];
            let done: Done<PlanView> = session.client.change(&path, change).await?;
            session.output.item(&done, |done| {
                let PlanView { plan, expiry, tags_over_limit } = &done.result;
                let expiry = super::release::expiry(expiry);
                let over = tags_over_limit.map(|tags| {
                    format!(
                        "over limit: {tags} tags, the plan allows {}; remove some with `folio release untag`",
                        plan.tagged
                    )
                });
                let more = Some(expiry).filter(|expiry| !expiry.is_empty()).into_iter().chain(over);
                std::iter::once(granted(plan)).chain(more).collect::<Vec<_>>().join("\n")
            })
        }
    }
}

fn granted(plan: &AppPlan) -> String {
    format!("plan: {} releases, {} tagged", plan.releases, plan.tagged)
}

fn table(apps: &[AppSummary], _: Format) -> Table {
    let mut table = Table::new(["APP", "APP VERSION", "LIVE", "LATEST", "RELEASES", "PLAN"]);
    for app in apps {
        let pinned = if app.pinned.is_some() { " (pinned)" } else { "" };
        table.row([
            app.app.to_string(),
            list(&app.newest),
            format!("{}{pinned}", list(&app.live)),
            list(&app.latest),
            app.releases.to_string(),
            app.plan.releases.to_string(),
        ]);
    }
    table
}

/// The columns of the app's history; what an app version was released as follows the bar.
fn listing(app: &str, versions: &[AppVersionView]) -> String {
    let mut text = format!("App name: {app}\nApp versions:\n");
    let messages = versions.iter().map(|found| found.version.message.chars().count());
    let width = messages.max().unwrap_or(0);
    for AppVersionView { version: AppVersion { id, at, message, .. }, releases } in versions {
        let line = format!("{id} {} {message:width$} |", moment(*at));
        let labels: Vec<_> = releases.iter().map(super::release::label).collect();
        let line = [line, labels.join("; ")].join(" ");
        writeln!(text, "{}", line.trim_end()).expect("a string takes everything");
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
    for change in &diff.units {
        for line in changed(change) {
            writeln!(text, "{line}").expect("a string takes everything");
        }
    }
    text
}

/// A unit that differs, and below it what about it does.
fn changed(change: &UnitChange) -> Vec<String> {
    let UnitChange { kind, name, from, to, fields, files } = change;
    let unit = format!("{kind} {name}: {} -> {}", placed(from.as_ref()), placed(to.as_ref()));
    let fields = fields.iter().map(|field| format!("  {}", one_line(&setting(field))));
    let files = files.iter().map(|file| {
        let what = match (&file.from, &file.to) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        };
        format!("  {} {what}", one_line(&file.path))
    });
    [unit].into_iter().chain(fields).chain(files).collect()
}

fn placed(unit: Option<&PlacedView>) -> String {
    match unit {
        None => "nothing".to_owned(),
        Some(unit) if unit.draft => format!("draft {}", unit.digest.short()),
        Some(unit) => list(unit.newest()),
    }
}

#[cfg(test)]
mod tests {
    use folio_core::release::ReleaseLabel;
    use folio_model::{Actor, FULL_WEIGHT, Number, ReleaseState};

    use super::*;

    fn version(id: &str, at: &str, message: &str, releases: Vec<ReleaseLabel>) -> AppVersionView {
        let version = AppVersion {
            app: "test-app".parse().unwrap(),
            number: Number::FIRST,
            id: id.parse().unwrap(),
            parent: None,
            entry: 1,
            at: at.parse().unwrap(),
            by: Actor::system(),
            message: message.to_owned(),
            git: None,
        };
        AppVersionView { version, releases }
    }

    fn label(id: &str, latest: bool, live: Option<u32>, tags: &[&str]) -> ReleaseLabel {
        let tags = tags.iter().map(|tag| tag.parse().unwrap()).collect();
        let id = id.parse().unwrap();
        ReleaseLabel { id, state: ReleaseState::Accessible, latest, live, tags, aside: false }
    }

    #[test]
    fn the_listing_is_skygears_to_the_byte() {
        let (config, functions) = ("update tenant configuration", "deploy functions");
        let beta = vec![label("qwerty", true, None, &["beta"])];
        let live = vec![label("qwertx", false, Some(FULL_WEIGHT), &[])];
        let versions = [
            version("abcdef", "2018-12-31T15:00:00Z", config, beta),
            version("abcdee", "2018-12-30T15:00:00Z", functions, live),
            version("abcded", "2018-12-30T14:50:00Z", config, Vec::new()),
        ];
        let expected = "\
App name: test-app
App versions:
abcdef 2018-12-31 15:00:00 update tenant configuration | Release qwerty, latest, tag: beta
abcdee 2018-12-30 15:00:00 deploy functions            | Release qwertx, tag: live
abcded 2018-12-30 14:50:00 update tenant configuration |
";
        assert_eq!(listing("test-app", &versions), expected);
    }
}
