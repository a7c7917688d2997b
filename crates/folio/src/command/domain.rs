//! `folio domain`: hosts of an app's own.

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::domain::{DomainMove, DomainView};
use folio_core::view::Done;
use folio_model::DomainName;
use reqwest::Method;

use super::Session;
use crate::client::{Change, Items};
use crate::output::{Format, Table, moment};

/// What one can do with domains.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the app on a host of its own; the host's records must lead to the gateway
    Add(Which),
    /// List the app's domains
    List,
    /// Take a domain away; its host is nobody's from then on
    Remove(Which),
    /// List when the app got and lost a domain, newest first
    History(Which),
}

/// Which domain.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The domain, such as `shop.example.com`
    #[arg(value_name = "DOMAIN", value_parser = DomainName::written)]
    domain: DomainName,
}

/// Runs one command.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    let app = session.app(None);
    let domains = ["apps", app.as_str(), "domains"];
    let client = &session.client;
    match command {
        Command::Add(Which { domain }) => {
            let path = [&domains[..], &[domain.as_str()]].concat();
            let done: Done<DomainView> = client.change(&path, Change::new(Method::PUT)).await?;
            session.output.item(&done, |done| match done.changed {
                true => format!("{domain} shows app {app}"),
                false => format!("{domain} shows app {app} already"),
            })
        }
        Command::List => {
            let found: Items<DomainView> = client.get(&domains, &[]).await?;
            session.output.items(&found.items, table)
        }
        Command::Remove(Which { domain }) => {
            let path = [&domains[..], &[domain.as_str()]].concat();
            let done: Done<DomainView> = client.change(&path, Change::new(Method::DELETE)).await?;
            session.output.item(&done, |_| format!("{domain} no longer shows app {app}"))
        }
        Command::History(Which { domain }) => {
            let path = [&domains[..], &[domain.as_str(), "history"]].concat();
            let found: Items<DomainMove> = client.get(&path, &[]).await?;
            session.output.items(&found.items, moves)
        }
    }
}

fn table(domains: &[DomainView], _: Format) -> Table {
    let mut table = Table::new(["DOMAIN", "APP", "ENTRY"]);
    for DomainView { domain, app, revision } in domains {
        table.row([domain.to_string(), app.to_string(), revision.to_string()]);
    }
    table
}

fn moves(moves: &[DomainMove], _: Format) -> Table {
    let mut table = Table::new(["ENTRY", "TIME", "BY", "WHAT", "REASON"]);
    for step in moves {
        table.row([
            step.entry.to_string(),
            moment(step.at),
            step.by.to_string(),
            if step.added { "added" } else { "removed" }.to_owned(),
            step.reason.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table
}
