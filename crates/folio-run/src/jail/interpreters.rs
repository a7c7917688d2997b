//! Where Node and Python are on this host, and which directories each needs to run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// The interpreters of a host.
#[derive(Debug, Default)]
pub struct Interpreters {
    /// Node.js.
    pub node: Option<Interpreter>,
    /// Python 3.
    pub python: Option<Interpreter>,
}

/// One interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The executable itself, behind all links and wrappers. The same path inside every jail.
    pub program: PathBuf,
    /// The directories it lives in, which every jail shows.
    pub prefixes: Vec<PathBuf>,
}

impl Interpreters {
    /// Those of this host, found on the first call.
    pub fn of_this_host() -> &'static Self {
        static FOUND: LazyLock<Interpreters> =
            LazyLock::new(|| Interpreters { node: node(), python: python() });
        &FOUND
    }

    pub(super) fn prefixes(&self) -> impl Iterator<Item = &Path> {
        let both = self.node.iter().chain(&self.python);
        both.flat_map(|found| found.prefixes.iter().map(PathBuf::as_path))
    }
}

fn node() -> Option<Interpreter> {
    let program = on_path("node")?.canonicalize().ok()?;
    let prefix = program.parent()?.parent()?.to_owned();
    Some(Interpreter { program, prefixes: vec![prefix] })
}

/// Asks Python itself, because what is first on the path may be a wrapper that picks a version.
#[expect(clippy::disallowed_methods, reason = "only Python knows where it is")]
fn python() -> Option<Interpreter> {
    let question = "import sys; print(sys.executable, sys.prefix, sys.base_prefix, sep='\\n')";
    let mut command = Command::new(on_path("python3")?);
    command.args(["-I", "-S", "-c", question]).stdin(Stdio::null()).stderr(Stdio::null());
    let answer = String::from_utf8(command.output().ok()?.stdout).ok()?;
    let mut lines = answer.lines().map(PathBuf::from).filter(|path| path.is_absolute());
    let program = lines.next()?;
    let mut prefixes = Vec::new();
    for prefix in lines {
        if !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    }
    Some(Interpreter { program, prefixes })
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}
