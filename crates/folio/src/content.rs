//! Files on this machine as content: which files there are, what nodes they make, and where each node's bytes
//! are. Sizes are checked before anything is read; nothing is held in memory but digests and directories.

mod cache;
mod hash;
mod nodes;
mod walk;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use folio_core::ports::{Clock, SystemClock};
use folio_core::request::ContentRef;
use folio_core::{Limits, archive};
use folio_model::{Digest, EntryName, Layout};

use self::cache::Cache;
use self::hash::Hashed;
pub(crate) use self::nodes::{Changed, Planned};
use self::nodes::{Nodes, Ready};
pub(crate) use self::walk::{Chosen, DotFiles, Except, Item, Most, excluded};
use self::walk::{Entry, Walked};
use crate::memory;
use crate::output::Progress;
use crate::problem::Problem;

/// Less than this is hashed before anybody would see a bar.
const SHOWN_BYTES_MIN: u64 = 16 * 1024 * 1024;
const SHOWN_FILES_MIN: usize = 2000;

/// What a flag names.
#[derive(Debug, Clone)]
pub(crate) enum Given {
    /// `--code`: one file to run.
    Code(PathBuf),
    /// `--src` or `--deploy`: a directory, or an archive to unpack.
    Files(PathBuf),
    /// A directory of which something is left out.
    Except(PathBuf, Arc<Except>),
}

/// What a flag names, as it was found. Not read yet.
#[derive(Debug)]
pub(crate) enum Found {
    /// One file.
    Code { path: PathBuf, walked: Walked },
    /// A directory.
    Directory { path: PathBuf, walked: Walked, memory: Option<Memory> },
    /// An archive, and how many bytes it has.
    Archive { path: PathBuf, bytes: u64 },
}

/// What is remembered of a directory.
#[derive(Debug)]
pub(crate) struct Memory {
    path: PathBuf,
    last: Option<Cache>,
    /// When looking at the files began, in nanoseconds.
    began: i128,
}

/// Content that is ready to be uploaded.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The nodes that hold all others, or would if all were planned.
    pub(crate) roots: Vec<Digest>,
    /// Its nodes, each once, none before what it names.
    pub(crate) nodes: Vec<Planned>,
    /// Which of them.
    pub(crate) extent: Extent,
    /// Whether the server is believed that it has them.
    pub(crate) trust: Trust,
    /// What to remember.
    pub(crate) lesson: Option<Lesson>,
}

/// Which nodes a plan has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of them.
    Whole,
    /// Those that differ from the last time: most likely all that a server lacks.
    News,
}

/// What to remember for the next time.
#[derive(Debug)]
pub(crate) struct Lesson {
    path: PathBuf,
    cache: Cache,
}

impl Lesson {
    /// Keeps it, if it can be kept: without it, the next time only takes longer.
    pub(crate) fn keep(&self) {
        drop(self.cache.save(&self.path));
    }
}

/// Looks for what a flag names, and for what is remembered of it.
pub(crate) fn find(given: &Given, caches: Option<&Path>, most: &Most) -> Result<Found> {
    match given {
        Given::Code(path) => code(path),
        Given::Files(path) if metadata(path)?.is_dir() => directory(path, None, caches, most),
        Given::Files(path) => archive(path),
        Given::Except(path, except) => {
            metadata(path)?;
            directory(path, Some(except), caches, most)
        }
    }
}

fn directory(
    path: &Path,
    except: Option<&Except>,
    caches: Option<&Path>,
    most: &Most,
) -> Result<Found> {
    let memory = caches.and_then(|caches| Memory::open(caches, path, "files"));
    let walked = Walked::directory(path, except, most)?;
    Ok(Found::Directory { path: path.to_owned(), walked, memory })
}

/// Files of anywhere that are published on behalf of a directory.
#[derive(Debug)]
pub(crate) struct Selection {
    /// The directory.
    pub(crate) path: PathBuf,
    /// The files, in directories.
    pub(crate) chosen: Vec<Chosen>,
    /// What is remembered of them is kept under this name.
    pub(crate) what: &'static str,
}

/// Whether what is remembered is relied on, here and by the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// What is as it was the last time is taken to be on the server.
    #[default]
    Remembered,
    /// Everything is read again, and then remembered; the server reads back what it has.
    Nothing,
}

