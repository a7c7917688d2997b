//! The one thread that writes. It takes everything that waits, runs it in one transaction, commits once and only
//! then answers: while one group reaches the disk the next piles up, so writers share an fsync. Whoever was answered
//! is likely to come again, and is given a moment to: else callers fall into two halves that wait for each other.
//! A job that fails takes nothing else with it: if it left anything behind, the group runs again with a savepoint each.
//! What waits for one answer may be many callers: they count, not the jobs.
//!
//! Nothing is acknowledged before it is durable. A failed fsync is never tried again: the process ends and the next
//! start reads what the disk really has.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use folio_core::crash;
use folio_core::ports::StoreError;
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::error::{failure, is_io};
use super::fold::Fold;
use super::log::LogRoom;
use super::session::Session;

/// Jobs that share one commit at most.
const GROUP_MAX: usize = 256;

/// Jobs that may wait; more have to wait for a place.
const WAITING_MAX: usize = 1024;

/// How long the next of those who were just answered may take to come again. A caller needs a tenth of it to read its
/// answer and ask anew; if nobody came for so long, the others do not come either.
const PAUSE: Duration = Duration::from_micros(200);

/// As which part of the last group's transaction the pause may be, where that is longer: whoever comes too late waits for
/// all of the next.
const PAUSE_SHARE: u32 = 4;

/// What the pause never exceeds: a transaction that took seconds says nothing of those who come after it.
const PAUSE_MAX: Duration = Duration::from_millis(2);

/// Owns the thread and the way to it.
pub(crate) struct Writer {
    jobs: Mutex<Option<Sender<Box<dyn Work>>>>,
    places: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread, which owns the connection from then on.
    pub(crate) fn start(conn: Connection) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel();
        let fold = Fold::start(conn.path().map_or(Path::new(""), Path::new))?;
        let thread = thread::Builder::new()
            .name("folio-writer".to_owned())
            .spawn(move || serve(&Session::new(conn), fold, &waiting))
            .map_err(|error| StoreError::failed("start the writer", error))?;
        let places = Arc::new(Semaphore::new(WAITING_MAX));
        Ok(Self { jobs: Mutex::new(Some(jobs)), places, thread: Mutex::new(Some(thread)) })
    }

    /// Runs a job in the next group; `durable` hears of its result after the commit and before the caller.
    ///
    /// A caller that stops waiting does not stop the job.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Session) -> Result<T, StoreError> + Send + 'static,
        durable: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut job = Some(job);
        let once = move |session: &Session| job.take().expect("a job runs once")(session);
        self.wait(once, durable, (Runs::Once, 1)).await
    }

    /// As [`Writer::write`], for a job that as many callers wait for and that refuses, if it does, before it writes.
    pub(crate) async fn write_for<T: Send + 'static>(
        &self,
        callers: usize,
        job: impl FnOnce(&Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut job = Some(job);
        let once = move |session: &Session| job.take().expect("a job runs once")(session);
        self.wait(once, |_| (), (Runs::OnceWhole, callers)).await
    }

    /// As [`Writer::write`], for a job that may run again if what it did has to be taken back because of another.
    pub(crate) async fn write_repeatable<T: Send + 'static>(
        &self,
        job: impl FnMut(&Session) -> Result<T, StoreError> + Send + 'static,
        durable: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, StoreError> {
        self.wait(job, durable, (Runs::Repeatedly, 1)).await
    }

    async fn wait<T: Send + 'static>(
        &self,
        job: impl FnMut(&Session) -> Result<T, StoreError> + Send + 'static,
        durable: impl FnOnce(&T) + Send + 'static,
        (runs, callers): (Runs, usize),
    ) -> Result<T, StoreError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { job, durable, runs, callers, result: None, answer, _place: place };
        self.send(Box::new(waiting))?;
        answered.await.map_err(|_| closed())?
    }

    fn send(&self, work: Box<dyn Work>) -> Result<(), StoreError> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.as_ref().ok_or_else(closed)?.send(work).map_err(|_| closed())
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

