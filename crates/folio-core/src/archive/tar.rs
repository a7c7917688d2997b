//! Tar archives, plain or in one gzip stream. Reads headers itself: what extensions may say is a short list,
//! and the archive has to end as the format wants, so that a cut is noticed.

use std::io::{self, BufReader, Read, Seek};

use flate2::bufread::GzDecoder;
use folio_model::TreePath;
use tar::{EntryType, Header};

use super::meter::Meter;
use super::names::{self, Kind};
use super::{Error, Visit};
use crate::Limits;

const BLOCK_BYTES: usize = 512;
const OWNER_EXECUTES: u32 = 0o100;

/// A long name or an extension header; real ones are far shorter.
const EXTENSION_BYTES_MAX: u64 = 64 * 1024;

/// Whether the start of a file is a tar header.
pub(super) fn is_header(start: &[u8]) -> bool {
    start.len() == BLOCK_BYTES && checksum_fits(Header::from_byte_slice(start))
}

/// Reads a gzip stream with a tar archive in it.
pub(super) fn read_gzip<R: Read + Seek>(
    mut reader: R,
    limits: &Limits,
    visit: &mut Visit<'_, '_>,
) -> Result<(), Error> {
    let bytes = reader.seek(io::SeekFrom::End(0))?;
    reader.rewind()?;
    let mut unpacked = GzDecoder::new(BufReader::new(reader));
    // Headers and extensions are no content, and must not swell either.
    let mut meter = Meter::new(bytes, limits).with_headers(limits);
    read(meter.counting(&mut unpacked), visit)?;
    if unpacked.into_inner().read(&mut [0])? > 0 {
        return Err(Error::Inconsistent { what: "something follows the gzip stream".to_owned() });
    }
    Ok(())
}

/// Reads a tar archive.
pub(super) fn read(mut reader: impl Read, visit: &mut Visit<'_, '_>) -> Result<(), Error> {
    let mut extensions = Extensions::default();
    let mut is_first = true;
    loop {
        let block = read_block(&mut reader)?;
        if block.iter().all(|byte| *byte == 0) {
            return read_end(&mut reader, &extensions);
        }
        let header = Header::from_byte_slice(&block);
        if !checksum_fits(header) {
            let what = "a header does not match its checksum".to_owned();
            return Err(if is_first { Error::Unknown } else { Error::Damaged { what } });
        }
        is_first = false;
        match header.entry_type() {
            EntryType::GNULongName => {
                let name = read_extension(&mut reader, header)?;
                let name = name.strip_suffix(b"\0").unwrap_or(&name).to_vec();
                extensions.set_name(name)?;
            }
            EntryType::XHeader => extensions.read(&read_extension(&mut reader, header)?)?,
            EntryType::XGlobalHeader => {
                // `git archive` writes its commit there. A name or size for all files makes no sense.
                let mut global = Extensions::default();
                global.read(&read_extension(&mut reader, header)?)?;
                if global.name.is_some() || global.bytes.is_some() {
                    return Err(unsupported("a name or size for all files"));
                }
            }
            _ => read_entry(&mut reader, header, std::mem::take(&mut extensions), visit)?,
        }
    }
}

/// What precedes an entry and says more of it than its header can.
#[derive(Default)]
struct Extensions {
    name: Option<Vec<u8>>,
    bytes: Option<u64>,
}

impl Extensions {
    fn set_name(&mut self, name: Vec<u8>) -> Result<(), Error> {
        match self.name.replace(name) {
            None => Ok(()),
            Some(_) => Err(Error::Inconsistent { what: "an entry has two long names".to_owned() }),
        }
    }

    /// Reads `<length> <key>=<value>\n` lines.
    fn read(&mut self, mut lines: &[u8]) -> Result<(), Error> {
        while !lines.is_empty() {
            let (key, value, rest) = record(lines)
                .ok_or_else(|| Error::Damaged { what: "an extension header".to_owned() })?;
            lines = rest;
            match key {
                "path" => self.set_name(value.to_vec())?,
                "linkpath" => {
                    return Err(Error::Link { path: String::from_utf8_lossy(value).into() });
                }
                "size" => {
                    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                    self.bytes = Some(number.ok_or_else(|| unsupported("an odd file size"))?);
                }
                key if key.starts_with("GNU.sparse.") => return Err(unsupported("sparse files")),
                // Times, owners, attributes: not part of what a version is.
                _ => {}
            }
        }
        Ok(())
    }
}

