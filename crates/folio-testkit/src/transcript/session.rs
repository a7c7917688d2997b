//! A server process of its own and commands that talk to it. Nothing waits by the clock: the server says when
//! it is ready, and is stopped when the session goes.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};

use super::document::version_of;

/// A server, an empty directory to work in, and a bash that knows both.
pub struct Session {
    directory: tempfile::TempDir,
    program: PathBuf,
    time: Time,
    flags: Vec<String>,
    server: Option<Server>,
}

/// Where a server has time and chance from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// A script: the same in every run, and from its start again when the server is started again.
    Scripted,
    /// The machine, which does not stand still while no server runs.
    Real,
}

/// A running server.
struct Server {
    url: String,
    gateway: String,
    process: Child,
    talk: Option<JoinHandle<()>>,
}

impl Session {
    /// Starts a server on a fresh data directory, with time and chance that are the same in every run.
    pub fn start(program: &Path, flags: &[String]) -> Result<Self> {
        Self::start_in(program, flags, Time::Scripted)
    }

    /// Starts a server on a fresh data directory, with time and chance from a place.
    pub fn start_in(program: &Path, flags: &[String], time: Time) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        std::fs::create_dir(directory.path().join("work"))?;
        std::fs::create_dir(directory.path().join("tools"))?;
        let (program, flags) = (program.to_owned(), flags.to_vec());
        let mut session = Self { directory, program, time, flags, server: None };
        session.start_again()?;
        Ok(session)
    }

    /// Stops the server as a power cut would.
    pub fn stop(&mut self) {
        self.server = None;
    }

    /// Starts a server on the data directory as it is.
    pub fn start_again(&mut self) -> Result<()> {
        self.stop();
        let mut process = command(&self.program)
            .args(["serve", "--listen", "127.0.0.1:0", "--gateway", "127.0.0.1:0"])
            .args(match self.time {
                Time::Scripted => &["--scripted-clock", "1"][..],
                Time::Real => &[],
            })
            .arg("--data")
            .arg(self.data())
            .args(&self.flags)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let stderr = process.stderr.take().context("the server has no standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let mut after = |prefix: &str| {
            lines.by_ref().find_map(|line| line.ok()?.strip_prefix(prefix).map(str::to_owned))
        };
        let (Some(gateway), Some(url)) = (after("gateway on "), after("listening on ")) else {
            process.kill().and_then(|()| process.wait()).context("cannot stop the server")?;
            bail!("the server did not start");
        };
        // Read to the end, so that the server never waits for its own log to be read.
        let talk = std::thread::spawn(move || lines.for_each(drop));
        self.server = Some(Server { url, gateway, process, talk: Some(talk) });
        Ok(())
    }

    /// Writes a file where commands run, with a line break at its end.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.directory().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
        Ok(std::fs::write(path, format!("{text}\n"))?)
    }

    /// Has commands find a program under a name before any other.
    pub fn add_tool(&self, name: &str, program: &Path) -> Result<()> {
        Ok(std::os::unix::fs::symlink(program, self.tools().join(name))?)
    }

    /// The version of a program that says it as kubectl does.
    pub(super) fn version(&self, program: &str) -> Result<(u32, u32)> {
        let lines = self.run(&format!("{program} version --client -o json"))?;
        let found = lines.iter().find_map(|line| line.trim().strip_prefix("\"gitVersion\": \""));
        let found = found.and_then(version_of);
        found.with_context(|| format!("{program} does not say its version: {}", lines.join("\n")))
    }

    fn tools(&self) -> PathBuf {
        self.directory.path().join("tools")
    }

    /// Where commands run.
    pub fn directory(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// The server's data directory.
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Runs a command line and returns the lines of its output, and `[exit N]` if it failed.
    pub fn run(&self, line: &str) -> Result<Vec<String>> {
        let (mut output, writer) = std::io::pipe()?;
        let bin = self.program.parent().context("the program lies in a directory")?;
        let tools = self.tools();
        let path = format!("{}:{}", tools.display(), path(bin, &clients(&self.program)));
        let mut shell = command(Path::new("bash"));
        shell
            .args(["-c", line])
            .current_dir(self.directory())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.directory())
            .env("XDG_CACHE_HOME", self.directory.path().join("cache"))
            .env("LC_ALL", "C.UTF-8")
            .env("FOLIO_URL", self.url())
            .env("FOLIO_DATA", self.data())
            .env("GATEWAY", self.gateway())
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        let mut child = shell.spawn().context("cannot start bash")?;
        // The command holds the pipe's other end; with it gone, the output ends when the child's does.
        drop(shell);
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes)?;
        let status = child.wait()?;
        let text = self.without_places(&String::from_utf8_lossy(&bytes));
        let mut lines: Vec<_> = text.lines().map(|line| line.trim_end().to_owned()).collect();
        if !status.success() {
            lines.push(format!("[exit {}]", status.code().unwrap_or(-1)));
        }
        Ok(lines)
    }

    /// Where and on which port it runs differs from run to run.
    fn without_places(&self, text: &str) -> String {
        let directory = self.directory.path().display().to_string();
        let text = text.replace(&directory, "[DIR]");
        match &self.server {
            Some(server) => {
                text.replace(&server.url, "[URL]").replace(&server.gateway, "[GATEWAY]")
            }
            None => text,
        }
    }

    /// Where the control API is, while the server runs.
    pub fn url(&self) -> &str {
        self.server.as_ref().map_or("", |server| &server.url)
    }

    /// Where functions are called, while the server runs.
    pub fn gateway(&self) -> &str {
        self.server.as_ref().map_or("", |server| &server.gateway)
    }

    /// The server's process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.server.as_ref().map(|server| server.process.id())
    }
}

/// Where `cargo xtask test` puts clients of others, for a program it built.
pub fn clients(program: &Path) -> PathBuf {
    let target = program.parent().and_then(Path::parent).unwrap_or(program);
    target.join("clients/bin")
}

/// Where commands are found: the program, what the system has, and clients of others.
fn path(program: &Path, clients: &Path) -> String {
    format!("{}:/usr/local/bin:/usr/bin:/bin:{}", program.display(), clients.display())
}

impl Drop for Server {
    fn drop(&mut self) {
        let stopped = self.process.kill().and_then(|()| self.process.wait());
        if let (Ok(_), Some(talk)) = (stopped, self.talk.take()) {
            talk.join().unwrap_or_default();
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a transcript is about what a process says, so it has to start one"
)]
fn command(program: &Path) -> Command {
    Command::new(program)
}
