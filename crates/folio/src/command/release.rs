//! `folio release` and `folio rollback`: which app versions can be reached, and which of them is live.

mod policy;
mod rollout;
mod sharing;

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::release::{Expiry, LiveMove, ReleaseLabel, ReleaseRef, ReleaseView};
use folio_core::view::Done;
use folio_model::{FULL_WEIGHT, LiveMode, ReleaseId, ReleaseState, percent};
use reqwest::Method;
use serde_json::json;

use super::Session;
use crate::client::{Change, Items};
use crate::output::{Details, Format, Table, list as join, moment};

/// What one can do with releases.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List releases, newest first
    List(List),
    /// Show a release
    Show(Which),
    /// Release an app version that was not, or whose release is gone
    Create(Create),
    /// Make a release live, and keep it so
    SetLive(Which),
    /// Have live follow the newest release again
    Follow,
    /// Show what is live
    Live,
    /// Share what is live among releases, until one is set live
    Split(sharing::Split),
    /// Give a release more and more of what is live
    #[command(subcommand)]
    Rollout(rollout::Command),
    /// Put a tag on a release, which keeps it from expiring
    Tag(Tag),
    /// Take a tag away; the release stays
    Untag(Untag),
    /// Delete a release that nothing shows
    Delete(Delete),
    /// Keep a release from expiring
    Keep(Which),
    /// Let a release expire again
    Unkeep(Which),
    /// Say which releases stay how long, and whether clients stay with one
    #[command(subcommand)]
    Policy(policy::Command),
    /// Expire what the app's policy and plan leave no room for and nothing keeps
    Gc(Gc),
    /// List what was live, or what a tag was on, newest first, with who changed it and why
    History(History),
}

/// What to list.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Show those that can no longer be reached, too
    #[arg(long)]
    all: bool,
    /// Show at most this many
    #[arg(long, value_name = "COUNT", default_value_t = usize::MAX, hide_default_value = true)]
    limit: usize,
}

/// Which release.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// A release's id, a tag on it, `latest` or `live`
    #[arg(value_name = "RELEASE")]
    release: ReleaseRef,
}

/// What to release.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The app version: its id, its number, or `latest`
    #[arg(long, value_name = "ID", default_value = "latest")]
    app_version: String,
    /// Make another release also if one can be reached already
    #[arg(long)]
    new: bool,
}

/// What to tag.
#[derive(Debug, Args)]
pub(crate) struct Tag {
    /// A release's id, another tag on it, `latest` or `live`
    #[arg(value_name = "RELEASE")]
    release: ReleaseRef,
    /// The tag
    #[arg(value_name = "TAG")]
    tag: ReleaseId,
    /// Refuse unless the tag is still on this release
    #[arg(long, value_name = "RELEASE")]
    from: Option<ReleaseId>,
}

/// Which tag.
#[derive(Debug, Args)]
pub(crate) struct Untag {
    /// The tag
    #[arg(value_name = "TAG")]
    tag: ReleaseId,
}

/// What to delete.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// A release's id, a tag on it, `latest` or `live`
    #[arg(value_name = "RELEASE")]
    release: ReleaseRef,
    /// The release that becomes live if this one is
    #[arg(long, value_name = "RELEASE")]
    replace_with: Option<ReleaseRef>,
    /// Drop the tags on it
    #[arg(long)]
    untag: bool,
}

/// Whether to do it.
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Only say what would expire, and what keeps the others
    #[arg(long)]
    dry_run: bool,
}

/// What to tell of.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// A tag on releases, instead of what was live
    #[arg(long, value_name = "TAG")]
    tag: Option<ReleaseId>,
}

/// Where to go back to.
#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// The release; the one that was live before if left out
    #[arg(long, value_name = "RELEASE")]
    to: Option<ReleaseRef>,
}

