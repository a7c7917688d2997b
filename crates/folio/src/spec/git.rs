//! Where files stand in git, as git itself says. Without git, or outside of a work tree, nothing is known.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use folio_model::Git;

/// Where a directory stands in git.
pub(crate) fn provenance(directory: &Path) -> Option<Git> {
    let commit = git(directory, &["rev-parse", "HEAD"])?;
    let branch = git(directory, &["rev-parse", "--abbrev-ref", "HEAD"])?;
    let status = git(directory, &["status", "--porcelain"])?;
    Some(Git { commit, branch, clean: status.is_empty() })
}

/// What a file's objects are labelled with: the commit it is of, and whether it was changed since.
#[derive(Debug, Default)]
pub(crate) struct Labels(HashMap<PathBuf, String>);

impl Labels {
    /// The label of a file.
    pub(crate) fn of(&mut self, file: &Path) -> &str {
        self.0.entry(file.to_owned()).or_insert_with(|| label(file))
    }
}

fn label(file: &Path) -> String {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let Some(name) = file.file_name().and_then(|name| name.to_str()) else {
        return "untracked".to_owned();
    };
    let Some(status) = git(directory, &["status", "--porcelain", "--", name]) else {
        return "untracked".to_owned();
    };
    let commit = git(directory, &["log", "-1", "--format=%h", "--abbrev=7", "--", name]);
    let commit = commit.unwrap_or_default();
    match (status.get(..2), commit.is_empty()) {
        (Some("??"), _) | (None, true) => "untracked".to_owned(),
        (Some(state), true) if state.starts_with('A') => "staged".to_owned(),
        (Some(state), false) if !state.ends_with(' ') => format!("{commit}-unstaged"),
        (Some(_), false) => format!("{commit}-staged"),
        (None, false) => commit,
        (Some(_), true) => "untracked".to_owned(),
    }
}

#[expect(clippy::disallowed_methods, reason = "git itself knows best where files stand in git")]
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("--no-optional-locks").arg("-C").arg(directory).args(arguments);
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim_end().to_owned())
}
