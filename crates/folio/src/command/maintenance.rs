//! `folio check`, `backup` and `restore`: commands that work on a data directory itself.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::config::Config;
use crate::directory;
use crate::output::{self, Format};
use crate::problem::Problem;

/// Which directory to check.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The data directory, or a backup that is a directory [default: `$FOLIO_DATA`, else `~/.local/share/folio`]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// What to back up, and where to.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The data directory [default: `$FOLIO_DATA`, else `~/.local/share/folio`]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A directory to make, or one file if it ends in `.tar`
    #[arg(value_name = "BACKUP")]
    to: PathBuf,
}

/// What to restore, and where to.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// A backup, as `folio backup` made it
    #[arg(value_name = "BACKUP")]
    from: PathBuf,
    /// The data directory to make [default: `$FOLIO_DATA`, else `~/.local/share/folio`]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Damage {
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

/// Reads a data directory back.
pub(crate) async fn check(check: Check, config: &Config, format: Format) -> Result<()> {
    let data = config.data(check.data)?;
    let damage = directory::check(&data).await?;
    let found = damage.iter().map(|damage| Damage {
        what: damage.what.clone(),
        digest: damage.digest.map(|digest| digest.to_string()),
    });
    let found: Vec<_> = found.collect();
    format.item(&found, |found| {
        let lines: Vec<_> = found.iter().map(|damage| damage.what.as_str()).collect();
        lines.join("\n")
    })?;
    match damage.len() {
        0 => {
            output::talk(&format!("{} is whole", data.display()));
            Ok(())
        }
        count => {
            let problem = format!("{} is damaged in {count} places", data.display());
            Err(Problem::new(problem).hint("restore it from a backup with `folio restore`").into())
        }
    }
}

/// Copies a data directory and checks the copy.
pub(crate) async fn backup(backup: Backup, config: &Config) -> Result<()> {
    let data = config.data(backup.data)?;
    directory::backup(&data, &backup.to).await?;
    output::talk(&format!("backed up {} to {}", data.display(), backup.to.display()));
    Ok(())
}

/// Makes a data directory from a backup.
pub(crate) async fn restore(restore: Restore, config: &Config) -> Result<()> {
    let data = config.data(restore.data)?;
    directory::restore(&restore.from, &data).await?;
    output::talk(&format!("restored {} from {}", data.display(), restore.from.display()));
    Ok(())
}
