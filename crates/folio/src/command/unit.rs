//! Functions and packages as a whole: their drafts, lists, and deleting them.

use anyhow::Result;
use clap::Args;
use folio_core::app::AppSummary;
use folio_core::request::Fields;
use folio_core::view::{Done, DraftView, PackageUse, Removed, UnitView};
use folio_model::{Build, Kind, RunSettings, Snapshot};
use reqwest::Method;
use serde_json::json;

use super::deleting::Deleting;
use super::{Session, alias};
use crate::client::{Change, Items};
use crate::name::{Named, UnitAt};
use crate::output::{Details, Format, Table, list as join};

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct Get {
    #[command(flatten)]
    named: Named,
}

/// Which units to list.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// List those of every app
    #[arg(long, short = 'A', visible_alias = "all-namespaces")]
    all_apps: bool,
}

/// What to delete.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    deleting: Deleting,
    /// Take its versions out of tags, too
    #[arg(long)]
    cascade: bool,
    /// Refuse unless it is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// Makes a unit with a draft.
pub(crate) async fn create(
    session: &Session,
    kind: Kind,
    unit: UnitAt,
    fields: Fields,
) -> Result<()> {
    let body = json!({ "name": unit.name, "fields": fields });
    let path = ["apps", unit.app.as_str(), kind.plural()];
    let change = Change::new(Method::POST).body(&body)?;
    let done: Done<UnitView> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| format!("{kind} {} created as a draft", done.result.name))
}

/// Lays fields over a draft.
pub(crate) async fn update(
    session: &Session,
    kind: Kind,
    unit: UnitAt,
    (fields, expect): (Fields, Option<u64>),
) -> Result<()> {
    let path = ["apps", unit.app.as_str(), kind.plural(), unit.name.as_str()];
    let change = Change::new(Method::PATCH).body(&json!({ "fields": fields }))?.expect(expect);
    let done: Done<UnitView> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| {
        let changed = if done.changed { "changed" } else { "unchanged" };
        format!("draft of {kind} {} {changed}", done.result.name)
    })
}

/// Shows a unit.
pub(crate) async fn get(session: &Session, kind: Kind, get: Get) -> Result<()> {
    let unit = get.named.unit(session)?;
    let path = ["apps", unit.app.as_str(), kind.plural(), unit.name.as_str()];
    let view: UnitView = session.client.get(&path, &[]).await?;
    session.output.item(&view, |view| details(view).to_string())
}

/// Shows a unit in one line.
pub(crate) async fn meta(session: &Session, kind: Kind, get: Get) -> Result<()> {
    let unit = get.named.unit(session)?;
    let path = ["apps", unit.app.as_str(), kind.plural(), unit.name.as_str()];
    let view: UnitView = session.client.get(&path, &[]).await?;
    session.output.items(&[view], table)
}

/// Lists the units of a kind.
pub(crate) async fn list(session: &Session, kind: Kind, list: List) -> Result<()> {
    let found = list.find(session, kind).await?;
    list.show(session, &found)
}

impl List {
    /// The units of the app, or of every app.
    pub(crate) async fn find(&self, session: &Session, kind: Kind) -> Result<Vec<UnitView>> {
        let mut apps = vec![session.app(None)];
        if self.all_apps {
            let found: Items<AppSummary> = session.client.get(&["apps"], &[]).await?;
            apps = found.items.into_iter().map(|app| app.app).collect();
        }
        let mut units = Vec::new();
        for app in apps {
            let path = ["apps", app.as_str(), kind.plural()];
            let found: Items<UnitView> = session.client.get(&path, &[]).await?;
            units.extend(found.items);
        }
        Ok(units)
    }

    /// Prints them, with their apps where there may be several.
    pub(crate) fn show(&self, session: &Session, units: &[UnitView]) -> Result<()> {
        let table = if self.all_apps { table_of_apps } else { table };
        session.output.items(units, table)
    }
}

/// How far the build of a package is: of its draft, or else of its latest version.
pub(crate) fn build(view: &UnitView) -> Option<Build> {
    let draft = view.draft.as_ref().map(|draft| draft.build);
    draft.or(view.latest.as_ref().map(|latest| latest.build))
}

/// Deletes a unit and what belongs to it.
pub(crate) async fn delete(session: &Session, kind: Kind, delete: Delete) -> Result<()> {
    let unit = delete.deleting.unit(session)?;
    let path = ["apps", unit.app.as_str(), kind.plural(), unit.name.as_str()];
    let mut change = Change::new(Method::DELETE).expect(delete.expect);
    if delete.cascade {
        change = change.query("cascade", true);
    }
    match delete.deleting.ask(session, &path, change).await? {
        Some(done) => session.output.item(&done, |done| removed(&done.result)),
        None => Ok(()),
    }
}

/// What a delete removed, a line each.
pub(crate) fn removed(removed: &Removed) -> String {
    let aliases = removed.aliases.iter().map(|alias| format!("alias {alias} deleted"));
    let versions = removed.versions.iter().map(|version| {
        let (kind, name, id) = (version.kind, &version.name, &version.id);
        format!("{kind} {name} version {id} deleted")
    });
    let units = removed.units.iter().map(|unit| format!("{} {} deleted", unit.kind, unit.name));
    let lines: Vec<_> = aliases.chain(versions).chain(units).collect();
    lines.join("\n")
}

