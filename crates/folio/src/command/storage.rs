//! `folio gc` and `folio migrate`: what is stored, giving back what nothing needs, and bringing the rest to its
//! newest form.

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::sweep::{MigrationReport, SweepReport};
use reqwest::Method;

use super::Session;
use crate::client::Change;
use crate::output::{Details, moment};

/// Whether to remove anything.
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Only say how much is stored
    #[arg(long)]
    stats: bool,
}

/// What to migrate.
#[derive(Debug, Subcommand)]
pub(crate) enum Migrate {
    /// Rewrite stored objects of an older version; safe while the server works, and to run again
    Storage,
}

/// Has the server rewrite what it keeps in an older version.
pub(crate) async fn migrate(session: &Session, Migrate::Storage: Migrate) -> Result<()> {
    let change = Change::new(Method::POST);
    let report: MigrationReport = session.client.change(&["storage", "migrate"], change).await?;
    session.output.item(&report, |report| {
        Details::default()
            .line("Hub version", &report.hub_version)
            .line("Rewritten", report.rewritten)
            .line("Complete since", moment(report.done_at))
            .to_string()
    })
}

/// Sweeps the store, or counts it.
pub(crate) async fn gc(session: &Session, gc: Gc) -> Result<()> {
    if gc.stats {
        let report: SweepReport = session.client.get(&["storage"], &[]).await?;
        return session.output.item(&report, |report| stored(report, Details::default()));
    }
    let change = Change::new(Method::POST);
    let report: SweepReport = session.client.change(&["storage", "sweep"], change).await?;
    session.output.item(&report, |report| {
        let removed = Details::default()
            .line("Removed nodes", report.removed_nodes)
            .line("Removed bytes", report.removed_bytes);
        stored(report, removed)
    })
}

fn stored(report: &SweepReport, details: Details) -> String {
    details
        .line("Nodes", report.nodes)
        .line("Bytes", report.bytes)
        .line("Packs", report.objects)
        .line("Stored bytes", report.stored_bytes)
        .to_string()
}
