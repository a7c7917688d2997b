//! Starts an interpreter with its shim in a jail. What is decided here is what every worker of an environment
//! shares; which function it becomes is told over the connection.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use folio_core::logs::{Printer, Stream};
use folio_core::ports::runtime::{CallError, Plan, PlanFile};
use folio_model::{Network, RuntimeKind, Timestamp};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Worker;
use super::link::Link;
use crate::code;
use crate::host::{Admitted, Host};
use crate::invoke::{self, InvokeSocket};
use crate::jail::{Cell, Interpreter, Mount, Prisoner, Stdin};
use crate::output::Output;
use crate::program;

const NODE: &str = include_str!("../shims/node.js");
const PYTHON: &str = include_str!("../shims/python.py");
/// Where workers see the shims.
const INSIDE: &str = "/run/folio-shims";
const MIB: u64 = 1024 * 1024;

/// What a worker is made to fit before it is a function: only such a one can become it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Fitting {
    pub(crate) runtime: RuntimeKind,
    pub(crate) network: Network,
    pub(crate) memory_bytes: u64,
    pub(crate) cpu_millis: Option<u32>,
}

impl Fitting {
    /// What a plan needs.
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            runtime: plan.spec.runtime,
            network: plan.spec.network,
            memory_bytes: plan.limits.memory_bytes,
            cpu_millis: plan.limits.cpu_millis,
        }
    }
}

/// The shims on disk.
pub(crate) struct Shims(PathBuf);

impl Shims {
    /// Writes them below the run directory.
    pub(crate) fn write(run: &Path) -> io::Result<Self> {
        let directory = run.join("shims");
        code::remove(&directory)?;
        std::fs::DirBuilder::new().recursive(true).mode(0o755).create(&directory)?;
        std::fs::write(directory.join("node.js"), NODE)?;
        std::fs::write(directory.join("python.py"), PYTHON)?;
        Ok(Self(directory))
    }
}

/// A worker's own directory outside, which goes with it.
pub(super) struct Room(PathBuf);

impl Room {
    fn make(above: &Path) -> io::Result<Self> {
        let directory = above.join(format!("{:032x}", rand::random::<u128>()));
        std::fs::DirBuilder::new().mode(0o755).create(&directory)?;
        Ok(Self(directory))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "Could not remove a worker's directory");
        }
    }
}

/// Starts a worker that finds these files. It may not be up yet when this returns.
pub(crate) async fn start(
    host: &Arc<Host>,
    fitting: &Fitting,
    files: Vec<PlanFile>,
) -> Result<Arc<Worker>, CallError> {
    let interpreter = interpreter(host, fitting.runtime)?;
    let admitted = host.admit().ok_or(CallError::Full)?;
    let unavailable = |error: io::Error| {
        CallError::Unavailable(format!("a worker could not be started: {error}"))
    };
    let room = Room::make(&host.rooms).map_err(unavailable)?;
    let invoke = InvokeSocket::listen(&room.0, None, &host.ports).map_err(unavailable)?;
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|error| unavailable(error.into()))?;
    let ours = std::os::unix::net::UnixStream::from(ours);
    ours.set_nonblocking(true).map_err(unavailable)?;
    let ours = UnixStream::from_std(ours).map_err(unavailable)?;
    let cell = cell(host, fitting, &interpreter, &room.0);
    let cell = Cell { files, descriptors: vec![theirs], ..cell };
    let jail = Arc::clone(&host.jail);
    let prisoner = tokio::task::spawn_blocking(move || jail.start(cell)).await;
    let prisoner = prisoner.map_err(|error| unavailable(io::Error::other(error)))?;
    Ok(Arc::new(assemble(
        host,
        Link::new(ours),
        prisoner.map_err(unavailable)?,
        (invoke, room),
        admitted,
    )))
}

