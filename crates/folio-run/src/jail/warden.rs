//! The warden: one process per server, the folio binary again, from which every prisoner's first process is
//! cloned. It has one thread and has read nothing of anybody, so a copy of it is cheap and knows no secrets.
//! Starting the binary anew for each prisoner would cost more than all the rest of the jail.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::filter::Filter;
use super::first;
use super::kernel::{self, Side, namespace};
use super::orders::{self, Birth, Born, Identity};

/// The argument that makes the folio binary a warden.
pub(super) const ARGUMENT: &str = "__jail";

/// The server's side.
#[derive(Debug)]
pub(super) struct Warden {
    helper: PathBuf,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    /// Absent only while it is being dropped.
    socket: Option<OwnedFd>,
    process: Child,
}

impl Warden {
    pub(super) fn new(helper: PathBuf) -> Self {
        Self { helper, running: Mutex::new(None) }
    }

    /// Has a process made that listens on `control`. A warden that died is replaced.
    pub(super) fn bear(&self, birth: Birth, control: &OwnedFd) -> io::Result<(Pid, OwnedFd)> {
        let mut running = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(warden) = &*running {
            match warden.ask(birth, control) {
                Err(Lost) => *running = None,
                Ok(answer) => return answer,
            }
        }
        let warden = running.insert(Running::start(&self.helper)?);
        match warden.ask(birth, control) {
            Ok(answer) => answer,
            Err(Lost) => Err(io::Error::other("the jail's warden does not start")),
        }
    }
}

/// The warden is gone.
struct Lost;

impl Running {
    #[expect(clippy::disallowed_methods, reason = "the warden is what starts all others")]
    fn start(helper: &Path) -> io::Result<Self> {
        let (ours, theirs) = orders::pair()?;
        let process = Command::new(helper)
            .arg(ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()?;
        Ok(Self { socket: Some(ours), process })
    }

    fn ask(&self, birth: Birth, control: &OwnedFd) -> Result<io::Result<(Pid, OwnedFd)>, Lost> {
        let socket = self.socket.as_ref().ok_or(Lost)?;
        orders::send(socket, &birth, &[control.as_fd()]).map_err(|_| Lost)?;
        let Ok(Some((born, descriptors))) = orders::receive::<Born>(socket) else {
            return Err(Lost);
        };
        match born {
            Born::Failed(trouble) => Ok(Err(trouble.into_error("no process for the jail"))),
            Born::Process(pid) => {
                let pid = Pid::from_raw(pid).ok_or(Lost)?;
                Ok(Ok((pid, descriptors.into_iter().next().ok_or(Lost)?)))
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The warden ends when its socket does.
        drop(self.socket.take());
        drop(self.process.wait());
    }
}

/// What the warden does for as long as the server lives.
pub(super) fn serve() -> io::Result<()> {
    if fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1) {
        return Err(io::Error::other("the warden must be started before any thread"));
    }
    kernel::close_from(3)?;
    let socket = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    rustix::stdio::dup2_stdin(fs::File::open("/dev/null")?)?;
    rustix::process::setsid()?;
    // The same for every prisoner, so it is made once.
    let filter = Filter::compile();
    match clone_on_demand(socket)? {
        None => Ok(()),
        Some(control) => first::run(control, &filter),
    }
}

/// Returns in the warden when the server is gone, with `None`, and in each new process with its socket.
fn clone_on_demand(socket: OwnedFd) -> io::Result<Option<OwnedFd>> {
    let mut born = Vec::new();
    loop {
        wait_for_orders(&socket, &mut born)?;
        let Some((birth, mut beside)) = orders::receive::<Birth>(&socket)? else {
            return Ok(None);
        };
        let Some(control) = beside.pop() else {
            return Ok(None);
        };
        let answer = match kernel::clone_process(birth.namespaces) {
            Ok(Side::New) => return Ok(Some(control)),
            Ok(Side::Old(pid, process)) => admit(birth, pid, &process).map(|()| (pid, process)),
            Err(error) => Err(error),
        };
        match answer {
            Ok((pid, process)) => {
                let message = Born::Process(pid.as_raw_nonzero().get());
                orders::send(&socket, &message, &[process.as_fd()])?;
                born.push(process);
            }
            Err(error) => orders::send(&socket, &Born::Failed(error.into()), &[])?,
        }
    }
}

/// Waits until there is something to read, and meanwhile buries the dead.
fn wait_for_orders(socket: &OwnedFd, born: &mut Vec<OwnedFd>) -> io::Result<()> {
    loop {
        let mut polled = vec![PollFd::new(socket, PollFlags::IN)];
        polled.extend(born.iter().map(|process| PollFd::new(process, PollFlags::IN)));
        match rustix::event::poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        let mut dead = ready[1..].iter();
        born.retain(|process| {
            let dead = dead.next() == Some(&true);
            if dead {
                let _ = rustix::process::waitid(
                    WaitId::PidFd(process.as_fd()),
                    WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
                );
            }
            !dead
        });
        if ready[0] {
            return Ok(());
        }
    }
}

/// Tells the kernel who the process is; it ends if that fails.
fn admit(birth: Birth, pid: Pid, process: &OwnedFd) -> io::Result<()> {
    if birth.namespaces & namespace::USER == 0 {
        return Ok(());
    }
    map_identity(pid, birth.identity).inspect_err(|_| {
        let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
        let _ = rustix::process::waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED);
    })
}

fn map_identity(pid: Pid, identity: Identity) -> io::Result<()> {
    let directory = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    let Identity { user, group, chosen } = identity;
    fs::write(directory.join("uid_map"), format!("{user} {user} 1"))?;
    if !chosen {
        // The kernel lets an ordinary user map its group only after it gave this up.
        fs::write(directory.join("setgroups"), "deny")?;
    }
    fs::write(directory.join("gid_map"), format!("{group} {group} 1"))
}
