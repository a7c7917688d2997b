//! One server: its data directory, what runs functions, the control API and the gateway, opened and closed
//! together.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use folio_api::Encryption;
use folio_core::logs::Logs;
use folio_core::ports::Clock;
use folio_core::ports::runtime::{Runtime as _, RuntimePorts};
use folio_core::{Folio, Hosts, Settings};
use folio_messages::Nats;
use folio_run::LocalRuntime;
use folio_run::build::BuildHost;
use folio_store::DataDirectory;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::admin;
use super::secure::Secured;
use crate::output;
use crate::problem::{Problem, explained};
use crate::vault::FileVault;

/// How long workers may take to finish once nobody calls any more.
const WORKERS_GRACE: Duration = Duration::from_secs(10);

/// How to open a server.
pub(crate) struct Opening {
    pub(crate) listen: SocketAddr,
    pub(crate) gateway: SocketAddr,
    pub(crate) settings: Settings,
    /// Whether whoever has no token is let in as admin.
    pub(crate) open: bool,
    /// How the control port is encrypted, if it is.
    pub(crate) secured: Secured,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) running: folio_run::Settings,
    /// Bytes of what each function printed that are kept in memory.
    pub(crate) log_bytes_max: usize,
    /// The message queue that triggers read from.
    pub(crate) nats: Option<String>,
    pub(crate) doors: folio_gateway::Settings,
    /// Where the key is that seals secrets.
    pub(crate) secret_key: PathBuf,
}

/// A server that is ready to be run.
pub(crate) struct Server {
    control: TcpListener,
    gateway: TcpListener,
    encryption: Option<Encryption>,
    doors: folio_gateway::Settings,
    directory: DataDirectory,
    runtime: Arc<LocalRuntime>,
    folio: Folio,
    made_token: Option<PathBuf>,
}

impl Server {
    /// Opens the data directory and takes the addresses.
    pub(crate) async fn open(data: &Path, opening: Opening) -> Result<Self> {
        let Opening {
            listen,
            gateway,
            settings,
            open,
            secured,
            clock,
            running,
            log_bytes_max,
            nats,
            doors,
            secret_key,
        } = opening;
        let opened = DataDirectory::open(data, Arc::clone(&clock), settings.grace).await;
        let directory = opened.map_err(explained)?;
        let encryption = secured.open(data, &clock)?;
        let control = bind(listen, "--listen").await?;
        let gateway = bind(gateway, "--gateway").await?;
        let settings = Settings { hosts: hosts(&gateway, &doors)?, ..settings };
        let logs = Arc::new(Logs::new(log_bytes_max));
        let blobs = directory.blobs.clone();
        let ports =
            RuntimePorts { blobs, logs: Arc::clone(&logs), invoke: Arc::new(OnceLock::new()) };
        let runtime = LocalRuntime::open(running, ports.clone())
            .context("cannot prepare to run functions")?;
        let (ledger, blobs) = (directory.ledger.clone(), directory.blobs.clone());
        let vault = FileVault::new(secret_key, Arc::clone(&clock));
        let folio = Folio::new(ledger, blobs, clock, settings).with_vault(Arc::new(vault));
        folio.check_secrets().await.map_err(explained)?;
        let folio = folio.with_runtime(runtime.clone(), directory.queue.clone(), logs);
        let folio = folio.with_executions(directory.queue.clone());
        let folio = match nats {
            Some(address) => folio.with_messages(Arc::new(connect(&address).await?)),
            None => folio,
        };
        let folio = match open {
            true => folio.with_open_door(admin::actor()),
            false => folio,
        };
        if ports.invoke.set(folio.calls_between_functions()).is_err() {
            unreachable!("these ports were made here and handed to nobody who sets them");
        }
        let made_token = admin::admit(&folio, data).await?;
        folio.release_first().await.map_err(explained)?;
        Ok(Self { control, gateway, encryption, doors, directory, runtime, folio, made_token })
    }

