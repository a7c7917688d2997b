//! `folio package`: drafts of packages.

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::upload;
use folio_core::view::{Done, Removed, UnitView};
use folio_model::{Build, Kind};
use reqwest::Method;

use super::publish::{FunctionFields, PackageFields, PackageVersion};
use super::saving::Creating;
use super::version::download;
use super::{Session, unit, version};
use crate::client::{Change, Items};
use crate::name::{Named, Versioned};
use crate::output::{self, Output};
use crate::problem::Problem;

/// What one can do with packages.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a package as a draft
    Create(Creating<Create>),
    /// Change the draft, or start one from the latest version
    Update(Update),
    /// Show one package
    #[command(visible_aliases = ["describe", "show"])]
    Get(unit::Get),
    /// Show the draft or one version of a package, with the log of its build
    Info(version::Show),
    /// Write what a package is built from to a file, or to standard output
    Getsrc(Part),
    /// Write what a package runs to a file, or to standard output
    Getdeploy(Part),
    /// List packages
    List(PackageList),
    /// Delete a package with its draft and versions, and the function versions that use them
    Delete(PackageDelete),
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

/// Which packages to list.
#[derive(Debug, Args)]
pub(crate) struct PackageList {
    #[command(flatten)]
    list: unit::List,
    /// Only packages that no function uses
    #[arg(long, conflicts_with = "all_apps")]
    orphan: bool,
    /// Only packages whose build is there: `none`, `pending`, `running`, `succeeded` or `failed`
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<Build>,
}

/// Which package to delete.
#[derive(Debug, Args)]
pub(crate) struct PackageDelete {
    #[command(flatten)]
    delete: unit::Delete,
    /// Delete all packages that no function uses
    #[arg(long, conflicts_with_all = ["positional", "name", "cascade", "expect"])]
    orphan: bool,
}

fn status(text: &str) -> Result<Build> {
    serde_json::from_value(text.into()).map_err(|_| {
        anyhow::anyhow!("a build is `none`, `pending`, `running`, `succeeded` or `failed`")
    })
}

/// Which files of a package, and where they go.
#[derive(Debug, Args)]
pub(crate) struct Part {
    #[command(flatten)]
    versioned: Versioned,
    /// Write to this file [default: standard output]
    #[arg(id = "output", long, short, value_name = "FILE", value_parser = output::file)]
    output: Option<Output>,
}

/// Runs a command on packages.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    let kind = Kind::Package;
    match command {
        Command::Create(Creating { what: Create { named, fields }, saving }) => {
            let unit = named.unit(session)?;
            if saving.is_wanted() {
                return saving.save(&[fields.package(&unit)?]);
            }
            let fields = FunctionFields::from(fields).upload(session).await?;
            unit::create(session, kind, unit, fields).await
        }
        Command::Update(Update { named, fields, expect }) => {
            let unit = named.unit(session)?;
            let fields = FunctionFields::from(fields).upload(session).await?;
            unit::update(session, kind, unit, (fields, expect)).await
        }
        Command::Get(get) => unit::get(session, kind, get).await,
        Command::Info(show) => version::show_package(session, show).await,
        Command::Getsrc(part) => files(session, part, upload::Part::Source).await,
        Command::Getdeploy(part) => files(session, part, upload::Part::Deployment).await,
        Command::List(command) => list(session, command).await,
        Command::Delete(PackageDelete { orphan: true, .. }) => delete_orphans(session).await,
        Command::Delete(PackageDelete { delete, .. }) => unit::delete(session, kind, delete).await,
        Command::Version(command) => version::run(session, kind, command).await,
    }
}

async fn list(session: &Session, command: PackageList) -> Result<()> {
    let PackageList { list, orphan, status } = command;
    let mut found = if orphan {
        let app = session.app(None);
        let path = ["apps", app.as_str(), "orphans"];
        let orphans: Items<UnitView> = session.client.get(&path, &[]).await?;
        orphans.items
    } else {
        list.find(session, Kind::Package).await?
    };
    found.retain(|unit| status.is_none_or(|status| unit::build(unit) == Some(status)));
    list.show(session, &found)
}

async fn delete_orphans(session: &Session) -> Result<()> {
    let app = session.app(None);
    let path = ["apps", app.as_str(), "orphans"];
    let done: Done<Removed> = session.client.change(&path, Change::new(Method::DELETE)).await?;
    session.output.item(&done, |done| match unit::removed(&done.result) {
        nothing if nothing.is_empty() => "a function uses every package".to_owned(),
        removed => removed,
    })
}

async fn files(session: &Session, part: Part, which: upload::Part) -> Result<()> {
    let found = part.versioned.or_draft(session, Kind::Package).await?;
    let answer = download::fetch(session, Kind::Package, &found, Some(which)).await;
    let answer = answer.map_err(|error| other_part(error, which))?;
    let Some(Output::File(file)) = part.output else { return download::to_output(answer).await };
    let bytes = download::to_file(answer, &file, true).await?;
    output::talk(&format!("wrote {bytes} bytes to {}", file.display()));
    Ok(())
}

/// A refusal that says how to get what is there.
fn other_part(mut error: anyhow::Error, which: upload::Part) -> anyhow::Error {
    let other = match which {
        upload::Part::Source => "it is not built: `folio pkg getdeploy` gets what runs",
        upload::Part::Deployment => "`folio pkg getsrc` gets what it is built from",
    };
    if let Some(problem) = error.downcast_mut::<Problem>()
        && problem.code.as_deref() == Some("no_such_part")
    {
        problem.hint = Some(other.to_owned());
    }
    error
}
