//! `folio archive`: archives on the server, each named by its digest.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::Limits;
use folio_core::archives::{ArchiveUse, ArchiveView};
use folio_core::request::ContentRef;
use folio_model::Digest;
use serde::{Deserialize, Serialize};

use super::Session;
use super::version::download::{self, Target};
use crate::client::Items;
use crate::content::{self, Given, Most, Trust};
use crate::output::{self, Format, Output, Table, list};
use crate::problem::Problem;
use crate::upload;

/// What one can do with archives.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put an archive on the server and say its id, for `--src` and `--deploy`
    Upload(Upload),
    /// List the archives that packages came from
    List,
    /// Get an archive back, byte for byte
    Download(Download),
}

/// What to upload.
#[derive(Debug, Args)]
pub(crate) struct Upload {
    /// A zip, tar or tar.gz archive
    #[arg(value_name = "FILE", required_unless_present = "name")]
    file: Option<PathBuf>,
    /// A zip, tar or tar.gz archive
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    name: Option<PathBuf>,
}

/// What to get.
#[derive(Debug, Args)]
pub(crate) struct Download {
    /// The archive's id, `sha256:` and 64 digits
    #[arg(value_name = "ID", required_unless_present = "id")]
    archive: Option<Digest>,
    /// The archive's id
    #[arg(long, value_name = "ID", conflicts_with = "archive")]
    id: Option<Digest>,
    #[command(flatten)]
    target: Target,
    /// Write to this file, as Fission says it
    #[arg(id = "output", long, short, value_name = "FILE", value_parser = output::file, conflicts_with = "file")]
    output: Option<Output>,
}

/// An archive that is on the server.
#[derive(Serialize)]
struct Uploaded {
    id: Digest,
}

#[derive(Deserialize)]
struct Server {
    limits: Limits,
}

/// Runs one command.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Upload(Upload { file, name }) => {
            let path = file.or(name).unwrap_or_default();
            let id = put(session, path).await?;
            session.output.item(&Uploaded { id }, |uploaded| uploaded.id.to_string())
        }
        Command::List => {
            let app = session.app(None);
            let archives: Items<ArchiveView> =
                session.client.get(&["apps", app.as_str(), "archives"], &[]).await?;
            session.output.items(&archives.items, table)
        }
        Command::Download(Download { archive, id, mut target, output }) => {
            if let Some(Output::File(file)) = output {
                target.file = Some(file);
            }
            let id = archive.or(id).map(|id| id.to_string()).unwrap_or_default();
            let app = session.app(None);
            let path = ["apps", app.as_str(), "archives", &id];
            download::write(session.client.fetch(&path, &[]).await?, target).await
        }
    }
}

async fn put(session: &Session, path: PathBuf) -> Result<Digest> {
    if path.is_dir() {
        let problem = Problem::new(format!("`{}` is a directory", path.display()));
        return Err(problem
            .hint("directories need no archive: --src and --deploy take them")
            .into());
    }
    if path.is_file() && !content::is_archive(&path)? {
        let problem = Problem::new(format!("`{}` is not an archive", path.display()));
        return Err(problem.hint("give a zip, tar or tar.gz; --code takes a single file").into());
    }
    let Server { limits } = session.client.get(&[], &[]).await?;
    let given = Given::Files(path);
    let found = content::find(&given, None, &Most::of(limits.content_files_max))?;
    match upload::upload(&session.client, (given, None, Trust::Remembered), found, &limits).await? {
        ContentRef::Archive { archive } => Ok(archive),
        ContentRef::Tree { tree, .. } => Ok(tree),
    }
}

fn table(archives: &[ArchiveView], _: Format) -> Table {
    let used = |used: &ArchiveUse| match &used.version {
        Some(version) => format!("{}@{version}", used.package),
        None => format!("{}@draft", used.package),
    };
    let mut table = Table::new(["ID", "PACKAGES"]);
    for ArchiveView { id, packages } in archives {
        table.row([id.to_string(), list(packages.iter().map(used))]);
    }
    table
}
