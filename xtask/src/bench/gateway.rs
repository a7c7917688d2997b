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
}

const GOALS: &[Goal] = &[
    Goal { ours: "folio wasm", peer: "wasmtime serve", ratio: 2.0 },
    Goal { ours: "folio wasm, reused", peer: "wasmtime serve, reused", ratio: 1.3 },
    Goal { ours: "folio wasm, reused", peer: "wasmtime serve", ratio: 4.0 },
    Goal { ours: "folio wasm", peer: "workerd", ratio: 1.0 },
    Goal { ours: "folio node", peer: "node http", ratio: 1.0 },
    Goal { ours: "folio node", peer: "node functions-framework", ratio: 8.0 },
    Goal { ours: "folio python, asgi", peer: "uvicorn", ratio: 1.0 },
    Goal { ours: "folio python", peer: "python functions-framework", ratio: 15.0 },
];

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
        let ratio = ours.rate / peer.rate;
        let met = if ratio >= goal.ratio { "met" } else { "MISSED" };
        run::say(&format!(
            "{} / {}: {ratio:.2} x (goal >= {:.1} x: {met}), p99 {:.2} x",
            goal.ours,
            goal.peer,
            goal.ratio,
            ours.p99_ms / peer.p99_ms
        ));
    }
}
