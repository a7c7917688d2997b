//! One data directory and its database: one writer, many readers. Knows nothing of what the tables mean.
//! Start at [`Db::open`]; everything else goes through [`Db::write`] and [`Db::read`].

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_core::ports::{Damage, StoreError};
use rusqlite::{Connection, OpenFlags};

use super::error::failure;
use super::readers::Readers;
use super::session::Session;
use super::writer::Writer;
use super::{directory, migrate, settings};

/// How a database is opened.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Reads that run at the same time at most.
    pub readers_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { readers_max: 8 }
    }
}

/// An open data directory. Clones share it; the last one to go finishes what was begun and lets it go.
#[derive(Clone)]
pub struct Db {
    shared: Arc<Shared>,
}

/// Fields are dropped in this order: the directory is given back when nothing uses it any more.
struct Shared {
    writer: Option<Writer>,
    readers: Arc<Readers>,
    directory: PathBuf,
    _lock: Option<directory::Lock>,
}

impl Db {
    /// Opens a data directory for this process alone, making or migrating what is not there yet.
    pub fn open(directory: &Path, options: Options) -> Result<Self, StoreError> {
        directory::create(directory)?;
        let lock = directory::lock(directory)?;
        directory::refuse_newer(directory)?;
        directory::create_database(directory)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut conn = Connection::open_with_flags(directory::database(directory), flags)
            .map_err(failure("open the database"))?;
        settings::writer(&conn)?;
        migrate::migrate(&mut conn)?;
        Ok(Self::of(directory, options, Some((Writer::start(conn)?, lock))))
    }

    /// Opens a data directory for reading, also while another process writes to it. Changes nothing.
    pub fn open_read_only(directory: &Path) -> Result<Self, StoreError> {
        directory::refuse_newer(directory)?;
        let db = Self::of(directory, Options::default(), None);
        let found = db.shared.readers.read_now(migrate::found)?;
        if found < migrate::newest() {
            let older = format!("it has schema {found}: start folio on it once, which migrates it");
            return Err(StoreError::failed("open the data directory for reading", older));
        }
        Ok(db)
    }

    fn of(directory: &Path, options: Options, owned: Option<(Writer, directory::Lock)>) -> Self {
        let (writer, lock) = owned.unzip();
        let readers = Arc::new(Readers::new(directory.to_owned(), options.readers_max));
        let shared = Shared { writer, readers, directory: directory.to_owned(), _lock: lock };
        Self { shared: Arc::new(shared) }
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.shared.directory
    }

    /// Runs a job that writes. It is durable when this returns; if the job fails, it left no trace.
    ///
    /// A caller that stops waiting does not stop the job.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer()?.write(job, |_| ()).await
    }

    /// As [`Db::write`], for a job that as many callers wait for and that refuses, if it does, before it writes.
    pub(crate) async fn write_for<T: Send + 'static>(
        &self,
        callers: usize,
        job: impl FnOnce(&Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer()?.write_for(callers, job).await
    }

    /// Runs a job that writes; `durable` hears of its result once it is durable, before the caller does.
    pub(crate) async fn write_then<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Session) -> Result<T, StoreError> + Send + 'static,
        durable: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer()?.write(job, durable).await
    }

    /// As [`Db::write_then`], for a job that may be run again; it shares a transaction at less cost.
    pub(crate) async fn write_repeatable<T: Send + 'static>(
        &self,
        job: impl FnMut(&Session) -> Result<T, StoreError> + Send + 'static,
        durable: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer()?.write_repeatable(job, durable).await
    }

    fn writer(&self) -> Result<&Writer, StoreError> {
        let read_only = || StoreError::failed("write to the database", "it is open for reading");
        self.shared.writer.as_ref().ok_or_else(read_only)
    }

    /// Runs a job that reads, on a state that stands still and holds every write acknowledged before.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.shared.readers.read(job).await
    }

    /// As [`Db::read`], on the calling thread: for a row or two.
    pub(crate) fn read_now<T>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.shared.readers.read_now(job)
    }

    /// Copies the database, as it stands at one moment, to a new file. Writers do not wait for it.
    pub async fn backup_to(&self, path: PathBuf) -> Result<(), StoreError> {
        let directory = self.directory().to_owned();
        let copy = tokio::task::spawn_blocking(move || copy(&directory, &path));
        copy.await.map_err(|error| StoreError::failed("back up the database", error))?
    }

    /// Asks SQLite whether its pages, indexes and references are sound.
    pub async fn integrity(&self) -> Result<Vec<Damage>, StoreError> {
        match self.read(integrity).await {
            Err(StoreError::Corrupt { what }) => Ok(vec![Damage { what, digest: None }]),
            found => found,
        }
    }

    /// Takes no more writes and waits until those taken are durable and folded into the database.
    pub async fn close(&self) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        let close =
            tokio::task::spawn_blocking(move || shared.writer.iter().for_each(Writer::close));
        close.await.map_err(|error| StoreError::failed("close the database", error))
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let context = "back up the database";
    let made = File::options().write(true).create_new(true).mode(0o600).open(to);
    let file = made.map_err(|error| StoreError::failed(context, error))?;
    let conn = directory::open_read_only(from)?;
    settings::reader(&conn)?;
    conn.backup("main", to, None::<fn(rusqlite::backup::Progress)>).map_err(failure(context))?;
    file.sync_all().map_err(|error| StoreError::failed(context, error))?;
    match to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => directory::sync(parent),
        None => Ok(()),
    }
}

fn integrity(conn: &Connection) -> Result<Vec<Damage>, StoreError> {
    let context = "check the database";
    let mut damages = Vec::new();
    for (pragma, prefix) in [
        ("SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'", ""),
        (
            "SELECT printf('row %s of table %s names a missing row of %s', rowid, \"table\", parent)
             FROM pragma_foreign_key_check",
            "",
        ),
    ] {
        let mut statement = conn.prepare(pragma).map_err(failure(context))?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0));
        for row in rows.map_err(failure(context))? {
            let what = format!("database: {prefix}{}", row.map_err(failure(context))?);
            damages.push(Damage { what, digest: None });
        }
    }
    Ok(damages)
}
