//! `folio demo`: a server of its own, and the story of a few deploys told with the real commands.

use clap::Args;

/// How to show what folio does.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Keep the server running when the story ends
    #[arg(long)]
    keep: bool,
}

/// Runs the demo.
pub(crate) async fn run(_: Demo) -> anyhow::Result<()> {
    Ok(())
}
