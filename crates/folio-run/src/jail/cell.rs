//! What a prisoner is given: everything it can see, reach and use.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use folio_core::ports::runtime::PlanFile;
use folio_model::Network;

/// Whether prisoners are confined at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Everything the host can enforce is.
    Enforced,
    /// Nothing is. Prisoners see the whole host, with the same paths for what their cell mounts.
    Off,
}

/// A program and everything it gets. Nothing is inherited from the server.
#[derive(Debug)]
pub struct Cell {
    /// The program, by the path it has inside.
    pub program: PathBuf,
    /// Its arguments, without the program's own name.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub variables: Vec<(OsString, OsString)>,
    /// Where it starts, inside.
    pub directory: PathBuf,
    /// What it sees and cannot change. System directories and interpreters need not be named.
    pub reads: Vec<Mount>,
    /// What it sees and can change. Files and directories in it become the [owner](super::Jail::owner)'s.
    pub writes: Vec<Mount>,
    /// Files that lie nowhere outside: they are written into memory that only the cell sees, and it cannot change
    /// them.
    pub files: Vec<PlanFile>,
    /// What it can reach.
    pub network: Network,
    /// A port inside that is reached through a socket outside.
    pub forward: Option<Forward>,
    /// Memory of all its processes together.
    pub memory_bytes: u64,
    /// Processor time in thousandths of a core; no limit if absent.
    pub cpu_millis: Option<u32>,
    /// Processes and threads at the same time.
    pub processes_max: u32,
    /// Room in its private `/tmp`.
    pub tmp_bytes: u64,
    /// The largest file it can write.
    pub file_bytes_max: u64,
    /// Become 3, 4, 5 and so on inside.
    pub descriptors: Vec<OwnedFd>,
    /// Where it reads from.
    pub stdin: Stdin,
}

/// A file, directory or socket of the host and where it is seen inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Outside; absolute.
    pub from: PathBuf,
    /// Inside; absolute.
    pub to: PathBuf,
}

/// A TCP port on the loopback of the jail, reached through a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// Where the socket is made, outside. Nothing may be there.
    pub socket: PathBuf,
    /// The port on 127.0.0.1 inside.
    pub port: u16,
}

/// Where a prisoner's standard input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// Nowhere.
    Null,
    /// From [`super::Prisoner::take_stdin`].
    Piped,
}
