//! A data directory as one thing: its ledger, its blobs and its queue, opened, copied and closed together.

mod copy;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::{Clock, StoreError};

use crate::{Db, Options, PackOptions, PackStore, SqliteLedger, SqliteQueue};

/// An open data directory.
pub struct DataDirectory {
    /// The database under the ledger and the index of the blobs.
    pub db: Db,
    /// The ledger.
    pub ledger: Arc<SqliteLedger>,
    /// The blobs.
    pub blobs: Arc<PackStore>,
    /// The queue.
    pub queue: Arc<SqliteQueue>,
}

impl DataDirectory {
    /// Opens a directory for this process alone, making or migrating what is not there yet.
    pub async fn open(
        directory: &Path,
        clock: Arc<dyn Clock>,
        grace: Duration,
    ) -> Result<Self, StoreError> {
        let db = Db::open(directory, Options::default())?;
        let blobs = PackStore::in_directory(db.clone(), clock, PackOptions { grace }).await?;
        let ledger = SqliteLedger::new(db.clone())?;
        let queue = SqliteQueue::open(db.clone()).await?;
        Ok(Self { db, ledger: Arc::new(ledger), blobs: Arc::new(blobs), queue: Arc::new(queue) })
    }

    /// Opens a directory for reading, also while another process writes to it. Changes nothing.
    pub fn open_read_only(directory: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let db = Db::open_read_only(directory)?;
        let blobs = PackStore::read_only(db.clone(), clock)?;
        let ledger = SqliteLedger::new(db.clone())?;
        let queue = SqliteQueue::read_only(db.clone());
        Ok(Self { db, ledger: Arc::new(ledger), blobs: Arc::new(blobs), queue: Arc::new(queue) })
    }

    /// Copies a directory, as it stands at one moment, to a new one; durable when this returns. Whoever writes
    /// to it meanwhile does not wait. [`StoreError::Conflict`] says that a sweep was faster: begin again.
    pub async fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
        copy::copy(from, to).await
    }

    /// Finishes what was begun and lets the directory go.
    pub async fn close(self) -> Result<(), StoreError> {
        self.db.close().await
    }
}
