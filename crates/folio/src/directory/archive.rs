//! A backup as one file: a plain tar of what a backup directory holds.

use std::fs::{self, DirBuilder, File};
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use folio_model::TreePath;

use super::bytes_below;
use crate::output::Progress;

/// Packs a directory; durable when this returns.
pub(super) fn pack(directory: &Path, file: &Path) -> Result<()> {
    let archive = File::options().write(true).create_new(true).mode(0o600).open(file)?;
    let progress = Progress::bytes("packing", Progress::total(|| bytes_below(directory)));
    let mut builder = tar::Builder::new(BufWriter::new(progress.count(archive)));
    builder.append_dir_all("", directory)?;
    let mut writer = builder.into_inner()?;
    writer.flush()?;
    writer.into_inner()?.inner.sync_all()?;
    Ok(())
}

/// Unpacks into a new directory: files under relative paths, and nothing else.
pub(super) fn unpack(file: &Path, directory: &Path) -> Result<()> {
    DirBuilder::new().mode(0o700).create(directory)?;
    let file = File::open(file)?;
    let progress = Progress::bytes("unpacking", Some(file.metadata()?.len()));
    let mut archive = tar::Archive::new(BufReader::new(progress.count(file)));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_dir() {
            continue;
        }
        ensure!(entry.header().entry_type().is_file(), "it holds something that is not a file");
        let path: TreePath = entry.path()?.to_str().context("a path is not UTF-8")?.parse()?;
        let to = directory.join(path.to_string());
        if let Some(parent) = to.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        let mut out = File::options().write(true).create_new(true).mode(0o600).open(&to)?;
        std::io::copy(&mut entry, &mut out)?;
        out.sync_all()?;
    }
    sync(directory)
}

fn sync(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync(&entry.path())?;
        }
    }
    Ok(File::open(directory)?.sync_all()?)
}