/// The package behind a function, as a reference.
pub(crate) fn package(used: Option<&PackageUse>) -> String {
    used.map_or_else(String::new, |used| match &used.id {
        Some(id) => format!("{}@{id}", used.name),
        None => used.name.to_string(),
    })
}

/// The lines about a spec.
pub(crate) fn spec(details: Details, spec: &Snapshot) -> Details {
    let details = details.line("Environment", environment(spec));
    match spec {
        Snapshot::Function(spec) => {
            let names = |pins: &[folio_model::MountPin]| {
                pins.iter().map(|pin| pin.name.to_string()).collect::<Vec<_>>().join(", ")
            };
            let details = details
                .line("Entrypoint", spec.entrypoint.as_deref().unwrap_or_default())
                .line("Configs", names(&spec.configs))
                .line("Secrets", names(&spec.secrets));
            run(details, &spec.run)
        }
        Snapshot::Package(spec) => {
            let tree = |content: Option<folio_model::Content>| {
                content.map(|content| content.tree.to_string()).unwrap_or_default()
            };
            details
                .line("Source", tree(spec.source))
                .line("Deployment", tree(spec.deployment))
                .line("Build command", spec.build_command.as_deref().unwrap_or_default())
        }
        Snapshot::Environment(_)
        | Snapshot::Trigger(_)
        | Snapshot::Config(_)
        | Snapshot::Secret(_)
        | Snapshot::Static(_) => details,
    }
}

/// The lines about how a function is run, as far as it says so.
fn run(details: Details, run: &RunSettings) -> Details {
    let number = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    let ms = |ms: Option<u64>| ms.map(|ms| format!("{ms} ms")).unwrap_or_default();
    let memory = run.memory_bytes.map(|bytes| format!("{} MiB", bytes / (1024 * 1024)));
    let variables = run.variables.iter().map(|(name, value)| format!("{name}={value}"));
    details
        .line("Variables", join(variables))
        .line("Timeout", ms(run.timeout_ms))
        .line("Memory", memory.unwrap_or_default())
        .line("CPU", run.cpu_millis.map(|millis| format!("{millis}m")).unwrap_or_default())
        .line("Concurrency", number(run.concurrency))
        .line("Idle", ms(run.idle_ms))
        .line("Scale min", number(run.scale_min))
        .line("Scale max", number(run.scale_max))
        .line("Requests per worker", number(run.requests_per_worker))
        .line("Access", run.access.unwrap_or_default())
}

/// The environment a spec names.
pub(crate) fn environment(spec: &Snapshot) -> String {
    spec.environment().map(ToString::to_string).unwrap_or_default()
}

fn shown(view: &UnitView) -> Option<(&Snapshot, Option<&PackageUse>)> {
    let draft = view.draft.as_ref().map(|draft| (&draft.spec, draft.package.as_ref()));
    draft.or(view.latest.as_ref().map(|latest| (&latest.spec, latest.package.as_ref())))
}

fn table(units: &[UnitView], format: Format) -> Table {
    let wide = format == Format::Wide;
    let mut table = if wide {
        Table::new(["NAME", "LATEST", "DRAFT", "ENV", "PACKAGE", "ALIASES", "REVISION", "UID"])
    } else {
        Table::new(["NAME", "LATEST", "DRAFT", "ENV"])
    };
    for view in units {
        let name = view.name.to_string();
        let latest = view.latest.as_ref().map(|latest| latest.id.to_string()).unwrap_or_default();
        let draft = if view.draft.is_some() { "yes" } else { "no" }.to_owned();
        let (env, package) = shown(view)
            .map_or_else(Default::default, |(spec, used)| (environment(spec), package(used)));
        if wide {
            let aliases = join(view.aliases.iter().map(|alias| &alias.name));
            let (revision, uid) = (view.revision.to_string(), view.uid.to_string());
            table.row([name, latest, draft, env, package, aliases, revision, uid]);
        } else {
            table.row([name, latest, draft, env]);
        }
    }
    table
}

fn table_of_apps(units: &[UnitView], _: Format) -> Table {
    let mut table = Table::new(["APP", "NAME", "LATEST", "DRAFT", "ENV"]);
    for view in units {
        let latest = view.latest.as_ref().map(|latest| latest.id.to_string()).unwrap_or_default();
        let draft = if view.draft.is_some() { "yes" } else { "no" }.to_owned();
        let env = shown(view).map(|(spec, _)| environment(spec)).unwrap_or_default();
        table.row([view.app.to_string(), view.name.to_string(), latest, draft, env]);
    }
    table
}

/// A unit, side by side.
pub(crate) fn details(view: &UnitView) -> Details {
    let latest = view.latest.as_ref().map(|version| format!("{} ({})", version.id, version.number));
    let draft = view.draft.as_ref().map(|DraftView { digest, .. }| digest.to_string());
    let mut details = Details::default()
        .line("Name", &view.name)
        .line("Kind", view.kind)
        .line("App", &view.app)
        .line("Latest", latest.unwrap_or_default())
        .line("Draft", draft.unwrap_or_default());
    if let Some((shown, used)) = shown(view) {
        details = spec(details.line("Package", package(used)), shown);
    }
    let aliases = view.aliases.iter();
    let aliases =
        aliases.map(|found| format!("{} -> {}", found.name, alias::targets(&found.targets)));
    details.line("Aliases", join(aliases)).line("Revision", view.revision)
}
