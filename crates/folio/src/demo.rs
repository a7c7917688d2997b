//! `folio demo`: a server of its own in a directory that goes away, and a few deploys told with the real
//! commands. What it prints is what a user would see.

mod load;
mod story;

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Parser};
use folio_core::Settings;
use folio_core::ports::SystemClock;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use self::story::{Scene, Step};
use crate::cli::Cli;
use crate::config::Config;
use crate::problem::Problem;
use crate::serve::{Opening, Secured, Server, ServerLimits, running};
use crate::vault::FileVault;
use crate::{command, http, output};

/// How to show what folio does.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Keep the server running when the story ends
    #[arg(long)]
    keep: bool,
}

/// Tells the story.
pub(crate) async fn run(demo: Demo) -> Result<()> {
    // Listened to from the beginning, so that whenever it ends, the directory goes.
    let ended = ended()?;
    let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
    let data = directory.path().join("data");
    story::write_files(directory.path())?;
    // The story's commands name files as a user in that directory would.
    std::env::set_current_dir(directory.path())?;
    let anywhere = ([127, 0, 0, 1], 0).into();
    let limits = ServerLimits::new(running(&data)?);
    let opening = Opening {
        open: false,
        secret_key: FileVault::beside(&data),
        listen: anywhere,
        gateway: anywhere,
        settings: Settings::default(),
        secured: Secured::Not,
        clock: Arc::new(SystemClock),
        running: limits.running,
        log_bytes_max: limits.log_bytes_max,
        nats: None,
        doors: folio_gateway::Settings::default(),
    };
    let server = Server::open(&data, opening).await?;
    let config = Config { url: Some(server.url()?), data: Some(data), ..Config::default() };
    let gateway = server.gateway_url()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = server.run(async {
        // Told or dropped, the story is over.
        stopped.await.unwrap_or_default();
    });
    let telling = async {
        let mut ended = pin!(ended);
        let told = tokio::select! {
            told = tell(&config, &gateway, &demo, directory.path()) => told,
            () = &mut ended => Err(Problem::new("the demo was ended before its end").hint("`folio demo` tells it from the beginning").into()),
        };
        if demo.keep && told.is_ok() {
            ended.await;
        }
        drop(stop);
        told
    };
    let (served, told) = tokio::join!(serving, telling);
    told.and(served)
}

/// Resolves once somebody wants it to end: by a key, by the system, or by closing the terminal.
fn ended() -> Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}

async fn tell(config: &Config, gateway: &str, demo: &Demo, directory: &Path) -> Result<()> {
    for Scene { title, steps } in story::SCENES {
        output::print(&format!("\n# {title}"))?;
        for step in *steps {
            perform(config, gateway, step).await?;
        }
    }
    if !demo.keep {
        return output::print(story::WHAT_NEXT);
    }
    let url = config.url(None);
    output::print("\n# The server goes on until Ctrl-C. In another terminal:")?;
    let data = directory.join("data");
    output::print(&format!("export FOLIO_URL={url} FOLIO_DATA={}", data.display()))?;
    output::print(&format!("folio fn list\ncurl {gateway}/hello"))
}

/// Runs one command as if it had been typed.
async fn perform(config: &Config, gateway: &str, step: &Step) -> Result<()> {
    let words = match step {
        Step::Works(words) | Step::Refused(words) => words,
        Step::Fetches(path) => return fetch(&format!("{gateway}{path}"), None).await,
        Step::Asks(host, path) => return fetch(&format!("{gateway}{path}"), Some(host)).await,
        Step::Edits(file, from, to) => return edit(file, from, to),
        Step::Storms(path) => return load::run(config, &format!("{gateway}{path}")).await,
    };
    output::print(&format!("$ folio {}", words.iter().map(quoted).collect::<Vec<_>>().join(" ")))?;
    let cli = Cli::try_parse_from(std::iter::once("folio").chain(words.iter().copied()))?;
    let ran = Box::pin(command::run(cli, config.clone())).await;
    match (step, ran) {
        (Step::Refused(line), Ok(())) => bail!("`{line:?}` should have been refused"),
        (Step::Refused(_), Err(error)) => {
            output::failure(&error);
            Ok(())
        }
        (_, ran) => ran,
    }
}

/// Asks as a client would.
async fn fetch(url: &str, host: Option<&str>) -> Result<()> {
    let said = host.map(|host| format!("-H 'Host: {host}' ")).unwrap_or_default();
    output::print(&format!("$ curl {said}{url}"))?;
    let mut request = http::plain().build()?.get(url);
    if let Some(host) = host {
        request = request.header(reqwest::header::HOST, host);
    }
    let answer = request.send().await?.error_for_status()?;
    output::print(&answer.text().await?)
}

/// Changes a file as somebody with an editor would.
fn edit(file: &str, from: &str, to: &str) -> Result<()> {
    output::print(&format!("$ sed -i 's/{from}/{to}/' {file}"))?;
    let text = std::fs::read_to_string(file)?;
    ensure!(text.contains(from), "`{file}` has no `{from}`");
    Ok(std::fs::write(file, text.replace(from, to))?)
}

fn quoted(word: &&str) -> String {
    if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() }
}
