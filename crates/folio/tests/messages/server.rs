//! A NATS server of the test's own, with JetStream, in a directory that goes away.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

pub(super) struct Server {
    process: Child,
    directory: tempfile::TempDir,
}

impl Server {
    #[expect(clippy::disallowed_methods, reason = "the server is another process")]
    pub(super) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = ["/usr/sbin/nats-server", "/usr/bin/nats-server"].map(PathBuf::from);
        let program = program.into_iter().find(|path| path.is_file());
        let program = program.expect("nats-server is installed; `cargo xtask test` does that");
        let process = Command::new(program)
            .args(["--jetstream", "--addr", "127.0.0.1", "--port", "-1", "--store_dir"])
            .arg(directory.path())
            .arg("--ports_file_dir")
            .arg(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { process, directory }
    }

    /// Where it listens, once it does.
    pub(super) fn address(&self) -> String {
        let name = format!("nats-server_{}.ports", self.process.id());
        let path = self.directory.path().join(name);
        loop {
            if let Some(address) = address(&path) {
                return address;
            }
            std::thread::yield_now();
        }
    }
}

fn address(path: &Path) -> Option<String> {
    let ports: Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    ports["nats"][0].as_str().map(str::to_owned)
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
