//! `folio function alias`: names that point at versions, whole or in shares.

use std::str::FromStr;

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::view::{AliasView, Done, MoveView, TargetView};
use folio_model::{FULL_WEIGHT, Qualifier, VersionId};
use reqwest::Method;
use serde::Serialize;
use serde_json::json;

use super::Session;
use crate::client::{Change, Items};
use crate::name::{Named, UnitAt};
use crate::output::{Format, Table, list as join, moment};
use crate::problem::Problem;

/// What one can do with aliases.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an alias
    Create(Create),
    /// Point an alias elsewhere
    Update(Point),
    /// List the aliases of a function
    List(List),
    /// Delete an alias; the versions stay
    Delete(Delete),
    /// Show where an alias pointed, when and why, newest first
    History(History),
    /// Point an alias to where it pointed before, or to a version it pointed to
    Rollback(Rollback),
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    #[command(flatten)]
    named: Named,
    /// The alias
    #[arg(long, value_name = "ALIAS")]
    alias: VersionId,
}

/// Where to point an alias.
#[derive(Debug, Args)]
pub(crate) struct Point {
    #[command(flatten)]
    create: Create,
    /// Refuse unless the alias is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// Which alias to make, and where to point it.
#[derive(Debug, Args)]
pub(crate) struct Create {
    #[command(flatten)]
    which: Which,
    /// The version; repeat it with shares of 10000 or percent to split, such as `v1=90%`
    #[arg(long, value_name = "VERSION[=SHARE]", required = true)]
    version: Vec<Target>,
}

/// Whose aliases to list.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    named: Named,
}

/// Which alias to delete.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    which: Which,
    /// Refuse unless the alias is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// Whose moves to show.
#[derive(Debug, Args)]
pub(crate) struct History {
    #[command(flatten)]
    which: Which,
}

/// Where to go back to.
#[derive(Debug, Args)]
pub(crate) struct Rollback {
    #[command(flatten)]
    which: Which,
    /// A version it pointed to before
    #[arg(long, value_name = "VERSION")]
    version: Option<Qualifier>,
    /// Refuse unless the alias is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

#[derive(Debug, Clone)]
struct Target {
    version: Qualifier,
    weight: Option<u32>,
}

impl FromStr for Target {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> Result<Self> {
        match text.split_once('=') {
            None => Ok(Self { version: text.parse()?, weight: None }),
            Some((version, share)) => {
                let weight = weight(share).ok_or_else(|| {
                    anyhow::anyhow!("`{share}` is neither a share of 10000 nor a percentage")
                })?;
                Ok(Self { version: version.parse()?, weight: Some(weight) })
            }
        }
    }
}

/// Reads `9000`, `90%` or `12.5%`.
pub(super) fn weight(share: &str) -> Option<u32> {
    let Some(percent) = share.strip_suffix('%') else { return share.parse().ok() };
    let (whole, rest) = percent.split_once('.').unwrap_or((percent, ""));
    let hundredths = match rest.len() {
        0 => 0,
        1 => rest.parse::<u32>().ok()? * 10,
        2 => rest.parse().ok()?,
        _ => return None,
    };
    whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(hundredths)
}

#[derive(Serialize)]
struct Share {
    version: String,
    weight: u32,
}

/// Runs a command on aliases.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Create(create) => self::create(session, create).await,
        Command::Update(point) => update(session, point).await,
        Command::List(list) => self::list(session, list).await,
        Command::Delete(delete) => self::delete(session, delete).await,
        Command::History(history) => self::history(session, history).await,
        Command::Rollback(rollback) => self::rollback(session, rollback).await,
    }
}

async fn create(session: &Session, create: Create) -> Result<()> {
    let unit = create.which.named.unit(session)?;
    let body = json!({ "name": create.which.alias, "targets": shares(&create.version)? });
    let change = Change::new(Method::POST).body(&body)?;
    let done: Done<AliasView> = session.client.change(&aliases(&unit), change).await?;
    session.output.item(&done, pointed)
}

async fn update(session: &Session, Point { create: point, expect }: Point) -> Result<()> {
    let unit = point.which.named.unit(session)?;
    let body = json!({ "targets": shares(&point.version)? });
    let change = Change::new(Method::PUT).body(&body)?.expect(expect);
    let path = [&aliases(&unit)[..], &[point.which.alias.as_str()]].concat();
    let done: Done<AliasView> = session.client.change(&path, change).await?;
    session.output.item(&done, pointed)
}

