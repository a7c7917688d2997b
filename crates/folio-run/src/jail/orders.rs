//! What the server, the warden and the first process of a cell say to each other: one JSON message per packet
//! of a socket pair, with descriptors beside it. Orders can be long, so they travel in a file without a name.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::MemfdFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The kernel passes no more at once.
const DESCRIPTORS_MAX: usize = 253;
/// A number above those of all descriptors a program can be given.
pub(super) const DESCRIPTORS_END: i32 = 256;
const MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// To the warden: a process, please. The end of the socket it listens on comes beside it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Birth {
    /// See [`super::kernel::namespace`].
    pub(super) namespaces: u32,
    /// Who it may become, where it has a user namespace.
    pub(super) identity: Identity,
}

/// From the warden: the process, whose descriptor comes beside it, or what went wrong.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Born {
    Process(i32),
    Failed(Trouble),
}

/// A user and a group, the same inside as outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) user: u32,
    pub(super) group: u32,
    /// Whether the warden may map any user, and so may a prisoner be freed of its other groups.
    pub(super) chosen: bool,
}

/// To the first process of a cell. Descriptors beside it, in this order: the orders themselves, standard input,
/// output and error, the groups to join, the socket to forward from, and what the program gets.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) work: Work,
    pub(super) root: Root,
    /// Absent: no protection at all.
    pub(super) confinement: Option<Confinement>,
    pub(super) groups: usize,
    pub(super) forward: Option<u16>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Work {
    /// Try everything, start nothing, say what did not work.
    Probe,
    Run(Program),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) directory: PathBuf,
}

/// What a prisoner sees of the file system.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Root {
    pub(super) trees: Vec<Tree>,
    /// What each link says, and where it is.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    pub(super) files: Vec<(PathBuf, Vec<u8>)>,
}

/// One file, or a directory with everything in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tree {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    pub(super) access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Access {
    Read,
    Write,
    Device,
    /// As the host has it.
    Unchanged,
    /// As it is on the host, if it still is there.
    Mirrored,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Confinement {
    pub(super) identity: Identity,
    pub(super) network: Reach,
    pub(super) tmp_bytes: u64,
    pub(super) data_bytes_max: Option<u64>,
    pub(super) processes_max: u64,
    pub(super) file_bytes_max: u64,
    /// What this host is known not to give.
    pub(super) without: Vec<Step>,
}

/// What can be reached over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Reach {
    /// Nothing.
    Nothing,
    /// The jail's own loopback.
    Loopback,
    /// Everything, from outside at most this port.
    Outward(Option<u16>),
}

/// What the first process of a cell does before it starts the program. In this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    Groups,
    Trees,
    Identity,
    Root,
    Proc,
    HostName,
    Loopback,
    Limits,
    Privileges,
    Landlock,
    Filter,
    Program,
}

/// From the first process of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// The program runs.
    Started,
    /// The answer to a probe: what each step says about itself, or why it did not work.
    Report(Vec<(Step, Result<String, String>)>),
    /// It does not run.
    Failed(Step, Trouble),
    /// It ended.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
}

/// An error that crosses a process boundary.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Trouble {
    pub(super) code: Option<i32>,
    pub(super) text: String,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self { code: error.raw_os_error(), text: error.to_string() }
    }
}

impl Trouble {
    /// The error again, with what was attempted.
    pub(super) fn into_error(self, what: &str) -> io::Error {
        let kind = match self.code {
            Some(code) => io::Error::from_raw_os_error(code).kind(),
            None => io::ErrorKind::Other,
        };
        io::Error::new(kind, format!("{what}: {}", self.text))
    }
}

/// Two ends of a socket that keeps messages apart.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// Sends one message and descriptors beside it.
pub(super) fn send(
    socket: impl AsFd,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    if text.len() > MESSAGE_BYTES_MAX || descriptors.len() > DESCRIPTORS_MAX {
        return Err(io::Error::other("the message to or from the jail is too long"));
    }
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(descriptors.len()))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(&text)], &mut beside, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for one message and what comes beside it; `None` when the other side is gone.
pub(super) fn receive<T: DeserializeOwned>(
    socket: impl AsFd,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut text = vec![0; MESSAGE_BYTES_MAX];
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut pieces = [IoSliceMut::new(&mut text)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let read = loop {
        match rustix::net::recvmsg(&socket, &mut pieces, &mut beside, flags) {
            Ok(received) => break received.bytes,
            Err(rustix::io::Errno::INTR) => {}
            // The other side went away without reading everything.
            Err(rustix::io::Errno::CONNRESET) => break 0,
            Err(error) => return Err(error.into()),
        }
    };
    if read == 0 {
        return Ok(None);
    }
    let mut descriptors = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    Ok(Some((serde_json::from_slice(&text[..read])?, descriptors)))
}

/// Sends orders with everything that goes beside them.
pub(super) fn send_orders(
    socket: impl AsFd,
    orders: &Orders,
    beside: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut file = std::fs::File::from(rustix::fs::memfd_create("orders", MemfdFlags::CLOEXEC)?);
    file.write_all(&serde_json::to_vec(orders)?)?;
    let mut descriptors = vec![file.as_fd()];
    descriptors.extend(beside);
    send(socket, &(), &descriptors)
}

/// Waits for orders; `None` when the server is gone.
pub(super) fn receive_orders(socket: impl AsFd) -> io::Result<Option<(Orders, Vec<OwnedFd>)>> {
    let Some(((), mut descriptors)) = receive::<()>(socket)? else {
        return Ok(None);
    };
    if descriptors.is_empty() {
        return Err(io::Error::other("the orders did not come along"));
    }
    let mut file = std::fs::File::from(descriptors.remove(0));
    file.rewind()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(Some((serde_json::from_slice(&text)?, descriptors)))
}