fn record(lines: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let space = lines.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&lines[..space]).ok()?.parse().ok()?;
    let line = lines.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = line.iter().position(|byte| *byte == b'=')?;
    Some((std::str::from_utf8(&line[..equals]).ok()?, &line[equals + 1..], &lines[length..]))
}

fn read_entry(
    reader: &mut impl Read,
    header: &Header,
    extensions: Extensions,
    visit: &mut Visit<'_, '_>,
) -> Result<(), Error> {
    let name = extensions.name.unwrap_or_else(|| header.path_bytes().into_owned());
    let bytes = header.entry_size()?;
    if extensions.bytes.is_some_and(|other| other != bytes) {
        return Err(Error::Inconsistent { what: "an entry has two sizes".to_owned() });
    }
    let (path, kind) = check_entry(header, &name)?;
    match (kind, path) {
        (Kind::Directory, path) => {
            visit.directory(path)?;
            if bytes > 0 {
                return Err(Error::Inconsistent { what: "a directory has bytes".to_owned() });
            }
            Ok(())
        }
        (Kind::File, None) => Ok(()),
        (Kind::File, Some(path)) => {
            let executable = header.mode()? & OWNER_EXECUTES != 0;
            if visit.file(path, executable, &mut reader.take(bytes))? < bytes {
                return Err(Error::Damaged { what: "it ends in the middle of a file".to_owned() });
            }
            skip_padding(reader, bytes)
        }
    }
}

fn check_entry(header: &Header, name: &[u8]) -> Result<(Option<TreePath>, Kind), Error> {
    let shown = || String::from_utf8_lossy(name).into_owned();
    let kind = match header.entry_type() {
        // Before directories had a type of their own, a slash at the end made one.
        EntryType::Regular if name.ends_with(b"/") => Kind::Directory,
        EntryType::Regular => Kind::File,
        EntryType::Directory => Kind::Directory,
        EntryType::Link | EntryType::Symlink | EntryType::GNULongLink => {
            return Err(Error::Link { path: shown() });
        }
        EntryType::GNUSparse => return Err(unsupported("sparse files")),
        _ => return Err(Error::Special { path: shown() }),
    };
    Ok((names::path(name, kind)?, kind))
}

/// The archive ends with blocks of zeros and nothing else.
fn read_end(reader: &mut impl Read, extensions: &Extensions) -> Result<(), Error> {
    if extensions.name.is_some() || extensions.bytes.is_some() {
        return Err(Error::Damaged { what: "it ends where a file should follow".to_owned() });
    }
    let mut rest = [0; 8 * BLOCK_BYTES];
    loop {
        match reader.read(&mut rest)? {
            0 => return Ok(()),
            count if rest[..count].iter().all(|byte| *byte == 0) => {}
            _ => {
                return Err(Error::Inconsistent { what: "something follows its end".to_owned() });
            }
        }
    }
}

fn read_block(reader: &mut impl Read) -> Result<[u8; BLOCK_BYTES], Error> {
    let mut block = [0; BLOCK_BYTES];
    read_exactly(reader, &mut block)?;
    Ok(block)
}

fn read_extension(reader: &mut impl Read, header: &Header) -> Result<Vec<u8>, Error> {
    let bytes = header.entry_size()?;
    if bytes > EXTENSION_BYTES_MAX {
        return Err(unsupported("very long names or extension headers"));
    }
    let mut extension = vec![0; usize::try_from(bytes).expect("checked against a small limit")];
    read_exactly(reader, &mut extension)?;
    skip_padding(reader, bytes)?;
    Ok(extension)
}

fn skip_padding(reader: &mut impl Read, bytes: u64) -> Result<(), Error> {
    let over = usize::try_from(bytes % BLOCK_BYTES as u64).expect("less than a block");
    let mut padding = [0; BLOCK_BYTES];
    match over {
        0 => Ok(()),
        over => read_exactly(reader, &mut padding[over..]),
    }
}

fn read_exactly(reader: &mut impl Read, buffer: &mut [u8]) -> Result<(), Error> {
    reader.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::Damaged { what: "it is cut short".to_owned() },
        _ => error.into(),
    })
}

fn checksum_fits(header: &Header) -> bool {
    let bytes = header.as_bytes();
    let sum = bytes[..148].iter().chain(&bytes[156..]).map(|byte| u32::from(*byte)).sum::<u32>();
    // The checksum's own eight bytes count as blanks.
    let sum = sum + 8 * u32::from(b' ');
    bytes[0] != 0 && header.cksum().is_ok_and(|stored| stored == sum)
}

fn unsupported(what: &str) -> Error {
    Error::Unsupported { what: what.to_owned() }
}
