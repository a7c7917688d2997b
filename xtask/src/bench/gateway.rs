//! Functions behind the gateway against what else could serve them: the same handler, the same load, in turns.
//! Installs its peers into the user's cache directory. Start at [`run()`].

mod load;
mod peers;
mod starts;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

pub(crate) use self::load::{Reading, measure, median};
pub(crate) use self::peers::Peer;
use self::peers::Peers;
use super::serving::Folio;
use crate::run;
use crate::setup;

/// How often each server is measured; they take turns, so that a slow minute hits all of them.
const ROUNDS: usize = 3;

/// What folio has to reach beside a peer.
struct Goal {
    ours: &'static str,
    peer: &'static str,
    ratio: f64,
    besides: Besides,
}

/// What else is wanted beside a peer.
enum Besides {
    /// Nothing.
    Nothing,
    /// The slowest answers take no longer.
    SlowestNoSlower,
    /// More, if it can be had.
    Stretch(f64),
}

const GOALS: &[Goal] = &[
    goal("folio wasm", "wasmtime serve", 2.0, Besides::SlowestNoSlower),
    goal("folio wasm, reused", "wasmtime serve, reused", 1.3, Besides::SlowestNoSlower),
    goal("folio wasm, reused", "wasmtime serve", 4.0, Besides::SlowestNoSlower),
    goal("folio wasm", "workerd", 1.0, Besides::Nothing),
    goal("folio node", "node http", 1.0, Besides::Stretch(1.5)),
    goal("folio node", "node functions-framework", 8.0, Besides::Nothing),
    goal("folio python, asgi", "uvicorn", 1.0, Besides::Stretch(1.5)),
    goal("folio python", "python functions-framework", 15.0, Besides::Nothing),
];

const fn goal(ours: &'static str, peer: &'static str, ratio: f64, besides: Besides) -> Goal {
    Goal { ours, peer, ratio, besides }
}

pub(crate) fn run() -> Result<()> {
    setup::install(&[("wrk", "wrk")])?;
    let cache = cache()?;
    let peers = Peers::install(&cache)?;
    let folio = Folio::start(&run::root().join("target/bench-gateway"))?;
    folio.publish()?;
    let mut servers = folio.servers();
    servers.extend(peers.start(&cache)?);
    let mut readings: Vec<Vec<Reading>> = servers.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (server, readings) in servers.iter().zip(&mut readings) {
            readings.push(load::measure(&server.url)?);
        }
    }
    show(&servers, &readings);
    starts::run(&folio)?;
    Ok(())
}

/// Where peers are kept between runs.
fn cache() -> Result<PathBuf> {
    let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")));
    Ok(home
        .context("neither XDG_CACHE_HOME nor HOME says where to keep the peers")?
        .join("folio-bench"))
}

fn show(servers: &[Peer], readings: &[Vec<Reading>]) {
    run::say(&format!(
        "{:<28} {:>12} {:>10} {:>10}",
        "hello, 64 connections", "requests/s", "p50 ms", "p99 ms"
    ));
    let medians: Vec<_> = readings.iter().map(|readings| load::median(readings)).collect();
    for (server, median) in servers.iter().zip(&medians) {
        run::say(&format!(
            "{:<28} {:>12.0} {:>10.2} {:>10.2}",
            server.name, median.rate, median.p50_ms, median.p99_ms
        ));
    }
    let of =
        |name: &str| servers.iter().position(|server| server.name == name).map(|at| medians[at]);
    for goal in GOALS {
        let (Some(ours), Some(peer)) = (of(goal.ours), of(goal.peer)) else { continue };
        let (ratio, slowest) = (ours.rate / peer.rate, ours.p99_ms / peer.p99_ms);
        let besides = match goal.besides {
            Besides::Nothing => String::new(),
            Besides::SlowestNoSlower => format!(" (goal <= 1.0 x: {})", verdict(slowest <= 1.0)),
            Besides::Stretch(stretch) => {
                format!("; stretch {stretch:.1} x: {}", verdict(ratio >= stretch))
            }
        };
        run::say(&format!(
            "{} / {}: {ratio:.2} x (goal >= {:.1} x: {}), p99 {slowest:.2} x{besides}",
            goal.ours,
            goal.peer,
            goal.ratio,
            verdict(ratio >= goal.ratio),
        ));
    }
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}
