//! What the first request to a version costs, and what waiting costs: cold starts from the warm pool against
//! spawning the bare interpreter, the first request to a wasm version against a warm one, and memory.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::super::serving::Folio;
use super::super::{start, text};
use crate::run::{self, Program};

const SAMPLES: usize = 10;

pub(crate) fn run(folio: &Folio) -> Result<()> {
    let directory = run::root().join("target/bench-gateway/cold");
    fs::create_dir_all(&directory)?;
    for (environment, file, bare) in [
        ("nodejs", "cold.js", Program::new("node", &["-e", "0"])),
        ("python", "cold.py", Program::new("python3", &["-c", "0"])),
    ] {
        let cold = median(cold_starts(folio, environment, &directory.join(file))?);
        let bare =
            median((0..2 * SAMPLES).map(|_| timed(|| run::output(&bare))).collect::<Result<_>>()?);
        let ratio = cold.as_secs_f64() / bare.as_secs_f64();
        say(
            &format!("{environment}, first request from the warm pool"),
            cold,
            &format!("bare interpreter {:.1} ms: {ratio:.2} x (goal <= 0.5 x)", ms(bare)),
        );
    }
    let (first, warm) = wasm_starts(folio, &directory)?;
    say(
        "wasm, first request after publish",
        first,
        &format!("warm {:.2} ms (goal: within 5 ms of it)", ms(warm)),
    );
    memory(folio)
}

/// The time of the first request to each of several new versions, each with a generic worker waiting.
fn cold_starts(folio: &Folio, environment: &str, file: &Path) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for sample in 0..SAMPLES {
        let code = match environment {
            "nodejs" => format!("module.exports = () => ({{ status: 200, body: '{sample}' }});\n"),
            _ => format!("def main():\n    return '{sample}'\n"),
        };
        fs::write(file, code)?;
        let name = format!("cold-{environment}-{sample}");
        publish(folio, &name, environment, file)?;
        await_generic(folio, environment)?;
        let watch = start();
        ask(folio.gateway(), &format!("/{name}"))?;
        times.push(watch.elapsed());
    }
    Ok(times)
}

/// The median time of the first and of the second request to new wasm versions of different bytes.
fn wasm_starts(folio: &Folio, directory: &Path) -> Result<(Duration, Duration)> {
    let hello = fs::read(run::root().join("examples/wasm-hello/hello.wasm"))?;
    let (mut first, mut warm) = (Vec::new(), Vec::new());
    for sample in 0..SAMPLES {
        // A custom section at the end makes it another component that does the same.
        let section = [0, 3, 1, b'n', u8::try_from(sample)?];
        let file = directory.join("cold.wasm");
        fs::write(&file, [&hello[..], &section].concat())?;
        let name = format!("cold-wasm-{sample}");
        publish(folio, &name, "wasm", &file)?;
        let path = format!("/{name}");
        first.push(timed(|| ask(folio.gateway(), &path))?);
        warm.push(timed(|| ask(folio.gateway(), &path))?);
    }
    Ok((median(first), median(warm)))
}

fn publish(folio: &Folio, name: &str, environment: &str, file: &Path) -> Result<()> {
    let file = text(file)?;
    folio.command(&["fn", "version", "create", name, "--env", environment, "--code", file])?;
    let url = format!("/{name}");
    folio.command(&["route", "create", "--name", name, "--url", &url, "--function", name])?;
    Ok(())
}

/// Waits until a generic worker stands by, as it does for whoever comes next.
fn await_generic(folio: &Folio, environment: &str) -> Result<()> {
    let begun = start();
    loop {
        let generic = folio.workers()?.iter().any(|worker| {
            worker["environment"] == environment
                && worker["function"].is_null()
                && worker["ready"] != false
        });
        if generic {
            return Ok(());
        }
        ensure!(begun.elapsed() < Duration::from_secs(30), "no {environment} worker stands by");
    }
}

fn memory(folio: &Folio) -> Result<()> {
    let idle = Folio::start(&run::root().join("target/bench-gateway/idle"))?;
    let server = resident(idle.pid())?;
    run::say(&format!("memory of an idle server: {server:.0} MB (goal < 60)"));
    for (environment, program) in [
        ("nodejs", Program::new("node", &["-e", "setInterval(() => {}, 1e9)"])),
        ("python", Program::new("python3", &["-c", "import sys; sys.stdin.read()"])),
    ] {
        let bare = run::start_quietly(&program)?;
        settle(bare.pid())?;
        let bare = share(bare.pid())?;
        let workers = folio.workers()?;
        let waits = |worker: &&serde_json::Value| {
            worker["environment"] == environment && worker["function"].is_null()
        };
        let worker = workers.iter().find(waits).context("no worker waits for a function")?;
        let pid = worker["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        let idle = share_below(pid.context("a worker is a process")?)?;
        run::say(&format!(
            "memory of a {environment} worker without a function: {idle:.0} MB, bare interpreter {bare:.0} MB (goal: at most 15 more)"
        ));
    }
    Ok(())
}

/// Waits until a process no longer grows.
fn settle(pid: u32) -> Result<()> {
    let mut last = -1.0;
    loop {
        std::thread::park_timeout(Duration::from_millis(200));
        let now = resident(pid)?;
        if now > 1.0 && (now - last).abs() < f64::EPSILON {
            return Ok(());
        }
        last = now;
    }
}

/// What a process and all that it started add to the machine's memory: a worker's first process is its jail, which is
/// the server's own program again.
fn share_below(pid: u32) -> Result<f64> {
    let mut sum = share(pid)?;
    let tasks = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    for child in tasks.split_whitespace() {
        sum += share_below(child.parse()?)?;
    }
    Ok(sum)
}

/// Megabytes of a process, of which those that others have as well count in part.
fn share(pid: u32) -> Result<f64> {
    megabytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// Resident megabytes of a process.
fn resident(pid: u32) -> Result<f64> {
    megabytes(&format!("/proc/{pid}/status"), "VmRSS:")
}

fn megabytes(file: &str, what: &'static str) -> Result<f64> {
    let status = fs::read_to_string(file)?;
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kib: f64 = line.context(what)?.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}

fn ask(gateway: &str, path: &str) -> Result<()> {
    let mut stream = TcpStream::connect(gateway.trim_start_matches("http://"))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<Duration> {
    let watch = start();
    work()?;
    Ok(watch.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn say(what: &str, time: Duration, beside: &str) {
    run::say(&format!("{what}: {:.2} ms; {beside}", ms(time)));
}
