//! Executions over HTTP: how many are accepted for good by 32 clients, whether all of them end after `kill -9`, and what
//! recording one that somebody waits for costs beside `folio invoke`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::serving::Folio;
use super::{start, text};
use crate::run::{self, Program};
use crate::setup;

/// How often each command is run; the median counts.
const ROUNDS: usize = 101;

const ALL: &str = "/folio/v1/apps/default/executions";

pub(crate) fn run() -> Result<()> {
    setup::install(&[("wrk", "wrk"), ("curl", "curl")])?;
    let directory = run::root().join("target/bench-executions");
    let mut folio = Folio::start(&directory)?;
    let file = ["--env", "python", "--code", "xtask/fixtures/hello.py"];
    folio.command(&[&["fn", "version", "create", "hello"][..], &file].concat())?;
    waiting(&folio, &directory)?;
    let script = directory.join("accept.lua");
    write_script(&script, &folio)?;
    let accepted = accept(&folio, &script)?;
    folio.restart(&directory)?;
    drain(&folio, accepted)?;
    fs::remove_dir_all(&directory)?;
    Ok(())
}

/// Has wrk ask for one execution after another.
fn write_script(script: &Path, folio: &Folio) -> Result<()> {
    let token = folio.token()?;
    fs::write(
        script,
        format!(
            "wrk.method = \"POST\"\n\
             wrk.headers[\"Authorization\"] = \"Bearer {token}\"\n\
             wrk.headers[\"Content-Type\"] = \"application/json\"\n\
             wrk.body = '{{\"function\": \"hello\", \"mode\": \"async\"}}'\n"
        ),
    )?;
    Ok(())
}

/// How many executions were accepted in a few seconds.
fn accept(folio: &Folio, script: &Path) -> Result<usize> {
    let url = format!("{}{ALL}", folio.url());
    let load = ["--threads", "1", "--connections", "32", "--duration", "5s"];
    let said = run::output(&Program::new(
        "wrk",
        &[&load[..], &["--script", text(script)?, &url]].concat(),
    ))?;
    ensure!(!said.contains("Non-2xx"), "not every execution was accepted:\n{said}");
    let line = said.lines().find(|line| line.contains(" requests in "));
    let count = line.and_then(|line| line.split_whitespace().next()).context("wrk counts")?;
    let rate = said.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    let rate: f64 = rate.context("wrk says a rate")?.trim().parse()?;
    run::say(&format!("accepted for good by 32 clients   {rate:.0}/s (goal: at least 2000/s)"));
    Ok(count.parse()?)
}

/// Waits until nothing runs any more, and counts how everything ended.
fn drain(folio: &Folio, accepted: usize) -> Result<()> {
    let watch = start();
    while !page(folio, "limit=1&status=running")?.0.is_empty() {
        ensure!(watch.elapsed() < Duration::from_secs(600), "executions do not end");
    }
    let took = watch.elapsed().as_secs_f64();
    let (mut ends, mut below) = (BTreeMap::<String, usize>::new(), String::new());
    loop {
        let (items, next) = page(folio, &format!("limit=1000{below}"))?;
        for item in &items {
            *ends.entry(item["status"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
        let Some(next) = next else { break };
        below = format!("&below={next}");
    }
    let total: usize = ends.values().sum();
    // The server was killed with requests on the way: what it recorded and could not say any more is there, too.
    ensure!(total >= accepted, "{accepted} were accepted and {total} are there");
    run::say(&format!(
        "after kill -9                     {total} of {accepted} accepted ended in {took:.1} s: {ends:?}"
    ));
    Ok(())
}

/// A page of executions, and where the next begins.
fn page(folio: &Folio, query: &str) -> Result<(Vec<Value>, Option<u64>)> {
    let (url, token) = (format!("{}{ALL}?{query}", folio.url()), folio.token()?);
    let header = format!("Authorization: Bearer {token}");
    let said = run::output(&Program::new("curl", &["-sf", "-H", &header, &url]))?;
    let page: Value = serde_json::from_str(&said)?;
    let items = page["items"].as_array().cloned().context("a page has items")?;
    Ok((items, page["next"].as_u64()))
}

/// Compares the two commands that wait for an answer. What is recorded waits for the disk, so what one sync takes at the
/// same time is said beside it.
fn waiting(folio: &Folio, directory: &Path) -> Result<()> {
    let commands = [["invoke", "hello"].as_slice(), &["execution", "create", "hello"]];
    let mut raw = fs::File::create(directory.join("raw"))?;
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (command, times) in commands.iter().zip(&mut times) {
            let watch = start();
            folio.command(command)?;
            times.push(watch.elapsed());
        }
        let watch = start();
        raw.write_all(&[7; 4096])?;
        raw.sync_data()?;
        times[2].push(watch.elapsed());
    }
    let [invoke, recorded, sync] = times.map(|mut times| {
        times.sort();
        times[ROUNDS / 2].as_secs_f64()
    });
    let more = (recorded / invoke - 1.0) * 100.0;
    run::say(&format!(
        "folio execution create            {:.2} ms, folio invoke {:.2} ms: {more:+.0} % (goal: at most +15 %)",
        recorded * 1000.0,
        invoke * 1000.0
    ));
    run::say(&format!("a sync of the same disk           {:.2} ms", sync * 1000.0));
    Ok(())
}
