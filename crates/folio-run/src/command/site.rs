//! What every server is given: a room of its own on disk, a cell around it, and a port.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_core::ports::runtime::{CallError, Plan, PlanFile, RuntimePorts};
use folio_model::{EnvironmentSpec, Network};

use crate::code::{self, Code, CodeStore, Remover};
use crate::invoke::{self, InvokeSocket};
use crate::jail::{Cell, Forward, Jail, Mode, Mount, Stdin};
use crate::program;

/// The port servers listen on where the network is their own. Some of Fission's know no other.
const PORT: u16 = 8888;

/// The directory a server may write to, inside.
pub(super) const USER_FUNCTIONS: &str = "/userfunc";

/// The name of a socket that a server may listen on instead of its port.
const SOCKET: &str = "folio.sock";

const PROCESSES_MAX: u32 = 256;
const TMP_BYTES: u64 = 256 * 1024 * 1024;
const FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Where servers are started, and with what.
pub(super) struct Site {
    pub(super) jail: Arc<Jail>,
    pub(super) codes: Arc<CodeStore>,
    pub(super) ports: RuntimePorts,
    /// The directories of the host whose programs environments may start.
    pub(super) directories: Vec<PathBuf>,
    pub(super) rooms: PathBuf,
    pub(super) remover: Remover,
}

/// How much one server gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Size {
    pub(super) memory_bytes: u64,
    pub(super) cpu_millis: Option<u32>,
}

impl Size {
    pub(super) fn of(plan: &Plan) -> Self {
        let limits = &plan.limits;
        Self { memory_bytes: limits.memory_bytes, cpu_millis: limits.cpu_millis }
    }
}

/// A program and what it is told.
pub(super) struct Program {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) files: Vec<PlanFile>,
    pub(super) network: Network,
    pub(super) size: Size,
    /// Where it is to listen.
    pub(super) port: u16,
}

impl Site {
    /// The server of an environment.
    pub(super) fn environment(
        &self,
        spec: &EnvironmentSpec,
        size: Size,
    ) -> Result<Program, CallError> {
        let port = self.port(spec.network)?;
        let command = spec.command.as_deref().unwrap_or_default();
        let words: Vec<String> = command
            .split_whitespace()
            .map(|word| word.replace("{port}", &port.to_string()))
            .collect();
        let (name, arguments) = words
            .split_first()
            .ok_or_else(|| CallError::Load("the environment has no command".to_owned()))?;
        for word in &words {
            self.check(word)?;
        }
        let program = program::find(self.jail.interpreters(), name)
            .ok_or_else(|| CallError::Unavailable(format!("this host has no program `{name}`")))?;
        Ok(Program {
            program,
            arguments: arguments.iter().map(OsString::from).collect(),
            variables: Vec::new(),
            files: Vec::new(),
            network: spec.network,
            size,
            port,
        })
    }

    /// The server that a package itself brings.
    pub(super) fn package(
        &self,
        plan: &Plan,
        code: &Code,
        command: &str,
    ) -> Result<Program, CallError> {
        let mut words = command.split_whitespace();
        let found = crate::binary::executable(code, words.next())?;
        let arguments = found.arguments.into_iter().chain(words.map(OsString::from)).collect();
        Ok(Program {
            program: found.program,
            arguments,
            variables: variables(plan),
            files: plan.files.clone(),
            network: plan.spec.network,
            size: Size::of(plan),
            port: self.port(plan.spec.network)?,
        })
    }

    /// The cell around a program.
    pub(super) fn cell(&self, room: &Room, program: Program) -> Cell {
        let port = program.port;
        let path = |text: &str| PathBuf::from(text);
        let reads = [
            Mount { from: self.codes.directory().to_path_buf(), to: path(code::INSIDE) },
            Mount { from: room.sockets(), to: path(invoke::INSIDE) },
        ];
        let ours = self.directories.iter().map(|own| Mount { from: own.clone(), to: own.clone() });
        let mut variables = self.variables(port);
        variables.extend(program.variables);
        Cell {
            program: program.program,
            arguments: program.arguments,
            variables,
            directory: path(USER_FUNCTIONS),
            reads: reads.into_iter().chain(ours).collect(),
            writes: vec![Mount { from: room.user_functions(), to: path(USER_FUNCTIONS) }],
            files: program.files,
            network: program.network,
            forward: Some(Forward { socket: room.forwarded(), port }),
            memory_bytes: program.size.memory_bytes,
            cpu_millis: program.size.cpu_millis,
            processes_max: PROCESSES_MAX,
            tmp_bytes: TMP_BYTES,
            file_bytes_max: FILE_BYTES_MAX,
            descriptors: Vec::new(),
            stdin: Stdin::Null,
        }
    }

