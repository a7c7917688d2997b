//! Versions of functions and packages: publish, list, show, describe, download, delete, compare.

mod build;
pub(crate) mod download;
pub(super) mod show;

use std::str::FromStr;

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::diff::DiffView;
use folio_core::request::{IfSame, Start};
use folio_core::view::{Done, Published, Removed, UnitView, VersionView};
use folio_model::{AppName, Build, Kind, Name, Qualifier, Reference, ReferenceError, VersionId};
use reqwest::Method;
use serde_json::json;

use self::build::{Answer, Building, Follow};
use self::download::Download;
use super::publish::NewVersion;
use super::{Session, unit};
use crate::client::{self, Change};
use crate::name::{self, Named, UnitAt, Versioned};
use crate::output::one_line;
use crate::problem::Problem;

/// What one can do with versions.
#[derive(Debug, Subcommand)]
pub(crate) enum Command<P: Args> {
    /// Publish what the flags describe, or the draft if they name no files
    Create(P),
    /// Publish the latest version with what the flags change
    Update(P),
    /// List versions, oldest first
    List(List),
    /// Show one version, by default the latest
    Show(Show),
    /// Change what is said about a version
    Describe(Describe),
    /// Get the files of a version back, byte for byte
    Download(Download),
    /// Delete one version, or all with --version all
    Delete(Delete),
    /// Show how two versions differ
    Diff(Diff),
}

/// Whose versions to list.
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    named: Named,
}

/// Which version to show.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    versioned: Versioned,
    /// Wait for more while it is built, as is always done on a terminal
    #[arg(long, short)]
    follow: bool,
}

impl Show {
    fn follow(&self) -> Follow {
        if self.follow { Follow::Asked } else { Follow::Reader }
    }
}

/// What to say about a version.
#[derive(Debug, Args)]
pub(crate) struct Describe {
    #[command(flatten)]
    versioned: Versioned,
    /// The words
    #[arg(long, value_name = "TEXT")]
    description: String,
}

/// Which versions to delete.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    named: Named,
    /// Which version: its number or id, `latest`, or `all`
    #[arg(long, value_name = "VERSION")]
    version: Option<Which>,
    /// Refuse unless the unit is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// Which versions to compare.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The older one, such as `hello@v1.0.0`, or only `v1.0.0` with --name
    #[arg(value_name = "FROM")]
    from: String,
    /// The newer one
    #[arg(value_name = "TO")]
    to: String,
    /// Compare versions of this unit
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    All,
    One(Qualifier),
}

