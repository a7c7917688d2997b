//! Writing trees to disk and removing them. Names come from the model's checked paths and from nothing else.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use folio_core::content::{self, FileStream};
use folio_core::ports::{Blobs, StoreError};
use folio_model::{Digest, TreeEntry, TreePath};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::sync::mpsc;

/// Files that are read ahead of the one being written.
const AHEAD: usize = 8;

/// Who may change what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nobody: everybody reads, executables run.
    Sealed,
    /// Its owner, and whoever a jail makes its owner.
    Writable,
}

/// What was written.
pub(crate) struct Written {
    /// All files together.
    pub(crate) bytes: u64,
    /// The name of the only file, if there is nothing else.
    pub(crate) only: Option<String>,
}

enum Step {
    Directory(PathBuf),
    File { path: PathBuf, executable: bool },
    Bytes(Bytes),
}

/// Writes a tree into a directory that is made for it. What a failure leaves there, the caller removes.
pub(crate) async fn write(
    blobs: &Arc<dyn Blobs>,
    tree: Digest,
    directory: &Path,
    access: Access,
) -> Result<Written, StoreError> {
    let entries = content::walk(&**blobs, tree).await?;
    let only = match entries.as_slice() {
        [(path, TreeEntry::File { .. })] => Some(path.to_string()),
        _ => None,
    };
    let (steps, taken) = mpsc::channel(2 * AHEAD);
    let target = directory.to_path_buf();
    let writing = tokio::task::spawn_blocking(move || write_steps(&target, taken, access));
    let sent = send(blobs, entries, &steps).await;
    drop(steps);
    let written = writing.await.map_err(|error| StoreError::failed("write code", error))?;
    // A writer that failed says why; the sender then only knows that nobody listens.
    written.map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull => StoreError::Full,
        _ => StoreError::failed(format!("write code to {}", directory.display()), error),
    })?;
    Ok(Written { bytes: sent?, only })
}

async fn send(
    blobs: &Arc<dyn Blobs>,
    entries: Vec<(TreePath, TreeEntry)>,
    steps: &mpsc::Sender<Step>,
) -> Result<u64, StoreError> {
    let gone = |_| StoreError::failed("write code", "the writer stopped");
    let opened = stream::iter(entries).map(|(path, entry)| open(blobs, path, entry));
    let mut opened = opened.buffered(AHEAD);
    let mut bytes = 0;
    while let Some((step, file)) = opened.try_next().await? {
        steps.send(step).await.map_err(gone)?;
        let Some(mut file) = file else { continue };
        bytes += file.bytes;
        while let Some(piece) = file.content.try_next().await? {
            steps.send(Step::Bytes(piece)).await.map_err(gone)?;
        }
    }
    Ok(bytes)
}

async fn open(
    blobs: &Arc<dyn Blobs>,
    path: TreePath,
    entry: TreeEntry,
) -> Result<(Step, Option<FileStream>), StoreError> {
    let path = path.segments().iter().map(folio_model::EntryName::as_str).collect();
    match entry {
        TreeEntry::Directory { .. } => Ok((Step::Directory(path), None)),
        TreeEntry::File { digest, executable, .. } => {
            let file = content::read_file(Arc::clone(blobs), digest).await?;
            Ok((Step::File { path, executable }, Some(file)))
        }
    }
}

fn write_steps(target: &Path, mut steps: mpsc::Receiver<Step>, access: Access) -> io::Result<()> {
    let mut directories = vec![target.to_path_buf()];
    make_directory(target)?;
    let mut open: Option<File> = None;
    while let Some(step) = steps.blocking_recv() {
        match step {
            Step::Directory(path) => {
                let path = target.join(path);
                make_directory(&path)?;
                directories.push(path);
            }
            Step::File { path, executable } => {
                open = Some(make_file(&target.join(path), access, executable)?);
            }
            Step::Bytes(bytes) => {
                open.as_mut().expect("a file comes before its bytes").write_all(&bytes)?;
            }
        }
    }
    if access == Access::Sealed {
        for directory in directories.iter().rev() {
            fs::set_permissions(directory, Permissions::from_mode(0o555))?;
        }
    }
    Ok(())
}

fn make_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o755).create(path)
}

fn make_file(path: &Path, access: Access, executable: bool) -> io::Result<File> {
    let mode = match (access, executable) {
        (Access::Sealed, false) => 0o444,
        (Access::Sealed, true) => 0o555,
        (Access::Writable, false) => 0o644,
        (Access::Writable, true) => 0o755,
    };
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // Set on the open file, because the process's mask may have taken bits from the mode above.
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

/// Removes a directory whatever the modes inside it, or does nothing if there is none. Follows no links.
pub(crate) fn remove(directory: &Path) -> io::Result<()> {
    match fs::symlink_metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(about) if !about.is_dir() => return fs::remove_file(directory),
        Ok(_) => unlock(directory)?,
    }
    fs::remove_dir_all(directory)
}

/// Makes a directory and those below it writable for their owner, without which nothing in them can be removed.
fn unlock(directory: &Path) -> io::Result<()> {
    let mut ahead = vec![directory.to_path_buf()];
    while let Some(directory) = ahead.pop() {
        fs::set_permissions(&directory, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                ahead.push(entry.path());
            }
        }
    }
    Ok(())
}
