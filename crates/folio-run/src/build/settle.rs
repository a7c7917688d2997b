//! Makes a build's result something that can be stored: regular files and directories with plain names.
//!
//! Links that stay inside the result become copies of what they lead to, as `node_modules/.bin` needs; links that
//! lead out of it or nowhere are left out, and the log says so. Sockets, pipes and devices are refused.
//! Runs after everything in the jail has ended, so nothing moves meanwhile.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use folio_model::{EntryName, TreePath};

/// Files and directories of one result.
const ENTRIES_MAX: u64 = 200_000;

/// Why a result cannot be stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("the result holds `{0}`, which is neither a file nor a directory")]
    Special(String),
    #[error("the result holds `{path}`, which no package can: {why}")]
    Name { path: String, why: String },
    #[error("the result holds more than {0}")]
    TooMuch(String),
    #[error("the result cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// A build's result and how links in it may name it.
pub(super) struct Outcome<'a> {
    /// The directory.
    pub(super) root: &'a Path,
    /// The names the build knew it by.
    pub(super) known_as: &'a [&'a Path],
    /// Bytes it may hold.
    pub(super) bytes_max: u64,
}

/// Settles a result and returns what the log should say about it.
pub(super) fn settle(outcome: &Outcome<'_>) -> Result<Vec<String>, Error> {
    let root = outcome.root.canonicalize()?;
    let mut settling = Settling { outcome, root, entries: 0, bytes: 0, notes: Vec::new() };
    let links = settling.look()?;
    // All are followed before any is replaced: one may lead through another.
    let followed: Vec<_> = links.into_iter().map(|link| (settling.follow(&link), link)).collect();
    for (target, link) in followed {
        fs::remove_file(&link)?;
        match target {
            Some(target) => settling.copy(&target, &link, &mut Vec::new())?,
            None => settling.leave_out(&link),
        }
    }
    Ok(settling.notes)
}

struct Settling<'a> {
    outcome: &'a Outcome<'a>,
    root: PathBuf,
    entries: u64,
    bytes: u64,
    notes: Vec<String>,
}

