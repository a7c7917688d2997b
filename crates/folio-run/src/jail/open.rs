//! A cell with its first process, which waits for orders or carries them out. Dropping it ends everything inside.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal};

use super::kernel::namespace;
use super::orders::{self, Birth, Message, Orders, Step};
use super::warden::Warden;

/// How long a cell may take to be built. Far more than it needs on a busy host.
const PATIENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

/// The server's hold on a cell.
#[derive(Debug)]
pub(super) struct Opened {
    pid: Pid,
    process: Arc<OwnedFd>,
    control: OwnedFd,
    /// Whether the first process takes all others with it.
    contained: bool,
}

impl Opened {
    pub(super) fn new(warden: &Warden, birth: Birth) -> io::Result<Self> {
        let (control, theirs) = orders::pair()?;
        let (pid, process) = warden.bear(birth, &theirs)?;
        let contained = birth.namespaces & namespace::PID != 0;
        Ok(Self { pid, process: Arc::new(process), control, contained })
    }

    /// Has the orders carried out up to the start of the program.
    pub(super) fn order(&self, orders: &Orders, beside: &[BorrowedFd<'_>]) -> io::Result<Message> {
        orders::send_orders(&self.control, orders, beside)?;
        let mut polled = [PollFd::new(&self.control, PollFlags::IN)];
        if rustix::event::poll(&mut polled, Some(&PATIENCE))? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the jail takes too long to build",
            ));
        }
        match self.message()? {
            Some(Message::Failed(step, trouble)) => Err(trouble.into_error(purpose(step))),
            Some(message) => Ok(message),
            None => {
                Err(io::Error::other("the jail's first process ended before the program began"))
            }
        }
    }

    /// The next message; `None` if there is none and the first process is gone. Blocks while it lives.
    pub(super) fn message(&self) -> io::Result<Option<Message>> {
        Ok(orders::receive(&self.control)?.map(|(message, _)| message))
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Becomes readable when everything inside has ended.
    pub(super) fn process(&self) -> &Arc<OwnedFd> {
        &self.process
    }

    pub(super) fn kill(&self) {
        // Without namespaces there is only the session, whose number stays taken while anybody is in it.
        if !self.contained {
            let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        }
        // Fails if it has ended already, which is as good.
        let _ = rustix::process::pidfd_send_signal(&*self.process, Signal::KILL);
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a step is for, as the beginning of an error.
fn purpose(step: Step) -> &'static str {
    match step {
        Step::Groups => "cannot enter the control group",
        Step::Trees => "cannot mount",
        Step::Identity => "cannot become an ordinary user",
        Step::Root => "cannot build the jail's root",
        Step::Proc => "cannot mount /proc",
        Step::HostName => "cannot set the host name",
        Step::Loopback => "cannot start the jail's loopback",
        Step::Limits => "cannot set limits",
        Step::Privileges => "cannot give up privileges",
        Step::Landlock => "cannot apply Landlock",
        Step::Filter => "cannot filter system calls",
        Step::Program => "cannot start the program",
    }
}
