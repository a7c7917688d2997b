//! Archives by pattern: which files an archive holds, and what each is called in it.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use folio_model::EntryName;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;

use crate::content::{DotFiles, Except, Item, excluded};

/// An archive of a spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ArchiveSpec {
    /// Its name.
    pub(super) name: String,
    /// Where it is written.
    #[serde(skip)]
    pub(super) at: String,
    /// Where patterns start; beside the spec directory if absent.
    pub(super) rootdir: Option<String>,
    /// What is in it.
    pub(super) include: Vec<String>,
    /// What of that is not, on any level.
    pub(super) exclude: Vec<String>,
    /// What its files are to be.
    #[serde(skip)]
    pub(super) shape: Shape,
    /// What becomes of the dot files of a directory.
    #[serde(skip)]
    pub(super) dot_files: DotFiles,
}

/// What the files of an archive are to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An archive that is unpacked, one file that is handed over as it is, or else a directory.
    #[default]
    AsFound,
    /// A directory, however much is in it.
    Directory,
    /// One file, whatever it holds.
    File,
}

/// What an archive holds.
#[derive(Debug)]
pub(super) enum Held {
    /// An archive that was made elsewhere, as it is.
    Archive(PathBuf),
    /// One file, which is handed over as a file.
    File(Item),
    /// Files and directories, each under its own name.
    Items(Vec<Item>),
}

impl ArchiveSpec {
    /// The patterns that lead out of its root, with their places. Names of files are never `..`, so only a pattern that
    /// spells it does.
    pub(super) fn straying(&self) -> impl Iterator<Item = (usize, &String)> {
        let strays = |pattern: &str| pattern.split('/').any(|part| part == "..");
        self.include.iter().enumerate().filter(move |(_, pattern)| strays(pattern))
    }

    /// Finds what it holds.
    pub(super) fn find(&self, specs: &Path) -> Result<Held> {
        let beside = || specs.parent().map(Path::to_owned).unwrap_or_default();
        let root = self.rootdir.as_ref().map_or_else(beside, PathBuf::from);
        let root = if root.as_os_str().is_empty() { PathBuf::from(".") } else { root };
        if self.shape == Shape::AsFound
            && let [only] = &self.include[..]
            // As everywhere in patterns, a slash at the start means nothing.
            && let path = root.join(only.trim_start_matches('/'))
            && path.extension().is_some_and(|end| end == "zip")
            && path.is_file()
        {
            return Ok(Held::Archive(path));
        }
        let (patterns, dot_files) = (excluded(&self.exclude)?, self.dot_files);
        let leaves_out = !patterns.is_empty() || dot_files == DotFiles::LeftOut;
        let except =
            leaves_out.then(|| Arc::new(Except { root: root.clone(), patterns, dot_files }));
        let mut items = BTreeMap::new();
        for pattern in &self.include {
            for found in expand(&root, pattern)? {
                if except.as_ref().is_none_or(|except| !except.has(&found.0)) {
                    self.add(found, &mut items)?;
                }
            }
        }
        let named = |(name, (from, about)): (String, Match)| -> Result<_> {
            let name: EntryName =
                name.parse().with_context(|| format!("cannot use `{name}` as a name"))?;
            Ok(Item { name, from, about, except: except.clone() })
        };
        let mut items = items.into_iter().map(named).collect::<Result<Vec<_>>>()?;
        match items.len() {
            0 => {
                let root = root.display();
                bail!("archive '{}' is empty: its patterns match nothing below `{root}`", self.name)
            }
            1 if items[0].about.is_file() && self.shape != Shape::Directory => {
                Ok(Held::File(items.remove(0)))
            }
            _ => Ok(Held::Items(items)),
        }
    }

    /// Whether it can hold nothing but one file, which it names.
    pub(super) fn names_one_file(&self) -> bool {
        let is_name = |pattern: &String| pattern.split('/').all(is_plain);
        self.shape == Shape::AsFound
            && self.include.len() == 1
            && self.exclude.is_empty()
            && self.include.iter().all(is_name)
    }

