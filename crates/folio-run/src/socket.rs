//! Unix sockets wherever they lie: the kernel takes paths of at most 107 bytes, so a longer one is reached through
//! its directory.

use std::fs::Permissions;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tokio::net::{UnixListener, UnixStream};

const PATH_BYTES_MAX: usize = 107;

/// Listens at a path, for everybody who can reach it.
pub(crate) fn listen(path: &Path) -> io::Result<UnixListener> {
    let short = shorten(path)?;
    let listener = UnixListener::bind(&short.path)?;
    // Who may connect is decided by who sees the directory; a worker may have another user.
    std::fs::set_permissions(path, Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// Connects to a path.
pub(crate) async fn connect(path: &Path) -> io::Result<UnixStream> {
    let short = shorten(path)?;
    UnixStream::connect(&short.path).await
}

struct Short {
    path: PathBuf,
    /// Open while the path that goes through it is used.
    _directory: Option<OwnedFd>,
}

fn shorten(path: &Path) -> io::Result<Short> {
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        return Ok(Short { path: path.to_path_buf(), _directory: None });
    }
    let odd = || io::Error::new(io::ErrorKind::InvalidInput, "a socket needs a directory and a name");
    let (above, name) = path.parent().zip(path.file_name()).ok_or_else(odd)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(above, flags, Mode::empty())?;
    let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    Ok(Short { path, _directory: Some(directory) })
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
}
