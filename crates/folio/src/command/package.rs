//! `folio package`: drafts of packages.

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_model::Kind;

use super::publish::{FunctionFields, PackageFields, PackageVersion};
use super::{Session, unit, version};
use crate::name::{Named, Versioned};

/// What one can do with packages.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a package as a draft
    Create(Create),
    /// Change the draft, or start one from the latest version
    Update(Update),
    /// Show one package
    Get(unit::Get),
    /// Show one version of a package, with the log of its build
    Info(Versioned),
    /// List packages
    List,
    /// Delete a package with its draft and versions, and the function versions that use them
    Delete(unit::Delete),
    /// Work with the versions of a package
    #[command(subcommand)]
    Version(version::Command<PackageVersion>),
}

/// A package to make.
#[derive(Debug, Args)]
pub(crate) struct Create {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    fields: PackageFields,
}

/// A draft to change.
#[derive(Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    fields: PackageFields,
    /// Refuse unless the package is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// Runs a command on packages.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    let kind = Kind::Package;
    match command {
        Command::Create(Create { named, fields }) => {
            let unit = named.unit(session)?;
            let fields = FunctionFields::from(fields).upload(session).await?;
            unit::create(session, kind, unit, fields).await
        }
        Command::Update(Update { named, fields, expect }) => {
            let unit = named.unit(session)?;
            let fields = FunctionFields::from(fields).upload(session).await?;
            unit::update(session, kind, unit, (fields, expect)).await
        }
        Command::Get(get) => unit::get(session, kind, get).await,
        Command::Info(versioned) => version::show(session, kind, versioned).await,
        Command::List => unit::list(session, kind).await,
        Command::Delete(delete) => unit::delete(session, kind, delete).await,
        Command::Version(command) => version::run(session, kind, command).await,
    }
}
