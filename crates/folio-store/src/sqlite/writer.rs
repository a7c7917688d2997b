//! The one thread that writes. It takes everything that waits, runs each job in its own savepoint, commits
//! once and only then answers: while one group reaches the disk the next piles up, so writers share an fsync.
//!
//! Nothing is ever acknowledged before it is durable, and a failed fsync is never tried again: the process
//! ends and the next start reads what the disk really has.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use folio_core::crash;
use folio_core::ports::StoreError;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::error::{failure, is_io};

/// Jobs that share one commit at most.
const GROUP_MAX: usize = 256;

/// Jobs that may wait; more have to wait for a place.
const WAITING_MAX: usize = 1024;

/// Owns the thread and the way to it.
pub(crate) struct Writer {
    jobs: Mutex<Option<mpsc::Sender<Box<dyn Work>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread, which owns the connection from then on.
    pub(crate) fn start(conn: Connection) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel(WAITING_MAX);
        let thread = thread::Builder::new()
            .name("folio-writer".to_owned())
            .spawn(move || serve(&conn, waiting))
            .map_err(|error| StoreError::failed("start the writer", error))?;
        Ok(Self { jobs: Mutex::new(Some(jobs)), thread: Mutex::new(Some(thread)) })
    }

    /// Runs a job in the next group; `durable` hears of its result after the commit and before the caller.
    ///
    /// A caller that stops waiting does not stop the job.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        durable: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { job: Some(job), durable, result: None, answer };
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let jobs = jobs.ok_or_else(closed)?;
        jobs.send(Box::new(waiting)).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    /// Takes no more jobs and waits until those taken are done.
    pub(crate) fn close(&self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A job may hold the last handle of its own writer, which cannot wait for itself.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id())
            && thread.join().is_err()
        {
            tracing::error!("The writer ended in a panic");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

fn closed() -> StoreError {
    StoreError::failed("write to the database", "it is closed")
}

/// What becomes of a job's changes.
enum Outcome {
    Keep,
    Undo,
    /// The disk is full: SQLite may have given up the transaction of the whole group.
    Full,
}

/// A job in the queue, whatever it returns.
trait Work: Send {
    /// Runs the job and keeps its result.
    fn run(&mut self, conn: &Connection) -> Outcome;

    /// Answers the caller, after the commit.
    fn acknowledge(self: Box<Self>);

    /// Answers the caller if the commit failed. A job that failed by itself keeps its own reason.
    fn abandon(self: Box<Self>, error: StoreError);
}

struct Waiting<T, F, D> {
    job: Option<F>,
    durable: D,
    result: Option<Result<T, StoreError>>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F, D> Work for Waiting<T, F, D>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send,
    D: FnOnce(&T) + Send,
{
    fn run(&mut self, conn: &Connection) -> Outcome {
        let job = self.job.take().expect("a job runs once");
        // The savepoint undoes whatever a panicking job left half done.
        let result = catch_unwind(AssertUnwindSafe(|| job(conn)))
            .unwrap_or_else(|panic| Err(StoreError::failed("run a write", panic_text(&*panic))));
        match self.result.insert(result) {
            Ok(_) => Outcome::Keep,
            Err(StoreError::Full) => Outcome::Full,
            Err(_) => Outcome::Undo,
        }
    }

    fn acknowledge(self: Box<Self>) {
        let result = self.result.expect("a job runs before it is acknowledged");
        if let Ok(value) = &result {
            (self.durable)(value);
        }
        // The caller may have stopped waiting.
        let _heard = self.answer.send(result).is_ok();
    }

    fn abandon(self: Box<Self>, error: StoreError) {
        let own = self.result.and_then(Result::err);
        let _heard = self.answer.send(Err(own.unwrap_or(error))).is_ok();
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("it panicked: {}", text.unwrap_or_default())
}

fn serve(conn: &Connection, mut waiting: mpsc::Receiver<Box<dyn Work>>) {
    while let Some(first) = waiting.blocking_recv() {
        let mut group = vec![first];
        while group.len() < GROUP_MAX
            && let Ok(next) = waiting.try_recv()
        {
            group.push(next);
        }
        commit(conn, group);
    }
    if let Err(error) = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        tracing::warn!(%error, "The log was not folded into the database; the next start does it");
    }
}

/// Runs and commits one group, then answers everyone in it.
fn commit(conn: &Connection, mut group: Vec<Box<dyn Work>>) {
    match run(conn, &mut group) {
        Ok(()) => {
            crash::point("ledger.committed");
            group.into_iter().for_each(Work::acknowledge);
            crash::point("ledger.acknowledged");
        }
        Err(error) => {
            for work in group {
                work.abandon(same(&error));
            }
        }
    }
}

fn run(conn: &Connection, group: &mut [Box<dyn Work>]) -> Result<(), StoreError> {
    execute(conn, "BEGIN IMMEDIATE").map_err(failure("begin a transaction"))?;
    crash::point("ledger.begun");
    let ran = group.iter_mut().try_for_each(|work| run_in_savepoint(conn, &mut **work));
    let result = ran.and_then(|()| {
        execute(conn, "COMMIT").map_err(|error| {
            if is_io(&error) {
                tracing::error!(%error, "The disk failed while committing; ending the process");
                std::process::abort();
            }
            failure("commit")(error)
        })
    });
    // SQLite may have given the transaction up by itself.
    if result.is_err() && !conn.is_autocommit() {
        execute(conn, "ROLLBACK").unwrap_or_else(|error| {
            tracing::error!(%error, "A failed transaction does not end; ending the process");
            std::process::abort();
        });
    }
    result
}

/// Fails only if the whole transaction is lost; a job that refuses leaves no trace in it.
fn run_in_savepoint(conn: &Connection, work: &mut dyn Work) -> Result<(), StoreError> {
    execute(conn, "SAVEPOINT job").map_err(failure("set a savepoint"))?;
    match work.run(conn) {
        Outcome::Keep => {}
        Outcome::Undo => {
            execute(conn, "ROLLBACK TO job").map_err(failure("return to a savepoint"))?;
        }
        Outcome::Full => return Err(StoreError::Full),
    }
    execute(conn, "RELEASE job").map_err(failure("release a savepoint"))
}

fn execute(conn: &Connection, sql: &str) -> Result<(), rusqlite::Error> {
    conn.prepare_cached(sql)?.execute([]).map(|_| ())
}

/// The same failure for another member of the group.
fn same(error: &StoreError) -> StoreError {
    match error {
        StoreError::Full => StoreError::Full,
        StoreError::Corrupt { what } => StoreError::corrupt(what.clone()),
        other => StoreError::failed("commit", other.to_string()),
    }
}