/// Runs a command on releases.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    let app = session.app(None);
    let client = &session.client;
    let releases = ["apps", app.as_str(), "releases"];
    let live = ["apps", app.as_str(), "live"];
    match command {
        Command::List(what) => list(session, &releases, what).await,
        Command::Show(Which { release }) => {
            let release = release.to_string();
            let path = [&releases[..], &[&release]].concat();
            let view: ReleaseView = client.get(&path, &[]).await?;
            session.output.item(&view, details)
        }
        Command::Create(Create { app_version, new }) => {
            let if_same = if new { "publish" } else { "keep" };
            let body = json!({ "appVersion": app_version, "ifSame": if_same });
            let change = Change::new(Method::POST).body(&body)?;
            session.output.item(&client.change(&releases, change).await?, released)
        }
        Command::SetLive(Which { release }) => {
            let body = json!({ "release": release.to_string() });
            let change = Change::new(Method::PUT).body(&body)?;
            became_live(session, client.change(&live, change).await?)
        }
        Command::Follow => {
            let path = [&live[..], &["follow"]].concat();
            let change = Change::new(Method::POST);
            let done: Done<ReleaseView> = client.change(&path, change).await?;
            session.output.item(&done, |done| {
                format!("release {} is live, and live follows", done.result.label.id)
            })
        }
        Command::Live => sharing::live(session).await,
        Command::Split(what) => sharing::split(session, what).await,
        Command::Rollout(what) => rollout::run(session, what).await,
        Command::Policy(what) => policy::run(session, what).await,
        Command::Keep(which) => policy::keep(session, which, Method::PUT).await,
        Command::Unkeep(which) => policy::keep(session, which, Method::DELETE).await,
        Command::Tag(what) => tag(session, what).await,
        Command::Untag(Untag { tag }) => {
            let path = ["apps", app.as_str(), "release-tags", tag.as_str()];
            let change = Change::new(Method::DELETE);
            let done: Done<ReleaseView> = client.change(&path, change).await?;
            session.output.item(&done, |done| {
                format!("release {} is no longer tagged {tag}", done.result.label.id)
            })
        }
        Command::Delete(what) => delete(session, what).await,
        Command::Gc(what) => gc(session, what).await,
        Command::History(History { tag: Some(tag) }) => {
            let path = ["apps", app.as_str(), "release-tags", tag.as_str(), "history"];
            super::tag::history(session, &path).await
        }
        Command::History(History { tag: None }) => {
            let path = [&live[..], &["history"]].concat();
            let found: Items<LiveMove> = client.get(&path, &[]).await?;
            session.output.items(&found.items, moves)
        }
    }
}

/// Takes live back.
pub(crate) async fn roll_back(session: &Session, command: Rollback) -> Result<()> {
    let app = session.app(None);
    let path = ["apps", app.as_str(), "live", "rollback"];
    let to = command.to.map(|to| to.to_string());
    let change = Change::new(Method::POST).body(&json!({ "to": to }))?;
    became_live(session, session.client.change(&path, change).await?)
}

fn released(done: &Done<ReleaseView>) -> String {
    let ReleaseView { label, shows, .. } = &done.result;
    let already = if done.changed { "" } else { " already" };
    format!("app version {shows} is{already} release {}", label.id)
}

async fn list(session: &Session, path: &[&str], what: List) -> Result<()> {
    let found: Vec<ReleaseView> = session.client.pages(path, ("below", what.limit)).await?;
    let shown = |view: &ReleaseView| what.all || view.label.state == ReleaseState::Accessible;
    let found: Vec<_> = found.into_iter().filter(shown).collect();
    session.output.items(&found, table)
}

async fn tag(session: &Session, what: Tag) -> Result<()> {
    let (app, Tag { release, tag, from }) = (session.app(None), what);
    let path = ["apps", app.as_str(), "release-tags", tag.as_str()];
    let body = json!({ "release": release.to_string(), "from": from });
    let change = Change::new(Method::PUT).body(&body)?;
    let done: Done<ReleaseView> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| format!("release {} is tagged {tag}", done.result.label.id))
}

async fn delete(session: &Session, what: Delete) -> Result<()> {
    let app = session.app(None);
    let release = what.release.to_string();
    let path = ["apps", app.as_str(), "releases", &release];
    let mut change = Change::new(Method::DELETE).query("untag", what.untag);
    if let Some(other) = &what.replace_with {
        change = change.query("replaceWith", other);
    }
    let done: Done<ReleaseView> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| format!("release {} deleted", done.result.label.id))
}