    /// Where the control API can be reached.
    pub(crate) fn url(&self) -> Result<String> {
        let scheme = if self.encryption.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}", self.control.local_addr()?))
    }

    /// Where functions can be reached.
    pub(crate) fn gateway_url(&self) -> Result<String> {
        let scheme = if self.doors.tls.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}", self.gateway.local_addr()?))
    }

    /// Says where it can be reached, and what it cannot protect against.
    pub(crate) fn announce(&self) -> Result<()> {
        if let Some(path) = &self.made_token {
            output::talk(&format!("made the admin token in {}", path.display()));
        }
        for missing in self.runtime.status().enforcement.iter().filter(|one| !one.enforced) {
            output::talk(&format!("not enforced here: {}: {}", missing.name, missing.detail));
        }
        output::talk(&format!("gateway on {}", self.gateway_url()?));
        output::talk(&format!("listening on {}", self.url()?));
        Ok(())
    }

    /// Serves until `shutdown` resolves, lets requests finish, and closes the directory.
    pub(crate) async fn run(self, shutdown: impl Future<Output = ()>) -> Result<()> {
        let (stop, stopped) = watch::channel(());
        let told = || {
            let mut stopped = stopped.clone();
            async move { while stopped.changed().await.is_ok() {} }
        };
        let serving = async {
            let control =
                folio_api::serve(self.control, self.folio.clone(), self.encryption, told());
            let (folio, doors) = (self.folio.clone(), self.doors);
            let gateway = folio_gateway::serve(self.gateway, folio, doors, told());
            let builds = self.folio.run_builds(told());
            let started = Box::pin(async {
                let timers = self.folio.run_timers(told());
                let (messages, watches) =
                    (self.folio.run_messages(told()), self.folio.run_watches(told()));
                let canaries = self.folio.run_canaries(told());
                let executions = self.folio.run_executions(told());
                let jobs = self.folio.run_jobs(told());
                let expiry = self.folio.run_expiry(told());
                let (timers, messages, watches, canaries, executions, jobs, expiry) =
                    tokio::join!(timers, messages, watches, canaries, executions, jobs, expiry);
                let calls = timers.and(messages).and(watches).and(executions).and(jobs);
                calls.and(canaries).and(expiry)
            });
            let ((), (), built, started) = tokio::join!(control, gateway, builds, started);
            built.and(started)
        };
        let stopping = async {
            shutdown.await;
            drop(stop);
        };
        let (served, ()) = tokio::join!(serving, stopping);
        self.runtime.stop(WORKERS_GRACE).await;
        served.map_err(explained)?;
        self.directory.close().await.map_err(explained)
    }
}

/// How code is run by the server of a data directory, if nobody says more.
pub(crate) fn running(data: &Path) -> Result<folio_run::Settings> {
    // A mount names a place for whoever looks from anywhere.
    let directory = std::path::absolute(data)?.join("run");
    let helper = std::env::current_exe().context("cannot find this program itself")?;
    let build_host = BuildHost::new(std::env::vars_os());
    Ok(folio_run::Settings { build_host, ..folio_run::Settings::new(directory, helper) })
}

/// Where apps are found behind a gateway.
fn hosts(gateway: &TcpListener, doors: &folio_gateway::Settings) -> Result<Hosts> {
    let (scheme, usual) = if doors.tls.is_some() { ("https", 443) } else { ("http", 80) };
    let domain = doors.domain.as_deref().unwrap_or("localhost").trim_end_matches('.');
    let port = Some(gateway.local_addr()?.port()).filter(|port| *port != usual);
    Ok(Hosts { scheme: scheme.to_owned(), domain: domain.to_ascii_lowercase(), port })
}

async fn connect(address: &str) -> Result<Nats> {
    Nats::connect(address).await.with_context(|| {
        let problem = Problem::new(format!("cannot use the message queue at `{address}`"));
        problem.hint("give --nats an address such as nats://127.0.0.1:4222")
    })
}

async fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        let problem = Problem::new(format!("cannot listen on {address}"));
        problem.hint(format!("choose another address with {flag}; port 0 takes a free one"))
    })
}
