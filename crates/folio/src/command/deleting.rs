//! Deleting by name, where what is gone already can be left unsaid.

use anyhow::Result;
use clap::Args;
use folio_core::view::{Done, Removed};

use super::Session;
use crate::client::{self, Change};
use crate::name::{Named, UnitAt};

/// What to delete.
#[derive(Debug, Args)]
pub(crate) struct Deleting {
    #[command(flatten)]
    named: Named,
    /// Do not mind if it is not there
    #[arg(long)]
    ignorenotfound: bool,
}

impl Deleting {
    /// What is meant.
    pub(crate) fn unit(&self, session: &Session) -> Result<UnitAt> {
        self.named.unit(session)
    }

    /// Deletes it. Nothing is the answer if it is not there and nobody minds.
    pub(crate) async fn ask(
        &self,
        session: &Session,
        path: &[&str],
        change: Change,
    ) -> Result<Option<Done<Removed>>> {
        match session.client.change(path, change).await {
            Err(error) if self.ignorenotfound && client::is_absent(&error) => Ok(None),
            done => done.map(Some),
        }
    }
}
