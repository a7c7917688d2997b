//! Triggers that are no routes: what `timer`, `mqtrigger` and `watch` have in common.

pub(crate) mod queue;
pub(crate) mod timer;
pub(crate) mod watch;

use anyhow::Result;
use clap::Args;
use folio_core::trigger::{TriggerFields, TriggerType, TriggerView};
use folio_core::view::Done;
use folio_model::{Name, Qualifier, Reference, Snapshot, Target, TriggerSpec};
use reqwest::Method;
use serde_json::json;

use super::deleting::Deleting;
use super::saving::{self, Saving};
use super::{Session, route};
use crate::client::{Change, Items};
use crate::name::Named;
use crate::output::{Details, Format, Table};
use crate::problem::{Problem, explained};

/// Which trigger.
#[derive(Debug, Args)]
pub(crate) struct Which {
    #[command(flatten)]
    named: Named,
}

/// The name of a trigger as it shall be.
#[derive(Debug, Args)]
pub(crate) struct Called {
    /// The trigger's name; made up for a new one if left out
    #[arg(value_name = "NAME", conflicts_with = "name")]
    positional: Option<Name>,
    /// The same, as a flag
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,
    /// Refuse unless it is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// What is called.
#[derive(Debug, Args)]
pub(crate) struct Calls {
    /// Call this function, such as `hello` or `hello@v1.0.0`; repeat it with --weight to split
    #[arg(long, value_name = "FUNCTION")]
    function: Vec<Reference>,
    /// The share of the function before it, in hundredths
    #[arg(long, value_name = "PERCENT", requires = "function")]
    weight: Vec<u32>,
    /// Call this version of the function
    #[arg(
        long,
        visible_alias = "function-version",
        value_name = "VERSION",
        requires = "function",
        conflicts_with = "alias"
    )]
    version: Option<Qualifier>,
    /// Call whatever this alias of the function points to
    #[arg(long, visible_alias = "function-alias", value_name = "ALIAS", requires = "function")]
    alias: Option<Qualifier>,
}

impl Calls {
    fn targets(self) -> Result<Option<Vec<Target>>> {
        let at = self.version.or(self.alias);
        route::targets(self.function, &self.weight, at.as_ref())
    }
}

async fn create(
    session: &Session,
    called: Called,
    fields: TriggerFields,
    saving: Saving,
) -> Result<()> {
    let app = session.app(None);
    let name = called.positional.or(called.name);
    if saving.is_wanted() {
        let spec = fields.fresh().map_err(explained)?;
        let name = name.unwrap_or_else(saving::fresh_name);
        return saving.unit(&app, &name, Snapshot::Trigger(spec));
    }
    let change = Change::new(Method::POST).body(&json!({ "name": name, "fields": fields }))?;
    let path = ["apps", app.as_str(), "triggers"];
    said(session, &session.client.change(&path, change.expect(called.expect)).await?, "created")
}

async fn update(session: &Session, called: Called, fields: TriggerFields) -> Result<()> {
    let app = session.app(None);
    let Some(name) = called.positional.or(called.name) else {
        let problem = format!("which {}?", fields.of().noun());
        return Err(Problem::usage(problem).hint("give --name NAME").into());
    };
    let change = Change::new(Method::PATCH).body(&json!({ "fields": fields }))?;
    let path = ["apps", app.as_str(), "triggers", name.as_str()];
    said(session, &session.client.change(&path, change.expect(called.expect)).await?, "changed")
}

async fn list(
    session: &Session,
    of: TriggerType,
    table: impl FnOnce(&[TriggerView], Format) -> Table,
) -> Result<()> {
    let app = session.app(None);
    let query = match of {
        TriggerType::Timer => "timer",
        TriggerType::Queue => "queue",
        TriggerType::Watch => "watch",
    };
    let path = ["apps", app.as_str(), "triggers"];
    let found: Items<TriggerView> =
        session.client.get(&path, &[("type", query.to_owned())]).await?;
    session.output.items(&found.items, table)
}

async fn show(
    session: &Session,
    which: &Which,
    details: impl FnOnce(&TriggerView) -> Details,
) -> Result<()> {
    let unit = which.named.unit(session)?;
    let path = ["apps", unit.app.as_str(), "triggers", unit.name.as_str()];
    let view: TriggerView = session.client.get(&path, &[]).await?;
    session.output.item(&view, |view| details(view).to_string())
}

async fn delete(session: &Session, deleting: &Deleting, of: TriggerType) -> Result<()> {
    let unit = deleting.unit(session)?;
    let path = ["apps", unit.app.as_str(), "triggers", unit.name.as_str()];
    match deleting.ask(session, &path, Change::new(Method::DELETE)).await? {
        Some(done) => {
            session.output.item(&done, |_| format!("{} {} deleted", of.noun(), unit.name))
        }
        None => Ok(()),
    }
}

fn said(session: &Session, done: &Done<TriggerView>, verb: &str) -> Result<()> {
    session.output.item(done, |done| {
        let TriggerView { name, spec, .. } = &done.result;
        let verb = if done.changed { verb } else { "unchanged" };
        format!("{} {name} {verb}: {} -> {}", spec.noun(), starts(spec), leads(spec))
    })
}

/// What starts the function.
fn starts(spec: &TriggerSpec) -> String {
    match spec {
        TriggerSpec::Http(route) => route.path.as_str().to_owned(),
        TriggerSpec::Timer(timer) => timer.cron.clone(),
        TriggerSpec::Queue(queue) => queue.topic.clone(),
        TriggerSpec::Watch(watch) => match &watch.object_name {
            Some(name) => format!("{} {name}", watch.object_type),
            None => watch.object_type.clone(),
        },
    }
}

/// What is called.
fn leads(spec: &TriggerSpec) -> String {
    match spec.tag() {
        Some(tag) => format!("tag {tag}"),
        None => route::shares(spec.targets()),
    }
}
