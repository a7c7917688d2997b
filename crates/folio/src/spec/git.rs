//! Where files stand in git, as git itself says. Without git, or outside of a work tree, nothing is known.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use folio_model::Git;

/// Where a directory stands in git.
pub(crate) fn provenance(directory: &Path) -> Option<Git> {
    // How far the branch is from the one it follows may take long to find out, and nobody asks.
    standing(&git(directory, &["status", "--porcelain=v2", "--branch", "--no-ahead-behind"])?)
}

/// Reads what git says of a work tree: lines that start with `#` say where it is, all others what differs.
fn standing(status: &str) -> Option<Git> {
    let said = |what: &str| status.lines().find_map(|line| line.strip_prefix(what));
    let commit = said("# branch.oid ").filter(|commit| *commit != "(initial)")?;
    let branch = said("# branch.head ").filter(|branch| *branch != "(detached)");
    let branch = branch.unwrap_or("HEAD").to_owned();
    let clean = status.lines().all(|line| line.starts_with('#'));
    Some(Git { commit: commit.to_owned(), branch, clean })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: &str, expected: Option<(&str, &str, bool)>) {
        let found = standing(status);
        let found = found.as_ref().map(|git| (git.commit.as_str(), git.branch.as_str(), git.clean));
        assert_eq!(found, expected, "{status}");
    }

    #[test]
    fn one_answer_of_git_says_where_a_directory_stands() {
        check("# branch.oid abc\n# branch.head main", Some(("abc", "main", true)));
        check("# branch.oid abc\n# branch.head (detached)", Some(("abc", "HEAD", true)));
        check("# branch.oid (initial)\n# branch.head main\n? a", None);
        let upstream = "# branch.oid abc\n# branch.head main\n# branch.upstream origin/main\n";
        check(upstream, Some(("abc", "main", true)));
        check(&format!("{upstream}? new"), Some(("abc", "main", false)));
        check(
            &format!("{upstream}1 .M N... 100644 100644 100644 a b f"),
            Some(("abc", "main", false)),
        );
    }
}