impl Trust {
    /// What `--no-cache` says.
    pub(crate) fn unless(no_cache: bool) -> Self {
        if no_cache { Self::Nothing } else { Self::Remembered }
    }
}

/// Plans the upload of files of anywhere on behalf of a directory. Gives the digests of the directories they make;
/// those that are what they were the last time are taken to be on the server. What the server would not take is
/// refused before a file is read.
pub(crate) fn plan_selection(
    selection: &Selection,
    caches: Option<&Path>,
    trust: Trust,
    limits: &Limits,
) -> Result<(Vec<Digest>, Plan)> {
    let Selection { path, chosen, what } = selection;
    let memory = caches.and_then(|caches| Memory::open(caches, path, what));
    let memory = match trust {
        Trust::Remembered => memory,
        Trust::Nothing => memory.map(Memory::forget),
    };
    let Walked { root, files, .. } = walk_selection(chosen, limits)?;
    let last = memory.as_ref().and_then(|memory| memory.last.as_ref());
    let files = hash_files(path, files, last)?;
    let mut nodes = Nodes::of(path, &files);
    let mut digests = Vec::with_capacity(chosen.len());
    let mut roots = Vec::new();
    for (_, entry) in root.entries {
        let Entry::Directory(directory) = entry else { continue };
        let (known, is_same) = nodes.directory(directory, &files, last)?;
        digests.push(known.digest);
        roots.extend((!is_same).then_some(known.digest));
    }
    let plan = Plan { trust, ..nodes.plan(files, roots, memory) };
    Ok((digests, plan))
}

/// What cannot be published of a selection, each of its directories by its place.
#[derive(Debug, thiserror::Error)]
#[error("{} of the chosen files cannot be published", .0.len())]
pub(crate) struct Unfit(pub(crate) Vec<(usize, anyhow::Error)>);

/// Lists the files of a selection, or says everything that a server would not take.
fn walk_selection(chosen: &[Chosen], limits: &Limits) -> Result<Walked, Unfit> {
    let (walked, mut unfit) = Walked::selection(chosen, &Most::of(limits.content_files_max));
    for (at, (chosen, (_, entry))) in chosen.iter().zip(&walked.root.entries).enumerate() {
        let (count, bytes) = totals(entry, &walked.files);
        let place = walk::place(chosen);
        let few = check_files(count, limits, place);
        let fits = few.and_then(|()| check_bytes(bytes, limits.content_bytes_max, place));
        unfit.extend(fits.err().map(|error| (at, error)));
    }
    if unfit.is_empty() { Ok(walked) } else { Err(Unfit(unfit)) }
}

/// Refuses a selection of which a server would not take everything. No file is read.
pub(crate) fn check_selection(chosen: &[Chosen], limits: &Limits) -> Result<(), Unfit> {
    walk_selection(chosen, limits).map(|_| ())
}

/// Refuses an archive that a server would not take. No more of it is read than its first bytes.
pub(crate) fn check_archive(path: &Path, limits: &Limits) -> Result<()> {
    archive(path)?.check(limits)
}

/// The files of all levels, and their bytes.
fn totals(entry: &Entry, files: &[walk::Found]) -> (u64, u64) {
    match entry {
        Entry::File(at) => (1, files[*at].stamp.bytes),
        Entry::Directory(directory) => {
            let below = directory.entries.iter().map(|(_, entry)| totals(entry, files));
            below.fold((0, 0), |(files, bytes), more| (files + more.0, bytes + more.1))
        }
    }
}

impl Memory {
    fn open(caches: &Path, directory: &Path, what: &str) -> Option<Self> {
        let began = SystemClock.now().as_nanosecond();
        let path = memory::path(caches, directory, what).ok()?;
        let last = Cache::load(&path);
        Some(Self { path, last, began })
    }

    /// The same, as if nothing were remembered yet.
    fn forget(self) -> Self {
        Self { last: None, ..self }
    }
}

fn code(path: &Path) -> Result<Found> {
    let about = metadata(path)?;
    if about.is_dir() {
        let problem = Problem::new(format!("`{}` is a directory", path.display()));
        return Err(problem.hint("give it with --deploy or --src; --code takes one file").into());
    }
    regular(path, &about)?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name: EntryName = name.parse().with_context(|| format!("cannot use `{name}` as a name"))?;
    Ok(Found::Code { path: path.to_owned(), walked: Walked::file(name, &about) })
}

