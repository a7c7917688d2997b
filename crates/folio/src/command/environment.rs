//! `folio env`: what runs and builds code.

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use folio_core::environment::{EnvironmentFields, EnvironmentView};
use folio_core::view::Done;
use folio_model::{EnvironmentSpec, Network, RuntimeKind, Snapshot};
use reqwest::Method;
use serde_json::json;

use super::Session;
use super::deleting::Deleting;
use super::idle::EnvironmentIdle;
use super::saving::Creating;
use crate::client::{Change, Items};
use crate::name::Named;
use crate::output::{Details, Format, Table};
use crate::problem::explained;

/// What one can do with environments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an environment
    Create(Creating<Set>),
    /// Change an environment; what is published keeps the one it has
    Update(Set),
    /// Show one environment
    #[command(visible_alias = "show")]
    Get(Which),
    /// List environments
    List,
    /// Delete an environment; what is published keeps the one it has
    Delete(Deleting),
}

/// Which environment.
#[derive(Debug, Args)]
pub(crate) struct Which {
    #[command(flatten)]
    named: Named,
}

/// An environment as it shall be.
#[derive(Debug, Args)]
pub(crate) struct Set {
    #[command(flatten)]
    named: Named,
    /// Run code with this
    #[arg(long, value_name = "RUNTIME")]
    runtime: Option<Runtime>,
    /// Run code as this Fission image does, such as `fission/node-env`
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Start this server, which speaks Fission's environment contract; `{port}` is where it shall listen
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// Build packages that name no command of their own with this one, or as this Fission image does
    #[arg(long, value_name = "COMMAND")]
    builder: Option<String>,
    /// The command, where --builder names an image
    #[arg(long, value_name = "COMMAND")]
    buildcmd: Option<String>,
    /// Keep so many workers waiting for a function
    #[arg(long, value_name = "NUMBER")]
    poolsize: Option<u32>,
    /// Let functions reach this much of the network
    #[arg(long, value_name = "NETWORK")]
    network: Option<Reach>,
    /// Let functions reach whatever the host reaches
    #[arg(long, conflicts_with = "network")]
    externalnetwork: bool,
    #[command(flatten)]
    idle: EnvironmentIdle,
    /// Refuse unless it is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// What starts code.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Runtime {
    /// A WebAssembly component or module
    Wasm,
    /// Node.js
    Nodejs,
    /// Python 3
    Python,
    /// An executable of the package itself
    Binary,
    /// A server of its own, given with --command
    Command,
}

/// What code can reach.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Reach {
    /// Only other functions
    None,
    /// Whatever the host reaches
    Egress,
}

impl From<Runtime> for RuntimeKind {
    fn from(runtime: Runtime) -> Self {
        match runtime {
            Runtime::Wasm => Self::Wasm,
            Runtime::Nodejs => Self::Nodejs,
            Runtime::Python => Self::Python,
            Runtime::Binary => Self::Binary,
            Runtime::Command => Self::Command,
        }
    }
}

impl From<Reach> for Network {
    fn from(reach: Reach) -> Self {
        match reach {
            Reach::None => Self::None,
            Reach::Egress => Self::Egress,
        }
    }
}

/// Runs a command on environments.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Create(Creating { what: set, saving }) => {
            let (unit, fields) = (set.named.unit(session)?, set.fields());
            if saving.is_wanted() {
                let spec = fields.fresh(&unit.name).map_err(explained)?;
                return saving.unit(&unit.app, &unit.name, Snapshot::Environment(spec));
            }
            let body = json!({ "name": unit.name, "fields": fields });
            let change = Change::new(Method::POST).body(&body)?;
            let path = ["apps", unit.app.as_str(), "environments"];
            said(session, &session.client.change(&path, change).await?, "created as")
        }
        Command::Update(set) => {
            let (unit, fields) = (set.named.unit(session)?, set.fields());
            let body = json!({ "fields": fields });
            let change = Change::new(Method::PATCH).body(&body)?.expect(set.expect);
            let path = ["apps", unit.app.as_str(), "environments", unit.name.as_str()];
            said(session, &session.client.change(&path, change).await?, "changed to")
        }
        Command::Get(which) => {
            let unit = which.named.unit(session)?;
            let path = ["apps", unit.app.as_str(), "environments", unit.name.as_str()];
            let view: EnvironmentView = session.client.get(&path, &[]).await?;
            session.output.item(&view, |view| details(view).to_string())
        }
        Command::List => {
            let app = session.app(None);
            let path = ["apps", app.as_str(), "environments"];
            let found: Items<EnvironmentView> = session.client.get(&path, &[]).await?;
            session.output.items(&found.items, table)
        }
        Command::Delete(deleting) => {
            let unit = deleting.unit(session)?;
            let path = ["apps", unit.app.as_str(), "environments", unit.name.as_str()];
            let change = Change::new(Method::DELETE);
            match deleting.ask(session, &path, change).await? {
                None => Ok(()),
                Some(done) => {
                    session.output.item(&done, |_| format!("environment {} deleted", unit.name))
                }
            }
        }
    }
}

impl Set {
    fn fields(&self) -> EnvironmentFields {
        self.idle.warn();
        let network = self.network.or(self.externalnetwork.then_some(Reach::Egress));
        EnvironmentFields {
            runtime: self.runtime.map(Into::into),
            image: self.image.clone(),
            command: self.command.clone(),
            builder: self.buildcmd.clone().or_else(|| self.builder.clone()),
            poolsize: self.poolsize,
            network: network.map(Into::into),
            annotations: std::collections::BTreeMap::new(),
        }
    }
}

fn said(session: &Session, done: &Done<EnvironmentView>, verb: &str) -> Result<()> {
    session.output.item(done, |done| {
        let name = &done.result.name;
        match &done.result.version {
            Some(version) if done.changed => {
                format!("environment {name} {verb} version {}", version.number)
            }
            _ => format!("environment {name} unchanged"),
        }
    })
}

fn version(view: &EnvironmentView) -> String {
    let version = view.version.as_ref().map(|version| version.number.to_string());
    version.unwrap_or_else(|| "built-in".to_owned())
}

fn words(spec: &EnvironmentSpec) -> (String, &'static str) {
    let runtime = serde_json::to_value(spec.runtime).ok();
    let runtime = runtime.and_then(|runtime| runtime.as_str().map(str::to_owned));
    let network = match spec.network {
        Network::None => "none",
        Network::Egress => "egress",
    };
    (runtime.unwrap_or_default(), network)
}

fn table(environments: &[EnvironmentView], _: Format) -> Table {
    let mut table = Table::new(["NAME", "RUNTIME", "NETWORK", "POOLSIZE", "VERSION"]);
    for view in environments {
        let (runtime, network) = words(&view.spec);
        let poolsize = view.spec.poolsize.map(|size| size.to_string());
        table.row([
            view.name.to_string(),
            runtime,
            network.to_owned(),
            poolsize.unwrap_or_default(),
            version(view),
        ]);
    }
    table
}

fn details(view: &EnvironmentView) -> Details {
    let (runtime, network) = words(&view.spec);
    let EnvironmentSpec { image, command, builder, poolsize, .. } = &view.spec;
    Details::default()
        .line("Name", &view.name)
        .line("App", &view.app)
        .line("Version", version(view))
        .line("Runtime", runtime)
        .line("Image", image.as_deref().unwrap_or_default())
        .line("Command", command.as_deref().unwrap_or_default())
        .line("Builder", builder.as_deref().unwrap_or_default())
        .line("Poolsize", poolsize.map(|size| size.to_string()).unwrap_or_default())
        .line("Network", network)
        .line("Revision", view.revision)
}
