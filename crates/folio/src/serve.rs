//! `folio serve`: what an operator can say about a server. Start at [`run`]; the server itself is in `server`.

mod admin;
mod authority;
#[cfg(debug_assertions)]
mod clock;
mod key;
mod limits;
mod secure;
mod server;

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use folio_core::ports::{Clock, SystemClock};
use folio_core::{Hosts, Settings};
use folio_gateway::Tls;
use folio_run::jail::Mode;
use jiff::SignedDuration;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use self::limits::LimitFlag;
pub(crate) use self::limits::ServerLimits;
pub(crate) use self::secure::Secured;
pub(crate) use self::server::{Opening, Server, running};
use crate::config::Config;
use crate::problem::Problem;
use crate::vault::FileVault;

/// How to serve.
#[derive(Debug, Args)]
#[command(after_help = limits::help())]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Serve {
    /// Keep everything in this directory [default: `$FOLIO_DATA`, else `~/.local/share/folio`]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Listen on this address; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7070")]
    listen: SocketAddr,
    /// Take requests to functions on this address; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8888")]
    gateway: SocketAddr,
    /// Serve each app under its own name below this domain, such as `shop.example.com` for app `shop`
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// Serve the control port over TLS on this machine, too; beyond it, that is always so
    #[arg(long)]
    control_tls: bool,
    /// Let the control port's certificate hold for this name or address, too; repeat it for more
    #[arg(long, value_name = "NAME")]
    control_name: Vec<String>,
    /// Serve the control port over TLS with this certificate chain, in PEM, instead of one from the server's own authority
    #[arg(long, value_name = "FILE", requires = "control_key", conflicts_with = "control_name")]
    control_certificate: Option<PathBuf>,
    /// The key of the control port's certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "control_certificate")]
    control_key: Option<PathBuf>,
    /// Serve functions over TLS with this certificate chain, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Serve hosts with certificates of their own, `HOST.crt` and `HOST.key` in this directory; they are read again whenever
    /// they change
    #[arg(long, value_name = "DIR", requires = "tls_certificate")]
    certificates: Option<PathBuf>,
    /// Let `command` environments start programs of this directory, too; repeat it for more
    #[arg(long, value_name = "DIR")]
    command_directory: Vec<PathBuf>,
    /// Read messages from this NATS server, such as `nats://127.0.0.1:4222` [default: `$FOLIO_NATS`]
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
    /// Seal secrets with the key in this file, which is made if nothing was sealed yet [default:
    /// `$FOLIO_SECRET_KEY_FILE`, else beside the data directory under its name with `.key`]
    #[arg(long, value_name = "FILE")]
    secret_key: Option<PathBuf>,
    /// Run functions without a jail; only for code that is trusted like the server itself
    #[arg(long)]
    no_jail: bool,
    /// Where clients find the control port, for the URLs of webhooks [default: as each client names it]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Listen without TLS beyond this machine, although tokens and code travel unencrypted
    #[arg(long, conflicts_with_all = ["control_tls", "control_certificate"])]
    insecure_listen: bool,
    /// Let everybody in who comes without a token, as admin, such as kubectl or openstack over http; only on this machine
    #[arg(long)]
    open: bool,
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
    /// How many seconds a certificate of the server's own lasts
    #[cfg(debug_assertions)]
    #[arg(long, value_name = "SECONDS", hide = true)]
    control_lasts: Option<i64>,
}

