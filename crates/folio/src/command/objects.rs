//! `folio get` and `folio group`: what there is as objects, in the shapes of Fission's proposals.

use anyhow::Result;
use clap::{Args, Subcommand};
use folio_core::apply::Applied;
use folio_core::diff::AppDiffView;
use folio_core::objects;
use folio_core::upload::Part;
use folio_core::view::{AliasView, AppView, Done, TagView, UnitView, VersionView};
use folio_model::{AppVersion, Kind, Qualifier, Snapshot};
use reqwest::Method;
use serde_json::{Value, json};

use super::version::download;
use super::{Session, app, spec};
use crate::client::{Change, Items};
use crate::name::UnitAt;
use crate::output::{self, Table, moment};
use crate::problem::Problem;

/// Which objects to show.
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// The kind, such as `FunctionVersionTracker`
    #[arg(value_name = "KIND")]
    kind: String,
    /// The object's name; all of them if left out
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// What can be done with groups.
#[derive(Debug, Subcommand)]
pub(crate) enum Group {
    /// List groups, newest first
    List,
    /// Show every function and package of a group with its version
    Show(GroupName),
    /// Show what differs between two groups
    Diff(GroupDiff),
    /// Make the whole app what it was in a group
    ///
    /// What differs gets a new version with the old content, all of them under one new id and in one entry of the log.
    /// Triggers and static items that came after the group go, so that requests and timers find what they found then.
    /// Functions, packages, environments, configs and secrets that came after it stay, with all their versions, and
    /// are told of: nothing of the group leads to them, and only whoever names one finds it. Aliases, tags, jobs and
    /// webhooks say themselves what they mean, and stay.
    Rollback(GroupRollback),
}

/// Where to roll back to.
#[derive(Debug, Args)]
pub(crate) struct GroupRollback {
    /// The id that the group and its versions have
    #[arg(value_name = "ID")]
    id: String,
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
}

/// Which group.
#[derive(Debug, Args)]
pub(crate) struct GroupName {
    /// The id that the group and its versions have, or `latest`
    #[arg(value_name = "ID", default_value = "latest")]
    id: String,
}

/// Which groups.
#[derive(Debug, Args)]
pub(crate) struct GroupDiff {
    /// The older one
    #[arg(value_name = "FROM")]
    from: String,
    /// The newer one
    #[arg(value_name = "TO")]
    to: String,
}

/// The kinds that can be shown.
const KINDS: [&str; 8] = [
    "Alias",
    "Function",
    "FunctionMaster",
    "FunctionVersionTracker",
    "GroupVersionTracker",
    "Package",
    "PackageVersionTracker",
    "Tag",
];

/// Shows objects of a kind.
pub(crate) async fn get(session: &Session, get: Get) -> Result<()> {
    let Get { kind, name } = get;
    let Some(kind) = known(&kind) else {
        let problem = Problem::usage(format!("there are no objects of the kind `{kind}`"));
        return Err(problem.hint(format!("the kinds are {}", KINDS.join(", "))).into());
    };
    let (app, wanted) = (session.app(None).to_string(), name.as_deref());
    let mut found = Objects { session, app, wanted }.all(kind).await?;
    let Some(name) = name else {
        return session.output.items(&found, |found, _| {
            let mut table = Table::new(["KIND", "NAME"]);
            for object in found {
                table.row([kind.to_owned(), named(object).to_owned()]);
            }
            table
        });
    };
    match found.iter().position(|object| named(object) == name) {
        Some(place) => {
            let object = found.swap_remove(place);
            session.output.item(&object, |object| format!("{object:#}"))
        }
        None => {
            let problem = Problem::new(format!("there is no {kind} `{name}`"));
            Err(problem.hint(format!("`folio get {kind}` lists them")).into())
        }
    }
}

/// A kind by its name or that of many of it, in any letter case.
fn known(word: &str) -> Option<&'static str> {
    let many = |kind: &str| format!("{kind}{}", if kind.ends_with('s') { "es" } else { "s" });
    let is_it =
        |kind: &&str| kind.eq_ignore_ascii_case(word) || many(kind).eq_ignore_ascii_case(word);
    KINDS.into_iter().find(is_it)
}

fn named(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

struct Objects<'a> {
    session: &'a Session,
    app: String,
    /// The name of the one that is asked for.
    wanted: Option<&'a str>,
}

