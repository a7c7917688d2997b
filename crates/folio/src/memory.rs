//! Files in which commands remember what they found out, so that the next time takes less. One small file for each
//! directory and use; whatever is wrong with one, it is as if it were not there.

use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use folio_model::Digest;
use tempfile::NamedTempFile;

/// Bytes of one file; four times what the largest package needs.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Files at most; the one not written for longest is forgotten first.
pub(crate) const FILES_MAX: usize = 100;
const DIGEST_BYTES: usize = 32;

/// How much older than the moment of looking at it a file must be to be remembered.
///
/// A write after the look moves the file's times, unless it falls into the same tick of the clock that stamps
/// files. Linux ticks at least every 10 ms; a file system that keeps only seconds (or two of them, as FAT
/// does) shows by the zeros at the end of its times.
pub(crate) const TICK: i128 = 100_000_000;
pub(crate) const TICK_OF_SECONDS: i128 = 3_000_000_000;
const MILLISECOND: i128 = 1_000_000;

/// What the file system says of a file. Whoever changes the file changes this, too: every write and every
/// change of the other times moves the time of change, which nobody can set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970, as the next.
    pub(crate) modified: i128,
    pub(crate) changed: i128,
}

impl From<&Metadata> for Stamp {
    fn from(about: &Metadata) -> Self {
        let moment =
            |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            device: about.dev(),
            inode: about.ino(),
            bytes: about.len(),
            modified: moment(about.mtime(), about.mtime_nsec()),
            changed: moment(about.ctime(), about.ctime_nsec()),
        }
    }
}

impl Stamp {
    /// Whether a change after this moment would show.
    pub(crate) fn is_settled(&self, began: i128) -> bool {
        let is_fine = |moment: i128| moment % MILLISECOND != 0;
        let tick = if is_fine(self.changed) { TICK } else { TICK_OF_SECONDS };
        self.modified.max(self.changed) < began - tick
    }
}

/// Where something is remembered on behalf of a directory.
pub(crate) fn path(memories: &Path, directory: &Path, what: &str) -> io::Result<PathBuf> {
    let directory = directory.canonicalize()?;
    let name = [directory.as_os_str().as_encoded_bytes(), what.as_bytes()].join(&0);
    Ok(memories.join(Digest::of(&name).hex()))
}

/// Reads what was remembered.
pub(crate) fn load(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Remembers something, whole or not at all. Needs no sync: damage is found when it is read.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let is_new = !path.exists();
    // Only its owner may read it: it names files.
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    if is_new { forget_oldest(directory) } else { Ok(()) }
}

fn forget_oldest(directory: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    let many = files.len().saturating_sub(FILES_MAX);
    files.into_iter().take(many).try_for_each(|(_, path)| std::fs::remove_file(path))
}

/// Bytes to remember: a mark, values, and the digest of all before it. Numbers are little-endian.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// Starts with a mark, which changes whenever what follows means something else.
    pub(crate) fn new(mark: &str) -> Self {
        Self(mark.as_bytes().to_vec())
    }

    pub(crate) fn count(&mut self, count: usize) {
        // A count that does not fit makes bytes that cannot be read, which are none.
        self.0.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.0.push(u8::from(flag));
    }

    pub(crate) fn numbers(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.0.extend_from_slice(&number.to_le_bytes()));
    }

    pub(crate) fn digest(&mut self, digest: &Digest) {
        self.0.extend_from_slice(digest.as_bytes());
    }

    pub(crate) fn stamp(&mut self, stamp: &Stamp) {
        self.numbers(&[stamp.device, stamp.inode, stamp.bytes]);
        self.0.extend_from_slice(&stamp.modified.to_le_bytes());
        self.0.extend_from_slice(&stamp.changed.to_le_bytes());
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let sum = Digest::of(&self.0);
        self.digest(&sum);
        self.0
    }
}

/// What is still to be read of remembered bytes. Every answer is None if they are not what was written.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], mark: &str) -> Option<Self> {
        let (bytes, sum) = bytes.split_last_chunk::<DIGEST_BYTES>()?;
        let rest = bytes.strip_prefix(mark.as_bytes())?;
        (Digest::of(bytes).as_bytes() == sum).then_some(Self(rest))
    }

    /// How many things of at least so many bytes follow.
    pub(crate) fn count(&mut self, each: usize) -> Option<usize> {
        let count = usize::try_from(u32::from_le_bytes(self.array()?)).ok()?;
        (count.checked_mul(each)? <= self.0.len()).then_some(count)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        self.word().map(str::to_owned)
    }

    /// As [`Self::text`], without a copy.
    pub(crate) fn word(&mut self) -> Option<&'a str> {
        let length = self.count(1)?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        match self.array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn digest(&mut self) -> Option<Digest> {
        self.array().map(Digest::from_bytes)
    }

    pub(crate) fn stamp(&mut self) -> Option<Stamp> {
        Some(Stamp {
            device: self.number()?,
            inode: self.number()?,
            bytes: self.number()?,
            modified: i128::from_le_bytes(self.array()?),
            changed: i128::from_le_bytes(self.array()?),
        })
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    /// Whether everything was read.
    pub(crate) fn is_done(&self) -> bool {
        self.0.is_empty()
    }
}
