//! What runs and how it does: `folio status`, `folio top`, and the logs of functions.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use clap::Args;
use folio_core::logs::Line;
use folio_core::ports::runtime::{Enforcement, RuntimeStatus, WorkerStatus};
use folio_core::serving::MeasuredVersion;
use folio_core::status::StatusView;
use folio_core::view::UnitView;
use folio_model::Kind;
use futures::TryStreamExt as _;

use super::Session;
use crate::client::Items;
use crate::name::{Named, Versioned};
use crate::output::{self, Format, Table};

/// Which lines to show.
#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    named: Versioned,
    /// Only lines of this request
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// Wait for more
    #[arg(long, short)]
    follow: bool,
    /// Only the newest lines, as many as this
    #[arg(long, value_name = "COUNT", conflicts_with = "follow")]
    recordcount: Option<usize>,
}

/// Whose workers to show.
#[derive(Debug, Args)]
pub(crate) struct Pods {
    #[command(flatten)]
    named: Named,
}

/// Shows what a function printed, oldest first.
pub(crate) async fn logs(session: &Session, logs: Logs) -> Result<()> {
    let (unit, at) = logs.named.find(session, Kind::Function).await?;
    let path = ["apps", unit.app.as_str(), "functions", unit.name.as_str(), "logs"];
    let mut query = Vec::new();
    query.extend(at.map(|at| ("version", at.to_string())));
    query.extend(logs.request.map(|request| ("request", request)));
    query.extend(logs.follow.then(|| ("follow", "true".to_owned())));
    let answer = session.client.fetch(&path, &query).await?;
    let mut pieces = answer.bytes_stream();
    let mut text = Vec::new();
    let mut newest = VecDeque::new();
    while let Some(piece) = pieces.try_next().await.context("the log broke off")? {
        text.extend_from_slice(&piece);
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<_> = text.drain(..=end).collect();
            // The server ends an empty line now and then, to show that it is still there.
            if line.len() == 1 {
                continue;
            }
            let line = serde_json::from_slice(&line)?;
            let Some(count) = logs.recordcount else {
                show(session.output, &line)?;
                continue;
            };
            newest.push_back(line);
            if newest.len() > count {
                newest.pop_front();
            }
        }
    }
    newest.iter().try_for_each(|line| show(session.output, line))
}

/// Shows the workers that run a function, of all its versions.
pub(crate) async fn pods(session: &Session, pods: Pods) -> Result<()> {
    let unit = pods.named.unit(session)?;
    // So that a function that is not there is said to be so.
    let path = ["apps", unit.app.as_str(), "functions", unit.name.as_str()];
    session.client.get::<UnitView>(&path, &[]).await?;
    let status: StatusView = session.client.get(&["status"], &[]).await?;
    let mut workers = status.runtime.map(|runtime| runtime.workers).unwrap_or_default();
    workers.retain(|worker| {
        worker.app.as_ref() == Some(&unit.app) && worker.function.as_ref() == Some(&unit.name)
    });
    session.output.items(&workers, |workers, _| table(workers))
}

fn show(output: Format, line: &Line) -> Result<()> {
    match output {
        Format::Json | Format::Yaml => output::print(&serde_json::to_string(line)?),
        Format::Table => {
            output::print(&format!("{}  {}", line.version, output::one_line(&line.text)))
        }
        Format::Wide => {
            let request = line.request.as_deref().unwrap_or("-");
            let at = output::moment(line.at);
            let text = output::one_line(&line.text);
            output::print(&format!("{at}  {}  {request}  {text}", line.version))
        }
    }
}

/// Shows what the host enforces and which workers there are.
pub(crate) async fn status(session: &Session) -> Result<()> {
    let status: StatusView = session.client.get(&["status"], &[]).await?;
    session.output.item(&status, |status| {
        let RuntimeStatus { enforcement, workers, warm_starts, cold_starts, refused_starts } =
            status.runtime.clone().unwrap_or_default();
        let starts = format!("{warm_starts} warm, {cold_starts} cold, {refused_starts} refused");
        let builds =
            format!("{} waiting, {} running", status.builds_waiting, status.builds_running);
        format!(
            "{}\nstarts: {starts}\nbuilds: {builds}\n\n{}",
            protections(&enforcement),
            table(&workers)
        )
    })
}

fn protections(enforcement: &[Enforcement]) -> Table {
    let mut table = Table::new(["PROTECTION", "ENFORCED", "HOW"]);
    for Enforcement { name, enforced, detail } in enforcement {
        let enforced = if *enforced { "yes" } else { "NO" };
        table.row([name.clone(), enforced.to_owned(), detail.clone()]);
    }
    table
}

fn table(workers: &[WorkerStatus]) -> Table {
    let mut table = Table::new(["ENV", "FUNCTION", "VERSION", "PID", "BUSY", "SERVED", "MEMORY"]);
    for worker in workers {
        let function = worker.function.as_ref().map(ToString::to_string);
        table.row([
            worker.environment.to_string(),
            function.unwrap_or_else(|| "(waiting)".to_owned()),
            worker.version.clone().unwrap_or_default(),
            worker.pid.map(|pid| pid.to_string()).unwrap_or_default(),
            worker.busy.to_string(),
            worker.served.to_string(),
            format!("{} MB", worker.memory_bytes / (1024 * 1024)),
        ]);
    }
    table
}

/// Shows what every version did since the server started, busiest first.
pub(crate) async fn top(session: &Session) -> Result<()> {
    let mut measured: Items<MeasuredVersion> = session.client.get(&["measures"], &[]).await?;
    measured.items.sort_by_key(|version| std::cmp::Reverse(version.measured.requests));
    session.output.items(&measured.items, |versions, _| {
        let headings =
            ["FUNCTION", "VERSION", "REQUESTS", "ERRORS", "ACTIVE", "COLD", "P50", "P99"];
        let mut table = Table::new(headings);
        for version in versions {
            let measured = &version.measured;
            let quantile = |share| {
                let time = measured.quantile(share);
                time.map(|time| format!("<={:.1} ms", time.as_secs_f64() * 1000.0))
            };
            table.row([
                version.function.to_string(),
                version.version.clone(),
                measured.requests.to_string(),
                measured.server_errors.to_string(),
                measured.active.to_string(),
                measured.cold_starts.to_string(),
                quantile(0.5).unwrap_or_default(),
                quantile(0.99).unwrap_or_default(),
            ]);
        }
        table
    })
}