impl FromStr for Which {
    type Err = ReferenceError;
    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        if text == "all" { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}

/// Runs a command on the versions of a kind of unit.
pub(crate) async fn run<P: Args + Into<NewVersion>>(
    session: &Session,
    kind: Kind,
    command: Command<P>,
) -> Result<()> {
    match command {
        Command::Create(new) => publish(session, kind, new.into(), Start::Fresh).await,
        Command::Update(new) => publish(session, kind, new.into(), Start::Latest).await,
        Command::List(list) => self::list(session, kind, list).await,
        Command::Show(show) => self::show(session, kind, show).await,
        Command::Describe(describe) => self::describe(session, kind, describe).await,
        Command::Download(download) => download::run(session, kind, download).await,
        Command::Delete(delete) => self::delete(session, kind, delete).await,
        Command::Diff(diff) => self::diff(session, kind, diff).await,
    }
}

/// Publishes a version.
pub(crate) async fn publish(
    session: &Session,
    kind: Kind,
    new: NewVersion,
    start: Start,
) -> Result<()> {
    let NewVersion { named, fields, publishing, package_version, tag } = new;
    let unit = named.unit(session)?;
    let fields = fields.upload(session).await?;
    let body = json!({
        "start": start,
        "fields": fields,
        "id": publishing.version,
        "packageVersion": package_version,
        "description": publishing.description.unwrap_or_default(),
        "ifSame": if publishing.if_changed { IfSame::Keep } else { IfSame::Publish },
        "tag": tag,
    });
    let path = versions(&unit, kind);
    let change = Change::new(Method::POST).body(&body)?.expect(publishing.expect);
    let done: Done<Published> = session.client.change(&path, change).await?;
    session.output.item(&done, show::published)?;
    let version = &done.result.version;
    if publishing.wait && version.build != Build::None {
        Building::from(version).follow(&session.client).await?;
    }
    Ok(())
}

/// Waits for the build of a package's version, or of its draft.
pub(crate) async fn await_build(
    session: &Session,
    (app, name): (&AppName, &Name),
    id: Option<&VersionId>,
) -> Result<()> {
    let package = ["apps", app.as_str(), Kind::Package.plural(), name.as_str()];
    if let Some(id) = id {
        let path = [&package[..], &["versions", id.as_str()]].concat();
        let version: VersionView = session.client.get(&path, &[]).await?;
        return match version.build {
            Build::None => Ok(()),
            _ => Building::from(&version).follow(&session.client).await,
        };
    }
    let building = Building::draft(&UnitAt { app: app.clone(), name: name.clone() }, Kind::Package);
    let progress = building.waiting();
    let mut after = 0;
    loop {
        let unit: UnitView = session.client.get(&package, &[]).await?;
        match unit.draft.map_or(Build::None, |draft| draft.build) {
            Build::Pending | Build::Running => tokio::time::sleep(build::PAUSE).await,
            Build::None | Build::Succeeded => return Ok(()),
            Build::Failed => {
                let problem = Problem::new(format!("the build of the draft of {name} failed"));
                let hint = format!("`folio pkg info {name}` shows its log");
                return Err(problem.hint(hint).into());
            }
        }
        // The draft may be gone by now, which the next look at the package shows.
        if progress.is_shown()
            && let Ok(part) = building.ask(&session.client, after, Answer::AtOnce).await
        {
            after = part.next;
            if let Some(line) = part.text.lines().last() {
                progress.say(&one_line(line));
            }
        }
    }
}

async fn list(session: &Session, kind: Kind, list: List) -> Result<()> {
    let unit = list.named.unit(session)?;
    let path = versions(&unit, kind);
    let found: Vec<VersionView> = session.client.pages(&path, ("after", usize::MAX)).await?;
    session.output.items(&found, show::table)
}

async fn show(session: &Session, kind: Kind, show: Show) -> Result<()> {
    let found = show.versioned.or_latest(session, kind).await?;
    show_version(session, kind, found, show.follow()).await
}

/// Shows a package with the log of its build: the version that is named, else the draft, else the latest version.
pub(crate) async fn show_package(session: &Session, show: Show) -> Result<()> {
    let (kind, follow) = (Kind::Package, show.follow());
    let (unit, at) = show.versioned.or_draft(session, kind).await?;
    if at != Qualifier::Draft {
        return show_version(session, kind, (unit, at), follow).await;
    }
    let path = ["apps", unit.app.as_str(), kind.plural(), unit.name.as_str()];
    let view: UnitView = session.client.get(&path, &[]).await?;
    let Some(build) = view.draft.as_ref().map(|draft| draft.build) else {
        return show_version(session, kind, (unit, at), follow).await;
    };
    let words = |view: &UnitView| {
        unit::details(view).line("Build", unit::build(view).map_or("", show::build)).to_string()
    };
    Building::draft(&unit, kind).show(session, &path, (view, build, words), follow).await
}

async fn show_version(
    session: &Session,
    kind: Kind,
    (unit, at): (UnitAt, Qualifier),
    follow: Follow,
) -> Result<()> {
    let found = session.client.get(&words(&version(&unit, kind, &at)), &[]).await;
    let found: VersionView = match found {
        // Before a build succeeded, a unit has no latest version; how that goes is worth seeing all the same.
        Err(error) if at == Qualifier::Latest && client::is_unbuilt(&error) => {
            let path = versions(&unit, kind);
            let all: Vec<VersionView> = session.client.pages(&path, ("after", usize::MAX)).await?;
            all.into_iter().next_back().ok_or(error)?
        }
        found => found?,
    };
    let path = version(&unit, kind, &Qualifier::Number(found.number));
    let (building, build) = (Building::from(&found), found.build);
    let words_of = |found: &VersionView| show::details(found).to_string();
    building.show(session, &words(&path), (found, build, words_of), follow).await
}

async fn describe(session: &Session, kind: Kind, describe: Describe) -> Result<()> {
    let (unit, at) = describe.versioned.exactly(session, kind).await?;
    let path = version(&unit, kind, &at);
    let body = json!({ "description": describe.description });
    let change = Change::new(Method::PATCH).body(&body)?;
    let done: Done<VersionView> = session.client.change(&words(&path), change).await?;
    session.output.item(&done, |done| {
        let view = &done.result;
        format!("{kind} {} version {} described", view.name, view.id)
    })
}

async fn delete(session: &Session, kind: Kind, delete: Delete) -> Result<()> {
    let reference = delete.named.reference()?;
    let (unit, at) = match delete.version {
        Some(Which::All) => (delete.named.unit(session)?, "all".to_owned()),
        flag => {
            let flag = flag.and_then(|which| match which {
                Which::All => None,
                Which::One(at) => Some(at),
            });
            let (unit, at) = name::find(session, kind, reference, flag).await?;
            let at = at.ok_or_else(|| name::which(&unit.name))?;
            (unit, at.to_string())
        }
    };
    let path = [&versions(&unit, kind)[..], &[&at]].concat();
    let change = Change::new(Method::DELETE).expect(delete.expect);
    let done: Done<Removed> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| unit::removed(&done.result))
}

async fn diff(session: &Session, kind: Kind, diff: Diff) -> Result<()> {
    let side = |text: &str| match &diff.name {
        Some(name) => format!("{name}@{text}"),
        None => text.to_owned(),
    };
    let parse = |text: &str| {
        let side = side(text);
        let reference = side.parse::<Reference>();
        let odd = |error| Problem::usage(format!("`{side}` is not a reference: {error}"));
        reference.map_err(|error| anyhow::Error::from(odd(error)))
    };
    let (from, to) = (parse(&diff.from)?, parse(&diff.to)?);
    let app = session.app(from.app.as_ref());
    let query = [("kind", kind.to_string()), ("from", from.to_string()), ("to", to.to_string())];
    let found: DiffView = session.client.get(&["apps", app.as_str(), "diff"], &query).await?;
    session.output.item(&found, show::difference)
}

fn versions(unit: &UnitAt, kind: Kind) -> [&str; 5] {
    ["apps", unit.app.as_str(), kind.plural(), unit.name.as_str(), "versions"]
}

fn version(unit: &UnitAt, kind: Kind, at: &Qualifier) -> Vec<String> {
    let at = at.to_string();
    versions(unit, kind).into_iter().chain([at.as_str()]).map(str::to_owned).collect()
}

fn words(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}
