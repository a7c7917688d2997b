//! A server process of its own and commands that talk to it. Nothing waits by the clock: the server says when
//! it is ready, and is stopped when the session goes.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};

/// A running server, an empty directory to work in, and a bash that knows both.
pub struct Session {
    directory: tempfile::TempDir,
    program: PathBuf,
    url: String,
    server: Child,
    talk: Option<JoinHandle<()>>,
}

impl Session {
    /// Starts a server on a fresh data directory, with time and chance that are the same in every run.
    pub fn start(program: &Path, flags: &[String]) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        std::fs::create_dir(directory.path().join("work"))?;
        let data = directory.path().join("data");
        let mut server = command(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--scripted-clock", "1", "--data"])
            .arg(&data)
            .args(flags)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let stderr = server.stderr.take().context("the server has no standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let url = lines
            .by_ref()
            .find_map(|line| Some(line.ok()?.split_once("listening on ")?.1.to_owned()));
        let Some(url) = url else {
            server.kill().and_then(|()| server.wait()).context("cannot stop the server")?;
            bail!("the server did not start");
        };
        // Read to the end, so that the server never waits for its own log to be read.
        let talk = std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { directory, program: program.to_owned(), url, server, talk: Some(talk) })
    }

    /// Writes a file where commands run, with a line break at its end.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let text = text.split_once('\n').map_or("", |(_, text)| text);
        Ok(std::fs::write(self.directory().join(name), format!("{text}\n"))?)
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
        let mut shell = command(Path::new("bash"));
        shell
            .args(["-c", line])
            .current_dir(self.directory())
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .env("HOME", self.directory())
            .env("LC_ALL", "C.UTF-8")
            .env("FOLIO_URL", &self.url)
            .env("FOLIO_DATA", self.data())
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
        text.replace(&directory, "[DIR]").replace(&self.url, "[URL]")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let stopped = self.server.kill().and_then(|()| self.server.wait());
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
