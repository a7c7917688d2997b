//! `folio demo --keep`: what it says one can do then, can be done, and when it is ended nothing is left of it.

#![expect(
    clippy::disallowed_methods,
    reason = "the demo is a process of its own, and its end is waited for by the real clock"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::wire::Connection;

/// A demo that runs, and ends with the test however that ends.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The parent of every process that has not ended. Where nobody asks how one ended, it stays for ever by name.
fn parents() -> BTreeMap<u32, u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let parent = |entry: std::fs::DirEntry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name may hold anything, brackets too.
        let (_, rest) = stat.rsplit_once(") ")?;
        let (state, parent) = rest.split_once(' ')?;
        let parent = parent.split(' ').next()?.parse().ok()?;
        (state != "Z").then_some((process, parent))
    };
    entries.filter_map(parent).collect()
}

/// A process and all that it started, directly or not.
fn family(process: u32) -> Vec<u32> {
    let parents = parents();
    let mut family = vec![process];
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        family.extend(parents.iter().filter(|one| *one.1 == parent).map(|one| *one.0));
        at += 1;
    }
    family
}

#[test]
fn a_demo_that_is_kept_works_as_it_says_and_leaves_nothing_when_it_is_interrupted() {
    let (home, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = Path::new(env!("CARGO_BIN_EXE_folio"));
    let mut demo = Command::new(program)
        .args(["demo", "--keep"])
        .env("TMPDIR", temporary.path())
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map(Demo)
        .unwrap();
    let mut lines = BufReader::new(demo.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut after = |prefix: &str| {
        let line = lines.by_ref().find(|line| line.starts_with(prefix));
        line.unwrap_or_else(|| panic!("the demo never said `{prefix}`"))
    };
    after("# The server goes on until Ctrl-C");
    let (export, list, call) = (after("export "), after("folio "), after("curl "));
    // What is said can be pasted, except that the program is called by its name.
    let listed =
        shell(&format!("{export}; {}", list.replace("folio", &program.display().to_string())));
    assert!(listed.starts_with("NAME") && listed.contains("hello"), "{listed}");
    let (gateway, path) = call.trim_start_matches("curl http://").split_once('/').unwrap();
    let answer = Connection::open(gateway).unwrap().ask(&format!("GET /{path}"), "", b"").unwrap();
    assert_eq!((answer.status, &*answer.text()), (200, "hello\n"));
    let family = family(demo.0.id());
    assert!(family.len() > 2, "it has no workers: {family:?}");
    let pid = Pid::from_raw(demo.0.id().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let ended = demo.0.wait().unwrap();
    assert!(ended.success(), "{ended}");
    let begun = Instant::now();
    while family.iter().any(|process| parents().contains_key(process)) {
        assert!(begun.elapsed() < Duration::from_secs(30), "left behind: {family:?}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let left: Vec<_> = std::fs::read_dir(temporary.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// What a line says that is pasted into a terminal.
#[track_caller]
fn shell(line: &str) -> String {
    let output = Command::new("bash").args(["-c", line]).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "$ {line}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
