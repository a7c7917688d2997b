//! A folio server of its own with the hello functions that the benchmarks call.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::gateway::Peer;
use super::{binary, text};
use crate::run::{self, Program, Running};

/// A running server.
pub(crate) struct Folio {
    data: PathBuf,
    url: String,
    gateway: String,
    server: Running,
}

/// A function: the name of its measurement, its own name, environment, file, and further flags.
const FUNCTIONS: &[(&str, &str, &str, &str, &[&str])] = &[
    ("folio wasm", "wasm", "wasm", "examples/wasm-hello/hello.wasm", &[]),
    (
        "folio wasm, reused",
        "wasm-reused",
        "wasm",
        "examples/wasm-hello/hello.wasm",
        &["--requests-per-worker", "128"],
    ),
    ("folio node", "node", "nodejs", "xtask/fixtures/hello-node.js", &[]),
    ("folio python", "python", "python", "xtask/fixtures/hello.py", &[]),
    (
        "folio python, asgi",
        "asgi",
        "python",
        "xtask/fixtures/asgi.py",
        &["--entrypoint", "asgi.app"],
    ),
];

impl Folio {
    /// Starts a server on a fresh data directory.
    pub(crate) fn start(directory: &Path) -> Result<Self> {
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        fs::create_dir_all(directory)?;
        Self::open(directory)
    }

    /// Kills the server without a word and starts it again on the same data.
    pub(crate) fn restart(&mut self, directory: &Path) -> Result<()> {
        self.server.kill()?;
        *self = Self::open(directory)?;
        Ok(())
    }

    fn open(directory: &Path) -> Result<Self> {
        let data = directory.join("data");
        let program = binary();
        let arguments = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--gateway",
            "127.0.0.1:0",
            "--data",
            text(&data)?,
        ];
        let mut server = run::start(&Program::new(&program, &arguments))?;
        let gateway = server.line_after("gateway on ")?;
        let url = server.line_after("listening on ")?;
        Ok(Self { data, url, gateway, server })
    }

    /// Publishes every hello function with a route.
    pub(crate) fn publish(&self) -> Result<()> {
        for (_, name, environment, file, flags) in FUNCTIONS {
            let publish = ["fn", "version", "create", name, "--env", environment, "--code", file];
            self.command(&[&publish[..], flags].concat())?;
            let url = format!("/{name}");
            self.command(&["route", "create", "--name", name, "--url", &url, "--function", name])?;
        }
        Ok(())
    }

    /// The functions as servers to measure.
    pub(crate) fn servers(&self) -> Vec<Peer> {
        FUNCTIONS
            .iter()
            .map(|(label, name, ..)| Peer::ours(label, format!("{}/{name}", self.gateway)))
            .collect()
    }

    /// Runs a folio command against the server.
    pub(crate) fn command(&self, arguments: &[&str]) -> Result<String> {
        let program = binary();
        let environment = [("FOLIO_URL", self.url.as_str()), ("FOLIO_DATA", text(&self.data)?)];
        run::output(&Program::new(&program, arguments).with(&environment))
    }

    /// Runs a folio command against the server in another directory.
    pub(crate) fn command_in(&self, directory: &Path, arguments: &[&str]) -> Result<String> {
        let (program, cache) = (binary(), self.data.with_extension("cache"));
        let environment = [
            ("FOLIO_URL", self.url.as_str()),
            ("FOLIO_DATA", text(&self.data)?),
            ("XDG_CACHE_HOME", text(&cache)?),
        ];
        run::output(&Program::new(&program, arguments).with(&environment).at(directory))
    }

    /// Where it is told what to do.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What lets us do everything.
    pub(crate) fn token(&self) -> Result<String> {
        Ok(fs::read_to_string(self.data.join("admin.token"))?.trim().to_owned())
    }

    /// Where functions are called.
    pub(crate) fn gateway(&self) -> &str {
        &self.gateway
    }

    /// The server's process.
    pub(crate) fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// The workers there are, as `folio status` lists them.
    pub(crate) fn workers(&self) -> Result<Vec<serde_json::Value>> {
        let status: serde_json::Value =
            serde_json::from_str(&self.command(&["status", "-o", "json"])?)?;
        status["runtime"]["workers"].as_array().cloned().context("the status lists workers")
    }
}
