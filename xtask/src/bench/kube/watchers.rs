//! A hundred watchers of one list while somebody writes: how soon each sees every change.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::super::serving::Folio;
use super::{LIST, ms, start};
use crate::run;

const WATCHERS: usize = 100;
const CHANGES: usize = 500;
const PER_SECOND: u32 = 50;

/// How long a watcher waits for what it has not seen yet.
const PATIENCE: Duration = Duration::from_secs(30);

/// One change: when it was sent, and when it was acknowledged.
type Written = (Instant, Instant);

pub(crate) fn run(folio: &Folio) -> Result<()> {
    let (host, token) = (folio.url().trim_start_matches("http://").to_owned(), folio.token()?);
    let (ready, is_ready) = mpsc::channel();
    let watching: Vec<_> = (0..WATCHERS)
        .map(|_| {
            let (host, token, ready) = (host.clone(), token.clone(), ready.clone());
            thread::spawn(move || watch(&host, &token, &ready))
        })
        .collect();
    for _ in 0..WATCHERS {
        is_ready.recv_timeout(PATIENCE).context("every watcher begins")?;
    }
    let written = write(&host, &token)?;
    let mut late = (Vec::new(), Vec::new());
    for watcher in watching {
        let seen = watcher.join().map_err(|_| anyhow::anyhow!("a watcher panicked"))??;
        for (at, (sent, known)) in seen.into_iter().zip(&written) {
            late.0.push(at.saturating_duration_since(*known));
            late.1.push(at.saturating_duration_since(*sent));
        }
    }
    let waits = written.iter().map(|(sent, known)| known.saturating_duration_since(*sent));
    say("a write takes", waits.collect(), "");
    say("seen after it is durable", late.0, " (goal: p99 at most 100 ms)");
    say("seen after it is sent", late.1, "");
    Ok(())
}

fn say(what: &str, mut times: Vec<Duration>, goal: &str) {
    times.sort();
    let at = |share: f64| ms(times[((times.len() - 1) as f64 * share) as usize]);
    let (p50, p99, most) = (at(0.5), at(0.99), at(1.0));
    run::say(&format!("{what:<27} p50 {p50}, p99 {p99}, at most {most}{goal}"));
}

/// Sees every change once, and says when.
fn watch(host: &str, token: &str, ready: &mpsc::Sender<()>) -> Result<Vec<Instant>> {
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // From now on, which is where the list stands that nobody wants to see.
    let from = revision(host, token)?;
    let query = format!("watch=true&resourceVersion={from}&fieldSelector=metadata.name%3Df1");
    ask(&mut stream, ("GET", &format!("{LIST}?{query}")), (host, token), "")?;
    let mut lines = BufReader::new(stream).lines();
    let status = lines.next().context("the server answers")??;
    ensure!(status.contains(" 200 "), "a watch was answered with {status}");
    ready.send(())?;
    let mut seen = Vec::with_capacity(CHANGES);
    for line in lines {
        let now = start();
        // Chunks begin with their length on a line of its own; what is told is longer.
        let Some((_, rest)) =
            line?.split_once("\"bench\":\"").map(|(a, b)| (a.len(), b.to_owned()))
        else {
            continue;
        };
        let at: usize = rest.split('"').next().unwrap_or_default().parse()?;
        // A watcher may be told of several changes at once, by the last of them.
        while seen.len() <= at {
            seen.push(now);
        }
        if seen.len() == CHANGES {
            return Ok(seen);
        }
    }
    anyhow::bail!("the watch ended after {} changes", seen.len())
}

/// Where everything stands.
fn revision(host: &str, token: &str) -> Result<u64> {
    let mut stream = TcpStream::connect(host)?;
    ask(&mut stream, ("GET", &format!("{LIST}?limit=1")), (host, token), "Connection: close\r\n")?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    let (_, rest) = said.rsplit_once("\r\n\r\n").context("an answer has a body")?;
    let body: serde_json::Value = serde_json::from_str(rest)?;
    let revision = body["metadata"]["resourceVersion"].as_str();
    Ok(revision.context("a list has a revision")?.parse()?)
}

/// Writes one change after another, as many in a second as are asked for.
fn write(host: &str, token: &str) -> Result<Vec<Written>> {
    let stream = TcpStream::connect(host)?;
    stream.set_nodelay(true)?;
    let mut answers = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    let (begun, mut written) = (start(), Vec::with_capacity(CHANGES));
    for at in 0..CHANGES {
        let due = begun + Duration::from_secs(1) / PER_SECOND * u32::try_from(at)?;
        thread::sleep(due.saturating_duration_since(start()));
        let body = format!("{{\"metadata\":{{\"annotations\":{{\"bench\":\"{at}\"}}}}}}");
        let headers = format!(
            "Content-Type: application/merge-patch+json\r\nContent-Length: {}\r\n",
            body.len()
        );
        let sent = start();
        ask(&mut stream, ("PATCH", &format!("{LIST}/f1")), (host, token), &headers)?;
        stream.write_all(body.as_bytes())?;
        answer(&mut answers)?;
        written.push((sent, start()));
    }
    Ok(written)
}

fn ask(
    stream: &mut TcpStream,
    (method, path): (&str, &str),
    (host, token): (&str, &str),
    headers: &str,
) -> Result<()> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{headers}\r\n"
    );
    Ok(stream.write_all(head.as_bytes())?)
}

/// Reads one answer, which has to be a success.
fn answer(stream: &mut BufReader<TcpStream>) -> Result<()> {
    let (mut line, mut length) = (String::new(), 0);
    stream.read_line(&mut line)?;
    ensure!(line.contains(" 200 "), "a change was answered with {line}");
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    Ok(stream.read_exact(&mut body)?)
}
