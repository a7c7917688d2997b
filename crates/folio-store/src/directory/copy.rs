//! Copies a data directory while it may be in use: first the database, which holds small packs and names the others,
//! then those.
//! Packs are never rewritten, so a copy of one is whole or is not there.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use folio_core::ports::StoreError;

use crate::Db;
use crate::blobs::index::{Home, look};

const BLOBS: &str = "blobs";

pub(super) async fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let context = || format!("copy `{}` to `{}`", from.display(), to.display());
    let db = Db::open_read_only(from)?;
    let made = DirBuilder::new().mode(0o700).create(to);
    made.map_err(|error| StoreError::failed(context(), error))?;
    db.backup_to(to.join("folio.db")).await?;
    let packs = look(&Db::open_read_only(to)?, |table| table.packs()).await?;
    for (_, pack) in packs.into_iter().filter(|(_, pack)| pack.home == Home::Object) {
        let (from, to) = (from.join(BLOBS).join(&pack.name), to.join(BLOBS).join(&pack.name));
        let copied = tokio::task::spawn_blocking(move || copy_pack(&from, &to)).await;
        match copied.map_err(|error| StoreError::failed(context(), error))? {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::Conflict { what: format!("pack {}", pack.name) });
            }
            copied => copied.map_err(|error| StoreError::failed(context(), error))?,
        }
    }
    let done = forget_readers(to).and_then(|()| sync_all(to));
    done.map_err(|error| StoreError::failed(context(), error))
}

fn copy_pack(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    if let Some(shelf) = to.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(shelf)?;
    }
    let mut copy = File::options().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut source, &mut copy)?;
    copy.sync_all()
}

/// Removes what reading the copy left beside it. The copy was never written to, so both hold nothing.
fn forget_readers(directory: &Path) -> io::Result<()> {
    for name in ["folio.db-wal", "folio.db-shm"] {
        match fs::remove_file(directory.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Makes the names in a directory durable, all levels, and its own in the one above.
fn sync_all(directory: &Path) -> io::Result<()> {
    let mut rest: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(next) = rest.pop() {
        for entry in fs::read_dir(&next)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                rest.push(entry.path());
            }
        }
        File::open(&next)?.sync_all()?;
    }
    match directory.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => File::open(parent)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}
