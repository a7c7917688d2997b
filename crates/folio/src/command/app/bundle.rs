//! `folio app export` and `folio app import`: an app version in one file.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use folio_core::bundle::{self, Imported};
use folio_core::view::Done;
use folio_model::{AppName, Name};

use crate::command::Session;
use crate::command::version::download;
use crate::output;
use crate::problem::Problem;

/// The longest manifest that is looked at for a name.
const MANIFEST_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What to write, and where to.
#[derive(Debug, Args)]
#[command(override_usage = "folio app export [OPTIONS] [APP@VERSION] <FILE>")]
pub(crate) struct Export {
    /// An app, one of its versions such as `@abcde`, or both; may be left out
    #[arg(value_name = "APP@VERSION")]
    first: String,
    /// The file to write; `-` is standard output
    #[arg(value_name = "FILE")]
    second: Option<String>,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

/// What to read, and what it is to be.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// A file that `folio app export` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Call the app so [default: as it was called where it was exported]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<AppName>,
}

/// Writes an app version to a file.
pub(super) async fn export(session: &Session, export: Export) -> Result<()> {
    let (what, file) = match &export.second {
        Some(file) => (export.first.as_str(), file),
        None => ("", &export.first),
    };
    let (app, at) = what.split_once('@').unwrap_or((what, "latest"));
    let app = match app {
        "" => session.app(None),
        app => app.parse().map_err(|error| Problem::usage(format!("{error}")))?,
    };
    let path = ["apps", app.as_str(), "versions", at, "export"];
    let answer = session.client.fetch(&path, &[]).await?;
    if file == "-" {
        return download::to_output(answer).await;
    }
    let bytes = download::to_file(answer, Path::new(file), export.force).await?;
    output::talk(&format!("wrote {bytes} bytes to {file}"));
    Ok(())
}

/// Makes an app of a file.
pub(super) async fn import(session: &Session, import: Import) -> Result<()> {
    refuse_directory(&import.file)?;
    let app = match import.name {
        Some(name) => name,
        None => named_in(&import.file)?,
    };
    let path = ["apps", app.as_str(), "import"];
    let done: Done<Imported> = session.client.send_bundle(&path, &import.file).await?;
    session.output.item(&done, |done| shown(&done.result))
}

/// Refuses what can be opened and not read, which would look like a connection that breaks off.
fn refuse_directory(path: &Path) -> Result<()> {
    if !path.is_dir() {
        return Ok(());
    }
    let problem = Problem::new(format!("`{}` is a directory", path.display()));
    Err(problem.hint("give the file that `folio app export` wrote").into())
}

/// The app that a file is of.
fn named_in(path: &Path) -> Result<AppName> {
    let context = || format!("cannot read `{}`", path.display());
    let mut file = std::fs::File::open(path).with_context(context)?;
    let mut start = Vec::new();
    let first = file.by_ref().take(bundle::START_BYTES as u64).read_to_end(&mut start);
    first.with_context(context)?;
    let none = || {
        let problem = Problem::new(format!("`{}` is not a bundle of an app", path.display()));
        problem.hint("`folio app export` writes one")
    };
    let wanted = bundle::manifest_bytes(&start).filter(|bytes| *bytes <= MANIFEST_BYTES_MAX);
    let rest = wanted.ok_or_else(none)? - start.len();
    file.take(rest as u64).read_to_end(&mut start).with_context(context)?;
    Ok(bundle::app_in(&start).ok_or_else(none)?)
}

fn shown(imported: &Imported) -> String {
    let Imported { app, from, from_version, units, versions, renewed, waiting, .. } = imported;
    let counted = |count: u64, noun: &str| {
        let several = if count == 1 { "" } else { "s" };
        format!("{count} {noun}{several}")
    };
    let (units, versions) = (counted(*units, "unit"), counted(*versions, "version"));
    let mut lines =
        vec![format!("app {app} is app version {from_version} of app {from}: {units}, {versions}")];
    let names = |names: &[Name]| names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
    if !renewed.is_empty() {
        lines.push(format!("reading the secrets of app {app}: {}", names(renewed)));
    }
    if !waiting.is_empty() {
        lines.push(format!("to be built here: {}", names(waiting)));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_called_one() {
        let directory = tempfile::tempdir().unwrap();
        let error = refuse_directory(directory.path()).unwrap_err().to_string();
        assert!(error.ends_with("is a directory"), "{error}");
        assert!(refuse_directory(&directory.path().join("bundle")).is_ok());
    }
}
