//! The jail: every process that runs a user's code is started here and nowhere else. Start at [`Jail::start`].
//!
//! The server starts one warden, which is the folio binary again as `folio __jail`. For each [`Cell`] the warden
//! clones a process into namespaces of its own; that process becomes their first, builds a root, gives up every
//! right, starts the program and ends when it ends. Nothing outlives the server: both watch a socket to it.
//! What the host does not give is found out once, by trying, and told by [`Jail::enforcement`].

mod cell;
mod confine;
mod filter;
mod first;
mod forward;
mod groups;
mod interpreters;
mod kernel;
mod open;
mod orders;
mod prisoner;
mod probe;
mod root;
mod system;
mod warden;

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use folio_core::ports::runtime::Enforcement;
use folio_model::Network;

pub use self::cell::{Cell, Forward, Mode, Mount, Stdin};
pub use self::interpreters::{Interpreter, Interpreters};
pub use self::prisoner::{Ended, Prisoner};

use self::groups::{Controller, Groups, Limits};
use self::kernel::namespace;
use self::open::Opened;
use self::orders::{Access, Birth, Confinement, Message, Orders, Program, Reach, Root, Tree, Work};
use self::prisoner::State;
use self::probe::Host;
use self::warden::Warden;

/// Starts processes that can do no harm. Made once per server; dropping it ends all of them.
#[derive(Debug)]
pub struct Jail {
    warden: Warden,
    /// Absent: no protection at all.
    protection: Option<Protection>,
    groups: Arc<Groups>,
}

/// What this host gives, or why nothing can be started.
type Protection = Result<Host, String>;

/// Processes and threads of the jail itself in each cell.
const OWN_PROCESSES: u64 = 4;
/// Where nothing counts the memory of all processes together, each may have this beyond the limit for what it
/// never touches, such as the stacks of its threads.
const UNTOUCHED_BYTES: u64 = 128 << 20;

impl Jail {
    /// Starts the warden from `helper`, which is the folio binary, and tries what the host can enforce.
    ///
    /// Takes some milliseconds and never fails: a host without protection is found out by [`Self::start`].
    pub fn new(helper: PathBuf, mode: Mode) -> Self {
        // Before the warden starts, which has to be where the server is.
        let groups = match mode {
            Mode::Enforced => Groups::find(),
            Mode::Off => Groups::none(),
        };
        let warden = Warden::new(helper);
        let protection = match mode {
            Mode::Enforced => Some(Host::probe(&warden)),
            Mode::Off => None,
        };
        Self { warden, protection, groups: Arc::new(groups) }
    }

    /// What protects the server from the code it runs, and what this host cannot give.
    pub fn enforcement(&self) -> Vec<Enforcement> {
        match &self.protection {
            Some(host) => probe::enforcement(host, &self.groups),
            None => {
                let off = "the jail is off".to_owned();
                probe::enforcement(&Err(off), &Groups::none())
            }
        }
    }

    /// Whether prisoners are confined.
    pub fn mode(&self) -> Mode {
        match self.protection {
            Some(_) => Mode::Enforced,
            None => Mode::Off,
        }
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
        let identity = match &self.protection {
            Some(Ok(host)) => host.birth.identity,
            Some(Err(_)) | None => probe::own_identity(),
        };
        (identity.user, identity.group)
    }

    /// Starts a program and returns when it runs. Blocks for some milliseconds, so asynchronous callers use
    /// `spawn_blocking`.
    ///
    /// Fails if the program does not start, if a mount is missing, and if the host cannot enforce what the
    /// cell must not lack: `Network::None` never becomes an open network.
    pub fn start(&self, cell: Cell) -> io::Result<Prisoner> {
        let (birth, root, confinement) = match &self.protection {
            Some(host) => self.confinement(host, &cell)?,
            None => unprotected(&cell)?,
        };
        let limits = Limits {
            memory_bytes: cell.memory_bytes,
            processes_max: u64::from(cell.processes_max) + OWN_PROCESSES,
            cpu_millis: cell.cpu_millis,
        };
        let mut group = self.groups.make(limits)?;
        let entrances = group.entrances()?;
        let mut listeners = Vec::new();
        if let Some(forward) = &cell.forward {
            listeners.push(OwnedFd::from(UnixListener::bind(&forward.socket)?));
        }
        let pipes = Pipes::new(cell.stdin)?;
        let orders = Orders {
            work: Work::Run(Program {
                path: cell.program,
                arguments: cell.arguments,
                variables: cell.variables,
                directory: cell.directory,
            }),
            root,
            confinement,
            groups: entrances.len(),
            forward: cell.forward.map(|forward| forward.port),
        };
        let opened = Opened::new(&self.warden, birth)?;
        group.belongs_to(opened.process());
        let beside = pipes.inside.iter().chain(&entrances).chain(&listeners);
        let beside: Vec<_> = beside.chain(&cell.descriptors).map(AsFd::as_fd).collect();
        let prisoner = Prisoner {
            stdin: pipes.stdin,
            stdout: Some(pipes.stdout),
            stderr: Some(pipes.stderr),
            state: Mutex::new(State::Alive(group)),
            opened,
        };
        match prisoner.opened.order(&orders, &beside)? {
            Message::Started => Ok(prisoner),
            _ => Err(io::Error::other("the jail's first process is confused")),
        }
    }

