//! A function or a build that prints without end: what is kept of it is bounded, and neither the memory nor the disk of
//! the server grows with it. That all of it went through the server is seen by the numbers of the lines it kept.

use std::fs;
use std::path::Path;

use folio_testkit::transcript::Session;

use crate::program::{session, works};
use crate::wire::Connection;

const MIB: u64 = 1 << 20;

/// What every attempt prints.
const FLOOD_BYTES: u64 = 64 * MIB;
/// Far less than all of it, and far more than what a server's memory comes and goes by.
const MEMORY_GROWTH_MAX: u64 = 32 * MIB;
const DISK_GROWTH_MAX: u64 = 8 * MIB;
/// The newest megabyte of a function's log is kept; as JSON it is somewhat more.
const LOG_BYTES_MAX: u64 = 4 * MIB;

/// Says how many lines it printed, and prints `the end` in the same way.
const FLOOD: &str = r#"import os, sys
from flask import request

LINE = "flood " * 200

def printed(text):
    print(text, end="")

def complained(text):
    print(text, end="", file=sys.stderr)

def written(text):
    os.write(1, text.encode())

def endless(text):
    os.write(2, text.replace("flood \n", "flood ").encode())

def main():
    lines = int(request.args["bytes"]) // len(LINE)
    say = globals()[request.args["how"]]
    for _ in range(lines):
        say(LINE + "\n")
    say("\nthe end of " + request.args["how"] + "\n")
    return str(lines)
"#;

/// What a process holds in memory, and the most that it ever held.
fn peak_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn disk_bytes(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => disk_bytes(&entry.path()),
        // What is gone meanwhile takes no place.
        about => about.map_or(0, |about| about.len()),
    });
    bytes.sum()
}

/// By how many bytes the server's memory and its directory grow while something is done.
fn growth(session: &Session, act: impl FnOnce()) -> (u64, u64) {
    let measure = || (peak_bytes(session.pid().unwrap()), disk_bytes(&session.data()));
    let before = measure();
    act();
    let now = measure();
    // The kernel counts memory by the page but tells it roughly, so even a peak may seem to sink.
    (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1))
}

/// Checks that something makes neither grow.
#[track_caller]
fn check(session: &Session, act: impl FnOnce()) {
    let (memory, disk) = growth(session, act);
    assert!(memory < MEMORY_GROWTH_MAX, "its memory grew by {memory} bytes");
    assert!(disk < DISK_GROWTH_MAX, "its directory grew by {disk} bytes");
}

/// A server with the function that floods its log, which did so a little already: what comes with the first request
/// counts for nothing.
fn flooded(flags: &[&str]) -> Session {
    let session = session(flags);
    session.write("flood.py", FLOOD).unwrap();
    let create = "folio fn version create --name flood --env python --code flood.py --version v1";
    works(&session, &format!("{create} --timeout 60s"));
    works(&session, "folio route create --url /flood --function flood");
    flood(&session, "printed", 4 * MIB);
    session
}

/// Has so many bytes printed in a way, and returns how many lines that were.
fn flood(session: &Session, how: &str, bytes: u64) -> u64 {
    let mut connection = Connection::open(session.gateway()).unwrap();
    let ask = format!("GET /flood?how={how}&bytes={bytes}");
    let answer = connection.ask(&ask, "", b"").unwrap();
    assert_eq!(answer.status, 200, "{how}: {}", answer.text());
    answer.text().parse().unwrap()
}

#[test]
fn a_log_that_is_flooded_takes_its_own_older_lines_and_nothing_else() {
    let session = flooded(&[]);
    let mut before = last(&session, "printed");
    for how in ["printed", "complained", "written", "endless"] {
        let mut lines = 0;
        check(&session, || lines = flood(&session, how, FLOOD_BYTES));
        let now = last(&session, how);
        // A line without end is broken into pieces of 16 KiB.
        let least = if how == "endless" { FLOOD_BYTES / (16 << 10) } else { lines };
        assert!(least > 1_000 && now >= before + least, "{how}: {lines} lines, {before} to {now}");
        let kept = works(&session, "folio fn logs flood -o json | wc -c").parse::<u64>().unwrap();
        assert!(kept < LOG_BYTES_MAX, "{how}: {kept} bytes are kept");
        before = now;
    }
}

#[test]
fn a_server_that_is_told_to_keep_a_whole_flood_is_seen_to_grow() {
    let session = flooded(&["--limit", "functionLogBytesMax=1000000000"]);
    let (memory, _) = growth(&session, || {
        flood(&session, "printed", FLOOD_BYTES);
    });
    assert!(memory > MEMORY_GROWTH_MAX, "{memory}");
}

/// The number of the line that a flood ends with, once it is there.
fn last(session: &Session, how: &str) -> u64 {
    let find = format!("folio fn logs flood -o json | grep 'the end of {how}' | tail -1 | grep .");
    let line = works(session, &format!("timeout 60 bash -c \"until {find}; do :; done\""));
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    line["seq"].as_u64().unwrap()
}

#[test]
fn the_log_of_a_build_that_is_flooded_is_cut() {
    let session = session(&["--limit", "buildLogBytesMax=1000000"]);
    let flood = format!("yes flood | head -c {FLOOD_BYTES}");
    let build = format!("#!/bin/sh\nmkdir -p $DEPLOY_PKG\necho 1 > $DEPLOY_PKG/one\n{flood}");
    session.write("source/build.sh", &build).unwrap();
    works(&session, "chmod +x source/build.sh");
    let create = "folio pkg version create flood --env python --src source --version v1 --wait";
    check(&session, || {
        works(&session, &format!("{create} --buildcmd ./build.sh > said 2>&1"));
    });
    let kept = works(&session, "folio pkg info flood@v1 | wc -c").parse::<u64>().unwrap();
    assert!((1_000_000..LOG_BYTES_MAX).contains(&kept), "{kept} bytes are kept");
    assert_eq!(works(&session, "folio pkg info flood@v1 | grep -c 'the rest is left out'"), "1");
}
