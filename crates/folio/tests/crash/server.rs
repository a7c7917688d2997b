//! A server process on a data directory, started, killed and checked.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// What to do to the process besides running it.
#[derive(Debug, Clone, Default)]
pub(super) struct Harm {
    /// Die at a crash point: `name:nth`.
    pub(super) crash: Option<String>,
    /// Run with a planted fault.
    pub(super) fault: Option<&'static str>,
    /// More flags of `folio serve`.
    pub(super) flags: &'static [&'static str],
}

/// A running server. Killed when dropped.
pub(super) struct Server {
    process: Child,
    pub(super) url: String,
}

impl Server {
    /// Starts a server and waits until it listens. None if it died first.
    pub(super) fn start(data: &Path, harm: &Harm) -> Option<Self> {
        let mut command = folio();
        command.args(["serve", "--listen", "127.0.0.1:0", "--gateway", "127.0.0.1:0"]);
        command.args(["--grace", "0s", "--data"]).arg(data);
        command.args(harm.flags);
        if let Some(crash) = &harm.crash {
            command.env("FOLIO_CRASH", crash);
        }
        if let Some(fault) = harm.fault {
            command.env("FOLIO_FAULT", fault);
        }
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(process.stderr.take().unwrap());
        let mut lines = said.lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned));
        match url {
            Some(url) => {
                // Whatever else it says must not fill the pipe.
                std::thread::spawn(move || lines.for_each(drop));
                Some(Self { process, url })
            }
            None => {
                process.wait().unwrap();
                None
            }
        }
    }

    /// The process, for whoever kills it.
    pub(super) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits until it has died by itself.
    pub(super) fn wait(&mut self) {
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already, which is what these tests are about.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The admin token of a data directory.
pub(super) fn token(data: &Path) -> String {
    std::fs::read_to_string(data.join("admin.token")).unwrap().trim().to_owned()
}

/// Runs `folio check` on a directory that no server uses.
pub(super) fn check(data: &Path) {
    let Output { status, stdout, stderr } =
        folio().arg("check").arg("--data").arg(data).output().unwrap();
    let said = [stdout, stderr].concat();
    assert!(status.success(), "folio check: {}", String::from_utf8_lossy(&said));
}

#[expect(clippy::disallowed_methods, reason = "the binary under test is a process")]
pub(super) fn folio() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_folio"));
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped());
    command
}