    fn confinement(
        &self,
        host: &Protection,
        cell: &Cell,
    ) -> io::Result<(Birth, Root, Option<Confinement>)> {
        let unsupported = |text: String| io::Error::new(io::ErrorKind::Unsupported, text);
        let host = host
            .as_ref()
            .map_err(|error| unsupported(format!("this host cannot confine code: {error}")))?;
        let identity = host.birth.identity;
        let (namespaces, network) = match (cell.network, &cell.forward) {
            (Network::None, _) if !host.has(namespace::NETWORK) => {
                let text = "this host cannot take the network away from code: it refuses network \
                            namespaces";
                return Err(unsupported(text.to_owned()));
            }
            (Network::None, None) => (host.birth.namespaces, Reach::Nothing),
            (Network::None, Some(_)) => (host.birth.namespaces, Reach::Loopback),
            (Network::Egress, forward) => {
                let port = forward.as_ref().map(|forward| forward.port);
                (host.birth.namespaces & !namespace::NETWORK, Reach::Outward(port))
            }
        };
        let mut root = system::root(cell.network, identity, self.interpreters());
        add_mounts(&mut root, cell, Access::Read);
        if identity.chosen {
            for mount in &cell.writes {
                give(&mount.from, (identity.user, identity.group))?;
            }
        }
        let counted = self.groups.about(Controller::Memory).is_ok();
        // Without a user namespace the kernel counts all prisoners of the same user as one.
        let alone = host.has(namespace::USER) || self.groups.about(Controller::Processes).is_err();
        let processes_max = u64::from(cell.processes_max) + OWN_PROCESSES;
        let confinement = Confinement {
            identity,
            network,
            tmp_bytes: cell.tmp_bytes,
            data_bytes_max: (!counted).then(|| cell.memory_bytes.saturating_add(UNTOUCHED_BYTES)),
            processes_max: if alone { processes_max } else { u64::MAX },
            file_bytes_max: cell.file_bytes_max,
            without: host.without(),
        };
        Ok((Birth { namespaces, identity }, root, Some(confinement)))
    }
}

/// Only what makes the cell's paths true.
fn unprotected(cell: &Cell) -> io::Result<(Birth, Root, Option<Confinement>)> {
    let mounts = cell.reads.iter().chain(&cell.writes).map(|mount| mount.to.as_path());
    let places: Vec<&Path> =
        mounts.chain(cell.files.iter().map(|file| file.path.as_path())).collect();
    let mut root = system::mirror(&places)?;
    add_mounts(&mut root, cell, Access::Unchanged);
    let identity = probe::own_identity();
    let namespaces = match (places.is_empty(), identity.user) {
        (true, _) => 0,
        (false, 0) => namespace::MOUNT,
        (false, _) => namespace::MOUNT | namespace::USER,
    };
    Ok((Birth { namespaces, identity }, root, None))
}

fn add_mounts(root: &mut Root, cell: &Cell, reading: Access) {
    let tree = |mount: &Mount, access| {
        let Mount { from, to } = mount.clone();
        Tree { from, to, access }
    };
    root.trees.extend(cell.reads.iter().map(|mount| tree(mount, reading)));
    root.trees.extend(cell.writes.iter().map(|mount| tree(mount, Access::Write)));
    let files = cell.files.iter();
    root.files.extend(files.map(|file| (file.path.clone(), file.bytes.expose().to_vec())));
}

/// Makes somebody the owner of a directory and all that is in it.
fn give(path: &Path, owner: (u32, u32)) -> io::Result<()> {
    std::os::unix::fs::lchown(path, Some(owner.0), Some(owner.1))?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), owner)?;
        }
    }
    Ok(())
}

/// Both ends of what a program reads and writes.
struct Pipes {
    inside: [OwnedFd; 3],
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Pipes {
    fn new(stdin: Stdin) -> io::Result<Self> {
        let (read, stdin) = match stdin {
            Stdin::Null => (OwnedFd::from(fs::File::open("/dev/null")?), None),
            Stdin::Piped => {
                let (read, write) = io::pipe()?;
                (read.into(), Some(write.into()))
            }
        };
        let (stdout, out) = io::pipe()?;
        let (stderr, err) = io::pipe()?;
        let inside = [read, out.into(), err.into()];
        Ok(Self { inside, stdin, stdout: stdout.into(), stderr: stderr.into() })
    }
}

/// What `folio __jail` does: called by `main` before anything else, while the process has one thread.
#[expect(clippy::exit, reason = "this process is not the server, and ends here")]
pub fn stage() -> ! {
    match warden::serve() {
        Ok(()) => std::process::exit(0),
        // Whoever started this has gone, and there is nobody to tell.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(1),
        Err(error) => {
            // There is no other way to be heard: whoever started this listens on a socket it may not have.
            drop(io::Write::write_all(&mut io::stderr(), format!("jail: {error}\n").as_bytes()));
            std::process::exit(1)
        }
    }
}
