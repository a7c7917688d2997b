//! The data directory: who may use it, and who may read it. One process at a time; its owner only.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use folio_core::ports::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::error::failure;
use super::migrate;

const HEADER_BYTES: usize = 100;

/// Where the database lies in a data directory.
pub(crate) fn database(directory: &Path) -> PathBuf {
    directory.join("folio.db")
}

/// Makes the directory if it is not there, durably and for its owner only.
pub(crate) fn create(directory: &Path) -> Result<(), StoreError> {
    let context = || format!("create the data directory `{}`", directory.display());
    if directory.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|error| StoreError::failed(context(), error))?;
    match directory.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => sync(parent),
        None => Ok(()),
    }
}

/// The right to use a data directory, until it is dropped.
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Said, not left to the closing of the file: a process that is just being started has it open, too, until it
        // becomes another program. If it cannot be said, closing it is what is left.
        drop(self.0.unlock());
    }
}

/// Takes the directory for this process. The kernel gives it back when the process ends, however it ends.
pub(crate) fn lock(directory: &Path) -> Result<Lock, StoreError> {
    let failed = |error| StoreError::failed("lock the data directory", error);
    let file = open_private(&directory.join("lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => {
            Err(StoreError::Locked { directory: directory.display().to_string() })
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Makes the database's file if it is not there. SQLite gives the files it makes beside it the same mode.
pub(crate) fn create_database(directory: &Path) -> Result<(), StoreError> {
    let path = database(directory);
    if path.exists() {
        return Ok(());
    }
    open_private(&path).map_err(|error| StoreError::failed("create the database", error))?;
    sync(directory)
}

/// Refuses a database written by a newer folio, without changing a byte of it.
pub(crate) fn refuse_newer(directory: &Path) -> Result<(), StoreError> {
    migrate::refuse_newer(schema_in_header(&database(directory))?)?;
    // The newest number may still be in the log beside the database, if its writer was killed.
    let log = fs::metadata(directory.join("folio.db-wal")).map(|log| log.len()).unwrap_or(0);
    if log == 0 {
        return Ok(());
    }
    let conn = open_read_only(directory)?;
    migrate::refuse_newer(migrate::found(&conn)?).map(|_| ())
}

/// Opens the database for reading only.
pub(crate) fn open_read_only(directory: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(database(directory), flags).map_err(failure("open the database"))
}

/// Makes what was created or renamed in a directory durable.
pub(crate) fn sync(directory: &Path) -> Result<(), StoreError> {
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|error| {
        StoreError::failed(format!("sync directory `{}`", directory.display()), error)
    })
}

/// Reads the schema's number from the file itself: byte 60 of SQLite's header, big-endian.
fn schema_in_header(path: &Path) -> Result<u32, StoreError> {
    let failed = |error| StoreError::failed("read the database's header", error);
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        opened => opened.map_err(failed)?,
    };
    let mut header = Vec::with_capacity(HEADER_BYTES);
    file.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header).map_err(failed)?;
    let is_database = header.starts_with(b"SQLite format 3\0");
    let number = header.get(60..64).filter(|_| is_database).and_then(|bytes| bytes.try_into().ok());
    Ok(number.map_or(0, u32::from_be_bytes))
}

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_given_back_although_a_process_that_starts_has_its_lock_open() {
        let directory = tempfile::tempdir().unwrap();
        let held = lock(directory.path()).unwrap();
        let inherited = held.0.try_clone().unwrap();
        drop(held);
        lock(directory.path()).unwrap();
        drop(inherited);
    }
}
