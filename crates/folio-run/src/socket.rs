//! Unix sockets wherever they lie: the kernel takes paths of at most 107 bytes, so a longer one is reached through
//! a descriptor. A worker may have put anything at a path, so links are not followed.

use std::fs::Permissions;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use tokio::net::{UnixListener, UnixStream};

/// Listens at a path, for everybody who can reach it.
pub(crate) fn listen(path: &Path) -> io::Result<UnixListener> {
    let odd =
        || io::Error::new(io::ErrorKind::InvalidInput, "a socket needs a directory and a name");
    let (above, name) = path.parent().zip(path.file_name()).ok_or_else(odd)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(above, flags, Mode::empty())?;
    let listener = UnixListener::bind(through(&directory).join(name))?;
    // Who may connect is decided by who sees the directory; a worker may have another user.
    std::fs::set_permissions(path, Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// Connects to the socket at a path.
pub(crate) async fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let socket = rustix::fs::open(path, flags, Mode::empty())?;
    if FileType::from_raw_mode(rustix::fs::fstat(&socket)?.st_mode) != FileType::Socket {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "what is there is not a socket"));
    }
    UnixStream::connect(through(&socket)).await
}

fn through(descriptor: &OwnedFd) -> PathBuf {
    Path::new("/proc/self/fd").join(descriptor.as_raw_fd().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_may_lie_deep_down() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a".repeat(200));
        std::fs::create_dir(&deep).unwrap();
        let path = deep.join("deep.sock");
        let listener = listen(&path).unwrap();
        let (connected, accepted) = tokio::join!(connect(&path), listener.accept());
        connected.unwrap();
        accepted.unwrap();
    }

    #[tokio::test]
    async fn a_link_to_somebody_elses_socket_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let other = root.path().join("other.sock");
        let _listener = listen(&other).unwrap();
        let link = root.path().join("link.sock");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert!(connect(&link).await.is_err());
        assert!(connect(&other).await.is_ok());
    }
}
