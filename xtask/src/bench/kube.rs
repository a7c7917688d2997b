//! The Kubernetes-style face: a list of ten thousand functions beside folio's own, what kubectl asks before its first list,
//! and how soon a hundred watchers see what is written.

mod watchers;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::serving::Folio;
use super::{apply, start};
use crate::run::{self, Program};
use crate::setup;

/// How many functions there are.
const FUNCTIONS: usize = 10_000;

/// How often each figure is measured; the median counts.
const ROUNDS: usize = 15;

const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

const OURS: &str = "/folio/v1/apps/default/functions";
const LIST: &str = "/apis/fission.io/v1/namespaces/default/functions";

/// What kubectl asks when it knows nothing, and then its first page.
const FIRST: [(&str, &str); 3] =
    [("/api", AGGREGATED), ("/apis", AGGREGATED), ("?limit=500", TABLE)];

pub(crate) fn run() -> Result<()> {
    setup::install(&[("curl", "curl")])?;
    let directory = run::root().join("target/bench-kube");
    let folio = Folio::start(&directory)?;
    plant(&folio, &directory.join("tree"))?;
    lists(&folio)?;
    first(&folio)?;
    watchers::run(&folio)?;
    drop(folio);
    fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Applies a directory of functions.
fn plant(folio: &Folio, tree: &Path) -> Result<()> {
    apply::plant(tree, FUNCTIONS)?;
    let watch = start();
    folio.command_in(tree, &["spec", "version", "apply"])?;
    run::say(&format!("{FUNCTIONS} functions applied in {:.1} s", watch.elapsed().as_secs_f64()));
    Ok(())
}

fn lists(folio: &Folio) -> Result<()> {
    let (mut ours, mut theirs, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(ask(folio, OURS, "application/json")?.0);
        theirs.push(ask(folio, LIST, "application/json")?.0);
        rows.push(ask(folio, LIST, TABLE)?.0);
    }
    let bytes = |path: &str| ask(folio, path, "application/json").map(|answer| answer.1);
    let (small, large) = (bytes(OURS)?, bytes(LIST)?);
    let [ours, theirs, rows] = [ours, theirs, rows].map(median);
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    run::say(&format!("folio's own list            {} ({small} bytes)", ms(ours)));
    run::say(&format!("the same as objects         {} ({large} bytes)", ms(theirs)));
    run::say(&format!("the same as rows            {}", ms(rows)));
    run::say(&format!("objects to folio's own      {ratio:.2}x (goal: at most 2x)"));
    Ok(())
}

fn first(folio: &Folio) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let mut whole = Duration::ZERO;
        for (path, accept) in FIRST {
            let path =
                if path.starts_with('?') { format!("{LIST}{path}") } else { path.to_owned() };
            whole += ask(folio, &path, accept)?.0;
        }
        times.push(whole);
    }
    let whole = median(times);
    run::say(&format!("discovery and first list    {} (goal: at most 50 ms)", ms(whole)));
    Ok(())
}

/// Asks once: how long until all of the answer was there, and how much that was.
fn ask(folio: &Folio, path: &str, accept: &str) -> Result<(Duration, u64)> {
    let (url, token) = (format!("{}{path}", folio.url()), folio.token()?);
    let (token, accept) = (format!("Authorization: Bearer {token}"), format!("Accept: {accept}"));
    let form = "%{http_code} %{time_total} %{time_connect} %{size_download}";
    let arguments = ["-s", "-o", "/dev/null", "-w", form, "-H", &token, "-H", &accept, &url];
    let said = run::output(&Program::new("curl", &arguments))?;
    let parts: Vec<_> = said.split_whitespace().collect();
    let [code, total, connect, size] = parts[..] else { anyhow::bail!("curl said `{said}`") };
    ensure!(code == "200", "{path} was answered with {code}");
    let seconds = total.parse::<f64>()? - connect.parse::<f64>()?;
    Ok((Duration::from_secs_f64(seconds.max(0.0)), size.parse().context("a size")?))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
