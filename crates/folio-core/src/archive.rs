//! Reading zip, tar and tar.gz without trusting them.
//!
//! Regular files and directories only, every byte counted, nothing ever extracted by a library. What two
//! readers could understand differently is refused. Start at [`read`]. The kind of archive is what its first bytes say, never what its name says.

mod error;
mod meter;
mod names;
mod tar;
mod zip;

use std::io::{Read, Seek, SeekFrom};

use folio_model::TreePath;

pub use self::error::Error;
use self::meter::Meter;
use self::names::Names;
use crate::Limits;

/// A file of an archive, while it is being read.
pub struct ArchiveFile<'a> {
    /// Where it goes.
    pub path: TreePath,
    /// Whether its owner may execute it.
    pub executable: bool,
    /// Its bytes. What is left unread is read and checked afterwards.
    pub content: &'a mut dyn Read,
}

/// Something an archive holds.
pub enum Item<'a> {
    /// A file.
    File(ArchiveFile<'a>),
    /// A directory, which may stay empty.
    Directory(TreePath),
}

/// Takes what an archive holds, one after the other.
pub type Sink<'s> = dyn FnMut(Item<'_>) -> Result<(), Error> + 's;

/// Bytes at the start of a file that decide whether it is an archive.
pub const START_BYTES: u64 = 512;

/// Whether a file that starts like this is an archive that [`read`] knows, whatever its name is.
pub fn is_archive(start: &[u8]) -> bool {
    format(start).is_some()
}

/// Whether bytes that begin so are a zip.
pub fn is_zip(start: &[u8]) -> bool {
    matches!(format(start), Some(Format::Zip))
}

enum Format {
    Zip,
    Gzip,
    Tar,
}

fn format(start: &[u8]) -> Option<Format> {
    match start {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Format::Zip),
        [0x1f, 0x8b, ..] => Some(Format::Gzip),
        start if tar::is_header(start) => Some(Format::Tar),
        _ => None,
    }
}

/// Reads an archive to its end. Only if this succeeds may what the sink was given be used.
///
/// An io error that carries an [`Error`] comes back as that.
pub fn read<R: Read + Seek>(
    mut reader: R,
    limits: &Limits,
    sink: &mut Sink<'_>,
) -> Result<(), Error> {
    let bytes = reader.seek(SeekFrom::End(0))?;
    if bytes > limits.archive_bytes_max {
        return Err(Error::ArchiveTooLarge { max: limits.archive_bytes_max });
    }
    reader.rewind()?;
    let mut start = Vec::new();
    reader.by_ref().take(START_BYTES).read_to_end(&mut start)?;
    reader.rewind()?;
    let mut visit = Visit { names: Names::new(limits), meter: Meter::new(bytes, limits), sink };
    match format(&start) {
        Some(Format::Zip) => zip::read(reader, limits, &mut visit)?,
        Some(Format::Gzip) => tar::read_gzip(reader, limits, &mut visit)?,
        Some(Format::Tar) => tar::read(reader, &mut visit)?,
        None => return Err(Error::Unknown),
    }
    if visit.names.has_files() { Ok(()) } else { Err(Error::Empty) }
}

/// What both formats do with each entry.
struct Visit<'a, 's> {
    names: Names,
    meter: Meter,
    sink: &'a mut Sink<'s>,
}

impl Visit<'_, '_> {
    /// Takes a directory. `None` is the root itself.
    fn directory(&mut self, path: Option<TreePath>) -> Result<(), Error> {
        match path {
            Some(path) => {
                self.names.add_directory(&path)?;
                (self.sink)(Item::Directory(path))
            }
            None => Ok(()),
        }
    }

    /// Takes a file and reads it to its end, counting. Returns how many bytes there were.
    fn file(
        &mut self,
        path: TreePath,
        executable: bool,
        content: &mut dyn Read,
    ) -> Result<u64, Error> {
        self.names.add_file(&path)?;
        let mut counted = self.meter.counting(content);
        (self.sink)(Item::File(ArchiveFile { path, executable, content: &mut counted }))?;
        std::io::copy(&mut counted, &mut std::io::sink())?;
        Ok(counted.count())
    }
}
