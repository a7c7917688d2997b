//! Keeps the file of the write-ahead log longer than what is in it. A sync after a write that lengthens a file waits for
//! the file system's own journal, too, and for whatever else is in that: it takes twice as long on an idle disk and many
//! times as long on a busy one. A sync after a write into what is there waits for these bytes only.
//!
//! What lies behind the last frame is zeros, and no frame is for page zero: SQLite stops reading there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// By how much the file is lengthened: by as much as there is, within these bounds.
const STEP_BYTES_MIN: u64 = 64 * 1024;
const STEP_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How much of that is written at once. What was written at once Linux keeps as one piece in memory, and writing into a
/// piece looks at all of it: a page into one of four megabytes takes ten times as long as into one of this length.
const PIECE: &[u8] = &[0; 16 * 1024];

/// The room that the log of a database has. Belongs to whoever writes the log.
pub(super) struct LogRoom {
    path: PathBuf,
    file: Option<File>,
    /// The file's length when there was last room behind the log.
    bytes: u64,
}

impl LogRoom {
    /// The room of a database's log, whether there is a log yet or not.
    pub(super) fn of(database: &Path) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        Self { path: path.into(), file: None, bytes: 0 }
    }

    /// Makes room again if the log has used it up. Must not run while something writes to the log.
    ///
    /// Without room everything works as well, only slower; so it is not a failure if there is none to be had.
    pub(super) fn keep(&mut self) {
        if let Err(error) = self.lengthen() {
            tracing::debug!(%error, "There is no room to be had behind the log");
        }
    }

    fn lengthen(&mut self) -> io::Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(File::options().write(true).open(&self.path)?),
        };
        let bytes = file.metadata()?.len();
        // The log grew by itself, or SQLite has cut it off.
        if bytes > self.bytes {
            let step = bytes.clamp(STEP_BYTES_MIN, STEP_BYTES_MAX);
            let end = bytes + step;
            for at in (bytes..end).step_by(PIECE.len()) {
                let length = PIECE.len().min(usize::try_from(end - at).unwrap_or(PIECE.len()));
                file.write_all_at(&PIECE[..length], at)?;
            }
            file.sync_data()?;
            self.bytes = end;
        } else {
            self.bytes = bytes;
        }
        Ok(())
    }
}