/// Whether a file is an archive that can be unpacked.
pub(crate) fn is_archive(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    let read = open(path)?.take(archive::START_BYTES).read_to_end(&mut start);
    read.with_context(|| cannot_read(path))?;
    Ok(archive::is_archive(&start))
}

fn archive(path: &Path) -> Result<Found> {
    let bytes = regular(path, &metadata(path)?)?;
    if !is_archive(path)? {
        let problem = format!("`{}` is not an archive", path.display());
        let hint = "give a zip, tar or tar.gz, or a directory; --code takes a single file";
        return Err(Problem::new(problem).hint(hint).into());
    }
    Ok(Found::Archive { path: path.to_owned(), bytes })
}

impl Found {
    /// The same, as if nothing were remembered of it.
    pub(crate) fn afresh(self) -> Self {
        match self {
            Self::Directory { path, walked, memory } => {
                Self::Directory { path, walked, memory: memory.map(Memory::forget) }
            }
            other => other,
        }
    }

    /// Plans the upload. Reads every file once, but those of which it is known what they hash to.
    pub(crate) fn plan(self, limits: &Limits) -> Result<(ContentRef, Plan)> {
        self.check(limits)?;
        match self {
            Self::Code { path, walked } => {
                let root = path.parent().unwrap_or(Path::new(""));
                tree(root, walked, None, Layout::File)
            }
            Self::Directory { path, walked, memory } => {
                tree(&path, walked, memory, Layout::Directory)
            }
            Self::Archive { path, bytes } => {
                let hashed = hash::file(&path, &hashing(1, bytes))?;
                let mut nodes = Nodes::default();
                nodes.file(path, &hashed);
                let archive = hashed.digest;
                let plan = nodes.plan(Vec::new(), vec![archive], None);
                Ok((ContentRef::Archive { archive }, plan))
            }
        }
    }

    fn check(&self, limits: &Limits) -> Result<()> {
        match self {
            Self::Archive { path, bytes } => check_bytes(*bytes, limits.archive_bytes_max, path),
            Self::Code { path, walked } | Self::Directory { path, walked, .. } => {
                let files = walked.files.len() as u64;
                if files == 0 {
                    bail!(Problem::new(format!("`{}` holds no files", path.display())));
                }
                check_files(files, limits, path)?;
                let bytes = walked.files.iter().map(|file| file.stamp.bytes);
                check_bytes(bytes.sum(), limits.content_bytes_max, path)
            }
        }
    }
}

fn tree(
    root: &Path,
    walked: Walked,
    memory: Option<Memory>,
    layout: Layout,
) -> Result<(ContentRef, Plan)> {
    let last = memory.as_ref().and_then(|memory| memory.last.as_ref());
    let files = hash_files(root, walked.files, last)?;
    let mut nodes = Nodes::of(root, &files);
    let (known, _) = nodes.directory(walked.root, &files, last)?;
    let content = ContentRef::Tree { tree: known.digest, layout };
    Ok((content, nodes.plan(files, vec![known.digest], memory)))
}

impl Nodes {
    /// The nodes of files that are not what they were.
    fn of(root: &Path, files: &[Ready]) -> Self {
        let mut nodes = Self::default();
        for Ready { found, hashed, .. } in files.iter().filter(|file| !file.is_same) {
            nodes.file(found.place(root), hashed);
        }
        nodes
    }

    /// What to upload, and what to remember of it.
    fn plan(self, files: Vec<Ready>, roots: Vec<Digest>, memory: Option<Memory>) -> Plan {
        let Self { planned: nodes, directories, .. } = self;
        let last = memory.as_ref().and_then(|memory| memory.last.as_ref());
        let extent = if last.is_some() { Extent::News } else { Extent::Whole };
        let is_known = last.is_some_and(|last| last.is_all(&files, &directories));
        let lesson = memory.filter(|_| !is_known).map(|Memory { path, began, .. }| {
            let cache = Cache::new(files, directories, began);
            Lesson { path, cache }
        });
        Plan { roots, nodes, extent, trust: Trust::Remembered, lesson }
    }
}