/// Serves until the process is told to stop.
pub(crate) async fn run(serve: Serve, config: &Config) -> Result<()> {
    start_log(&serve.log)?;
    arm(config)?;
    refuse_open_door(&serve)?;
    let data = config.data(serve.data.clone())?;
    let limits = limits::apply(&serve.limit, running(&data)?)?;
    let settings = Settings {
        public_url: serve.public_url.as_deref().map(public_url).transpose()?,
        limits: limits.core,
        grace: Duration::try_from(serve.grace).context("--grace must not be negative")?,
        hosts: Hosts::default(),
    };
    let secret_key = serve.secret_key.clone().or_else(|| config.secret_key.clone());
    let opening = Opening {
        secret_key: secret_key.unwrap_or_else(|| FileVault::beside(&data)),
        listen: serve.listen,
        gateway: serve.gateway,
        settings,
        open: serve.open,
        secured: secured(&serve),
        clock: clock(&serve),
        running: folio_run::Settings {
            jail: if serve.no_jail { Mode::Off } else { Mode::Enforced },
            command_directories: serve.command_directory.clone(),
            ..limits.running
        },
        log_bytes_max: limits.log_bytes_max,
        nats: serve.nats.clone().or_else(|| config.nats.clone()),
        doors: folio_gateway::Settings {
            domain: serve.domain.clone(),
            tls: certificate(&serve)?,
            limits: limits.gateway,
            ..folio_gateway::Settings::default()
        },
    };
    let _watcher = watch_certificates(opening.doors.tls.as_ref())?;
    let server = Server::open(&data, opening).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    server.announce()?;
    server
        .run(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
        .await
}

fn start_log(level: &str) -> Result<()> {
    let filter = EnvFilter::try_new(level)
        .map_err(|error| Problem::usage(format!("`{level}` is not a log level: {error}")))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let log = log.with_ansi(std::io::stderr().is_terminal());
    log.try_init().map_err(anyhow::Error::from_boxed)
}

/// The gateway's certificate, if it has one.
fn certificate(serve: &Serve) -> Result<Option<Tls>> {
    let (Some(certificate), Some(key)) = (&serve.tls_certificate, &serve.tls_key) else {
        return Ok(None);
    };
    let tls = Tls::from_files(certificate.clone(), key.clone())?;
    Ok(Some(match serve.certificates.clone() {
        Some(directory) => tls.with_directory(directory)?,
        None => tls,
    }))
}

/// Reads certificates again whenever their files change, as long as what it returns is kept.
fn watch_certificates(tls: Option<&Tls>) -> Result<Option<RecommendedWatcher>> {
    let Some(tls) = tls else { return Ok(None) };
    let again = tls.clone();
    let reload = move |event: notify::Result<Event>| {
        // Reading them is an event, too.
        let kind = event.map(|event| event.kind).unwrap_or(EventKind::Any);
        if kind.is_access() {
            return;
        }
        match again.reload() {
            Ok(count) => tracing::info!(count, "Certificates were read again"),
            // A file may be half written; what is served stays.
            Err(error) => tracing::warn!(%error, "Certificates stay as they are"),
        }
    };
    let mut watcher =
        notify::recommended_watcher(reload).context("certificates cannot be watched here")?;
    for directory in tls.directories() {
        let watching = watcher.watch(directory, RecursiveMode::NonRecursive);
        watching.with_context(|| format!("cannot watch `{}`", directory.display()))?;
    }
    Ok(Some(watcher))
}

/// An address as URLs begin with it.
fn public_url(text: &str) -> Result<String> {
    let problem = || format!("`--public-url {text}` is no address of a server");
    let parsed = reqwest::Url::parse(text).with_context(problem)?;
    let is_plain = parsed.query().is_none() && parsed.fragment().is_none();
    if !matches!(parsed.scheme(), "http" | "https") || !is_plain {
        return Err(Problem::new(problem()).hint("give one such as https://folio.example").into());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Whoever can be reached by other machines asks everybody for a token.
fn refuse_open_door(serve: &Serve) -> Result<()> {
    if !serve.open || serve.listen.ip().is_loopback() {
        return Ok(());
    }
    let problem =
        format!("{} can be reached from other machines, and --open lets all in", serve.listen);
    Err(Problem::new(problem).hint("listen on 127.0.0.1, or leave out --open").into())
}

/// How the control port is encrypted. Without that, a token that leaves the machine can be read by anybody on the way.
fn secured(serve: &Serve) -> Secured {
    if let (Some(certificate), Some(key)) = (&serve.control_certificate, &serve.control_key) {
        return Secured::Given { certificate: certificate.clone(), key: key.clone() };
    }
    let is_near = serve.listen.ip().is_loopback() && !serve.control_tls;
    if is_near || serve.insecure_listen {
        return Secured::Not;
    }
    Secured::Own { names: serve.control_name.clone(), lasts: lasts(serve) }
}

#[cfg(debug_assertions)]
fn lasts(serve: &Serve) -> SignedDuration {
    serve.control_lasts.map_or(secure::LASTS, SignedDuration::from_secs)
}

#[cfg(not(debug_assertions))]
fn lasts(_: &Serve) -> SignedDuration {
    secure::LASTS
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
pub(crate) fn arm(config: &Config) -> Result<()> {
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
