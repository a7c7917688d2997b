//! `--spec` and `--dry` of commands that create something: its manifest, in place of the thing itself. No server is
//! asked.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use folio_kinds::spec::write::{self, WriteError};
use folio_model::{AppName, Name, Snapshot};

use crate::output;
use crate::problem::Problem;
use crate::spec::{self, Sheet};

/// Where `folio spec` looks, too.
const DIRECTORY: &str = "specs";

/// Whether to create something, or to write its manifest.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Manifests")]
pub(crate) struct Saving {
    /// Add its manifest to the directory `specs`, and create nothing
    #[arg(long)]
    spec: bool,
    /// Print its manifest, and create nothing
    #[arg(long)]
    dry: bool,
}

/// Something to create, or to write down.
#[derive(Debug, Args)]
pub(crate) struct Creating<T: Args> {
    #[command(flatten)]
    pub(crate) what: T,
    #[command(flatten)]
    pub(crate) saving: Saving,
}

impl Saving {
    /// Whether manifests are wanted.
    pub(crate) fn is_wanted(self) -> bool {
        self.spec || self.dry
    }

    /// Prints manifests, or adds them to the directory.
    pub(crate) fn save(self, sheets: &[Sheet]) -> Result<()> {
        if self.dry {
            let texts: Result<Vec<_>> = sheets.iter().map(Sheet::text).collect();
            return output::print(&texts?.join("\n---\n"));
        }
        for file in spec::save(Path::new(DIRECTORY), sheets)? {
            output::print(&format!("added to {}", file.display()))?;
        }
        Ok(())
    }

    /// Does so with one unit.
    pub(crate) fn unit(self, app: &AppName, name: &Name, spec: Snapshot) -> Result<()> {
        self.save(&[sheet(app, name, spec)?])
    }
}

/// The manifest of a unit, in a file of its own.
pub(crate) fn sheet(app: &AppName, name: &Name, spec: Snapshot) -> Result<Sheet> {
    let manifest = write::manifest(name, app.as_str(), spec).map_err(refused)?;
    let file = write::file(manifest["kind"].as_str().unwrap_or_default(), name.as_str());
    Ok(Sheet { file, documents: vec![manifest] })
}

/// What has no manifest, and what to do.
pub(crate) fn refused(error: WriteError) -> Problem {
    Problem::new(error.to_string()).hint(error.hint())
}

/// A name for a trigger that was given none.
pub(crate) fn fresh_name() -> Name {
    uuid::Uuid::new_v4().to_string().parse().expect("an identifier is a name")
}
