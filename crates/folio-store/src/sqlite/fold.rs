//! Folds the write-ahead log into the database beside the writer, on a thread and a connection of its own: done inside a
//! commit, it would keep everyone waiting. SQLite begins its log anew only when all of it is folded while nothing is
//! written, which never happens under load; then, once the log is long, the writer folds the little that is left.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use folio_core::ports::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::error::{failure, is_io};
use super::settings;

/// Rows that are written before the log is folded: a few thousand pages.
pub(super) const ROWS_BETWEEN: u64 = 8192;

/// Pages in the log from which on the writer folds what is left.
const LOG_PAGES_MAX: u64 = 12_288;

/// The thread that folds. Belongs to the writer.
pub(super) struct Fold {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Whether the log is long.
    is_long: Arc<AtomicBool>,
    /// The rows that the writer had written when it last asked.
    rows: u64,
}

impl Fold {
    /// Starts the thread.
    pub(super) fn start(database: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(database, flags)
            .map_err(failure("open the database to fold its log"))?;
        settings::writer(&conn)?;
        let (wake, woken) = sync_channel(1);
        let is_long = Arc::new(AtomicBool::new(false));
        let found = Arc::clone(&is_long);
        let thread = thread::Builder::new()
            .name("folio-fold".to_owned())
            .spawn(move || serve(&conn, &woken, &found))
            .map_err(|error| StoreError::failed("start to fold the log", error))?;
        Ok(Self { wake: Some(wake), thread: Some(thread), is_long, rows: 0 })
    }

    /// Has the log folded if much was written since. Called by the writer between its transactions.
    pub(super) fn keep(&mut self, writer: &Connection) {
        let rows = writer.total_changes();
        if rows - self.rows >= ROWS_BETWEEN {
            self.rows = rows;
            // If it is at work still, it is asked again after as much.
            let asked = self.wake.as_ref().map(|wake| wake.try_send(()));
            debug_assert!(!matches!(asked, Some(Err(TrySendError::Disconnected(())))));
        }
        if self.is_long.swap(false, Ordering::Relaxed) {
            fold(writer);
        }
    }

    /// Has the writer fold next time, as if the log were long.
    #[cfg(test)]
    pub(super) fn found_long(&self) {
        self.is_long.store(true, Ordering::Relaxed);
    }
}

impl Drop for Fold {
    fn drop(&mut self) {
        drop(self.wake.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("Folding the log ended in a panic");
        }
    }
}

fn serve(conn: &Connection, woken: &Receiver<()>, is_long: &AtomicBool) {
    while woken.recv().is_ok() {
        let pages = fold(conn);
        is_long.store(pages >= LOG_PAGES_MAX, Ordering::Relaxed);
    }
}

/// Folds what nobody reads any more, and says how many pages the log has.
fn fold(conn: &Connection) -> u64 {
    let folded = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<_, i64>(1));
    match folded {
        Ok(pages) => u64::try_from(pages).unwrap_or(0),
        Err(error) if is_io(&error) => {
            // What was not synced now may seem to be the next time.
            tracing::error!(%error, "The disk failed while the log was folded; ending the process");
            std::process::abort();
        }
        Err(error) => {
            tracing::warn!(%error, "The log was not folded into the database");
            0
        }
    }
}
