//! Lists what is in a directory: files and directories, nothing else. A link or a device is refused, because
//! what it leads to is not what was meant to be published.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use folio_model::{EntryName, TreePath};

use crate::problem::Problem;

/// Something found in a directory.
#[derive(Debug)]
pub(super) enum Walked {
    /// A file.
    File {
        /// Its path in the tree.
        path: TreePath,
        /// Where its bytes are.
        from: PathBuf,
        /// Its length.
        bytes: u64,
        /// Whether its owner may execute it.
        executable: bool,
    },
    /// A directory, which may be empty.
    Directory(TreePath),
}

/// Lists a directory, all levels, in no order.
pub(super) fn walk(root: &Path) -> Result<Vec<Walked>> {
    let mut found = Vec::new();
    let mut rest: Vec<(PathBuf, Option<TreePath>)> = vec![(root.to_owned(), None)];
    while let Some((directory, above)) = rest.pop() {
        let context = || format!("cannot read `{}`", directory.display());
        for entry in std::fs::read_dir(&directory).with_context(context)? {
            let entry = entry.with_context(context)?;
            let from = entry.path();
            let path = path_of(&entry.file_name(), above.as_ref(), &from)?;
            let about = from.symlink_metadata().with_context(context)?;
            if about.is_dir() {
                rest.push((from, Some(path.clone())));
                found.push(Walked::Directory(path));
            } else if about.is_file() {
                let (bytes, executable) = (about.len(), is_executable(&about));
                found.push(Walked::File { path, from, bytes, executable });
            } else {
                return Err(special(&from, &about));
            }
        }
    }
    Ok(found)
}

/// Whether a file's owner may execute it.
pub(super) fn is_executable(about: &Metadata) -> bool {
    about.permissions().mode() & 0o100 != 0
}

fn path_of(name: &OsStr, above: Option<&TreePath>, from: &Path) -> Result<TreePath> {
    let context = || format!("cannot publish `{}`", from.display());
    let name = name.to_str().context("its name is not UTF-8").with_context(context)?;
    let name: EntryName = name.parse().with_context(context)?;
    let path = match above {
        Some(above) => above.join(name),
        None => name.into(),
    };
    // Joining does not look at the length of the whole.
    path.to_string().parse().with_context(context)
}

fn special(path: &Path, about: &Metadata) -> anyhow::Error {
    let what = if about.is_symlink() { "a symbolic link" } else { "not a regular file" };
    let problem = Problem::new(format!("`{}` is {what}", path.display()));
    problem.hint("put a copy of the file there; packages hold files and directories only").into()
}
