//! The few system calls no safe interface offers. The only unsafe code of the jail; each function says what
//! makes it sound and checks what it can.
#![expect(
    unsafe_code,
    reason = "clone, close_range, mount_setattr and AsyncFd have no safe interface"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use rustix::process::Pid;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Which side of a [`clone_process`] runs.
pub(super) enum Side {
    /// The new process.
    New,
    /// The one that asked, with a descriptor of the new one.
    Old(Pid, OwnedFd),
}

/// Namespaces of a new process; the values are the kernel's.
pub(super) mod namespace {
    pub(in crate::jail) const MOUNT: u32 = libc::CLONE_NEWNS.cast_unsigned();
    pub(in crate::jail) const HOST_NAME: u32 = libc::CLONE_NEWUTS.cast_unsigned();
    pub(in crate::jail) const IPC: u32 = libc::CLONE_NEWIPC.cast_unsigned();
    pub(in crate::jail) const USER: u32 = libc::CLONE_NEWUSER.cast_unsigned();
    pub(in crate::jail) const PID: u32 = libc::CLONE_NEWPID.cast_unsigned();
    pub(in crate::jail) const NETWORK: u32 = libc::CLONE_NEWNET.cast_unsigned();
}

/// Copies this process into new namespaces, like `fork`.
///
/// The caller must have one thread only: a lock another thread holds would stay locked in the copy.
pub(super) fn clone_process(namespaces: u32) -> io::Result<Side> {
    let mut pidfd: libc::c_int = -1;
    let flags = libc::c_long::from(namespaces)
        | libc::c_long::from(libc::CLONE_PIDFD)
        | libc::c_long::from(libc::SIGCHLD);
    // SAFETY: without CLONE_VM and without a stack the new process has a copy of this one's memory and returns
    // here as from fork; the third argument is where CLONE_PIDFD stores its descriptor, and outlives the call.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, &raw mut pidfd, 0, 0) };
    if pid == 0 {
        return Ok(Side::New);
    }
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let Some(pid) = pid.filter(|_| pidfd >= 0) else {
        return Err(io::Error::last_os_error());
    };
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
    Ok(Side::Old(pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// Closes every descriptor from `first` on.
///
/// The caller must own none of them: this is for what was left open by whoever started this process.
pub(super) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: closing what no value of this process stands for cannot invalidate one.
    match unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Adds attributes to a mount and everything mounted below it.
pub(super) fn add_mount_attributes(tree: impl AsFd, attributes: u64) -> io::Result<()> {
    let change =
        libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the descriptor is open for the whole call, the path is an empty C string and the structure is
    // passed with its own size.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the runtime of tokio say when a descriptor can be read from.
pub(super) fn until_readable(descriptor: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: the descriptor belongs to the value that is handed over, stays open and keeps its number for as
    // long as that lives.
    let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    registered.map_err(io::Error::from)
}
