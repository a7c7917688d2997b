//! Connections that only read. Each read is one transaction, so it sees one state that stands still, and
//! never waits for the writer.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use folio_core::ports::StoreError;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{directory, error::failure, settings};

/// A pool of read-only connections, opened when first needed.
pub(crate) struct Readers {
    directory: PathBuf,
    idle: Mutex<Vec<Connection>>,
    places: Arc<Semaphore>,
}

impl Readers {
    /// Makes an empty pool of at most `readers_max` connections.
    pub(crate) fn new(directory: PathBuf, readers_max: usize) -> Self {
        let places = Arc::new(Semaphore::new(readers_max));
        Self { directory, idle: Mutex::default(), places }
    }

    /// Runs a job on a snapshot that holds everything acknowledged before the call.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let context = "read from the database";
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|error| StoreError::failed(context, error))?;
        let readers = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || {
            let result = readers.read_now(job);
            drop(place);
            result
        });
        read.await.map_err(|error| StoreError::failed(context, error))?
    }

    /// Runs a job on the calling thread.
    pub(crate) fn read_now<T>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut conn = self.take()?;
        let transaction = conn.transaction().map_err(failure("begin to read"))?;
        let result = job(&transaction);
        // A connection whose transaction does not end is closed instead of used again.
        transaction.finish().map_err(failure("end reading"))?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
        result
    }

    fn take(&self) -> Result<Connection, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| self.open(), Ok)
    }

    fn open(&self) -> Result<Connection, StoreError> {
        let conn = directory::open_read_only(&self.directory)?;
        settings::reader(&conn)?;
        Ok(conn)
    }
}
