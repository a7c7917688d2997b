//! The first process of a cell: builds it, gives up every right, starts the program, buries what dies inside,
//! and takes everything with it when it ends or when the server does. It is as confined as the program.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;

use rustix::io::{FdFlags, fcntl_dupfd_cloexec};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::confine;
use super::filter::Filter;
use super::forward::Watch;
use super::orders::{self, Confinement, Message, Orders, Program, Reach, Root, Step, Work};
use super::root;

/// Runs one cell to its end.
pub(super) fn run(control: OwnedFd, filter: &Result<Filter, String>) -> io::Result<()> {
    // The warden may die by the hand of the kernel; the server's end is noticed on the socket.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::process::setsid()?;
    // Out of the way of what the program gets from 3 on.
    let control = fcntl_dupfd_cloexec(control, orders::DESCRIPTORS_END)?;
    let Some((orders, beside)) = orders::receive_orders(&control)? else {
        return Ok(());
    };
    let mut report = Report { probe: matches!(orders.work, Work::Probe), steps: Vec::new() };
    let said = match enter(orders, beside, filter, &mut report) {
        Ok(Some(ready)) => match report.must(Step::Program, || ready.start(&control)) {
            Ok(inmates) => return inmates.guard(control),
            Err((step, error)) => Message::Failed(step, error.into()),
        },
        Ok(None) => Message::Report(report.steps),
        Err((step, error)) => Message::Failed(step, error.into()),
    };
    orders::send(control, &said, &[])
}

type Stepped<T> = Result<T, (Step, io::Error)>;

/// What each step has to say.
struct Report {
    probe: bool,
    steps: Vec<(Step, Result<String, String>)>,
}

impl Report {
    /// Does a step without which nothing is started.
    fn must<T>(&mut self, step: Step, act: impl FnOnce() -> io::Result<T>) -> Stepped<T> {
        let done = act().map_err(|error| (step, error))?;
        self.steps.push((step, Ok(String::new())));
        Ok(done)
    }

    /// Does a step that some hosts refuse. Whether this one does was found out by a probe, so a refusal that
    /// comes later is an error.
    fn may(
        &mut self,
        step: Step,
        without: &[Step],
        act: impl FnOnce() -> io::Result<String>,
    ) -> Stepped<()> {
        if without.contains(&step) {
            return Ok(());
        }
        let said = match act() {
            Err(error) if !self.probe => return Err((step, error)),
            said => said.map_err(|error| error.to_string()),
        };
        self.steps.push((step, said));
        Ok(())
    }
}

/// Does everything that comes before the program; `None` if there is none.
fn enter(
    orders: Orders,
    beside: Vec<OwnedFd>,
    filter: &Result<Filter, String>,
    report: &mut Report,
) -> Stepped<Option<Ready>> {
    let Orders { work, root, confinement, groups, forward } = orders;
    let baggage = report.must(Step::Groups, || {
        let (groups, baggage) = Baggage::unpack(groups, forward, beside)?;
        groups.iter().try_for_each(confine::join_group)?;
        Ok(baggage)
    })?;
    match &confinement {
        Some(confinement) => imprison(&root, confinement, filter, report)?,
        None => report.must(Step::Root, || same_paths(&root))?,
    }
    match work {
        Work::Probe => Ok(None),
        Work::Run(program) => Ok(Some(Ready { program, baggage, confined: confinement.is_some() })),
    }
}

/// Without any protection, what the cell mounts is still found where the cell says.
fn same_paths(root: &Root) -> io::Result<()> {
    if root.trees.is_empty() {
        return Ok(());
    }
    root::build(root, root::open(&root.trees)?, None)?;
    root::enter()
}

