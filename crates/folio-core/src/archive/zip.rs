//! Zip archives. Every local header has to agree with the central directory, no two entries may share bytes,
//! and the central directory has to end where the file ends.

use std::io::{Read, Seek, SeekFrom};

use zip::read::{Config, ZipFileEntry};
use zip::result::ZipError;
use zip::unstable::read::ZipIterable;
use zip::{CompressionMethod, ZipArchive};

use super::names::{self, Kind};
use super::{Error, Visit};
use crate::Limits;

const FILE_TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;
const OWNER_EXECUTES: u32 = 0o100;

/// Reads a zip archive.
pub(super) fn read<R: Read + Seek>(
    mut reader: R,
    limits: &Limits,
    visit: &mut Visit<'_, '_>,
) -> Result<(), Error> {
    // Counted before anything is kept in memory for each entry.
    let entries = ZipIterable::try_new(&mut reader, Config::default()).map_err(failed)?.len();
    let entries_max = limits.content_files_max.saturating_mul(2).saturating_add(1024);
    if entries as u64 > entries_max {
        return Err(Error::TooManyFiles { max: limits.content_files_max });
    }
    let mut archive = ZipArchive::new(reader).map_err(failed)?;
    check_structure(&mut archive, entries)?;
    let mut checked = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        checked.push(check_entry(&archive.by_index_data(index).map_err(failed)?)?);
    }
    for (index, Checked { path, kind, executable }) in checked.into_iter().enumerate() {
        let mut file = archive.by_index(index).map_err(failed)?;
        match (kind, path) {
            (Kind::Directory, path) => visit.directory(path)?,
            (Kind::File, None) => {}
            (Kind::File, Some(path)) => {
                let claimed = file.size();
                if visit.file(path, executable, &mut file)? != claimed {
                    let what = "a file has another length than its header says".to_owned();
                    return Err(Error::Inconsistent { what });
                }
            }
        }
    }
    check_end(archive)
}

struct Checked {
    path: Option<folio_model::TreePath>,
    kind: Kind,
    executable: bool,
}

/// Checks an entry by its header alone, so that nothing is unpacked of an archive with a bad one.
fn check_entry(entry: &ZipFileEntry<'_>) -> Result<Checked, Error> {
    let name = entry.name_raw();
    let shown = || String::from_utf8_lossy(name).into_owned();
    let kind = if name.ends_with(b"/") { Kind::Directory } else { Kind::File };
    let path = names::path(name, kind)?;
    if entry.encrypted() {
        return Err(Error::Encrypted { path: shown() });
    }
    let mode = entry.unix_mode().unwrap_or(0);
    match (mode & FILE_TYPE, kind) {
        (LINK, _) => return Err(Error::Link { path: shown() }),
        (0, _) | (REGULAR, Kind::File) | (DIRECTORY, Kind::Directory) => {}
        (REGULAR, Kind::Directory) | (DIRECTORY, Kind::File) => {
            let what = format!("`{}` is a directory by name or by mode, not by both", shown());
            return Err(Error::Inconsistent { what });
        }
        _ => return Err(Error::Special { path: shown() }),
    }
    if kind == Kind::Directory && entry.size() != 0 {
        return Err(Error::Inconsistent { what: format!("directory `{}` has bytes", shown()) });
    }
    match entry.compression() {
        CompressionMethod::Stored | CompressionMethod::Deflated | CompressionMethod::Zstd => {}
        other => {
            return Err(Error::Unsupported { what: format!("compression method {other:?}") });
        }
    }
    Ok(Checked { path, kind, executable: mode & OWNER_EXECUTES != 0 })
}

fn check_structure<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    entries: usize,
) -> Result<(), Error> {
    if archive.has_duplicate_names() {
        let mut seen = std::collections::HashSet::new();
        let twice = archive.file_names_raw().find(|name| !seen.insert(name.to_vec()));
        let path = twice.map_or("a file".to_owned(), |name| String::from_utf8_lossy(name).into());
        return Err(Error::Twice { path });
    }
    if archive.offset() != 0 || archive.len() != entries {
        let what = "other readers would find another list of files in it".to_owned();
        return Err(Error::Inconsistent { what });
    }
    archive.validate_header_consistency().map_err(|error| match error {
        ZipError::InvalidArchive(what) => {
            let what = what.trim_start_matches("header inconsistency detected: ").to_owned();
            Error::Inconsistent { what }
        }
        other => failed(other),
    })
}

/// Nothing may follow the end record: another reader could take it for the real end.
fn check_end<R: Read + Seek>(archive: ZipArchive<R>) -> Result<(), Error> {
    const END_BYTES: i64 = 22;
    let comment = i64::try_from(archive.comment().len()).unwrap_or(i64::MAX - END_BYTES);
    let mut reader = archive.into_inner();
    let mut signature = [0; 4];
    reader.seek(SeekFrom::End(-(END_BYTES + comment)))?;
    reader.read_exact(&mut signature)?;
    if signature == *b"PK\x05\x06" {
        return Ok(());
    }
    Err(Error::Inconsistent { what: "something follows its end".to_owned() })
}

fn failed(error: ZipError) -> Error {
    match error {
        ZipError::Io(error) => error.into(),
        ZipError::InvalidArchive(what) => Error::Damaged { what: what.into_owned() },
        ZipError::UnsupportedArchive(what) => Error::Unsupported { what: what.to_owned() },
        ZipError::CompressionMethodNotSupported(method) => {
            Error::Unsupported { what: format!("compression method {method}") }
        }
        other => Error::Damaged { what: other.to_string() },
    }
}
