//! `folio log` and `folio undo`: what was done, and taking it back.

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::Args;
use folio_core::history::LogLine;
use folio_core::undo::Undone;
use folio_core::view::Done;
use reqwest::Method;
use serde_json::json;

use super::Session;
use crate::client::Change;
use crate::output::{Format, Table, list, moment};

/// How much of the log to show.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Show at most this many entries
    #[arg(long, value_name = "COUNT", default_value = "50")]
    limit: NonZeroUsize,
}

/// What to take back.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// The entry's number in the log [default: the newest that is neither undone nor an undo]
    #[arg(value_name = "ENTRY")]
    entry: Option<u64>,
}

/// Prints the log.
pub(crate) async fn log(session: &Session, log: Log) -> Result<()> {
    let app = session.app(None);
    let path = ["apps", app.as_str(), "log"];
    let lines: Vec<LogLine> = session.client.pages(&path, ("below", log.limit.get())).await?;
    session.output.items(&lines, table)
}

/// Takes an entry back.
pub(crate) async fn undo(session: &Session, undo: Undo) -> Result<()> {
    let app = session.app(None);
    let path = ["apps", app.as_str(), "undo"];
    let change = Change::new(Method::POST).body(&json!({ "entry": undo.entry }))?;
    let done: Done<Undone> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| {
        let Undone { undone, message } = &done.result;
        format!("entry {undone} undone: {message}")
    })
}

fn table(lines: &[LogLine], format: Format) -> Table {
    let wide = format == Format::Wide;
    let mut table = if wide {
        Table::new(["ENTRY", "WHEN", "WHO", "WHAT", "WHY", "APP VERSION", "UNDONE BY"])
    } else {
        Table::new(["ENTRY", "WHEN", "WHO", "WHAT", "WHY"])
    };
    for LogLine { entry, undone_by } in lines {
        let (seq, at, by) = (entry.seq.to_string(), moment(entry.at), entry.by.to_string());
        let (what, why) = (entry.message.clone(), entry.reason.clone().unwrap_or_default());
        if wide {
            table.row([seq, at, by, what, why, list(&entry.app_version), list(undone_by)]);
        } else {
            table.row([seq, at, by, what, why]);
        }
    }
    table
}
