//! The project's files: those git tracks and those it would, or, outside a git checkout, all but
//! what cargo built. Read once for all rules.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use crate::run::{self, Program};

/// Every file of the project.
pub(super) static TREE: LazyLock<Vec<File>> = LazyLock::new(|| {
    let root = run::root();
    let paths = listed_by_git().unwrap_or_else(|| walked(root));
    paths.into_iter().filter_map(|path| read(root, path)).collect()
});

/// A file: its path from the root, with slashes, and its text.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    pub(super) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// What follows the last dot of the name; empty if there is none.
    pub(super) fn extension(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    pub(super) fn is_rust(&self) -> bool {
        self.extension() == "rs"
    }

    /// Whether a directory on the way to the file has this name.
    pub(super) fn lies_in(&self, directory: &str) -> bool {
        self.path.split('/').rev().skip(1).any(|part| part == directory)
    }

    /// Whether the file is part of what some crate under `crates/` is compiled from.
    pub(super) fn is_crate_source(&self) -> bool {
        self.is_rust() && self.path.starts_with("crates/") && self.lies_in("src")
    }

    /// The lines before the file's unit tests, which come last.
    pub(super) fn lines_without_tests(&self) -> Vec<&str> {
        let lines: Vec<_> = self.text.lines().collect();
        let end = (0..lines.len()).find(|&at| tests_start(&lines[at..])).unwrap_or(lines.len());
        lines[..end].to_vec()
    }
}

/// A declaration `mod tests;` does not count: what follows it is not inside it.
fn tests_start(lines: &[&str]) -> bool {
    let mut after_attributes = lines.iter().skip_while(|line| line.starts_with("#["));
    lines[0] == "#[cfg(test)]"
        && after_attributes.next().is_some_and(|line| line.starts_with("mod tests {"))
}

fn listed_by_git() -> Option<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = run::output(&Program::new("git", &arguments)).ok()?;
    let paths: Vec<_> = listed.split_terminator('\0').map(str::to_owned).collect();
    // A copy inside another checkout that ignores it is listed as empty.
    paths.iter().any(|path| path == "Cargo.toml").then_some(paths)
}

fn walked(directory: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    walk(directory, "", &mut paths);
    paths
}

fn walk(directory: &Path, prefix: &str, paths: &mut Vec<String>) {
    let entries = fs::read_dir(directory).expect("the project can be read");
    for entry in entries {
        let entry = entry.expect("the project can be read");
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let is_built = entry.path().join("CACHEDIR.TAG").exists();
        match entry.file_type().expect("the project can be read") {
            kind if kind.is_file() => paths.push(path),
            kind if kind.is_dir() && path != ".git" && !is_built => {
                walk(&entry.path(), &format!("{path}/"), paths);
            }
            _ => {}
        }
    }
}

/// Reads a file, bytes that are no text replaced. One that git lists but is deleted is left out.
fn read(root: &Path, path: String) -> Option<File> {
    match fs::read(root.join(&path)) {
        Ok(bytes) => Some(File::new(path, String::from_utf8_lossy(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => panic!("cannot read {path}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_holds_this_file_and_nothing_cargo_built() {
        for paths in [TREE.iter().map(|file| file.path.clone()).collect(), walked(run::root())] {
            assert!(paths.iter().any(|path| path == "xtask/src/tidy/tree.rs"));
            assert!(
                !paths.iter().any(|path| path.starts_with("target/") || path.starts_with(".git/"))
            );
        }
    }

    #[test]
    fn the_parts_of_a_path_are_told_apart() {
        let file = File::new("crates/a/tests/it/main.rs", "");
        assert!(file.is_rust() && file.lies_in("tests") && !file.lies_in("main.rs"));
        assert!(!file.is_crate_source());
        assert_eq!(File::new(".ci/run", "").extension(), "");
    }

    #[test]
    fn tests_are_cut_off_where_they_start() {
        let check = |text: &str, expected: usize| {
            assert_eq!(File::new("a.rs", text).lines_without_tests().len(), expected, "{text}");
        };
        check("a\nb\n", 2);
        check("a\n#[cfg(test)]\nmod tests {\n}\n", 1);
        check("a\n#[cfg(test)]\n#[expect(unused)]\nmod tests {\n}\n", 1);
        check("#[cfg(test)]\nmod tests;\na\n", 3);
        check("#[cfg(test)]\nuse b;\na\n", 3);
    }
}
