//! `folio serve`: opens the data directory, lets the admin in, and serves the control API until told to stop.

mod admin;
#[cfg(debug_assertions)]
mod clock;
mod limits;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use folio_core::ports::{Clock, SystemClock};
use folio_core::{Folio, Settings};
use folio_store::DataDirectory;
use jiff::SignedDuration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use self::limits::LimitFlag;
use crate::config::Config;
use crate::output;
use crate::problem::{Problem, explained};

/// How to serve.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Keep everything in this directory [default: `$FOLIO_DATA`, else `~/.local/share/folio`]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Listen on this address; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070")]
    listen: SocketAddr,
    /// Listen beyond this machine, although tokens and code travel unencrypted
    #[arg(long)]
    insecure_listen: bool,
    /// Set a limit, such as `contentFilesMax=1000`; repeat it for more
    #[arg(long, value_name = "NAME=VALUE")]
    limit: Vec<LimitFlag>,
    /// Keep bytes that nothing needs for this long, so that an undo finds them
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    grace: SignedDuration,
    /// Log at this level: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    log: String,
    /// Let time and chance be the same in every run
    #[cfg(debug_assertions)]
    #[arg(long, value_name = "SEED", hide = true)]
    scripted_clock: Option<u64>,
}

/// A server that is ready to be run.
pub(crate) struct Server {
    listener: TcpListener,
    directory: DataDirectory,
    folio: Folio,
    made_token: Option<PathBuf>,
}

/// Serves until the process is told to stop.
pub(crate) async fn run(serve: Serve, config: &Config) -> Result<()> {
    start_log(&serve.log)?;
    arm(config)?;
    refuse_open_door(&serve)?;
    let data = config.data(serve.data.clone())?;
    let settings = Settings {
        limits: limits::apply(&serve.limit)?,
        grace: Duration::try_from(serve.grace).context("--grace must not be negative")?,
    };
    let server = Server::open(&data, serve.listen, settings, clock(&serve)).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    if let Some(path) = &server.made_token {
        output::talk(&format!("made the admin token in {}", path.display()));
    }
    output::talk(&format!("listening on {}", server.url()?));
    server
        .run(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
        .await
}

impl Server {
    /// Opens the data directory and takes the address.
    pub(crate) async fn open(
        data: &Path,
        listen: SocketAddr,
        settings: Settings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let opened = DataDirectory::open(data, Arc::clone(&clock), settings.grace).await;
        let directory = opened.map_err(explained)?;
        let (ledger, blobs) = (directory.ledger.clone(), directory.blobs.clone());
        let folio = Folio::new(ledger, blobs, clock, settings);
        let made_token = admin::admit(&folio, data).await?;
        let listener = TcpListener::bind(listen).await.with_context(|| {
            let problem = Problem::new(format!("cannot listen on {listen}"));
            problem.hint("choose another address with --listen; port 0 takes a free one")
        })?;
        Ok(Self { listener, directory, folio, made_token })
    }

    /// Where the server can be reached.
    pub(crate) fn url(&self) -> Result<String> {
        Ok(format!("http://{}", self.listener.local_addr()?))
    }

    /// Serves until `shutdown` resolves, lets requests finish, and closes the directory.
    pub(crate) async fn run(self, shutdown: impl Future<Output = ()>) -> Result<()> {
        folio_api::serve(self.listener, self.folio, shutdown).await;
        self.directory.close().await.map_err(explained)
    }
}

fn start_log(level: &str) -> Result<()> {
    let filter = EnvFilter::try_new(level)
        .map_err(|error| Problem::usage(format!("`{level}` is not a log level: {error}")))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.try_init().map_err(anyhow::Error::from_boxed)
}

/// Without TLS, a token that leaves the machine can be read by anybody on the way.
fn refuse_open_door(serve: &Serve) -> Result<()> {
    if serve.listen.ip().is_loopback() || serve.insecure_listen {
        return Ok(());
    }
    let problem = format!("{} can be reached from other machines, unencrypted", serve.listen);
    let hint = "listen on 127.0.0.1 behind a proxy that adds TLS, or insist with --insecure-listen";
    Err(Problem::new(problem).hint(hint).into())
}

#[cfg(debug_assertions)]
fn clock(serve: &Serve) -> Arc<dyn Clock> {
    match serve.scripted_clock {
        Some(seed) => Arc::new(clock::ScriptedClock::new(seed)),
        None => Arc::new(SystemClock),
    }
}

#[cfg(not(debug_assertions))]
fn clock(_: &Serve) -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// Lets a test choose where this process dies, or what it does wrong.
fn arm(config: &Config) -> Result<()> {
    if !cfg!(debug_assertions) {
        return Ok(());
    }
    if let Some(crash) = &config.crash {
        let (point, nth) = crash.split_once(':').unwrap_or((crash, "1"));
        folio_core::crash::arm(point, nth.parse().context("FOLIO_CRASH is POINT or POINT:NTH")?);
    }
    if let Some(fault) = &config.fault {
        folio_core::crash::plant(fault);
    }
    Ok(())
}