impl Objects<'_> {
    async fn all(&self, kind: &str) -> Result<Vec<Value>> {
        match kind {
            "Tag" => {
                let path = ["apps", &self.app, "tags"];
                let tags: Items<TagView> = self.session.client.get(&path, &[]).await?;
                Ok(tags.items.iter().map(objects::tag).collect())
            }
            "GroupVersionTracker" => self.groups().await,
            "Package" | "PackageVersionTracker" => self.units(Kind::Package, kind).await,
            _ => self.units(Kind::Function, kind).await,
        }
    }

    async fn groups(&self) -> Result<Vec<Value>> {
        let mut groups = Vec::new();
        for version in versions(self.session, &self.app).await?.iter().rev() {
            groups
                .push(objects::group(&group(self.session, &self.app, version.id.as_str()).await?));
        }
        Ok(groups)
    }

    /// What there is to every function or package.
    async fn units(&self, of: Kind, kind: &str) -> Result<Vec<Value>> {
        let client = &self.session.client;
        let units: Items<UnitView> = client.get(&["apps", &self.app, of.plural()], &[]).await?;
        let mut found = Vec::new();
        for unit in units.items {
            let name = unit.name.as_str();
            let path = ["apps", &self.app, of.plural(), name, "versions"];
            let versions: Vec<VersionView> = client.pages(&path, ("after", usize::MAX)).await?;
            let aliases: &[AliasView] = &unit.aliases;
            match kind {
                "Function" => found.extend(versions.iter().map(objects::version)),
                "Package" => {
                    for version in &versions {
                        let object = objects::version(version);
                        found.push(self.with_archives(object, version).await?);
                    }
                }
                "Alias" => {
                    found.extend(objects::latest(name, &versions));
                    found.extend(aliases.iter().map(objects::alias));
                }
                _ if versions.is_empty() => {}
                "FunctionMaster" => found.push(objects::master(name, &versions, aliases)),
                _ => found.push(objects::tracker(of, name, &versions)),
            }
        }
        Ok(found)
    }
}

impl Objects<'_> {
    /// A package with the archives it is made of, if it is the one that is asked for. In lists, digests name them.
    async fn with_archives(&self, mut object: Value, version: &VersionView) -> Result<Value> {
        let Snapshot::Package(spec) = &version.spec else { return Ok(object) };
        if self.wanted != Some(named(&object)) {
            return Ok(object);
        }
        let unit = UnitAt { app: version.app.clone(), name: version.name.clone() };
        let at = (unit, Qualifier::Number(version.number));
        let (source, deployment) = (spec.source.is_some(), spec.deployment.is_some());
        for (part, is_there) in [(Part::Source, source), (Part::Deployment, deployment)] {
            if !is_there {
                continue;
            }
            let answer = download::fetch(self.session, Kind::Package, &at, Some(part)).await?;
            if let Some(bytes) = download::at_most(answer, objects::LITERAL_BYTES_MAX).await? {
                objects::put_literal(&mut object, part, &bytes);
            }
        }
        Ok(object)
    }
}

async fn versions(session: &Session, app: &str) -> Result<Vec<AppVersion>> {
    session.client.pages(&["apps", app, "versions"], ("below", usize::MAX)).await
}

async fn group(session: &Session, app: &str, id: &str) -> Result<AppView> {
    session.client.get(&["apps", app, "versions", id], &[]).await
}

/// What a rollback did, or would do.
fn rolled_back(applied: &Applied, to: &str, dry_run: bool) -> String {
    if applied.units.is_empty() {
        return format!("Everything is as in group {to}.");
    }
    spec::show::applied(applied, dry_run)
}

/// Runs a command on groups.
pub(crate) async fn run_group(session: &Session, command: Group) -> Result<()> {
    let app = session.app(None).to_string();
    match command {
        Group::List => {
            let found = versions(session, &app).await?;
            session.output.items(&found, |found, _| {
                let mut table = Table::new(["ID", "CREATED", "BY", "COMMIT", "MESSAGE"]);
                for AppVersion { id, at, by, git, message, .. } in found {
                    let commit = git.as_ref().map_or("-", |git| git.commit.get(..7).unwrap_or("-"));
                    let columns = [id.to_string(), moment(*at), by.to_string()];
                    let [id, at, by] = columns;
                    table.row([id, at, by, commit.to_owned(), message.clone()]);
                }
                table
            })
        }
        Group::Show(GroupName { id }) => {
            let object = objects::group(&group(session, &app, &id).await?);
            session.output.item(&object, |object| format!("{object:#}"))
        }
        Group::Rollback(GroupRollback { id, dry_run }) => {
            let change = Change::new(Method::POST).body(&json!({ "dryRun": dry_run }))?;
            let path = ["apps", &app, "versions", &id, "rollback"];
            let done: Done<Applied> = session.client.change(&path, change).await?;
            for remark in &done.result.remarks {
                output::talk(remark);
            }
            session.output.item(&done, |done| rolled_back(&done.result, &id, dry_run))
        }
        Group::Diff(GroupDiff { from, to }) => {
            let query = [("from", from), ("to", to)];
            let found: AppDiffView = session.client.get(&["apps", &app, "compare"], &query).await?;
            session.output.item(&found, app::difference)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_one_and_by_many() {
        let many = ["aliases", "Functions", "functionmasters", "functionversiontrackers"];
        let more = ["groupVersionTrackers", "packages", "packageversiontrackers", "tags"];
        let many = many.into_iter().chain(more);
        for (kind, many) in KINDS.into_iter().zip(many) {
            for word in [kind, &kind.to_uppercase(), many] {
                assert_eq!(known(word), Some(kind), "{word}");
            }
        }
        for odd in ["", "s", "aliase", "aliass", "functiones", "tag s"] {
            assert_eq!(known(odd), None, "{odd}");
        }
    }
}