fn imprison(
    root: &Root,
    confinement: &Confinement,
    filter: &Result<Filter, String>,
    report: &mut Report,
) -> Stepped<()> {
    let without = &confinement.without;
    // Opened while this is still whoever the server is: a prisoner could not even look for some of them.
    let trees = report.must(Step::Trees, || root::open(&root.trees))?;
    report.must(Step::Identity, || confine::become_identity(confinement.identity))?;
    report.must(Step::Root, || root::build(root, trees, Some(confinement.tmp_bytes)))?;
    report.may(Step::Proc, without, root::mount_proc)?;
    report.must(Step::Root, || {
        root::enter()?;
        root::freeze()
    })?;
    report.may(Step::HostName, without, confine::set_host_name)?;
    if !matches!(confinement.network, Reach::Outward(_)) {
        report.must(Step::Loopback, confine::raise_loopback)?;
    }
    report.must(Step::Limits, || confine::limit(confinement))?;
    report.must(Step::Privileges, confine::drop_privileges)?;
    report.may(Step::Landlock, without, || confine::landlock(root, confinement.network))?;
    report.may(Step::Filter, without, || match filter {
        Ok(filter) => filter.apply(),
        Err(error) => Err(io::Error::other(error.clone())),
    })
}

/// What comes beside the orders and is for the program.
struct Baggage {
    standard: [OwnedFd; 3],
    listener: Option<(OwnedFd, u16)>,
    descriptors: Vec<OwnedFd>,
}

impl Baggage {
    /// The groups to join, and the rest.
    fn unpack(
        groups: usize,
        forward: Option<u16>,
        beside: Vec<OwnedFd>,
    ) -> io::Result<(Vec<OwnedFd>, Self)> {
        let mut beside = beside.into_iter();
        let mut next =
            || beside.next().ok_or_else(|| io::Error::other("a descriptor did not come along"));
        let standard = [next()?, next()?, next()?];
        let groups = (0..groups).map(|_| next()).collect::<io::Result<_>>()?;
        let listener = match forward {
            Some(port) => Some((next()?, port)),
            None => None,
        };
        Ok((groups, Self { standard, listener, descriptors: beside.collect() }))
    }
}

/// A cell that lacks only its program.
struct Ready {
    program: Program,
    baggage: Baggage,
    confined: bool,
}

impl Ready {
    /// Starts the program with its descriptors from 3 on and no others.
    #[expect(clippy::disallowed_methods, reason = "the one place that starts a user's code")]
    fn start(self, control: &OwnedFd) -> io::Result<Inmates> {
        let Baggage { standard, listener, descriptors } = self.baggage;
        let floor = 3 + i32::try_from(descriptors.len()).map_err(io::Error::other)?;
        // Everything else moves out of the way first.
        let control = fcntl_dupfd_cloexec(control, orders::DESCRIPTORS_END)?;
        let listener = match listener {
            Some((listener, port)) => Some((fcntl_dupfd_cloexec(listener, floor)?, port)),
            None => None,
        };
        let [stdin, stdout, stderr] = standard.map(|pipe| fcntl_dupfd_cloexec(pipe, floor));
        let moved = descriptors.into_iter().map(|one| fcntl_dupfd_cloexec(one, floor));
        let moved = moved.collect::<Result<Vec<_>, _>>()?;
        let mut placed = Vec::new();
        for (number, descriptor) in (3..).zip(moved) {
            let copy = fcntl_dupfd_cloexec(descriptor, number)?;
            rustix::io::fcntl_setfd(&copy, FdFlags::empty())?;
            if copy.as_raw_fd() != number {
                return Err(io::Error::other(format!("descriptor {number} is taken")));
            }
            placed.push(copy);
        }
        let Program { path, arguments, variables, directory } = self.program;
        let main = Command::new(path)
            .args(arguments)
            .env_clear()
            .envs(variables)
            .current_dir(directory)
            .stdin(stdin?)
            .stdout(stdout?)
            .stderr(stderr?)
            .spawn()?;
        let main = Pid::from_child(&main);
        let watch = Watch::new(control, listener, self.confined)?;
        Ok(Inmates { main, watch })
    }
}

/// The program and everything it started.
struct Inmates {
    main: Pid,
    watch: Watch,
}

impl Inmates {
    /// Buries what dies until the program does, and returns its end to the server. Whoever is left inside dies
    /// with this process.
    fn guard(self, control: OwnedFd) -> io::Result<()> {
        // The copy the watch has is the one that counts; this one lives until the end.
        orders::send(&control, &Message::Started, &[])?;
        self.watch.begin()?;
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == self.main => {
                    return orders::send(&control, &ending(status), &[]);
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn ending(status: WaitStatus) -> Message {
    match status.exit_status() {
        Some(code) => Message::Exited(code),
        None => Message::Signalled(status.terminating_signal().unwrap_or_default()),
    }
}
