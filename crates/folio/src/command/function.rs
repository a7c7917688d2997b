//! `folio function`: drafts, and what only functions have.

mod test;

use anyhow::Result;
use clap::{ArgGroup, Args, Subcommand};
use folio_core::request::Start;
use folio_model::{Kind, VersionId};

use super::publish::{FunctionFields, FunctionVersion, NewVersion, Publishing};
use super::route::shortcut::Shortcut;
use super::saving::Creating;
use super::version::download;
use super::{Session, alias, route, running, tag, unit, version};
use crate::cli::Pointers;
use crate::name::{Named, Versioned};
use crate::problem::Problem;

/// What one can do with functions.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a function as a draft, or publish it at once with --tag, --url or --prefix
    Create(Box<Creating<Create>>),
    /// Change the draft, or start one from the latest version
    Update(Update),
    /// Print the code of a function that is one file
    Get(Versioned),
    /// Show one function
    #[command(visible_alias = "show")]
    Describe(unit::Get),
    /// Show one function in one line
    Getmeta(unit::Get),
    /// Call a function as a request would, and print what it answers
    Test(test::Test),
    /// List functions
    List(unit::List),
    /// Show the workers that run a function
    #[command(visible_aliases = ["pod", "po"])]
    Pods(running::Pods),
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

/// A function to make. Routes lead to versions, so one with a route is published.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("publishes").multiple(true).args(["tag", "url", "prefix"]))]
pub(crate) struct Create {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    fields: FunctionFields,
    #[command(flatten)]
    route: Shortcut,
    /// Publish it and add the version to this tag
    #[arg(long, value_name = "TAG", conflicts_with_all = ["spec", "dry"])]
    tag: Option<VersionId>,
    /// Call the version this
    #[arg(long, value_name = "ID", requires = "publishes", conflicts_with_all = ["spec", "dry"])]
    version: Option<VersionId>,
    /// Use this version of the package
    #[arg(long, value_name = "ID", requires = "publishes", conflicts_with_all = ["spec", "dry"])]
    pkg_version: Option<VersionId>,
    /// Say what the version is
    #[arg(long, value_name = "TEXT", requires = "publishes", conflicts_with_all = ["spec", "dry"])]
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
        Command::Create(creating) => create(session, *creating).await,
        Command::Update(Update { named, fields, expect }) => {
            let unit = named.unit(session)?;
            let fields = fields.upload(session).await?;
            unit::update(session, kind, unit, (fields, expect)).await
        }
        Command::Get(versioned) => code(session, versioned).await,
        Command::Describe(get) => unit::get(session, kind, get).await,
        Command::Getmeta(get) => unit::meta(session, kind, get).await,
        Command::Test(command) => test::run(session, command).await,
        Command::List(list) => unit::list(session, kind, list).await,
        Command::Pods(pods) => running::pods(session, pods).await,
        Command::Delete(delete) => unit::delete(session, kind, delete).await,
        Command::Logs(logs) => running::logs(session, logs).await,
        Command::Version(command) => version::run(session, kind, command).await,
        Command::Pointers(Pointers::Alias(command)) => alias::run(session, command).await,
        Command::Pointers(Pointers::Tag(command)) => tag::run(session, command).await,
    }
}

async fn create(session: &Session, creating: Creating<Create>) -> Result<()> {
    let Creating { what, saving } = creating;
    let Create { named, fields, route, tag, version, pkg_version, description } = what;
    let unit = named.unit(session)?;
    let route = route.fields(&unit);
    if saving.is_wanted() {
        let mut sheets = vec![fields.function(&unit)?];
        if let Some(route) = &route {
            sheets.push(route::sheet(&unit.app, None, route)?);
        }
        return saving.save(&sheets);
    }
    if tag.is_none() && route.is_none() {
        let fields = fields.upload(session).await?;
        return unit::create(session, Kind::Function, unit, fields).await;
    }
    let publishing = Publishing { version, description, ..Publishing::default() };
    let new = NewVersion { named, fields, publishing, package_version: pkg_version, tag };
    version::publish(session, Kind::Function, new, Start::Fresh).await?;
    match route {
        Some(route) => route::create(session, &unit.app, (None, route)).await,
        None => Ok(()),
    }
}

/// Prints the one file that a function is made of.
async fn code(session: &Session, versioned: Versioned) -> Result<()> {
    let found = versioned.or_draft(session, Kind::Function).await?;
    let answer = download::fetch(session, Kind::Function, &found, None).await?;
    let file = download::suggested(&answer)?;
    let (name, at) = (&found.0.name, &found.1);
    // Several files come as an archive, which is named after the function.
    let is_archive = file.to_string_lossy().starts_with(&format!("{name}-"))
        && file.extension().is_some_and(|end| ["zip", "tar", "gz"].iter().any(|word| end == *word));
    if is_archive {
        let problem = Problem::new(format!("function `{name}` is more than one file"));
        let hint = format!("`folio fn version download {name}@{at}` gets them all");
        return Err(problem.hint(hint).into());
    }
    download::to_output(answer).await
}