/// Hashes files, but those of which it is known what they hash to.
fn hash_files(root: &Path, files: Vec<walk::Found>, last: Option<&Cache>) -> Result<Vec<Ready>> {
    let known = |found: walk::Found| (last.and_then(|last| last.file(&found)).cloned(), found);
    let files: Vec<_> = files.into_iter().map(known).collect();
    let unknown = files.iter().filter(|(hashed, _)| hashed.is_none());
    let bytes = unknown.clone().map(|(_, found)| found.stamp.bytes).sum();
    let unknown: Vec<_> = unknown.map(|(_, found)| found.place(root)).collect();
    let mut read = hash::files(&unknown, &hashing(unknown.len(), bytes))?.into_iter();
    let ready = |(hashed, found): (Option<Hashed>, walk::Found)| match hashed {
        Some(hashed) => Ready { found, hashed, is_same: true },
        None => {
            let hashed = read.next().expect("every file that is not known was read");
            let is_same = last.is_some_and(|last| last.is_same(&found, &hashed));
            Ready { found, hashed, is_same }
        }
    };
    Ok(files.into_iter().map(ready).collect())
}

/// Shows how far hashing is, if that takes long enough to be seen.
fn hashing(files: usize, bytes: u64) -> Progress {
    let is_long = files >= SHOWN_FILES_MIN || bytes >= SHOWN_BYTES_MIN;
    if is_long { Progress::bytes("hashing", Some(bytes)) } else { Progress::default() }
}

fn metadata(path: &Path) -> Result<std::fs::Metadata> {
    std::fs::metadata(path).with_context(|| cannot_read(path))
}

fn open(path: &Path) -> Result<File> {
    File::open(path).with_context(|| cannot_read(path))
}

fn regular(path: &Path, about: &std::fs::Metadata) -> Result<u64> {
    if about.is_file() {
        return Ok(about.len());
    }
    bail!(Problem::new(format!("`{}` is neither a file nor a directory", path.display())))
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read `{}`", path.display())
}

/// Refuses what a walk did not, because it began before anybody knew the limit.
fn check_files(found: u64, limits: &Limits, path: &Path) -> Result<()> {
    let max = limits.content_files_max;
    if found <= max { Ok(()) } else { Err(walk::too_many(path, max)) }
}

fn check_bytes(found: u64, max: u64, path: &Path) -> Result<()> {
    if found <= max {
        return Ok(());
    }
    let path = path.display();
    let problem = Problem::new(format!("`{path}` has {found} bytes, the server takes {max}"));
    Err(problem.hint("leave out what is not needed, or raise the limit of the server").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_ends_at_the_first_file_that_is_too_many() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["a", "b", "c"] {
            std::fs::write(at(name), name).unwrap();
        }
        std::fs::create_dir(at("deeper")).unwrap();
        // Whoever gets that far says something else.
        std::os::unix::fs::symlink("a", at("deeper/link")).unwrap();
        let given = Given::Files(directory.path().to_owned());
        let most = Most::default();
        let walk = || find(&given, None, &most).err().unwrap().to_string();
        assert!(walk().ends_with("is a symbolic link"), "{}", walk());
        most.set(2);
        assert!(walk().ends_with("more than 2 files, the server takes no more"), "{}", walk());
        most.set(3);
        assert!(walk().ends_with("is a symbolic link"), "{}", walk());
    }

    #[test]
    fn a_selection_that_a_server_would_refuse_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let item = |name: &str| {
            let from = directory.path().join(name);
            std::fs::write(&from, name).unwrap();
            let about = metadata(&from).unwrap();
            // Whoever reads it notices.
            std::fs::remove_file(&from).unwrap();
            Item { name: name.parse().unwrap(), from, about, except: None }
        };
        let chosen = Chosen { name: "0".parse().unwrap(), items: vec![item("a"), item("b")] };
        let path = directory.path().to_owned();
        let selection = Selection { path, chosen: vec![chosen], what: "" };
        let plan = |files: u64, bytes: u64| {
            let limits =
                Limits { content_files_max: files, content_bytes_max: bytes, ..Limits::default() };
            let error = plan_selection(&selection, None, Trust::Remembered, &limits).err().unwrap();
            match error.downcast::<Unfit>() {
                Ok(Unfit(unfit)) => unfit[0].1.to_string(),
                Err(error) => error.to_string(),
            }
        };
        let many = plan(1, 2);
        assert!(many.ends_with("has more than 1 files, the server takes no more"), "{many}");
        assert!(plan(2, 1).ends_with("has 2 bytes, the server takes 1"), "{}", plan(2, 1));
        assert!(plan(2, 2).starts_with("cannot read"), "{}", plan(2, 2));
    }
}
