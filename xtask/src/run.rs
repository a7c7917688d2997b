//! Starts programs for the other modules; the only place that does. Everything runs in the
//! project's root or where it is told to, whatever directory the task was started from.

use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

/// A program with its arguments and what is added to its environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a [&'a str],
    pub(crate) environment: &'a [(&'a str, &'a str)],
    /// Where it runs, if not in the project's root.
    pub(crate) directory: Option<&'a Path>,
}

impl<'a> Program<'a> {
    pub(crate) const fn new(name: &'a str, arguments: &'a [&'a str]) -> Self {
        Self { name, arguments, environment: &[], directory: None }
    }

    pub(crate) const fn with(self, environment: &'a [(&'a str, &'a str)]) -> Self {
        Self { environment, ..self }
    }

    pub(crate) const fn at(self, directory: &'a Path) -> Self {
        Self { directory: Some(directory), ..self }
    }

    #[expect(clippy::disallowed_methods, reason = "the one place in xtask that starts programs")]
    fn command(&self) -> Command {
        let mut command = Command::new(self.name);
        inherited().for_each(|name| {
            command.env_remove(name);
        });
        command.args(self.arguments).envs(self.environment.iter().copied());
        command.current_dir(self.directory.unwrap_or(root()));
        command
    }
}

/// What cargo told this program about its own package. Build scripts that look at it would run again, and everything behind
/// them be compiled again, each time a task follows a plain `cargo build`.
fn inherited() -> impl Iterator<Item = OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"CARGO_PKG_") || name.starts_with(b"CARGO_MANIFEST_")
    })
}

/// Writes the program as one would type it.
impl fmt::Display for Program<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in self.environment {
            let quote = if value.contains(' ') { "'" } else { "" };
            write!(f, "{key}={quote}{value}{quote} ")?;
        }
        f.write_str(self.name)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

/// Runs a program to its end, its output going where ours goes.
pub(crate) fn stream(program: &Program<'_>) -> Result<()> {
    let status =
        program.command().status().with_context(|| format!("cannot start `{}`", program.name))?;
    ensure!(status.success(), "`{program}` ended with {status}");
    Ok(())
}

/// Runs a program to its end and returns what it wrote to standard output.
pub(crate) fn output(program: &Program<'_>) -> Result<String> {
    Ok(both(program)?.0)
}

/// Runs a program to its end and returns what it wrote to standard output and to standard error.
pub(crate) fn both(program: &Program<'_>) -> Result<(String, String)> {
    let output =
        program.command().output().with_context(|| format!("cannot start `{}`", program.name))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{program}` ended with {}: {}", output.status, said.trim());
    }
    let text =
        |bytes| String::from_utf8(bytes).with_context(|| format!("`{program}` did not write text"));
    Ok((text(output.stdout)?, text(output.stderr)?))
}

/// Starts a program that runs beside us and talks on standard error.
pub(crate) fn start(program: &Program<'_>) -> Result<Running> {
    let mut child = program
        .command()
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", program.name))?;
    let said = child.stderr.take().expect("it was asked for");
    Ok(Running { child, said: Some(BufReader::new(said)) })
}

/// Starts a program that runs beside us and whose words nobody reads.
pub(crate) fn start_quietly(program: &Program<'_>) -> Result<Running> {
    let child = program
        .command()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start `{}`", program.name))?;
    Ok(Running { child, said: None })
}

/// A program that runs beside us. Stopped when dropped.
pub(crate) struct Running {
    child: Child,
    said: Option<BufReader<ChildStderr>>,
}

impl Running {
    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line with a prefix and returns the rest of it.
    pub(crate) fn line_after(&mut self, prefix: &str) -> Result<String> {
        let mut said = String::new();
        for line in self.said.iter_mut().flat_map(|said| said.by_ref().lines()) {
            let line = line?;
            if let Some(rest) = line.strip_prefix(prefix) {
                return Ok(rest.to_owned());
            }
            said.push_str(&line);
        }
        bail!("it ended without saying `{prefix}`: {said}")
    }

    /// Ends it at once, as `kill -9` does.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        let id = self.child.id().to_string();
        output(&Program::new("kill", &[&id]))?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Tells the person at the terminal something. Standard output belongs to the programs we run.
#[expect(clippy::print_stderr, reason = "the one place in xtask that talks")]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}

/// The directory that holds the workspace's Cargo.toml.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the project's root")
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    let told = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    told.unwrap_or_else(|| root().join("target"))
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the project's path is not text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_reads_as_one_would_type_it() {
        let program =
            Program::new("cargo", &["doc", "--no-deps"]).with(&[("A", "1"), ("B", "2 3")]);
        assert_eq!(program.to_string(), "A=1 B='2 3' cargo doc --no-deps");
    }

    #[test]
    fn a_program_runs_in_the_root_with_its_environment() {
        const SCRIPT: &str = "test -e Cargo.lock && printf %s \"$WORD\"";
        let program = Program::new("sh", &["-c", SCRIPT]).with(&[("WORD", "hello")]);
        assert_eq!(output(&program).unwrap(), "hello");
    }

    #[test]
    fn failure_is_an_error_that_repeats_what_the_program_said() {
        assert!(stream(&Program::new("sh", &["-c", "exit 3"])).is_err());
        let program = Program::new("sh", &["-c", "echo no >&2; exit 3"]);
        let error = output(&program).unwrap_err().to_string();
        assert!(error.ends_with("exit status: 3: no"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = stream(&Program::new("no-such-program", &[])).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `no-such-program`");
    }
}
