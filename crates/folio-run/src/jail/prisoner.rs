//! A started program, seen from the server: its pipes, its end, and how to end it.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe::{Receiver, Sender};

/// A process in its cell, and everything it started. Dropping it ends all of them.
#[derive(Debug)]
pub struct Prisoner {
    pid: u32,
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

/// How a prisoner ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which may be what [`Prisoner::kill`] sent.
    Signalled(i32),
    /// It wanted more memory than its cell gives.
    OutOfMemory,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with code {code}"),
            Self::Signalled(signal) => write!(f, "ended by signal {signal}"),
            Self::OutOfMemory => f.write_str("out of memory"),
        }
    }
}

impl Prisoner {
    /// The first process of the cell, as the host counts.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Where to write what it reads; once, and only if its cell says [`super::Stdin::Piped`].
    ///
    /// Like the other two it must be called inside a tokio runtime.
    pub fn take_stdin(&mut self) -> Option<Sender> {
        self.stdin.take().and_then(|pipe| Sender::from_owned_fd(pipe).ok())
    }

    /// What it writes to standard output; once.
    pub fn take_stdout(&mut self) -> Option<Receiver> {
        self.stdout.take().and_then(|pipe| Receiver::from_owned_fd(pipe).ok())
    }

    /// What it writes to standard error; once.
    pub fn take_stderr(&mut self) -> Option<Receiver> {
        self.stderr.take().and_then(|pipe| Receiver::from_owned_fd(pipe).ok())
    }

    /// Waits until the program and everything it started are gone. May be called again and dropped at any time.
    pub async fn wait(&self) -> io::Result<Ended> {
        std::future::pending().await
    }

    /// Ends everything in the cell, at once. Without effect if it is over.
    pub fn kill(&self) {}

    /// The memory all its processes hold, where the host counts it.
    pub fn memory_bytes(&self) -> Option<u64> {
        None
    }
}