    /// Adds what a pattern matched under its last name.
    fn add(&self, (path, about): Match, items: &mut BTreeMap<String, Match>) -> Result<()> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if let Some((other, _)) = items.insert(name.clone(), (path.clone(), about))
            && other != path
        {
            let (one, two) = (other.display(), path.display());
            bail!(
                "`{one}` and `{two}` would both be `{name}` in archive '{}'; rename one, or include \
                 their directory",
                self.name
            );
        }
        Ok(())
    }
}

/// A path that a pattern matches, and what the file system says of it.
type Match = (PathBuf, Metadata);

/// The paths below a root that a pattern matches, in order. `*` stays within one name.
fn expand(root: &Path, pattern: &str) -> Result<Vec<Match>> {
    let parts: Vec<_> =
        pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let mut found = vec![root.to_owned()];
    let mut rest = &parts[..];
    while !rest.is_empty() {
        let plain = rest.iter().take_while(|part| is_plain(part)).count();
        let (path, patterns) = rest.split_at(plain);
        let path: PathBuf = path.iter().collect();
        if plain > 0 {
            found = found.into_iter().map(|above| above.join(&path)).collect();
        }
        let Some((glob, after)) = patterns.split_first() else { break };
        let glob = GlobBuilder::new(glob).literal_separator(true).build();
        let matcher = glob.with_context(|| format!("`{pattern}` is no pattern"))?.compile_matcher();
        let mut next = Vec::new();
        for directory in found.iter().filter(|path| path.is_dir()) {
            next.extend(matching(directory, &matcher)?);
        }
        found = next;
        rest = after;
    }
    // What is not there is not matched.
    let about = |path: PathBuf| path.symlink_metadata().ok().map(|about| (path, about));
    Ok(found.into_iter().filter_map(about).collect())
}

/// Whether a part of a pattern is a name.
fn is_plain(part: &str) -> bool {
    !part.contains(['*', '?', '[', '{', '\\'])
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
            Held::Items(items) => items.into_iter().map(|item| item.name.to_string()).collect(),
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
            matches!(check(&["hello/a.py"], &[]).unwrap(), Held::File(item) if item.name.as_str() == "a.py")
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
        fails(&["hello/[a"], &[], "no pattern");
    }

    #[test]
    fn patterns_that_lead_out_of_the_root_are_found() {
        let include = ["a/*", "../b", "a/../../b", "..a/b..", "..", "a/..b"].map(str::to_owned);
        let archive = ArchiveSpec { include: include.to_vec(), ..ArchiveSpec::default() };
        let straying: Vec<_> = archive.straying().map(|(place, _)| place).collect();
        assert_eq!(straying, [1, 2, 4]);
    }

    #[test]
    fn a_slash_at_the_start_leads_nowhere_else() {
        let world = world();
        let elsewhere = tempfile::tempdir().unwrap();
        let zip = elsewhere.path().join("secrets.zip");
        std::fs::write(&zip, "x").unwrap();
        let include = vec![zip.display().to_string()];
        let archive = ArchiveSpec { include, ..ArchiveSpec::default() };
        let error = archive.find(&world.path().join("specs")).unwrap_err().to_string();
        assert!(error.contains("is empty"), "{error}");
        assert!(matches!(check(&["/lib/x.zip"], &[]).unwrap(), Held::Archive(_)));
    }

    #[test]
    fn dot_files_are_left_out_where_that_is_asked_for() {
        let world = world();
        for path in ["site/.env", "site/.git/config", "site/.well-known/x", "site/a/.b", "site/a/c"]
        {
            let path = world.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let found = |dot_files| {
            let archive = ArchiveSpec {
                include: vec!["site/*".to_owned()],
                shape: Shape::Directory,
                dot_files,
                ..ArchiveSpec::default()
            };
            archive.find(&world.path().join("specs"))
        };
        assert_eq!(names(found(DotFiles::LeftOut)), [".well-known", "a"]);
        assert_eq!(names(found(DotFiles::Included)), [".env", ".git", ".well-known", "a"]);
        let Held::Items(items) = found(DotFiles::LeftOut).unwrap() else { panic!("a directory") };
        let except = items[1].except.as_ref().unwrap();
        assert!(except.has(&world.path().join("site/a/.b")), "on every level");
        assert!(!except.has(&world.path().join("site/a/c")));
    }
}