fn assemble(
    host: &Host,
    link: Arc<Link>,
    mut prisoner: Prisoner,
    (invoke, room): (InvokeSocket, Room),
    admitted: Admitted,
) -> Worker {
    let printer = Printer { worker: Some(prisoner.pid()), ..Printer::default() };
    let output = Output::new(&host.ports.logs, None, printer);
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&output).drain(Stream::Stdout, prisoner.take_stdout()));
    tasks.spawn(Arc::clone(&output).drain(Stream::Stderr, prisoner.take_stderr()));
    let prisoner = Arc::new(prisoner);
    tasks.spawn({
        let link = Arc::clone(&link);
        async move { link.write().await }
    });
    tasks.spawn(watch(Arc::clone(&link), Arc::clone(&prisoner)));
    Worker {
        link,
        prisoner,
        invoke,
        output,
        code: OnceLock::new(),
        of_function: OnceLock::new(),
        busy: AtomicU32::new(0),
        given: AtomicU32::new(0),
        served: AtomicU64::new(0),
        leaving: AtomicBool::new(false),
        used_ms: AtomicU64::new(0),
        since: Instant::now(),
        started_at: Timestamp::now(),
        _tasks: tasks,
        _room: room,
        _admitted: admitted,
    }
}

// Reads until the worker is gone and finds out why, so that the log and the caller are told more than "gone".
async fn watch(link: Arc<Link>, prisoner: Arc<Prisoner>) {
    let error = link.read().await;
    let error = match error {
        CallError::Crashed(why) => {
            let ended = tokio::time::timeout(Duration::from_millis(200), prisoner.wait()).await;
            match ended {
                Ok(Ok(ended)) => CallError::Crashed(ended.to_string()),
                _ => CallError::Crashed(why),
            }
        }
        other => other,
    };
    prisoner.kill();
    link.close(&error);
}

fn interpreter(host: &Host, runtime: RuntimeKind) -> Result<Interpreter, CallError> {
    let found = host.jail.interpreters();
    let (found, name) = match runtime {
        RuntimeKind::Nodejs => (&found.node, "node"),
        _ => (&found.python, "python3"),
    };
    found.clone().ok_or_else(|| {
        CallError::Unavailable(format!(
            "this host has no `{name}`; install it where the server's PATH finds it"
        ))
    })
}

fn cell(host: &Host, fitting: &Fitting, interpreter: &Interpreter, room: &Path) -> Cell {
    let mount = |from: &Path, to: &str| Mount { from: from.to_owned(), to: PathBuf::from(to) };
    let invoke = InvokeSocket::variable(Path::new(invoke::INSIDE));
    let variables = [
        ("PATH", program::search_path(host.jail.interpreters())),
        ("HOME", OsString::from("/tmp")),
        ("TMPDIR", OsString::from("/tmp")),
        ("LANG", OsString::from("C.UTF-8")),
        ("FOLIO_INVOKE", invoke.into_os_string()),
    ];
    Cell {
        program: interpreter.program.clone(),
        arguments: arguments(fitting).into_iter().map(OsString::from).collect(),
        variables: variables.map(|(name, value)| (OsString::from(name), value)).into(),
        directory: PathBuf::from("/tmp"),
        reads: vec![
            mount(&host.shims.0, INSIDE),
            mount(host.codes.directory(), code::INSIDE),
            mount(room, invoke::INSIDE),
        ],
        writes: Vec::new(),
        files: Vec::new(),
        network: fitting.network,
        forward: None,
        memory_bytes: fitting.memory_bytes,
        cpu_millis: fitting.cpu_millis,
        processes_max: host.settings.processes_max,
        tmp_bytes: host.settings.tmp_bytes,
        file_bytes_max: host.settings.tmp_bytes,
        descriptors: Vec::new(),
        stdin: Stdin::Null,
    }
}

fn arguments(fitting: &Fitting) -> Vec<String> {
    match fitting.runtime {
        RuntimeKind::Nodejs => {
            // A quarter is left for buffers and Node itself.
            let heap = (fitting.memory_bytes / MIB * 3 / 4).max(16);
            vec![
                format!("--max-old-space-size={heap}"),
                "--no-warnings".to_owned(),
                format!("{INSIDE}/node.js"),
            ]
        }
        // `-S` saves the search for site packages; the shim adds their directory itself.
        _ => ["-u", "-B", "-I", "-S", "-X", "utf8"]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("{INSIDE}/python.py")])
            .collect(),
    }
}
