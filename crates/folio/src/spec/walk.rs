//! Finds the files of a spec directory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::memory::Stamp;
use crate::problem::Problem;

/// The file with patterns of files that are not part of the spec.
const IGNORE_FILE: &str = ".specignore";

/// The patterns of files to ignore, and the file they are in, if there is one.
pub(super) fn ignored(directory: &Path, file: Option<&Path>) -> Result<(Gitignore, Option<Guide>)> {
    let mut patterns = GitignoreBuilder::new(directory);
    let usual = directory.join(IGNORE_FILE);
    let file = match file {
        Some(file) => Some(file),
        None => usual.is_file().then_some(usual.as_path()),
    };
    let guide = file.map(guide).transpose()?;
    if let Some(file) = file
        && let Some(error) = patterns.add(file)
    {
        let problem = Problem::new(format!("cannot read `{}`", file.display()));
        return Err(anyhow::Error::new(error).context(problem));
    }
    let patterns = patterns.build().context("the patterns of files to ignore cannot be used")?;
    Ok((patterns, guide))
}

/// What says which files are manifests, as it is before it is read.
pub(super) type Guide = (PathBuf, Stamp);

fn guide(path: &Path) -> Result<Guide> {
    let about = std::fs::metadata(path);
    let about = about.with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok((path.to_owned(), Stamp::from(&about)))
}

/// The files of a directory.
#[derive(Default)]
pub(super) struct Found {
    pub(super) files: Vec<PathBuf>,
    /// None if a link is among them: what it leads to may become something else without any of them changing.
    pub(super) guides: Option<Vec<Guide>>,
    /// Links to directories, which are not followed: they may lead in circles, or anywhere.
    pub(super) links: Vec<PathBuf>,
}

/// Finds the manifests of a directory, on all levels.
pub(super) fn walk(directory: &Path, ignored: &Gitignore, found: &mut Found) -> Result<()> {
    let context = || format!("cannot read `{}`", directory.display());
    let guide = guide(directory)?;
    found.guides.iter_mut().for_each(|guides| guides.push(guide.clone()));
    for entry in std::fs::read_dir(directory).with_context(context)? {
        let entry = entry.with_context(context)?;
        let (path, kind) = (entry.path(), entry.file_type().with_context(context)?);
        let is_directory = kind.is_dir() || kind.is_symlink() && path.is_dir();
        if kind.is_symlink() {
            found.guides = None;
        }
        if ignored.matched_path_or_any_parents(&path, is_directory).is_ignore() {
            continue;
        }
        if is_directory && kind.is_symlink() {
            found.links.push(path);
        } else if is_directory {
            walk(&path, ignored, found)?;
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
            found.files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_directories_are_not_followed() {
        let world = tempfile::tempdir().unwrap();
        let (specs, elsewhere) = (world.path().join("specs"), world.path().join("elsewhere"));
        for directory in [&specs, &elsewhere] {
            std::fs::create_dir(directory).unwrap();
            std::fs::write(directory.join("a.yaml"), "kind: Whatever\n").unwrap();
        }
        for (to, from) in [(".", "again"), ("../elsewhere", "far"), ("a.yaml", "b.yaml")] {
            std::os::unix::fs::symlink(to, specs.join(from)).unwrap();
        }
        let mut found = Found { guides: Some(Vec::new()), ..Found::default() };
        let (ignored, _) = ignored(&specs, None).unwrap();
        walk(&specs, &ignored, &mut found).unwrap();
        found.files.sort();
        found.links.sort();
        assert_eq!(found.files, ["a.yaml", "b.yaml"].map(|name| specs.join(name)));
        assert_eq!(found.links, ["again", "far"].map(|name| specs.join(name)));
        assert_eq!(found.guides, None, "what a link leads to may change without anybody noticing");
    }
}