impl Settling<'_> {
    /// Checks everything that is there, and finds the links.
    fn look(&mut self) -> Result<Vec<PathBuf>, Error> {
        let mut links = Vec::new();
        let mut ahead = vec![self.root.clone()];
        while let Some(path) = ahead.pop() {
            let about = fs::symlink_metadata(&path)?;
            self.count(&path, &about)?;
            if about.is_symlink() {
                links.push(path);
                continue;
            }
            // A build may leave things its owner cannot read, and a directory must be emptied one day.
            let mode = about.permissions().mode() & 0o777;
            let needed = if about.is_dir() { 0o700 } else { 0o400 };
            fs::set_permissions(&path, Permissions::from_mode(mode | needed))?;
            if about.is_dir() {
                for entry in fs::read_dir(&path)? {
                    ahead.push(entry?.path());
                }
            }
        }
        Ok(links)
    }

    fn count(&mut self, path: &Path, about: &Metadata) -> Result<(), Error> {
        let shown = || self.shown(path);
        if !about.is_file() && !about.is_dir() && !about.is_symlink() {
            return Err(Error::Special(shown()));
        }
        if path != self.root {
            check_name(path.strip_prefix(&self.root).unwrap_or(path))
                .map_err(|why| Error::Name { path: shown(), why })?;
        }
        self.entries += 1;
        self.bytes += if about.is_file() { about.len() } else { 0 };
        if self.entries > ENTRIES_MAX {
            return Err(Error::TooMuch(format!("{ENTRIES_MAX} files and directories")));
        }
        if self.bytes > self.outcome.bytes_max {
            let mib = self.outcome.bytes_max / 1024 / 1024;
            return Err(Error::TooMuch(format!("{mib} MiB")));
        }
        Ok(())
    }

    /// Where a link leads, if that is inside the result.
    fn follow(&self, link: &Path) -> Option<PathBuf> {
        let target = fs::read_link(link).ok()?;
        let inside = |name: &&&Path| target.starts_with(name);
        // An absolute link uses the build's names of things, which lead elsewhere out here.
        let target = match self.outcome.known_as.iter().find(inside) {
            Some(name) => self.root.join(target.strip_prefix(name).ok()?),
            None if target.is_absolute() => return None,
            None => link.parent()?.join(target),
        };
        let target = target.canonicalize().ok()?;
        (target.starts_with(&self.root) && !link.starts_with(&target)).then_some(target)
    }

    /// Copies what a link led to, following the links in it. `through` are the directories on the way, none of
    /// which is entered again.
    fn copy(&mut self, from: &Path, to: &Path, through: &mut Vec<PathBuf>) -> Result<(), Error> {
        let about = fs::symlink_metadata(from)?;
        if about.is_symlink() {
            return match self.follow(from).filter(|target| !to.starts_with(target)) {
                Some(target) => self.copy(&target, to, through),
                None => {
                    self.leave_out(to);
                    Ok(())
                }
            };
        }
        if through.iter().any(|seen| seen == from) {
            self.leave_out(to);
            return Ok(());
        }
        self.count(to, &about)?;
        if about.is_file() {
            fs::copy(from, to)?;
            return Ok(());
        }
        fs::create_dir(to)?;
        through.push(from.to_path_buf());
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            self.copy(&entry.path(), &to.join(entry.file_name()), through)?;
        }
        through.pop();
        Ok(())
    }

    fn leave_out(&mut self, link: &Path) {
        let link = self.shown(link);
        self.notes
            .push(format!("left out `{link}`: a link that leads out of the package or nowhere"));
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

fn check_name(path: &Path) -> Result<(), String> {
    let mut checked: Option<TreePath> = None;
    for part in path {
        let text = part.to_str().ok_or("its name is not UTF-8")?;
        let name: EntryName = text.parse().map_err(|error| format!("{error}"))?;
        checked = Some(match checked {
            None => TreePath::from(name),
            Some(above) => above.join(name).ok_or("its path is too long")?,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn settled(root: &Path) -> Result<Vec<String>, Error> {
        settle(&Outcome { root, known_as: &[Path::new("/packages/deploy")], bytes_max: 1 << 20 })
    }

    #[test]
    fn links_inside_become_copies_and_others_go() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("node_modules/.bin")).unwrap();
        fs::create_dir_all(at("node_modules/tool")).unwrap();
        fs::write(at("node_modules/tool/cli.js"), "run").unwrap();
        fs::set_permissions(at("node_modules/tool/cli.js"), Permissions::from_mode(0o755)).unwrap();
        symlink("../tool/cli.js", at("node_modules/.bin/tool")).unwrap();
        symlink("node_modules/tool", at("linked")).unwrap();
        symlink("/packages/deploy/node_modules/tool/cli.js", at("absolute")).unwrap();
        symlink("/etc/passwd", at("passwd")).unwrap();
        symlink("../../../../../../etc/passwd", at("climbing")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        symlink(".", at("node_modules/self")).unwrap();
        let mut notes = settled(root.path()).unwrap();
        notes.sort();
        for path in ["node_modules/.bin/tool", "linked/cli.js", "absolute"] {
            let about = fs::symlink_metadata(at(path)).unwrap();
            assert!(about.is_file() && about.permissions().mode() & 0o100 != 0, "{path}");
            assert_eq!(fs::read(at(path)).unwrap(), b"run");
        }
        for path in ["passwd", "climbing", "dangling", "node_modules/self"] {
            assert!(fs::symlink_metadata(at(path)).is_err(), "{path}");
            assert!(notes.iter().any(|note| note.contains(&format!("`{path}`"))), "{notes:?}");
        }
        assert_eq!(notes.len(), 4);
    }

    #[test]
    fn links_that_turn_in_a_circle_end() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for directory in ["x", "y", "z"] {
            fs::create_dir(at(directory)).unwrap();
        }
        symlink("../y", at("x/one")).unwrap();
        symlink("../z", at("y/two")).unwrap();
        symlink("../y", at("z/three")).unwrap();
        settled(root.path()).unwrap();
        assert!(at("x/one").is_dir() && !at("x/one").is_symlink());
    }

    #[test]
    fn links_cannot_multiply_without_end() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("level0")).unwrap();
        fs::write(root.path().join("level0/file"), vec![0; 1024]).unwrap();
        for level in 1..20 {
            let directory = root.path().join(format!("level{level}"));
            fs::create_dir(&directory).unwrap();
            for copy in ["a", "b"] {
                symlink(format!("../level{}", level - 1), directory.join(copy)).unwrap();
            }
        }
        assert!(matches!(settled(root.path()), Err(Error::TooMuch(_))));
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("s")).unwrap();
        assert_eq!(
            settled(root.path()).unwrap_err().to_string(),
            "the result holds `s`, which is neither a file nor a directory"
        );
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a\\b"), "").unwrap();
        assert!(matches!(settled(root.path()), Err(Error::Name { .. })));
    }

    #[test]
    fn what_nobody_may_read_is_made_readable() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("d")).unwrap();
        fs::write(root.path().join("d/f"), "x").unwrap();
        fs::set_permissions(root.path().join("d/f"), Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(root.path().join("d"), Permissions::from_mode(0o000)).unwrap();
        settled(root.path()).unwrap();
        let mode = |path: &str| fs::metadata(root.path().join(path)).unwrap().permissions().mode();
        assert_eq!((mode("d") & 0o700, mode("d/f") & 0o400), (0o700, 0o400));
    }
}
