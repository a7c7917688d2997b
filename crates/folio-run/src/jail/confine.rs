//! What a process gives up: its user, its limits, its privileges, and with Landlock most of what is left.

use std::error::Error;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, NetPort, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::{DumpableBehavior, Gid, Resource, Rlimit, Signal, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::orders::{Access, Confinement, Identity, Reach, Root};

/// The newest Landlock whose rights are all thought about here.
const LANDLOCK: ABI = ABI::V6;

/// Moves this process into the group whose list of tasks this is. By itself and as a single thread, because
/// then the kernel need not stop the whole machine's forks for it.
pub(super) fn join_group(tasks: &OwnedFd) -> io::Result<()> {
    std::fs::File::from(tasks.try_clone()?).write_all(b"0")
}

/// Becomes a user without rights outside, and keeps those inside for what is still to be done.
pub(super) fn become_identity(identity: Identity) -> io::Result<()> {
    rustix::thread::set_keep_capabilities(true)?;
    let group = Gid::from_raw(identity.group);
    if identity.chosen {
        rustix::thread::set_thread_groups(&[])?;
    }
    rustix::thread::set_thread_res_gid(group, group, group)?;
    let user = Uid::from_raw(identity.user);
    rustix::thread::set_thread_res_uid(user, user, user)?;
    let kept = rustix::thread::capabilities(None)?;
    let effective = CapabilitySets { effective: kept.permitted, ..kept };
    rustix::thread::set_capabilities(None, effective)?;
    // A change of user makes the kernel forget this.
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

pub(super) fn set_host_name() -> io::Result<String> {
    rustix::system::sethostname(b"folio")?;
    Ok("every jail is called folio".to_owned())
}

/// Makes 127.0.0.1 work, which a new network begins without.
pub(super) fn raise_loopback() -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 5;
    const LOOPBACK: i32 = 1;
    const UP: u32 = 1;
    let mut message = Vec::with_capacity(32);
    message.extend(32u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let family = AddressFamily::NETLINK;
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::RAW, flags, None)?;
    rustix::net::send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0u8; 1024];
    let (read, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let code = answer[..read].get(16..20).and_then(|code| code.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::other("the kernel's answer is too short")),
    }
}

/// Sets what one process may use, for good.
pub(super) fn limit(confinement: &Confinement) -> io::Result<()> {
    const DESCRIPTORS: u64 = 1024;
    let mut limits = vec![
        (Resource::Core, 0),
        (Resource::Fsize, confinement.file_bytes_max),
        (Resource::Nofile, DESCRIPTORS),
        (Resource::Nproc, confinement.processes_max),
        (Resource::Memlock, 64 * 1024),
    ];
    limits.extend(confinement.data_bytes_max.map(|bytes| (Resource::Data, bytes)));
    for (resource, wanted) in limits {
        let highest = rustix::process::getrlimit(resource).maximum;
        let limit = Some(highest.map_or(wanted, |highest| highest.min(wanted)));
        rustix::process::setrlimit(resource, Rlimit { current: limit, maximum: limit })?;
    }
    Ok(())
}

/// Gives up every capability, and the way to get one back.
pub(super) fn drop_privileges() -> io::Result<()> {
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // The first the kernel does not know.
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, none)?;
    rustix::thread::set_no_new_privs(true)?;
    // What this process has read of the host is nothing the program may look at.
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Lets Landlock hold what the mounts and the network namespace already say, and what they cannot: no signal and
/// no connection to an abstract socket leaves the cell.
pub(super) fn landlock(root: &Root, network: Reach) -> io::Result<String> {
    let rules = rules(root, network).map_err(io::Error::other)?;
    let restricted = rules.restrict_self().map_err(io::Error::other)?;
    match restricted.ruleset {
        RulesetStatus::FullyEnforced => Ok("files, TCP, signals, abstract sockets".to_owned()),
        RulesetStatus::PartiallyEnforced => {
            Ok("in part: this kernel knows an older Landlock".to_owned())
        }
        RulesetStatus::NotEnforced => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel has no Landlock"))
        }
    }
}

fn rules(root: &Root, network: Reach) -> Result<RulesetCreated, Box<dyn Error + Send + Sync>> {
    let everything = AccessFs::from_all(LANDLOCK);
    let rules = Ruleset::default().handle_access(everything)?.scope(Scope::from_all(LANDLOCK))?;
    let rules = match network {
        Reach::Nothing => rules.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?,
        Reach::Loopback => rules,
        Reach::Outward(_) => rules.handle_access(AccessNet::BindTcp)?,
    };
    let read = AccessFs::from_read(LANDLOCK);
    let write = everything & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let write_file = AccessFs::from_file(LANDLOCK);
    let mut rules = rules.create()?;
    rules = rules.add_rule(PathBeneath::new(PathFd::new("/")?, read))?;
    rules = rules.add_rule(PathBeneath::new(PathFd::new("/tmp")?, write))?;
    for tree in &root.trees {
        let granted = match tree.access {
            Access::Read | Access::Unchanged | Access::Mirrored => continue,
            Access::Write if tree.to.is_dir() => write,
            Access::Write => write_file,
            Access::Device => write_file & !AccessFs::Execute,
        };
        rules = rules.add_rule(PathBeneath::new(PathFd::new(&tree.to)?, granted))?;
    }
    if let Reach::Outward(Some(port)) = network {
        rules = rules.add_rule(NetPort::new(port, AccessNet::BindTcp))?;
    }
    Ok(rules)
}
