//! What each command does: ask the server, print the answer. One module per group of commands; what functions
//! and packages share is in [`mod@unit`] and [`version`].

pub(crate) mod alias;
pub(crate) mod app;
pub(crate) mod archive;
pub(crate) mod binding;
pub(crate) mod canary;
pub(crate) mod config;
pub(crate) mod deleting;
pub(crate) mod domain;
pub(crate) mod environment;
pub(crate) mod execution;
pub(crate) mod function;
pub(crate) mod history;
pub(crate) mod idle;
pub(crate) mod invoke;
pub(crate) mod kinds;
pub(crate) mod kubeconfig;
pub(crate) mod maintenance;
pub(crate) mod objects;
pub(crate) mod package;
pub(crate) mod publish;
pub(crate) mod release;
pub(crate) mod route;
pub(crate) mod running;
pub(crate) mod saving;
pub(crate) mod secret;
pub(crate) mod settings;
pub(crate) mod spec;
pub(crate) mod statics;
pub(crate) mod storage;
pub(crate) mod tag;
pub(crate) mod token;
pub(crate) mod trigger;
pub(crate) mod unit;
pub(crate) mod version;

use std::path::PathBuf;

use anyhow::Result;
use clap::CommandFactory;
use folio_model::AppName;

use crate::cli::{Cli, Command, Globals};
use crate::client::{Client, Wishes};
use crate::config::{Access, Config};
use crate::output::{self, Format};
use crate::{demo, serve};

/// One run of a client command.
pub(crate) struct Session {
    /// The server.
    pub(crate) client: Client,
    /// How to print what it says.
    pub(crate) output: Format,
    /// Where to remember what files hash to.
    pub(crate) cache: Option<PathBuf>,
    /// How the server was come to.
    access: Access,
    app: AppName,
}

impl Session {
    /// The app to work in: the one written in a reference, else the one of the flag.
    pub(crate) fn app(&self, written: Option<&AppName>) -> AppName {
        written.unwrap_or(&self.app).clone()
    }

    fn open(globals: Globals, config: &Config) -> Result<Self> {
        let output = globals.format();
        let url = config.url(globals.server.as_deref());
        let releasing = match (globals.no_release, globals.promote) {
            (true, _) => Some("hold".to_owned()),
            (false, true) => Some("promote".to_owned()),
            (false, false) => None,
        };
        let wishes = Wishes { reason: globals.reason, releasing };
        let access = config.access(&url, globals.ca.as_deref())?;
        let client = Client::new(&url, &access, wishes)?;
        let cache = config.cache.clone();
        Ok(Self { client, output, cache, access, app: globals.app })
    }
}

/// Runs one command.
pub(crate) async fn run(cli: Cli, config: Config) -> Result<()> {
    let Cli { globals, command } = cli;
    match command {
        Command::Serve(command) => serve::run(command, &config).await,
        Command::Demo(command) => Box::pin(demo::run(command)).await,
        Command::Check(command) => maintenance::check(command, &config, globals.format()).await,
        Command::Backup(command) => maintenance::backup(command, &config).await,
        Command::Restore(command) => maintenance::restore(command, &config).await,
        Command::Timer(trigger::timer::Command::Showschedule(command)) => {
            trigger::timer::show_schedule(&command, globals.format())
        }
        Command::Init(command) => spec::init_app(&command),
        Command::Schema => spec::schema(),
        Command::Convert(command) => kinds::convert(&command, globals.format()),
        Command::Crds(command) => kinds::crds(&command, &config, &globals),
        Command::Explain(command) => kinds::explain(&command, globals.format()),
        Command::Completions(command) => {
            let mut script = Vec::new();
            clap_complete::generate(command.shell, &mut Cli::command(), "folio", &mut script);
            output::bytes(&script)
        }
        Command::Dev(command) => {
            Box::pin(spec::dev::run(Session::open(globals, &config)?, command)).await
        }
        Command::Version => output::print(concat!("folio ", env!("CARGO_PKG_VERSION"))),
        command => Box::pin(ask(command, &Session::open(globals, &config)?)).await,
    }
}

/// Runs a command that asks the server.
async fn ask(command: Command, session: &Session) -> Result<()> {
    match command {
        Command::Function(command) => function::run(session, *command).await,
        Command::Package(command) => package::run(session, command).await,
        Command::Environment(command) => environment::run(session, command).await,
        Command::Config(command) => config::run(session, command).await,
        Command::Secret(command) => secret::run(session, command).await,
        Command::Route(command) => route::run(session, command).await,
        Command::Timer(command) => trigger::timer::run(session, command).await,
        Command::Mqtrigger(command) => trigger::queue::run(session, command).await,
        Command::Watch(command) => trigger::watch::run(session, command).await,
        Command::Canary(command) => canary::run(session, command).await,
        Command::Archive(command) => archive::run(session, command).await,
        Command::Get(command) => objects::get(session, command).await,
        Command::Group(command) => objects::run_group(session, command).await,
        Command::Spec(command) => spec::run(session, command).await,
        Command::Deploy(command) => spec::deploy(session, command).await,
        Command::Execution(command) => execution::run(session, command).await,
        Command::Job(command) => binding::job(session, command).await,
        Command::Webhook(command) => binding::webhook(session, command).await,
        Command::Static(command) => statics::run(session, command).await,
        Command::Invoke(command) => invoke::run(session, command).await,
        Command::Status => running::status(session).await,
        Command::Top => running::top(session).await,
        Command::App(command) => app::run(session, command).await,
        Command::Domain(command) => domain::run(session, command).await,
        Command::Token(command) => token::run(session, command).await,
        Command::Whoami => token::whoami(session).await,
        Command::Kubeconfig(command) => kubeconfig::run(session, command).await,
        Command::Release(command) => release::run(session, command).await,
        Command::Rollback(command) => release::roll_back(session, command).await,
        Command::Log(command) => history::log(session, command).await,
        Command::Undo(command) => history::undo(session, command).await,
        Command::Gc(command) => storage::gc(session, command).await,
        Command::Migrate(command) => storage::migrate(session, command).await,
        other => unreachable!("{other:?} needs no server"),
    }
}
