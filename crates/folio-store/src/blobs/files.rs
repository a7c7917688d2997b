//! Writing packs as files of this machine. An object store would write each beside its place first and then link it
//! there, which a directory has to sync too: nobody reads a pack before it is in the index, so a pack may as well
//! grow in its place. Whatever a crash leaves half written was never named, and the sweep takes it.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use folio_core::crash;
use folio_core::ports::StoreError;

/// A directory that holds packs.
pub(super) struct Files {
    directory: PathBuf,
    /// Whether writes are made durable; only a test that wants to see them lost says no.
    synced: bool,
}

impl Files {
    /// Opens a directory, making it if it is not there.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        make(directory)?;
        // Whoever made it may have let others in. Where it is somebody else's, they decide.
        drop(std::fs::set_permissions(directory, Permissions::from_mode(0o700)));
        if let Some(parent) = directory.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync(parent)?;
        }
        remove_unfinished(directory)?;
        let synced = !crash::is_planted("blob.unsynced");
        Ok(Self { directory: directory.to_owned(), synced })
    }

    /// What it takes to write one file, wherever blocking is allowed.
    pub(super) fn file(&self, name: &str) -> NewFile {
        NewFile { path: self.directory.join(name), synced: self.synced }
    }
}

/// A file to be written.
pub(super) struct NewFile {
    path: PathBuf,
    synced: bool,
}

impl NewFile {
    /// Writes it; durable when this returns true. False if the name is taken.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<bool, StoreError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
            _ => StoreError::failed("write a pack", error),
        };
        let Some(mut file) = self.create().map_err(failed)? else { return Ok(false) };
        let written = file.write_all(bytes).and_then(|()| self.sync(&file));
        if written.is_err() {
            drop(std::fs::remove_file(&self.path));
        }
        written.map(|()| true).map_err(failed)
    }

    fn create(&self) -> io::Result<Option<File>> {
        let create = || File::options().write(true).create_new(true).mode(0o600).open(&self.path);
        let created = match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_shelf()?;
                create()
            }
            created => created,
        };
        match created {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            created => created.map(Some),
        }
    }

    /// Makes the directories above the file, each durable in the one above it.
    fn create_shelf(&self) -> io::Result<()> {
        let shelf = self.path.parent().unwrap_or(&self.path);
        make(shelf)?;
        if self.synced {
            shelf.ancestors().skip(1).take(2).try_for_each(sync)?;
        }
        Ok(())
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        if !self.synced {
            return Ok(());
        }
        file.sync_all()?;
        self.path.parent().map_or(Ok(()), sync)
    }
}

/// Makes a directory, and those above it, that only its owner can look into: packs hold all code there is.
fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Removes what an object store left half written. Such files have a `#` in their names and no listing shows them.
fn remove_unfinished(directory: &Path) -> io::Result<()> {
    let shelves = match std::fs::read_dir(directory.join("packs")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        shelves => shelves?,
    };
    for shelf in shelves {
        for file in std::fs::read_dir(shelf?.path())? {
            let file = file?;
            if file.file_name().to_string_lossy().contains('#') {
                std::fs::remove_file(file.path())?;
            }
        }
    }
    Ok(())
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
