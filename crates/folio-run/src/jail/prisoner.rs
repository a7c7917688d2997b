//! A started program, seen from the server: its pipes, its end, and how to end it.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::Signal;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::groups::Group;
use super::kernel;
use super::open::Opened;
use super::orders::Message;

/// A process in its cell, and everything it started. Dropping it ends all of them.
#[derive(Debug)]
pub struct Prisoner {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
    pub(super) state: Mutex<State>,
    pub(super) opened: Opened,
}

/// Whether it is over.
#[derive(Debug)]
pub(super) enum State {
    /// Not that anyone looked. The group says how it was if the kernel ended it.
    Alive(Group),
    Over(Ended),
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
        self.opened.pid().as_raw_nonzero().get().cast_unsigned()
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
        let process = kernel::until_readable(Arc::clone(self.opened.process()))?;
        let _ = process.readable().await?;
        self.ended()
    }

    /// How it ended, once its process is gone.
    fn ended(&self) -> io::Result<Ended> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = match &*state {
            State::Over(ended) => *ended,
            State::Alive(group) => {
                let killed = Ended::Signalled(Signal::KILL.as_raw());
                let ended = match self.opened.message()? {
                    Some(Message::Exited(code)) => Ended::Exited(code),
                    Some(Message::Signalled(signal)) => Ended::Signalled(signal),
                    // The first process of the cell had no time to say anything.
                    Some(_) | None => killed,
                };
                // A shell passes the signal of its child on as 128 and the signal.
                let violent = ended == killed || ended == Ended::Exited(128 + 9);
                if violent && group.ran_out_of_memory() { Ended::OutOfMemory } else { ended }
            }
        };
        *state = State::Over(ended);
        Ok(ended)
    }

    /// Ends everything in the cell, at once. Without effect if it is over.
    pub fn kill(&self) {
        self.opened.kill();
    }

    /// The memory all its processes hold, where the host counts it.
    pub fn memory_bytes(&self) -> Option<u64> {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Alive(group) => group.memory_bytes(),
            State::Over(_) => None,
        }
    }
}

impl Drop for Prisoner {
    fn drop(&mut self) {
        self.opened.kill();
    }
}
