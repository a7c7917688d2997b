//! The generated files of a group: made in memory, then written all or none.
//!
//! [`Output::write`] prepares every file beside its place before the first is moved there, so a
//! full disk or a missing permission leaves the directory as it was. [`Output::stale`] says what
//! [`Output::write`] would change.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;

/// What marks a file as generated, in its first lines.
pub const MARK: &str = "@generated";

/// Generated files by their path in the output directory, with `/` between its steps: the
/// module's own file, and what is in its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    module: String,
    files: BTreeMap<String, String>,
}

impl Output {
    /// Starts on the files of a module.
    pub fn new(module: &str) -> Self {
        Self { module: module.to_owned(), files: BTreeMap::new() }
    }

    /// Adds a file.
    pub fn insert(&mut self, path: String, text: String) {
        self.files.insert(path, text);
    }

    /// The files by path.
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// Writes every file, and removes generated files of other runs.
    pub fn write(&self, directory: &Path) -> Result<(), Error> {
        let failed = |verb, path: &Path| {
            let path = path.to_owned();
            move |source| Error::File { verb, path, source }
        };
        let mut prepared: Vec<(NamedTempFile, PathBuf)> = Vec::new();
        for (path, text) in &self.files {
            let target = directory.join(path);
            if std::fs::read(&target).is_ok_and(|bytes| bytes == text.as_bytes()) {
                continue;
            }
            let parent = target.parent().unwrap_or(directory);
            std::fs::create_dir_all(parent).map_err(failed("create", parent))?;
            let mut file = NamedTempFile::new_in(parent).map_err(failed("write in", parent))?;
            file.write_all(text.as_bytes()).map_err(failed("write", &target))?;
            readable(file.path()).map_err(failed("write", &target))?;
            prepared.push((file, target));
        }
        for (file, target) in prepared {
            file.persist(&target).map_err(|error| failed("write", &target)(error.error))?;
        }
        for path in self.orphans(directory)? {
            let path = directory.join(path);
            std::fs::remove_file(&path).map_err(failed("remove", &path))?;
        }
        Ok(())
    }

    /// What in the directory is not as generated, each as one line.
    pub fn stale(&self, directory: &Path) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        for (path, text) in &self.files {
            match std::fs::read(directory.join(path)) {
                Ok(bytes) if bytes == text.as_bytes() => {}
                Ok(_) => found.push(format!("{path}: it is not what would be generated")),
                Err(_) => found.push(format!("{path}: it is missing")),
            }
        }
        for path in self.orphans(directory)? {
            found.push(format!("{path}: nothing generates it any more"));
        }
        Ok(found)
    }

    /// Files in the module's directory that say they are generated, and are not among these.
    fn orphans(&self, directory: &Path) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        let mut rest = vec![(directory.join(&self.module), format!("{}/", self.module))];
        while let Some((directory, prefix)) = rest.pop() {
            if !directory.is_dir() {
                continue;
            }
            let failed = |source| Error::File { verb: "list", path: directory.clone(), source };
            for entry in std::fs::read_dir(&directory).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
                let name = format!("{prefix}{name}");
                if path.is_dir() {
                    rest.push((path, format!("{name}/")));
                } else if !self.files.contains_key(&name) && is_generated(&path) {
                    found.push(name);
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

fn is_generated(path: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    text.lines().take(5).any(|line| line.contains(MARK))
}

/// Temporary files are for their owner alone; generated ones are for everyone, as others are.
#[cfg(unix)]
fn readable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &Path) -> std::io::Result<()> {
    Ok(())
}
