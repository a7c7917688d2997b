//! Archives by pattern: which files an archive holds, and what each is called in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use folio_model::EntryName;
use globset::{GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use crate::problem::Problem;

/// An archive of a spec.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ArchiveSpec {
    /// Its name.
    pub(super) name: String,
    /// Where it is written.
    #[serde(skip)]
    pub(super) at: String,
    /// Where patterns start; beside the spec directory if absent.
    rootdir: Option<PathBuf>,
    /// What is in it.
    include: Vec<String>,
    /// What of that is not.
    exclude: Vec<String>,
}

/// What an archive holds.
#[derive(Debug)]
pub(super) enum Held {
    /// An archive that was made elsewhere, as it is.
    Archive(PathBuf),
    /// One file, which is handed over as a file.
    File(EntryName, PathBuf),
    /// Files and directories, each under its own name.
    Items(Vec<(EntryName, PathBuf)>),
}

impl ArchiveSpec {
    /// Finds what it holds. Directories are whole, unless something in them is excluded.
    pub(super) fn find(&self, specs: &Path) -> Result<Held> {
        let beside = || specs.parent().map(Path::to_owned).unwrap_or_default();
        let root = self.rootdir.clone().unwrap_or_else(beside);
        let root = if root.as_os_str().is_empty() { PathBuf::from(".") } else { root };
        if let [only] = &self.include[..]
            && let path = root.join(only)
            && path.extension().is_some_and(|end| end == "zip")
            && path.is_file()
        {
            return Ok(Held::Archive(path));
        }
        let excluded = self.excluded()?;
        let mut items: BTreeMap<String, PathBuf> = BTreeMap::new();
        for pattern in &self.include {
            for path in expand(&root, pattern)? {
                self.add(&root, &path, &excluded, &mut items)?;
            }
        }
        let named = |(name, path): (String, PathBuf)| -> Result<_> {
            let name: EntryName =
                name.parse().with_context(|| format!("cannot use `{name}` as a name"))?;
            Ok((name, path))
        };
        let mut items = items.into_iter().map(named).collect::<Result<Vec<_>>>()?;
        match items.len() {
            0 => {
                let problem =
                    Problem::new(format!("{}: archive '{}' is empty", self.at, self.name));
                let hint = format!("its patterns match nothing below `{}`", root.display());
                Err(problem.hint(hint).into())
            }
            1 if items[0].1.is_file() => {
                let (name, path) = items.remove(0);
                Ok(Held::File(name, path))
            }
            _ => Ok(Held::Items(items)),
        }
    }

    /// Adds what a pattern matched under its last name. A directory in which something is excluded is taken apart.
    fn add(
        &self,
        root: &Path,
        path: &Path,
        excluded: &GlobSet,
        items: &mut BTreeMap<String, PathBuf>,
    ) -> Result<()> {
        let below = path.strip_prefix(root).unwrap_or(path);
        if excluded.is_match(below) {
            return Ok(());
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() && !excluded.is_empty() && holds_excluded(root, path, excluded)? {
            let what = format!(
                "{}: archive '{}' excludes something inside `{}`, which it includes as a whole",
                self.at,
                self.name,
                below.display()
            );
            let hint = "include its contents by pattern, such as `dir/*`, and exclude from those";
            return Err(Problem::new(what).hint(hint).into());
        }
        if let Some(other) = items.insert(name.clone(), path.to_owned())
            && other != path
        {
            let (one, two) = (other.display(), path.display());
            let what = format!("{}: `{one}` and `{two}` would both be `{name}`", self.at);
            return Err(Problem::new(what).hint("rename one, or include their directory").into());
        }
        Ok(())
    }

    fn excluded(&self) -> Result<GlobSet> {
        let mut set = GlobSetBuilder::new();
        for pattern in &self.exclude {
            let glob =
                GlobBuilder::new(pattern.trim_end_matches('/')).literal_separator(true).build();
            set.add(glob.with_context(|| format!("{}: exclude `{pattern}`", self.at))?);
        }
        Ok(set.build()?)
    }
}

fn holds_excluded(root: &Path, directory: &Path, excluded: &GlobSet) -> Result<bool> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let below = path.strip_prefix(root).unwrap_or(&path);
        if excluded.is_match(below) || path.is_dir() && holds_excluded(root, &path, excluded)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The paths below a root that a pattern matches, in order. `*` stays within one name.
fn expand(root: &Path, pattern: &str) -> Result<Vec<PathBuf>> {
    let mut found = vec![root.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if !part.contains(['*', '?', '[', '{', '\\']) {
            found = found
                .into_iter()
                .map(|path| path.join(part))
                .filter(|path| path.exists())
                .collect();
            continue;
        }
        let glob = GlobBuilder::new(part).literal_separator(true).build();
        let matcher = glob.with_context(|| format!("`{pattern}` is no pattern"))?.compile_matcher();
        let mut next = Vec::new();
        for directory in found.iter().filter(|path| path.is_dir()) {
            next.extend(matching(directory, &matcher)?);
        }
        found = next;
    }
    Ok(found)
}

fn matching(directory: &Path, matcher: &GlobMatcher) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let context = || format!("cannot read `{}`", directory.display());
    for entry in std::fs::read_dir(directory).with_context(context)? {
        let entry = entry.with_context(context)?;
        if matcher.is_match(entry.file_name()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> tempfile::TempDir {
        let world = tempfile::tempdir().unwrap();
        for path in ["hello/a.py", "hello/b.py", "hello/build.sh", "hello/sub/c.py", "lib/x.zip"] {
            let path = world.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        std::fs::create_dir(world.path().join("specs")).unwrap();
        world
    }

    fn check(include: &[&str], exclude: &[&str]) -> Result<Held> {
        let world = world();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (include, exclude) = (words(include), words(exclude));
        let name = "a".to_owned();
        let archive = ArchiveSpec { name, include, exclude, ..ArchiveSpec::default() };
        archive.find(&world.path().join("specs"))
    }

    fn names(held: Result<Held>) -> Vec<String> {
        match held.unwrap() {
            Held::Items(items) => items.into_iter().map(|(name, _)| name.to_string()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_archive_holds_what_its_patterns_match() {
        assert_eq!(names(check(&["hello/*.py"], &[])), ["a.py", "b.py"]);
        assert_eq!(names(check(&["hello/*"], &["hello/sub"])), ["a.py", "b.py", "build.sh"]);
        assert_eq!(names(check(&["hello/*", "nothing/*"], &["hello/*.py"])), ["build.sh", "sub"]);
        assert_eq!(names(check(&["hello", "lib/*"], &[])), ["hello", "x.zip"]);
        assert!(
            matches!(check(&["hello/a.py"], &[]).unwrap(), Held::File(name, _) if name.as_str() == "a.py")
        );
        assert!(matches!(check(&["lib/x.zip"], &[]).unwrap(), Held::Archive(_)));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let fails = |include: &[&str], exclude: &[&str], expected: &str| {
            let error = check(include, exclude).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        fails(&["nothing/*"], &[], "is empty");
        fails(&["hello"], &["hello/sub/*"], "includes as a whole");
        fails(&["hello/[a"], &[], "no pattern");
    }
}
