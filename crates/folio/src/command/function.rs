//! `folio function`: drafts, and what only functions have.

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::request::Start;
use folio_model::{Kind, VersionId};

use super::publish::{FunctionFields, FunctionVersion, NewVersion, Publishing};
use super::{Session, alias, running, tag, unit, version};
use crate::cli::Pointers;
use crate::name::Named;

/// What one can do with functions.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a function as a draft, or publish it at once with --tag
    Create(Create),
    /// Change the draft, or start one from the latest version
    Update(Update),
    /// Show one function
    Get(unit::Get),
    /// List functions
    List,
    /// Delete a function with its draft, versions and aliases
    Delete(unit::Delete),
    /// Show what a function printed
    #[command(visible_alias = "log")]
    Logs(running::Logs),
    /// Work with the versions of a function
    #[command(subcommand)]
    Version(version::Command<FunctionVersion>),
    #[command(flatten)]
    Pointers(Pointers),
}

/// A function to make.
#[derive(Debug, Args)]
pub(crate) struct Create {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    fields: FunctionFields,
    /// Publish it and add the version to this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<VersionId>,
    /// Call the version this
    #[arg(long, value_name = "ID", requires = "tag")]
    version: Option<VersionId>,
    /// Use this version of the package
    #[arg(long, value_name = "ID", requires = "tag")]
    pkg_version: Option<VersionId>,
    /// Say what the version is
    #[arg(long, value_name = "TEXT", requires = "tag")]
    description: Option<String>,
}

/// A draft to change.
#[derive(Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    fields: FunctionFields,
    /// Refuse unless the function is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// Runs a command on functions.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    let kind = Kind::Function;
    match command {
        Command::Create(create) => self::create(session, create).await,
        Command::Update(Update { named, fields, expect }) => {
            let unit = named.unit(session)?;
            let fields = fields.upload(session).await?;
            unit::update(session, kind, unit, (fields, expect)).await
        }
        Command::Get(get) => unit::get(session, kind, get).await,
        Command::List => unit::list(session, kind).await,
        Command::Delete(delete) => unit::delete(session, kind, delete).await,
        Command::Logs(logs) => running::logs(session, logs).await,
        Command::Version(command) => version::run(session, kind, command).await,
        Command::Pointers(Pointers::Alias(command)) => alias::run(session, command).await,
        Command::Pointers(Pointers::Tag(command)) => tag::run(session, command).await,
    }
}

async fn create(session: &Session, create: Create) -> Result<()> {
    let Create { named, fields, tag, version, pkg_version, description } = create;
    if tag.is_none() {
        let unit = named.unit(session)?;
        let fields = fields.upload(session).await?;
        return unit::create(session, Kind::Function, unit, fields).await;
    }
    let publishing = Publishing { version, description, ..Publishing::default() };
    let new = NewVersion { named, fields, publishing, package_version: pkg_version, tag };
    version::publish(session, Kind::Function, new, Start::Fresh).await
}