async fn list(session: &Session, list: List) -> Result<()> {
    let unit = list.named.unit(session)?;
    let found: Items<AliasView> = session.client.get(&aliases(&unit), &[]).await?;
    session.output.items(&found.items, table)
}

async fn delete(session: &Session, delete: Delete) -> Result<()> {
    let unit = delete.which.named.unit(session)?;
    let path = [&aliases(&unit)[..], &[delete.which.alias.as_str()]].concat();
    let change = Change::new(Method::DELETE).expect(delete.expect);
    let done: Done<AliasView> = session.client.change(&path, change).await?;
    session
        .output
        .item(&done, |done| format!("alias {}@{} deleted", done.result.function, done.result.name))
}

async fn history(session: &Session, history: History) -> Result<()> {
    let unit = history.which.named.unit(session)?;
    let path = [&aliases(&unit)[..], &[history.which.alias.as_str(), "history"]].concat();
    let found: Items<MoveView> = session.client.get(&path, &[]).await?;
    session.output.items(&found.items, moves)
}

async fn rollback(session: &Session, rollback: Rollback) -> Result<()> {
    let unit = rollback.which.named.unit(session)?;
    let path = [&aliases(&unit)[..], &[rollback.which.alias.as_str(), "rollback"]].concat();
    let to = rollback.version.map(|version| version.to_string());
    let change = Change::new(Method::POST).body(&json!({ "to": to }))?.expect(rollback.expect);
    let done: Done<AliasView> = session.client.change(&path, change).await?;
    session.output.item(&done, pointed)
}

fn aliases(unit: &UnitAt) -> [&str; 5] {
    ["apps", unit.app.as_str(), "functions", unit.name.as_str(), "aliases"]
}

fn shares(targets: &[Target]) -> Result<Vec<Share>> {
    let sole = targets.len() == 1;
    let share = |target: &Target| {
        let weight = target.weight.or(sole.then_some(FULL_WEIGHT)).ok_or_else(|| {
            let problem = Problem::usage(format!("how much goes to `{}`?", target.version));
            problem.hint("give every version its share: --version v1=90% --version v2=10%")
        })?;
        Ok(Share { version: target.version.to_string(), weight })
    };
    targets.iter().map(share).collect()
}

/// Where calls go, such as `v1 90%, v2 10%`.
pub(crate) fn targets(targets: &[TargetView]) -> String {
    join(targets.iter().map(|target| {
        let id = target.id.as_ref().map_or_else(|| target.number.to_string(), ToString::to_string);
        match (target.weight / 100, target.weight % 100) {
            _ if target.weight == FULL_WEIGHT => id,
            (percent, 0) => format!("{id} {percent}%"),
            (percent, rest) => format!("{id} {percent}.{rest:02}%"),
        }
    }))
}

fn pointed(done: &Done<AliasView>) -> String {
    let AliasView { function, name, targets: to, .. } = &done.result;
    let verb = if done.changed { "points" } else { "already points" };
    format!("alias {function}@{name} {verb} to {}", targets(to))
}

fn table(aliases: &[AliasView], format: Format) -> Table {
    let wide = format == Format::Wide;
    let mut table = if wide {
        Table::new(["ALIAS", "VERSION", "FUNCTION", "REVISION"])
    } else {
        Table::new(["ALIAS", "VERSION"])
    };
    for alias in aliases {
        let (name, to) = (alias.name.to_string(), targets(&alias.targets));
        if wide {
            table.row([name, to, alias.function.to_string(), alias.revision.to_string()]);
        } else {
            table.row([name, to]);
        }
    }
    table
}

fn moves(moves: &[MoveView], _: Format) -> Table {
    let mut table = Table::new(["ENTRY", "WHEN", "WHO", "FROM", "TO", "REASON"]);
    for step in moves {
        let MoveView { entry, at, by, reason, from, to } = step;
        table.row([
            entry.to_string(),
            moment(*at),
            by.to_string(),
            targets(from),
            targets(to),
            reason.clone().unwrap_or_default(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_basis_points_or_percent() {
        let cases =
            [("9000", 9000), ("90%", 9000), ("12.5%", 1250), ("0.01%", 1), ("100%", 10_000)];
        for (text, expected) in cases {
            assert_eq!(weight(text), Some(expected), "{text}");
        }
        for text in ["", "%", "x", "-1", "1.234%", "1.%x", "99999999999%", "50 %"] {
            assert_eq!(weight(text), None, "{text}");
        }
    }
}
