//! The peers: installed once with their own package managers, each serving the same hello.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};

use crate::run::{self, Program, Running};

/// The engine's version that folio itself is built with.
const WASMTIME: &str = "48.0.8";

/// A server that answers hello.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) url: String,
    /// Stopped when dropped; none for folio's own functions, which share one server.
    process: Option<Running>,
}

impl Peer {
    /// One of folio's functions.
    pub(crate) fn ours(name: &'static str, url: String) -> Self {
        Self { name, url, process: None }
    }

    /// Asks it to end, as those want to be asked that have processes of their own.
    pub(crate) fn stop(self) -> Result<()> {
        self.process.map_or(Ok(()), Running::stop)
    }

    /// A server whose own file says where it listens, in place of `{port}`.
    pub(crate) fn with_config(
        name: &'static str,
        command: &[&str],
        (file, settings): (&Path, &str),
    ) -> Result<Self> {
        let port = free_port()?;
        fs::write(file, settings.replace("{port}", &port.to_string()))?;
        start_on(name, &words(command), port)
    }
}

/// Where the peers are installed.
pub(crate) struct Peers {
    node: PathBuf,
    python: PathBuf,
    wasmtime: PathBuf,
}

const HANDLERS: &[(&str, &str)] = &[
    ("http.js", include_str!("../../../fixtures/http.js")),
    ("framework.js", include_str!("../../../fixtures/framework.js")),
    ("framework.py", include_str!("../../../fixtures/framework.py")),
    ("asgi.py", include_str!("../../../fixtures/asgi.py")),
    ("workerd.capnp", include_str!("../../../fixtures/workerd.capnp")),
    ("worker.js", include_str!("../../../fixtures/worker.js")),
];

impl Peers {
    /// Installs what is not there yet.
    pub(crate) fn install(cache: &Path) -> Result<Self> {
        fs::create_dir_all(cache)?;
        for (name, text) in HANDLERS {
            fs::write(cache.join(name), text)?;
        }
        let peers = Self {
            node: cache.join("node_modules"),
            python: cache.join("venv"),
            wasmtime: cache.join("wasmtime"),
        };
        if !peers.node.join("@google-cloud").exists() {
            let packages = ["@google-cloud/functions-framework", "workerd"];
            let arguments = [&["install", "--no-save", "--prefix", text(cache)?], &packages[..]];
            run::stream(&Program::new("npm", &arguments.concat()))?;
        }
        if !peers.python.join("bin/uvicorn").exists() {
            run::stream(&Program::new("python3", &["-m", "venv", text(&peers.python)?]))?;
            let pip = peers.python.join("bin/pip");
            let arguments = ["install", "--quiet", "uvicorn[standard]", "functions-framework"];
            run::stream(&Program::new(text(&pip)?, &arguments))?;
        }
        if !peers.wasmtime.join("bin/wasmtime").exists() {
            let arguments = [
                "install",
                "wasmtime-cli",
                "--version",
                WASMTIME,
                "--locked",
                "--root",
                text(&peers.wasmtime)?,
            ];
            run::stream(&Program::new("cargo", &arguments))?;
        }
        Ok(peers)
    }

    /// Starts every peer and waits until each answers.
    pub(crate) fn start(&self, cache: &Path) -> Result<Vec<Peer>> {
        let wasm = run::root().join("examples/wasm-hello/hello.wasm");
        let wasmtime = self.wasmtime.join("bin/wasmtime");
        let serve = [text(&wasmtime)?, "serve", "-S", "cli", "--addr", "127.0.0.1:{port}"];
        let reuse = ["--max-instance-reuse-count", "128"];
        let script = |name: &str| Ok::<_, anyhow::Error>(text(&cache.join(name))?.to_owned());
        let bin = |name: &str| {
            Ok::<_, anyhow::Error>(text(&self.python.join("bin").join(name))?.to_owned())
        };
        let framework = script("node_modules/.bin/functions-framework")?;
        let workerd = script("node_modules/.bin/workerd")?;
        let servers: [(&'static str, Vec<String>); 7] = [
            ("wasmtime serve", words(&[&serve[..], &[text(&wasm)?]].concat())),
            ("wasmtime serve, reused", words(&[&serve[..], &reuse, &[text(&wasm)?]].concat())),
            (
                "workerd",
                words(&[
                    &workerd,
                    "serve",
                    &script("workerd.capnp")?,
                    "--socket-addr=http=127.0.0.1:{port}",
                ]),
            ),
            ("node http", words(&["node", &script("http.js")?, "{port}"])),
            (
                "node functions-framework",
                words(&[
                    &framework,
                    "--target=hello",
                    &format!("--source={}", script("framework.js")?),
                    "--port={port}",
                ]),
            ),
            (
                "uvicorn",
                words(&[
                    &bin("uvicorn")?,
                    "--app-dir",
                    text(cache)?,
                    "--no-access-log",
                    "--log-level",
                    "warning",
                    "--port",
                    "{port}",
                    "asgi:app",
                ]),
            ),
            (
                "python functions-framework",
                words(&[
                    &bin("functions-framework")?,
                    "--target=main",
                    &format!("--source={}", script("framework.py")?),
                    "--port={port}",
                ]),
            ),
        ];
        servers.into_iter().map(|(name, command)| start(name, &command)).collect()
    }
}

fn start(name: &'static str, command: &[String]) -> Result<Peer> {
    let port = free_port()?;
    let command: Vec<_> =
        command.iter().map(|word| word.replace("{port}", &port.to_string())).collect();
    start_on(name, &command, port)
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn start_on(name: &'static str, command: &[String], port: u16) -> Result<Peer> {
    let arguments: Vec<_> = command[1..].iter().map(String::as_str).collect();
    let process = run::start_quietly(&Program::new(&command[0], &arguments))?;
    await_port(name, port)?;
    Ok(Peer { name, url: format!("http://127.0.0.1:{port}/"), process: Some(process) })
}

/// Waits until something listens.
fn await_port(name: &str, port: u16) -> Result<()> {
    let begun = super::super::start();
    while begun.elapsed() < Duration::from_secs(30) {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(());
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    bail!("{name} did not listen within 30 seconds")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn text(path: &Path) -> Result<&str> {
    super::super::text(path)
}