    fn variables(&self, port: u16) -> Vec<(OsString, OsString)> {
        let invoke = InvokeSocket::variable(Path::new(invoke::INSIDE));
        let port = OsString::from(port.to_string());
        let text = OsString::from;
        vec![
            (text("PATH"), program::search_path(self.jail.interpreters())),
            (text("HOME"), text("/tmp")),
            (text("LANG"), text("C.UTF-8")),
            (text("PORT"), port.clone()),
            (text("RUNTIME_PORT"), port),
            (text("USERFUNCVOL"), text(USER_FUNCTIONS)),
            (text("WSGI_FRAMEWORK"), text("GEVENT")),
            (text("PYTHONUNBUFFERED"), text("1")),
            (text("FOLIO_SOCKET"), text(&format!("{USER_FUNCTIONS}/{SOCKET}"))),
            (text("FOLIO_INVOKE"), invoke.into_os_string()),
        ]
    }

    /// A port that is free where a server will listen.
    fn port(&self, network: Network) -> Result<u16, CallError> {
        if network == Network::None && self.jail.mode() == Mode::Enforced {
            return Ok(PORT);
        }
        // The network is shared with others here. Somebody may take the port first; then the server ends, and
        // the next one gets another.
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        free.map(|address| address.port())
            .map_err(|error| CallError::Unavailable(error.to_string()))
    }

    /// Refuses files of the host that environments have no business with.
    fn check(&self, word: &str) -> Result<(), CallError> {
        const SYSTEM: [&str; 5] = ["/usr/", "/bin/", "/lib", "/opt/", "/code/"];
        let path = Path::new(word);
        let climbs = path.components().any(|part| part.as_os_str() == "..");
        let known = SYSTEM.iter().any(|system| word.starts_with(system))
            || self.directories.iter().any(|own| path.starts_with(own));
        if path.is_absolute() && path.exists() && (climbs || !known) {
            return Err(CallError::Unavailable(format!(
                "`{word}` does not lie in a directory whose programs environments may use"
            )));
        }
        Ok(())
    }
}

/// A function's own variables.
pub(super) fn variables(plan: &Plan) -> Vec<(OsString, OsString)> {
    plan.variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// One server's directory, which goes with it.
pub(super) struct Room {
    directory: PathBuf,
    remover: Remover,
}

impl Room {
    pub(super) fn new(site: &Site) -> io::Result<Self> {
        let directory = site.rooms.join(format!("{:032x}", rand::random::<u128>()));
        fs::DirBuilder::new().mode(0o755).create(&directory)?;
        let room = Self { directory, remover: site.remover.clone() };
        fs::create_dir(room.sockets())?;
        fs::create_dir(room.user_functions())?;
        Ok(room)
    }

    /// What is mounted where the worker finds its socket to other functions.
    pub(super) fn sockets(&self) -> PathBuf {
        self.directory.join("run")
    }

    /// What the server may write to.
    pub(super) fn user_functions(&self) -> PathBuf {
        self.directory.join("userfunc")
    }

    /// Where its port comes out.
    fn forwarded(&self) -> PathBuf {
        self.directory.join("port.sock")
    }

    /// Where it may be reached: its own socket if it made one, else its port.
    pub(super) fn reached(&self) -> Vec<PathBuf> {
        vec![self.user_functions().join(SOCKET), self.forwarded()]
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // The thread ends only when no sender is left, and this is one.
        drop(self.remover.send(std::mem::take(&mut self.directory)));
    }
}
