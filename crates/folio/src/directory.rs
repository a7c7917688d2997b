//! Data directories from outside: checking, backing up and restoring them. What is made appears under its name
//! only when it is complete and checked; a crash leaves at most a directory with a name nobody uses.

mod archive;

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use folio_core::ports::{StoreError, SystemClock};
use folio_core::sweep::Finding;
use folio_core::{Folio, Settings, crash};
use folio_store::DataDirectory;

use crate::config;
use crate::output::{Progress, while_reading};
use crate::problem::{Problem, explained};

const COPY_TRIES: usize = 3;

/// Lists what is damaged in a data directory, which may be in use.
pub(crate) async fn check(data: &Path) -> Result<Vec<Finding>> {
    must_exist(data)?;
    let found = while_reading("checking", None, check_once(data)).await?;
    if found.is_empty() {
        return Ok(found);
    }
    // A server may have swept between our reading the index and the packs: damage is what stays.
    let again = while_reading("checking again", None, check_once(data)).await?;
    let stays = |one: &Finding| again.iter().any(|other| other.what == one.what);
    Ok(found.into_iter().filter(stays).collect())
}

/// Copies a data directory to a directory, or to a file if its name ends in `.tar`.
pub(crate) async fn backup(data: &Path, to: &Path) -> Result<()> {
    must_exist(data)?;
    if to.exists() {
        let problem = Problem::new(format!("`{}` is there already", to.display()));
        return Err(problem
            .hint("a backup is never written over another: choose a new name")
            .into());
    }
    let unfinished = Unfinished::beside(to)?;
    let copy = unfinished.path().join("copy");
    copy_checked(data, &copy).await?;
    let done = if to.extension().is_some_and(|extension| extension == "tar") {
        let file = unfinished.path().join("copy.tar");
        archive::pack(&copy, &file).with_context(|| format!("cannot write `{}`", to.display()))?;
        file
    } else {
        copy
    };
    appear(&done, to)
}

/// Makes a data directory from a backup.
pub(crate) async fn restore(from: &Path, data: &Path) -> Result<()> {
    refuse_used(data)?;
    let unfinished = Unfinished::beside(data)?;
    let copy = unfinished.path().join("copy");
    let about = fs::metadata(from).with_context(|| format!("cannot read `{}`", from.display()))?;
    if about.is_dir() {
        must_exist(from)?;
        copy_checked(from, &copy).await?;
    } else {
        archive::unpack(from, &copy)
            .with_context(|| format!("`{}` is not a backup", from.display()))?;
        refuse_damaged(&copy, from).await?;
    }
    appear(&copy, data)
}

async fn check_once(data: &Path) -> Result<Vec<Finding>> {
    let clock = Arc::new(SystemClock);
    let opened = match DataDirectory::open_read_only(data, clock.clone()) {
        Err(StoreError::Corrupt { what }) => {
            return Ok(unreadable(&what));
        }
        opened => opened.map_err(explained)?,
    };
    let DataDirectory { ledger, blobs, .. } = opened;
    let folio = Folio::new(ledger, blobs, clock, Settings::default());
    match folio.check().await {
        Err(StoreError::Corrupt { what }) => Ok(unreadable(&what)),
        checked => checked.map_err(explained),
    }
}

/// Damage on which more may stand than anybody can say.
fn unreadable(what: &str) -> Vec<Finding> {
    vec![Finding { what: format!("{what} is damaged"), digest: None, affects: Vec::new() }]
}

async fn copy_checked(from: &Path, to: &Path) -> Result<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        let total = Progress::total(|| {
            bytes_below(&from.join("folio.db")) + bytes_below(&from.join("blobs"))
        });
        match while_reading("copying", total, DataDirectory::copy(from, to)).await {
            Err(StoreError::Conflict { .. }) if tries < COPY_TRIES => fs::remove_dir_all(to)?,
            Err(StoreError::Conflict { what }) => {
                let problem = Problem::new(format!("{what} is missing in `{}`", from.display()));
                return Err(problem.hint("`folio check` shows what is damaged").into());
            }
            copied => break copied.map_err(explained)?,
        }
    }
    copy_credentials(from, to)?;
    refuse_damaged(to, from).await
}

/// A backup can be restored and used at once, so it holds the admin's token as the directory does, and the authority by
/// which clients know the server.
fn copy_credentials(from: &Path, to: &Path) -> Result<()> {
    let files = [
        (config::admin_token(from), config::admin_token(to), 0o600),
        (config::authority_key(from), config::authority_key(to), 0o600),
        (config::authority(from), config::authority(to), 0o644),
    ];
    for (from, to, mode) in files {
        let bytes = match fs::read(&from) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            read => read.with_context(|| format!("cannot read `{}`", from.display()))?,
        };
        let mut file = File::options().write(true).create_new(true).mode(mode).open(to)?;
        std::io::Write::write_all(&mut file, &bytes)?;
        file.sync_all()?;
    }
    Ok(File::open(to)?.sync_all()?)
}

async fn refuse_damaged(copy: &Path, from: &Path) -> Result<()> {
    let damage = while_reading("checking the copy", None, check_once(copy)).await?;
    forget_readers(copy)?;
    if damage.is_empty() {
        return Ok(());
    }
    let what: Vec<_> = damage.iter().map(|damage| damage.what.as_str()).collect();
    let problem = Problem::new(format!("`{}` is damaged, nothing was made", from.display()));
    let problem = problem.hint("`folio check` lists all damage of a directory");
    Err(anyhow::anyhow!(what.join("; ")).context(problem))
}

/// Removes the empty files that reading the copy left beside its database.
fn forget_readers(copy: &Path) -> Result<()> {
    for name in ["folio.db-wal", "folio.db-shm"] {
        let path = copy.join(name);
        if path.exists() {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn must_exist(data: &Path) -> Result<()> {
    if data.join("folio.db").is_file() {
        return Ok(());
    }
    let problem = Problem::new(format!("`{}` is not a data directory", data.display()));
    Err(problem.hint("name one with --data DIR").into())
}

fn refuse_used(data: &Path) -> Result<()> {
    let entries = match fs::read_dir(data) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("cannot read `{}`", data.display()))?,
    };
    if entries.count() == 0 {
        return Ok(());
    }
    let problem = Problem::new(format!("`{}` is not empty", data.display()));
    bail!(problem.hint("restore into a new directory, then move it where you want it"))
}

/// Bytes of a file, or of all files below a directory. What cannot be looked at counts as nothing.
fn bytes_below(path: &Path) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| bytes_below(&entry.path())).sum()
        }
        about => about.map_or(0, |about| about.len()),
    }
}

/// Gives something its name, durably.
fn appear(from: &Path, to: &Path) -> Result<()> {
    let context = || format!("cannot make `{}`", to.display());
    // An empty directory gives way; anything else in this place makes the rename fail.
    crash::point("copy.made");
    fs::rename(from, to).with_context(context)?;
    crash::point("copy.named");
    File::open(parent(to)).and_then(|parent| parent.sync_all()).with_context(context)
}

/// A directory beside what is being made, on the same file system. Goes when it is dropped.
struct Unfinished(tempfile::TempDir);

impl Unfinished {
    fn beside(to: &Path) -> Result<Self> {
        let above = parent(to);
        let context = || format!("cannot write to `{}`", above.display());
        fs::create_dir_all(&above).with_context(context)?;
        let made = tempfile::Builder::new().prefix(".folio-unfinished-").tempdir_in(&above);
        Ok(Self(made.with_context(context)?))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

fn parent(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.map_or_else(|| PathBuf::from("."), Path::to_owned)
}
