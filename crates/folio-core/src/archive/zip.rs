//! Zip archives. Every local header has to agree with the central directory, no two entries may share bytes,
//! and the central directory has to end where the file ends.

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};

use folio_model::TreePath;
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
    let checked = check_entries(&mut reader, limits)?;
    visit
        .meter
        .check_claim(checked.iter().fold(0, |sum: u64, entry| sum.saturating_add(entry.bytes)))?;
    let mut archive = ZipArchive::new(reader).map_err(failed)?;
    check_structure(&mut archive, checked.len())?;
    for (index, Checked { name, path, kind, executable, bytes }) in checked.into_iter().enumerate()
    {
        let mut file = archive.by_index(index).map_err(failed)?;
        if file.name_raw() != name {
            return Err(Error::Inconsistent { what: "its files have no one order".to_owned() });
        }
        match (kind, path) {
            (Kind::Directory, path) => visit.directory(path)?,
            (Kind::File, None) => {}
            (Kind::File, Some(path)) => {
                if visit.file(path, executable, &mut file)? != bytes {
                    let what = "a file has another length than its header says".to_owned();
                    return Err(Error::Inconsistent { what });
                }
            }
        }
    }
    check_end(archive)
}

struct Checked {
    name: Vec<u8>,
    path: Option<TreePath>,
    kind: Kind,
    executable: bool,
    /// What the header claims.
    bytes: u64,
}

/// Checks all entries by their headers alone, so that nothing is unpacked of an archive with a bad one.
fn check_entries<R: Read + Seek>(reader: R, limits: &Limits) -> Result<Vec<Checked>, Error> {
    let mut entries = ZipIterable::try_new(reader, Config::default()).map_err(failed)?;
    // Half of the entries may be directories. Counted before anything is kept in memory for each.
    let entries_max = limits.content_files_max.saturating_mul(2).saturating_add(1024);
    if entries.len() as u64 > entries_max {
        return Err(Error::TooManyFiles { max: limits.content_files_max });
    }
    let mut seen = HashSet::new();
    let mut checked = Vec::with_capacity(entries.len());
    for entry in entries.files().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        checked.push(check_entry(&entry)?);
        if !seen.insert(entry.name_raw().to_vec()) {
            let path = String::from_utf8_lossy(entry.name_raw()).into_owned();
            return Err(Error::Twice { path });
        }
    }
    let files = checked.iter().filter(|entry| entry.kind == Kind::File).count();
    if files as u64 > limits.content_files_max {
        return Err(Error::TooManyFiles { max: limits.content_files_max });
    }
    Ok(checked)
}

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
        _ => return Err(unusual_compression()),
    }
    let executable = mode & OWNER_EXECUTES != 0;
    Ok(Checked { name: name.to_vec(), path, kind, executable, bytes: entry.size() })
}

/// The archive's reader keeps entries by name; both have to have found the same ones.
fn check_structure<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    entries: usize,
) -> Result<(), Error> {
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
        ZipError::InvalidArchive(_) => {
            Error::Damaged { what: "its list of files cannot be read".to_owned() }
        }
        ZipError::UnsupportedArchive(what) => Error::Unsupported { what: what.to_owned() },
        ZipError::CompressionMethodNotSupported(_) => unusual_compression(),
        other => Error::Damaged { what: other.to_string() },
    }
}

fn unusual_compression() -> Error {
    Error::Unsupported { what: "a compression other than deflate and zstd".to_owned() }
}