/// How often a job may run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Runs {
    Repeatedly,
    /// Once, and it has written nothing if it refuses.
    OnceWhole,
    Once,
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
    /// How often it may run.
    fn runs(&self) -> Runs;

    /// How many wait for its answer and are likely to come again.
    fn callers(&self) -> usize;

    /// Runs the job and keeps its result.
    fn run(&mut self, session: &Session) -> Outcome;

    /// Answers the caller, after the commit.
    fn acknowledge(self: Box<Self>);

    /// Answers the caller if the commit failed. A job that failed by itself keeps its own reason.
    fn abandon(self: Box<Self>, error: StoreError);
}

struct Waiting<T, F, D> {
    job: F,
    durable: D,
    runs: Runs,
    callers: usize,
    result: Option<Result<T, StoreError>>,
    answer: oneshot::Sender<Result<T, StoreError>>,
    _place: OwnedSemaphorePermit,
}

impl<T, F, D> Work for Waiting<T, F, D>
where
    T: Send,
    F: FnMut(&Session) -> Result<T, StoreError> + Send,
    D: FnOnce(&T) + Send,
{
    fn runs(&self) -> Runs {
        self.runs
    }

    fn callers(&self) -> usize {
        self.callers
    }

    fn run(&mut self, session: &Session) -> Outcome {
        // Whatever a panicking job left half done is rolled back as if it had failed.
        let result = catch_unwind(AssertUnwindSafe(|| (self.job)(session)))
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

fn serve(session: &Session, mut fold: Fold, waiting: &Receiver<Box<dyn Work>>) {
    let mut group = Vec::new();
    let mut expected = 1;
    let mut room = LogRoom::of(session.path().map_or(Path::new(""), Path::new));
    let mut pause = PAUSE;
    while gather(&mut group, waiting, (expected, pause)) {
        let begun = moment();
        let committed = run(session, &mut group);
        pause = (begun.elapsed() / PAUSE_SHARE).clamp(PAUSE, PAUSE_MAX);
        let answered = std::mem::take(&mut group);
        group.extend(waiting.try_iter().take(GROUP_MAX));
        expected = callers(&group) + callers(&answered);
        answer(answered, committed);
        fold.keep(session);
        room.keep();
    }
    drop(fold);
    if let Err(error) = session.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        tracing::warn!(%error, "The log was not folded into the database; the next start does it");
    }
}

/// How many wait for the answers of a group.
fn callers(group: &[Box<dyn Work>]) -> usize {
    group.iter().map(|work| work.callers()).sum()
}

/// Adds what waits to a group: at least one job, however long it takes, and those of the expected callers that come
/// soon. False if there is none and none can come.
fn gather(
    group: &mut Vec<Box<dyn Work>>,
    waiting: &Receiver<Box<dyn Work>>,
    (expected, pause): (usize, Duration),
) -> bool {
    if group.is_empty() {
        let Ok(first) = waiting.recv() else { return false };
        group.push(first);
    }
    group.extend(waiting.try_iter().take(GROUP_MAX - group.len()));
    while group.len() < GROUP_MAX
        && callers(group) < expected
        && let Ok(next) = waiting.recv_timeout(pause)
    {
        group.push(next);
    }
    true
}

/// Answers everyone in a group.
fn answer(group: Vec<Box<dyn Work>>, committed: Result<(), StoreError>) {
    match committed {
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

#[expect(clippy::disallowed_methods, reason = "how long a disk takes decides nothing but a wait")]
fn moment() -> Instant {
    Instant::now()
}

/// Runs and commits one group.
fn run(session: &Session, group: &mut [Box<dyn Work>]) -> Result<(), StoreError> {
    execute(session, "BEGIN IMMEDIATE").map_err(failure("begin a transaction"))?;
    crash::point("ledger.begun");
    let result = run_all(session, group).and_then(|()| {
        execute(session, "COMMIT").map_err(|error| {
            if is_io(&error) {
                tracing::error!(%error, "The disk failed while committing; ending the process");
                std::process::abort();
            }
            failure("commit")(error)
        })
    });
    if result.is_err() {
        session.forget();
    }
    // SQLite may have given the transaction up by itself.
    if result.is_err() && !session.is_autocommit() {
        execute(session, "ROLLBACK").unwrap_or_else(|error| {
            tracing::error!(%error, "A failed transaction does not end; ending the process");
            std::process::abort();
        });
    }
    result
}

/// Runs what can be repeated first: as long as nothing else ran, it can be taken back and run again by itself. Of the rest,
/// only what may fail half way gets a savepoint.
///
/// Fails only if the whole transaction is lost.
fn run_all(session: &Session, group: &mut [Box<dyn Work>]) -> Result<(), StoreError> {
    group.sort_by_key(|work| work.runs());
    let repeatable = group.partition_point(|work| work.runs() == Runs::Repeatedly);
    let (repeatable, once) = group.split_at_mut(repeatable);
    run_repeatable(session, repeatable)?;
    let whole = once.partition_point(|work| work.runs() == Runs::OnceWhole);
    let (whole, once) = once.split_at_mut(whole);
    if run_at_once(session, whole)?.is_some() {
        return Err(StoreError::failed("write to the database", "a job left its work half done"));
    }
    once.iter_mut().try_for_each(|work| run_in_savepoint(session, &mut **work))
}

/// Runs jobs without a savepoint each, as long as none fails: SQLite copies every page that is changed inside one, which
/// is a tenth of what a publish costs.
fn run_repeatable(session: &Session, mut jobs: &mut [Box<dyn Work>]) -> Result<(), StoreError> {
    while let Some(failed) = run_at_once(session, jobs)? {
        session.forget();
        for sql in ["ROLLBACK", "BEGIN IMMEDIATE"] {
            execute(session, sql).map_err(failure("take back a group"))?;
        }
        if failed > 0 {
            return jobs.iter_mut().try_for_each(|work| run_in_savepoint(session, &mut **work));
        }
        // Nothing ran before it, so what it decided stands and only the others go on.
        jobs = &mut jobs[1..];
    }
    Ok(())
}

/// Runs jobs one after the other, up to one that fails and leaves something behind.
fn run_at_once(session: &Session, jobs: &mut [Box<dyn Work>]) -> Result<Option<usize>, StoreError> {
    for (at, work) in jobs.iter_mut().enumerate() {
        let before = session.total_changes();
        match work.run(session) {
            Outcome::Keep => {}
            Outcome::Undo if session.total_changes() == before => session.forget(),
            Outcome::Undo => return Ok(Some(at)),
            Outcome::Full => return Err(StoreError::Full),
        }
    }
    Ok(None)
}

/// A job that fails leaves no trace.
fn run_in_savepoint(session: &Session, work: &mut dyn Work) -> Result<(), StoreError> {
    execute(session, "SAVEPOINT job").map_err(failure("set a savepoint"))?;
    match work.run(session) {
        Outcome::Keep => {}
        Outcome::Undo => {
            session.forget();
            execute(session, "ROLLBACK TO job").map_err(failure("return to a savepoint"))?;
        }
        Outcome::Full => return Err(StoreError::Full),
    }
    execute(session, "RELEASE job").map_err(failure("release a savepoint"))
}

fn execute(conn: &Connection, sql: &str) -> Result<(), rusqlite::Error> {
    conn.prepare_cached(sql)?.execute([]).map(|_| ())
}

/// The same failure for another member of a group.
pub(crate) fn same(error: &StoreError) -> StoreError {
    match error {
        StoreError::Full => StoreError::Full,
        StoreError::Corrupt { what } => StoreError::corrupt(what.clone()),
        other => StoreError::failed("commit", other.to_string()),
    }
}
