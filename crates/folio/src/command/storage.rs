//! `folio gc`: what is stored, and giving back what nothing needs.

use anyhow::Result;
use clap::Args;
use folio_core::sweep::SweepReport;
use reqwest::Method;

use super::Session;
use crate::client::Change;
use crate::output::Details;

/// Whether to remove anything.
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Only say how much is stored
    #[arg(long)]
    stats: bool,
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
