//! Lists what is in a directory: files and directories, nothing else. A link or a device is refused, because
//! what it leads to is not what was meant to be published.

use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use folio_model::{EntryName, TreePath};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::memory::Stamp;
use crate::problem::Problem;

/// A directory and everything below it.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// What is in the directory itself.
    pub(super) root: Directory,
    /// The files of all levels.
    pub(super) files: Vec<Found>,
    /// How many files there may be.
    most: Most,
    /// The files before those that count.
    before: usize,
}

/// How many files a directory may have. Until the server said so, as many as there are.
#[derive(Debug, Clone)]
pub(crate) struct Most(Arc<AtomicU64>);

impl Default for Most {
    fn default() -> Self {
        Self::of(u64::MAX)
    }
}

impl Most {
    pub(crate) fn of(files: u64) -> Self {
        Self(Arc::new(AtomicU64::new(files)))
    }

    /// Says it to a walk that began already.
    pub(crate) fn set(&self, files: u64) {
        self.0.store(files, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// There are more files than the server takes. The others were not looked at.
#[derive(Debug, thiserror::Error)]
#[error("more than {0} files")]
struct TooMany(u64);

/// What is to be in one directory of a selection.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The directory's name.
    pub(crate) name: EntryName,
    /// What is in it.
    pub(crate) items: Vec<Item>,
}

/// A file or directory that was chosen.
#[derive(Debug)]
pub(crate) struct Item {
    /// What it is to be called.
    pub(crate) name: EntryName,
    /// Where it is.
    pub(crate) from: PathBuf,
    /// What the file system says of it.
    pub(crate) about: Metadata,
    /// What of a directory is left out.
    pub(crate) except: Option<Arc<Except>>,
}

/// Files and directories that are left out wherever they are.
#[derive(Debug)]
pub(crate) struct Except {
    /// Where patterns start.
    pub(crate) root: PathBuf,
    /// What they match is left out.
    pub(crate) patterns: GlobSet,
    /// What becomes of what begins with a dot.
    pub(crate) dot_files: DotFiles,
}

/// What becomes of files and directories whose names begin with a dot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum DotFiles {
    /// They are files like all others.
    #[default]
    Included,
    /// They are left out, as they are rarely meant for the world: `.git`, `.env`. Only `.well-known` is.
    LeftOut,
}

impl DotFiles {
    fn leaves_out(self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        self == Self::LeftOut && name.starts_with(b".") && name != b".well-known"
    }
}

impl Except {
    /// Leaves out what patterns match. They start at the directory that another is in, as people write them beside it;
    /// what has no name of its own, such as `.`, is where they start itself.
    pub(crate) fn beside(
        directory: &Path,
        patterns: &[String],
        dot_files: DotFiles,
    ) -> Result<Self> {
        let above = directory.file_name().and_then(|_| directory.parent());
        let root = above.unwrap_or(directory).to_owned();
        Ok(Self { root, patterns: excluded(patterns)?, dot_files })
    }

    pub(crate) fn has(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.root);
        self.dot_files.leaves_out(path) || below.is_ok_and(|below| self.patterns.is_match(below))
    }
}

/// What patterns of an exclusion match. `*` stays within one name.
pub(crate) fn excluded(patterns: &[String]) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern.trim_end_matches('/')).literal_separator(true).build();
        set.add(glob.with_context(|| format!("exclude `{pattern}`"))?);
    }
    Ok(set.build()?)
}

/// One directory.
#[derive(Debug, Default)]
pub(super) struct Directory {
    /// Its path in the tree, empty for the root.
    pub(super) path: String,
    /// What is in it, in no order.
    pub(super) entries: Vec<(EntryName, Entry)>,
}

#[derive(Debug)]
pub(super) enum Entry {
    /// A file, by its place in [`Walked::files`].
    File(usize),
    /// A directory, which may be empty.
    Directory(Directory),
}

/// A file that was found.
#[derive(Debug)]
pub(super) struct Found {
    /// Its path in the tree.
    pub(super) path: String,
    /// Where it is, if that is not its path below the root.
    pub(super) from: Option<PathBuf>,
    /// What the file system said of it, before it was read.
    pub(super) stamp: Stamp,
    /// Whether its owner may execute it.
    pub(super) executable: bool,
}

impl Found {
    /// Where it is, below a root.
    pub(super) fn place(&self, root: &Path) -> PathBuf {
        match &self.from {
            Some(from) => from.clone(),
            None => root.join(&self.path),
        }
    }
}

impl Walked {
    /// One file, as if it were alone in a directory.
    pub(super) fn file(name: EntryName, about: &Metadata) -> Self {
        let files = vec![found(name.to_string(), about)];
        let root = Directory { path: String::new(), entries: vec![(name, Entry::File(0))] };
        Self { root, files, ..Self::default() }
    }

    /// Everything below a directory, but for what is left out.
    pub(super) fn directory(root: &Path, except: Option<&Except>, most: &Most) -> Result<Self> {
        let mut walked = Self { most: most.clone(), ..Self::default() };
        let below = walked.below(root, String::new(), except);
        walked.root = below.map_err(|error| refused(root, error))?;
        Ok(walked)
    }