async fn gc(session: &Session, what: Gc) -> Result<()> {
    let app = session.app(None);
    let path = ["apps", app.as_str(), "expiry"];
    let found: Expiry = match what.dry_run {
        true => session.client.get(&path, &[]).await?,
        false => {
            let done: Done<Expiry> =
                session.client.change(&path, Change::new(Method::POST)).await?;
            done.result
        }
    };
    session.output.item(&found, |found| {
        let would = if what.dry_run { "would expire" } else { "expired" };
        let gone = found.expired.iter().map(|gone| format!("{would}: {} ({})", gone.id, gone.why));
        let mut text = match found.expired.is_empty() {
            true => "nothing to expire".to_owned(),
            false => gone.collect::<Vec<_>>().join("\n"),
        };
        for kept in &found.kept {
            let by = if kept.by.is_empty() { "there is room".to_owned() } else { join(&kept.by) };
            text.push_str(&format!("\nkept: {} ({by})", kept.id));
        }
        text
    })
}

/// What expired, in words; nothing if nothing did.
pub(crate) fn expiry(expiry: &Expiry) -> String {
    let mut lines = Vec::new();
    if !expiry.expired.is_empty() {
        let gone = expiry.expired.iter().map(|gone| &gone.id);
        lines.push(format!("expired: {}", join(gone)));
    }
    if let Some(over) = &expiry.over_limit {
        let kept = join(&over.kept_by);
        lines.push(format!("over limit: {} releases, kept by {kept}", over.accessible));
    }
    lines.join("\n")
}

/// A release as the app's history names it: `Release qwerty, latest, tag: beta`.
pub(crate) fn label(label: &ReleaseLabel) -> String {
    let mut text = format!("Release {}", label.id);
    if label.latest {
        text.push_str(", latest");
    }
    if label.aside {
        text.push_str(", aside");
    }
    match label.live {
        Some(FULL_WEIGHT) => text.push_str(", tag: live"),
        Some(share) => text.push_str(&format!(", tag: live {}", percent(share))),
        None => {}
    }
    for tag in &label.tags {
        text.push_str(&format!(", tag: {tag}"));
    }
    match label.state {
        ReleaseState::Accessible => {}
        ReleaseState::Expired => text.push_str(", expired"),
        ReleaseState::Deleted => text.push_str(", deleted"),
    }
    text
}

fn became_live(session: &Session, done: Done<ReleaseView>) -> Result<()> {
    session.output.item(&done, |done| {
        let ReleaseView { label, shows, .. } = &done.result;
        format!("release {} (app version {shows}) is live, and stays so", label.id)
    })
}

fn names(label: &ReleaseLabel) -> String {
    let latest = label.latest.then(|| "latest".to_owned());
    let live = label.live.map(|share| match share {
        FULL_WEIGHT => "live".to_owned(),
        share => format!("live {}", percent(share)),
    });
    let aside = label.aside.then(|| "aside".to_owned());
    let tags = label.tags.iter().map(ToString::to_string);
    join(latest.into_iter().chain(live).chain(aside).chain(tags))
}

fn state(state: ReleaseState) -> &'static str {
    match state {
        ReleaseState::Accessible => "accessible",
        ReleaseState::Expired => "expired",
        ReleaseState::Deleted => "deleted",
    }
}

fn table(releases: &[ReleaseView], _: Format) -> Table {
    let mut table = Table::new(["RELEASE", "APP VERSION", "CREATED", "STATE", "NAMES", "MESSAGE"]);
    for view in releases {
        table.row([
            view.label.id.to_string(),
            view.shows.to_string(),
            moment(view.created_at),
            state(view.label.state).to_owned(),
            names(&view.label),
            view.message.clone(),
        ]);
    }
    table
}

fn details(view: &ReleaseView) -> String {
    let ended = view.ended_at.map(|at| format!(" since {}", moment(at))).unwrap_or_default();
    let details = Details::default()
        .line("Release", &view.label.id)
        .line("App version", &view.shows)
        .line("Created", moment(view.created_at))
        .line("State", format!("{}{ended}", state(view.label.state)))
        .line("Names", names(&view.label))
        .line("Message", &view.message);
    details.to_string()
}

fn moves(moves: &[LiveMove], _: Format) -> Table {
    let mut table = Table::new(["ENTRY", "TIME", "BY", "FROM", "TO", "MODE", "REASON"]);
    for step in moves {
        let mode = match step.mode {
            LiveMode::Following => "following",
            LiveMode::Pinned => "pinned",
        };
        table.row([
            step.entry.to_string(),
            moment(step.at),
            step.by.to_string(),
            sharing::in_words(&step.from),
            sharing::in_words(&step.to),
            mode.to_owned(),
            step.reason.clone().unwrap_or_default(),
        ]);
    }
    table
}
