//! The paths of an archive: each well formed, each once, none both a file and a directory.

use std::collections::HashSet;

use folio_model::{EntryNameError, TreePath, start_of};

use super::Error;
use crate::Limits;

/// Directories allowed beside the files.
const DIRECTORIES_MORE: u64 = 1024;

/// The paths seen so far.
pub(super) struct Names {
    files: HashSet<TreePath>,
    directories: HashSet<TreePath>,
    files_max: u64,
}

impl Names {
    /// Sees nothing yet.
    pub(super) fn new(limits: &Limits) -> Self {
        let files_max = limits.content_files_max;
        Self { files: HashSet::new(), directories: HashSet::new(), files_max }
    }

    /// Whether any file was seen.
    pub(super) fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Takes a file's path.
    pub(super) fn add_file(&mut self, path: &TreePath) -> Result<(), Error> {
        if self.files.len() as u64 >= self.files_max {
            return Err(Error::TooManyFiles { max: self.files_max });
        }
        if self.directories.contains(path) || !self.files.insert(path.clone()) {
            return Err(Error::Twice { path: path.to_string() });
        }
        match parent(path) {
            Some(parent) => self.add_directory(&parent),
            None => Ok(()),
        }
    }

    /// Takes a directory's path, which may come again: as its own entry and above a file.
    pub(super) fn add_directory(&mut self, path: &TreePath) -> Result<(), Error> {
        let mut next = Some(path.clone());
        while let Some(path) = next {
            if self.files.contains(&path) {
                return Err(Error::Twice { path: path.to_string() });
            }
            next = parent(&path);
            if !self.directories.insert(path) {
                break;
            }
        }
        let directories_max = self.files_max.saturating_add(DIRECTORIES_MORE);
        if self.directories.len() as u64 > directories_max {
            return Err(Error::TooManyFiles { max: self.files_max });
        }
        Ok(())
    }
}

fn parent(path: &TreePath) -> Option<TreePath> {
    let (_, above) = path.segments().split_last()?;
    let (first, rest) = above.split_first()?;
    rest.iter().try_fold(TreePath::from(first.clone()), |path, name| path.join(name.clone()))
}

/// Reads an entry's path. `None` is the root itself, which `tar` writes as `./`.
pub(super) fn path(name: &[u8], kind: Kind) -> Result<Option<TreePath>, Error> {
    let text = std::str::from_utf8(name).map_err(|_| {
        let lossy = String::from_utf8_lossy(name).into_owned();
        Error::Path { path: start_of(&lossy), reason: EntryNameError::Malformed(start_of(&lossy)) }
    })?;
    let relative = text.strip_prefix("./").unwrap_or(text);
    let plain = match kind {
        Kind::File => relative,
        Kind::Directory => relative.strip_suffix('/').unwrap_or(relative),
    };
    if kind == Kind::Directory && matches!(plain, "" | ".") && !text.is_empty() && text != "/" {
        return Ok(None);
    }
    let parsed = plain.parse().map_err(|reason| Error::Path { path: start_of(text), reason });
    parsed.map(Some)
}

/// What an entry says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, kind: Kind, expected: Option<&str>) {
        let path =
            path(name.as_bytes(), kind).map(|path| path.map_or(String::new(), |p| p.to_string()));
        assert_eq!(path.ok().as_deref(), expected, "{name:?}");
    }

    #[test]
    fn what_tar_writes_is_understood() {
        check("./", Kind::Directory, Some(""));
        check(".", Kind::Directory, Some(""));
        check("./a/b", Kind::File, Some("a/b"));
        check("a/b/", Kind::Directory, Some("a/b"));
    }

    #[test]
    fn what_could_lead_outside_is_not() {
        for name in ["", "/", "/a", "..", "../a", "a/../b", "././a", "a//b", "a\\b", "a\0"] {
            check(name, Kind::File, None);
            check(name, Kind::Directory, None);
        }
        check("a/", Kind::File, None);
        check(".", Kind::File, None);
        assert!(path(b"a\xff", Kind::File).is_err());
    }

    #[test]
    fn an_endless_path_is_told_shortly() {
        let long = "a".repeat(5000);
        for text in [long.clone(), format!("{}a", "b/".repeat(5000)), format!("{long}\n")] {
            let told = path(text.as_bytes(), Kind::File).unwrap_err().to_string();
            assert!(told.len() < 400, "{told}");
            assert!(told.contains('…'), "{told}");
        }
    }
}