    /// Files and directories of anywhere, each under a name of its own below one of the named directories. Those that
    /// cannot be published are empty, and told of by their places.
    pub(super) fn selection(chosen: &[Chosen], most: &Most) -> (Self, Vec<(usize, anyhow::Error)>) {
        let (mut walked, mut unfit) = (Self { most: most.clone(), ..Self::default() }, Vec::new());
        for (at, one) in chosen.iter().enumerate() {
            walked.before = walked.files.len();
            let directory = walked.chosen(one).unwrap_or_else(|error| {
                unfit.push((at, refused(place(one), error)));
                Directory { path: one.name.to_string(), entries: Vec::new() }
            });
            walked.root.entries.push((one.name.clone(), Entry::Directory(directory)));
        }
        (walked, unfit)
    }

    fn chosen(&mut self, Chosen { name, items }: &Chosen) -> Result<Directory> {
        let mut directory = Directory { path: name.to_string(), entries: Vec::new() };
        for Item { name: item, from, about, except } in items {
            let path = format!("{name}/{item}");
            let entry = if about.is_dir() {
                let first = self.files.len();
                let below = self.below(from, path.clone(), except.as_deref())?;
                for file in &mut self.files[first..] {
                    let rest = file.path.strip_prefix(&format!("{path}/"));
                    file.from = rest.map(|rest| from.join(rest));
                }
                Entry::Directory(below)
            } else if about.is_file() {
                let at = self.files.len();
                self.add(Found { from: Some(from.clone()), ..found(path, about) })?;
                Entry::File(at)
            } else {
                return Err(special(from, about));
            };
            directory.entries.push((item.clone(), entry));
        }
        Ok(directory)
    }

    /// Adds a file, if there may be one more.
    fn add(&mut self, file: Found) -> Result<(), TooMany> {
        self.files.push(file);
        let most = self.most.get();
        let count = (self.files.len() - self.before) as u64;
        if count > most { Err(TooMany(most)) } else { Ok(()) }
    }

    fn below(
        &mut self,
        directory: &Path,
        path: String,
        except: Option<&Except>,
    ) -> Result<Directory> {
        let context = || format!("cannot read `{}`", directory.display());
        let mut entries = Vec::new();
        let mut deeper = Vec::new();
        for entry in std::fs::read_dir(directory).with_context(context)? {
            let entry = entry.with_context(context)?;
            if except.is_some_and(|except| except.has(&entry.path())) {
                continue;
            }
            let (name, path) = path_of(&entry, &path)?;
            let kind = entry.file_type().with_context(context)?;
            if kind.is_dir() {
                deeper.push((name, entry.path(), path));
                continue;
            }
            let about = entry.metadata().with_context(context)?;
            if !about.is_file() {
                return Err(special(&entry.path(), &about));
            }
            entries.push((name, Entry::File(self.files.len())));
            self.add(found(path, &about))?;
        }
        // Only now, so that no more than one directory is open at a time.
        for (name, directory, path) in deeper {
            entries.push((name, Entry::Directory(self.below(&directory, path, except)?)));
        }
        Ok(Directory { path, entries })
    }
}

/// Where the files of a directory of a selection are.
pub(super) fn place(chosen: &Chosen) -> &Path {
    match &chosen.items[..] {
        [only] => &only.from,
        [first, ..] => first.from.parent().unwrap_or(&first.from),
        [] => Path::new(""),
    }
}

fn refused(path: &Path, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(TooMany(most)) => too_many(path, *most),
        None => error,
    }
}

/// A directory has more files than the server takes, however many those are.
pub(super) fn too_many(path: &Path, most: u64) -> anyhow::Error {
    let path = path.display();
    let problem =
        Problem::new(format!("`{path}` has more than {most} files, the server takes no more"));
    problem.hint("leave out what is not needed, or raise the limit of the server").into()
}

fn found(path: String, about: &Metadata) -> Found {
    let executable = about.permissions().mode() & 0o100 != 0;
    Found { path, from: None, stamp: about.into(), executable }
}

/// A name that may be published, and the path it ends.
fn path_of(entry: &DirEntry, above: &str) -> Result<(EntryName, String)> {
    let context = || format!("cannot publish `{}`", printable(&entry.path()));
    let name = entry.file_name();
    let name = name.to_str().context("its name is not UTF-8").with_context(context)?;
    let path = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
    // The whole path, because its length counts as well.
    let checked: TreePath = path.parse().with_context(context)?;
    let name = checked.segments().last().cloned().with_context(context)?;
    Ok((name, path))
}

/// A path in one line, whatever characters are in it.
fn printable(path: &Path) -> String {
    let escaped = |char: char| match char.is_control() {
        true => char.escape_default().collect(),
        false => char.to_string(),
    };
    path.to_string_lossy().chars().map(escaped).collect()
}

fn special(path: &Path, about: &Metadata) -> anyhow::Error {
    let what = if about.is_symlink() { "a symbolic link" } else { "not a regular file" };
    let problem = Problem::new(format!("`{}` is {what}", printable(path)));
    problem.hint("put a copy of the file there; packages hold files and directories only").into()
}
