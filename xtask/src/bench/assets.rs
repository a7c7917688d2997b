//! Static files: deploying ten thousand of which one changed beside `rsync`, serving them beside nginx, and how long a
//! switch of live takes while clients ask.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::gateway::{Peer, Reading, measure, median};
use super::serving::Folio;
use super::{start, text};
use crate::run::{self, Program};
use crate::setup;

const FILES: usize = 10_000;
const SWITCHES: usize = 500;

/// How often each figure is measured; the median counts.
const ROUNDS: usize = 5;

/// The files that are asked for, with their sizes.
const ASKED: [(&str, usize); 2] = [("small.bin", 1024), ("large.bin", 100 * 1024)];

pub(crate) fn run() -> Result<()> {
    setup::install(&[("wrk", "wrk"), ("rsync", "rsync"), ("nginx", "nginx-light")])?;
    let directory = run::root().join("target/bench-assets");
    let folio = Folio::start(&directory)?;
    let site = directory.join("site");
    plant(&site)?;
    deploying(&folio, &site, &directory.join("copy"))?;
    serving(&folio, &site, &directory)?;
    switching(&folio, &site)?;
    fs::remove_dir_all(&directory)?;
    Ok(())
}

fn plant(site: &Path) -> Result<()> {
    for at in 0..FILES {
        let directory = site.join(format!("d{}", at / 100));
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(format!("f{at}.html")), page(at, 0))?;
    }
    for (name, bytes) in ASKED {
        // Nothing a compressor could shorten: both servers send what is on the disk.
        let noise = |at: usize| (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0];
        fs::write(site.join(name), (0..bytes).map(noise).collect::<Vec<_>>())?;
    }
    fs::write(site.join("index.html"), page(0, 0))?;
    Ok(())
}

fn page(at: usize, round: usize) -> String {
    format!("<!doctype html>\n<title>{at}</title>\n<p>round {round}</p>\n{}\n", "text ".repeat(40))
}

/// Deploys after one file changed, beside a copy of what did not.
fn deploying(folio: &Folio, site: &Path, copy: &Path) -> Result<()> {
    let deploy = ["static", "deploy", text(site)?];
    let from = format!("{}/", text(site)?);
    let rsync = ["-a", &from, text(copy)?];
    let watch = start();
    folio.command(&deploy)?;
    let first = watch.elapsed();
    run::output(&Program::new("rsync", &rsync))?;
    let (mut ours, mut peer) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        fs::write(site.join("d7/f700.html"), page(700, round + 1))?;
        let watch = start();
        folio.command(&deploy)?;
        ours.push(watch.elapsed());
        run::output(&Program::new("rsync", &rsync))?;
        let watch = start();
        run::output(&Program::new("rsync", &rsync))?;
        peer.push(watch.elapsed());
    }
    let [ours, peer] = [ours, peer].map(middle);
    let ratio = ours.as_secs_f64() / peer.as_secs_f64();
    run::say(&format!("{FILES} files"));
    run::say(&format!("  first deploy             {}", ms(first)));
    run::say(&format!("  one changed              {}", ms(ours)));
    run::say(&format!("  rsync, nothing changed   {}", ms(peer)));
    run::say(&format!("  folio to rsync           {ratio:.2}x (goal: at most 1.2x)"));
    Ok(())
}

/// Requests per second beside nginx with sendfile.
fn serving(folio: &Folio, site: &Path, directory: &Path) -> Result<()> {
    let nginx = nginx(site, directory)?;
    for (name, bytes) in ASKED {
        let urls = [format!("{}/{name}", folio.gateway()), format!("{}{name}", nginx.url)];
        let mut readings: [Vec<Reading>; 2] = [Vec::new(), Vec::new()];
        for _ in 0..3 {
            for (url, readings) in urls.iter().zip(&mut readings) {
                readings.push(measure(url)?);
            }
        }
        let [ours, peer] = readings.map(|readings| median(&readings));
        let ratio = ours.rate / peer.rate;
        run::say(&format!(
            "{bytes} bytes: folio {:.0}/s, nginx {:.0}/s: {ratio:.2}x (goal: at least 1x, never below 0.8x), p99 {:.2} ms and {:.2} ms",
            ours.rate, peer.rate, ours.p99_ms, peer.p99_ms
        ));
    }
    nginx.stop()
}

fn nginx(site: &Path, directory: &Path) -> Result<Peer> {
    let config = directory.join("nginx.conf");
    let place = directory.join("nginx");
    fs::create_dir_all(&place)?;
    let (site, place) = (text(site)?, text(&place)?);
    // Whoever may read the files: nginx started by root would give that up.
    let user = run::output(&Program::new("id", &["-un"]))?;
    let user = user.trim();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|what| format!("  {what}_temp_path {place}/{what};\n"))
        .collect();
    let settings = format!(
        "user {user};\nworker_processes auto;\npid {place}/pid;\nerror_log {place}/error.log;\ndaemon off;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n{temporary}  access_log off;\n  sendfile on;\n  tcp_nopush on;\n  keepalive_requests 10000000;\n\
         \x20 server {{ listen 127.0.0.1:{{port}}; root {site}; }}\n}}\n"
    );
    Peer::with_config("nginx", &["nginx", "-c", text(&config)?], (&config, &settings))
}

/// How long the server takes to switch live while 64 clients ask.
fn switching(folio: &Folio, site: &Path) -> Result<()> {
    fs::write(site.join("index.html"), page(0, 1))?;
    folio.command(&["static", "deploy", text(site)?])?;
    let listed: Value = serde_json::from_str(&folio.command(&["release", "list", "-o", "json"])?)?;
    let ids = listed.as_array().context("a list of releases")?.iter();
    let ids: Vec<_> = ids.filter_map(|release| release["id"].as_str()).take(2).collect();
    let page = format!("{}/", folio.gateway());
    let arguments = ["--threads", "1", "--connections", "64", "--duration", "20s", &page];
    let load = run::start_quietly(&Program::new("wrk", &arguments))?;
    let url = format!("{}/folio/v1/apps/default/live", folio.url());
    let header = format!("Authorization: Bearer {}", folio.token()?);
    let (mut times, mut inside) = (Vec::new(), Vec::new());
    for at in 0..SWITCHES {
        let body = format!("{{\"release\": \"{}\"}}", ids[at % ids.len()]);
        let wanted = "%{time_total} %header{server-timing}";
        let call = ["-sf", "-o", "/dev/null", "-w", wanted, "-X", "PUT", "-H", &header];
        let what = ["-H", "Content-Type: application/json", "-d", &body, &url];
        let said = run::output(&Program::new("curl", &[&call[..], &what].concat()))?;
        let (total, timing) = said.trim().split_once(' ').context("two times")?;
        times.push(Duration::from_secs_f64(total.parse()?));
        let taken: f64 = timing.split_once("dur=").context("the server's own time")?.1.parse()?;
        inside.push(Duration::from_secs_f64(taken / 1000.0));
    }
    drop(load);
    let seen = [("at the server", inside, " (goal: at most 10 ms)"), ("by the client", times, "")];
    for (where_seen, mut times, goal) in seen {
        times.sort();
        let (half, most) = (times[SWITCHES / 2], times[SWITCHES * 99 / 100]);
        run::say(&format!(
            "{SWITCHES} switches of live under load, seen {where_seen}: median {}, p99 {}{goal}",
            ms(half),
            ms(most)
        ));
    }
    Ok(())
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
