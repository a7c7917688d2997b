//! What a build runs. Commands are split at spaces and never reach a shell.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use folio_core::ports::runtime::BuildError;
use folio_model::RuntimeKind;

/// Characters that would mean something to a shell, and therefore something else here.
const SHELL: &[char] = &[';', '|', '&', '`', '$', '(', ')', '<', '>'];

/// How Fission's images call the builder they bring; here it is the environment's own.
const BUILT_IN: [&str; 3] = ["build", "/build", "/usr/local/bin/build"];

/// What turns source into what runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Recipe {
    /// A program that leaves its result in `DEPLOY_PKG`.
    Command(Vec<String>),
    /// Programs that change the source, which then is the result.
    InPlace(Vec<Vec<String>>),
}

impl Recipe {
    /// Chooses the command that was given, or what the runtime's source asks for by its files.
    pub(super) fn choose(
        command: Option<&str>,
        runtime: RuntimeKind,
        source: &Path,
    ) -> Result<Self, BuildError> {
        match command {
            Some(command) if !BUILT_IN.contains(&command.trim()) => {
                split(command).map(Self::Command)
            }
            _ => Ok(Self::InPlace(steps(runtime, &|name| source.join(name).is_file()))),
        }
    }
}

/// Splits a command at spaces, refusing what only a shell would understand.
pub(crate) fn split(command: &str) -> Result<Vec<String>, BuildError> {
    if let Some(odd) = command.chars().find(|c| SHELL.contains(c)) {
        return Err(BuildError::Failed(format!(
            "the build command holds `{odd}`, but it runs without a shell; put it into a script of the package"
        )));
    }
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    if words.is_empty() {
        return Err(BuildError::Failed("the build command is empty".to_owned()));
    }
    Ok(words)
}

fn steps(runtime: RuntimeKind, has: &dyn Fn(&str) -> bool) -> Vec<Vec<String>> {
    let line = |words: &str| vec![words.split(' ').map(str::to_owned).collect()];
    match runtime {
        RuntimeKind::Python if has("requirements.txt") => {
            line("python3 -m pip install --requirement requirements.txt --target . --upgrade")
        }
        RuntimeKind::Nodejs if has("package-lock.json") || has("npm-shrinkwrap.json") => {
            line("npm ci --omit=dev")
        }
        RuntimeKind::Nodejs if has("package.json") => line("npm install --omit=dev"),
        RuntimeKind::Python
        | RuntimeKind::Nodejs
        | RuntimeKind::Wasm
        | RuntimeKind::Binary
        | RuntimeKind::Command => Vec::new(),
    }
}

/// Makes a program of the source executable: archives made on some systems lose the bit.
pub(super) fn make_executable(source: &Path, program: &str) -> io::Result<()> {
    let Some(inside) = program.strip_prefix("./") else { return Ok(()) };
    let Ok(path) = inside.parse::<folio_model::TreePath>() else { return Ok(()) };
    let path = source.join(path.to_string());
    match std::fs::symlink_metadata(&path) {
        Ok(about) if about.is_file() => {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
        }
        // Starting it will say that it is not there.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_and_never_a_shell_script() {
        assert_eq!(split(" ./build.sh  --fast a=b ").unwrap(), ["./build.sh", "--fast", "a=b"]);
        for odd in SHELL {
            let refused = split(&format!("./build.sh {odd} x")).unwrap_err().to_string();
            assert!(refused.contains(&format!("`{odd}`")), "{refused}");
        }
        assert!(split("  ").is_err());
    }

    #[test]
    fn the_files_say_how_to_build_where_nobody_does() {
        let check = |runtime, files: &[&str], expected: &[&str]| {
            let steps = steps(runtime, &|name| files.contains(&name));
            let lines: Vec<String> = steps.iter().map(|words| words.join(" ")).collect();
            assert_eq!(lines, expected);
        };
        check(RuntimeKind::Python, &["main.py"], &[]);
        check(
            RuntimeKind::Python,
            &["main.py", "requirements.txt"],
            &["python3 -m pip install --requirement requirements.txt --target . --upgrade"],
        );
        check(RuntimeKind::Nodejs, &["package.json"], &["npm install --omit=dev"]);
        check(RuntimeKind::Nodejs, &["package.json", "package-lock.json"], &["npm ci --omit=dev"]);
        check(RuntimeKind::Nodejs, &["index.js"], &[]);
        check(RuntimeKind::Wasm, &["requirements.txt", "package.json"], &[]);
    }
}
