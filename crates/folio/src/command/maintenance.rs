//! `folio check`, `backup` and `restore`: commands that work on a data directory itself.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use folio_core::sweep::Finding;

use crate::config::Config;
use crate::directory;
use crate::output::{self, Format};
use crate::problem::Problem;
use crate::serve;

/// Names shown of what stands on one damage.
const SHOWN_MAX: usize = 20;

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

/// Reads a data directory back.
pub(crate) async fn check(check: Check, config: &Config, format: Format) -> Result<()> {
    let data = config.data(check.data)?;
    let found = directory::check(&data).await?;
    format.item(&found, |found| found.iter().map(told).collect::<Vec<_>>().join("\n"))?;
    let places = match found.len() {
        0 => {
            output::talk(&format!("{} is whole", data.display()));
            return Ok(());
        }
        1 => "one place".to_owned(),
        count => format!("{count} places"),
    };
    let problem = Problem::new(format!("{} is damaged in {places}", data.display()));
    let restore = "restore it from a backup with `folio restore`";
    let hint = if found.iter().all(|finding| finding.digest.is_none()) {
        restore.to_owned()
    } else {
        format!(
            "publish the files of what is named above again, with `--no-cache`; then `folio gc` and \
             `folio check`. Or {restore}"
        )
    };
    Err(problem.hint(hint).into())
}

/// What is damaged, and below it what stands on it.
fn told(finding: &Finding) -> String {
    let shown = finding.affects.iter().take(SHOWN_MAX).map(|name| format!("\n  {name}"));
    let rest = finding.affects.len().saturating_sub(SHOWN_MAX);
    let rest = (rest > 0).then(|| format!("\n  and {rest} more: see `-o json`"));
    std::iter::once(finding.what.clone()).chain(shown).chain(rest).collect()
}

/// Copies a data directory and checks the copy.
pub(crate) async fn backup(backup: Backup, config: &Config) -> Result<()> {
    serve::arm(config)?;
    let data = config.data(backup.data)?;
    directory::backup(&data, &backup.to).await?;
    output::talk(&format!("backed up {} to {}", data.display(), backup.to.display()));
    Ok(())
}

/// Makes a data directory from a backup.
pub(crate) async fn restore(restore: Restore, config: &Config) -> Result<()> {
    serve::arm(config)?;
    let data = config.data(restore.data)?;
    directory::restore(&restore.from, &data).await?;
    output::talk(&format!("restored {} from {}", data.display(), restore.from.display()));
    Ok(())
}
