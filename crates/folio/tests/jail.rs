//! What the jail does for those who keep to its rules: arguments, descriptors, ends, limits, and that nothing is
//! left behind. What it does against the others is in `escape`.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use folio_model::Network;
use folio_run::jail::{Cell, Ended, Forward, Interpreters, Jail, Mode, Mount, Prisoner, Stdin};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Set in the process that plays a server which is killed.
const DOOMED: &str = "FOLIO_TEST_DOOMED";

fn jail(mode: Mode) -> Jail {
    Jail::new(PathBuf::from(env!("CARGO_BIN_EXE_folio")), mode)
}

fn enforced() -> Jail {
    jail(Mode::Enforced)
}

fn cell(program: &str, arguments: &[&str]) -> Cell {
    Cell {
        program: program.into(),
        arguments: arguments.iter().map(OsString::from).collect(),
        variables: Vec::new(),
        directory: "/tmp".into(),
        reads: Vec::new(),
        writes: Vec::new(),
        files: Vec::new(),
        network: Network::None,
        forward: None,
        memory_bytes: 128 << 20,
        cpu_millis: None,
        processes_max: 32,
        tmp_bytes: 8 << 20,
        file_bytes_max: 8 << 20,
        descriptors: Vec::new(),
        stdin: Stdin::Null,
    }
}

fn shell(script: &str) -> Cell {
    cell("/bin/sh", &["-c", script])
}

fn python(script: &str) -> Cell {
    let interpreters = Interpreters::of_this_host();
    let python = interpreters.python.as_ref().expect("these tests need Python");
    cell(python.program.to_str().unwrap(), &["-I", "-S", "-c", script])
}

/// What a cell's program writes, and how it ends.
async fn run(jail: &Jail, cell: Cell) -> (String, Ended) {
    let mut prisoner = jail.start(cell).unwrap();
    let said = listen(&mut prisoner).await;
    (said, prisoner.wait().await.unwrap())
}

async fn listen(prisoner: &mut Prisoner) -> String {
    let (mut stdout, mut stderr) =
        (prisoner.take_stdout().unwrap(), prisoner.take_stderr().unwrap());
    let (mut said, mut complained) = (String::new(), String::new());
    let (one, two) =
        tokio::join!(stdout.read_to_string(&mut said), stderr.read_to_string(&mut complained));
    one.and(two).unwrap();
    said + &complained
}

/// Checks what a script says with the jail on and off.
#[track_caller]
fn check(script: &str, expected: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for mode in [Mode::Enforced, Mode::Off] {
        let (said, ended) = runtime.block_on(run(&jail(mode), shell(script)));
        assert_eq!((said.as_str(), ended), (expected, Ended::Exited(0)), "{mode:?}");
    }
}

#[test]
fn a_program_gets_its_own_environment_and_nothing_of_the_servers() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for mode in [Mode::Enforced, Mode::Off] {
        let mut cell = cell("/usr/bin/env", &[]);
        cell.variables = vec![("ONE".into(), "1".into()), ("TWO".into(), "a b".into())];
        let (said, _) = runtime.block_on(run(&jail(mode), cell));
        assert_eq!(said, "ONE=1\nTWO=a b\n", "{mode:?}");
    }
}

#[test]
fn a_program_starts_where_the_cell_says() {
    check("pwd", "/tmp\n");
}

#[test]
fn output_and_errors_are_kept_apart_and_complete() {
    check("i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done", "0\n1\n2\n");
}

#[tokio::test]
async fn codes_and_signals_are_told() {
    for mode in [Mode::Enforced, Mode::Off] {
        let jail = jail(mode);
        assert_eq!(run(&jail, shell("exit 7")).await.1, Ended::Exited(7));
        assert_eq!(run(&jail, shell("kill -TERM $$")).await.1, Ended::Signalled(15));
        // To ask again gives the same answer.
        let prisoner = jail.start(shell("exit 3")).unwrap();
        assert_eq!(prisoner.wait().await.unwrap(), Ended::Exited(3));
        assert_eq!(prisoner.wait().await.unwrap(), Ended::Exited(3));
    }
}

#[tokio::test]
async fn standard_input_is_passed_on() {
    let jail = enforced();
    let mut cell = cell("/bin/cat", &[]);
    cell.stdin = Stdin::Piped;
    let mut prisoner = jail.start(cell).unwrap();
    let mut stdin = prisoner.take_stdin().unwrap();
    stdin.write_all(b"across").await.unwrap();
    drop(stdin);
    assert_eq!(listen(&mut prisoner).await, "across");
}

#[tokio::test]
async fn descriptors_begin_at_three_and_there_are_no_others() {
    for mode in [Mode::Enforced, Mode::Off] {
        let pairs: Vec<_> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
        let (ours, theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let mut cell = shell("for n in 3 4 5; do echo $n >&$n; done; ls /proc/self/fd");
        cell.descriptors = theirs.into_iter().map(OwnedFd::from).collect();
        let (said, ended) = run(&jail(mode), cell).await;
        // The last is the directory that `ls` reads.
        assert_eq!((said.as_str(), ended), ("0\n1\n2\n3\n4\n5\n6\n", Ended::Exited(0)));
        for (number, mut socket) in (3..).zip(ours) {
            let mut heard = String::new();
            // Ends only if nobody inside or in the server still holds the other side.
            socket.read_to_string(&mut heard).unwrap();
            assert_eq!(heard, format!("{number}\n"));
        }
    }
}

#[tokio::test]
async fn too_much_memory_is_told_from_other_ends() {
    let jail = enforced();
    let counted = jail.enforcement().iter().any(|one| one.name == "memory limit" && one.enforced);
    let (_, ended) = run(&jail, python("x = b'x' * (400 << 20)")).await;
    match counted {
        true => assert_eq!(ended, Ended::OutOfMemory),
        false => assert_ne!(ended, Ended::Exited(0)),
    }
    let prisoner = jail.start(python("import time; time.sleep(1000)")).unwrap();
    prisoner.kill();
    assert_eq!(prisoner.wait().await.unwrap(), Ended::Signalled(9));
}

#[tokio::test]
async fn killing_a_prisoner_ends_all_it_started() {
    let jail = enforced();
    let script = "sleep 1000 & (setsid sleep 1000 &) ; echo ready; wait";
    let mut prisoner = jail.start(shell(script)).unwrap();
    let mut stdout = prisoner.take_stdout().unwrap();
    let mut ready = [0; 6];
    stdout.read_exact(&mut ready).await.unwrap();
    prisoner.kill();
    prisoner.wait().await.unwrap();
    // All of them had it open.
    assert_eq!(stdout.read(&mut ready).await.unwrap(), 0);
}

#[tokio::test]
async fn a_program_that_ends_takes_those_it_started_along() {
    let jail = enforced();
    let mut prisoner = jail.start(shell("(setsid sleep 1000 &); echo ready")).unwrap();
    // Would never return if the sleeper lived.
    assert_eq!(listen(&mut prisoner).await, "ready\n");
    assert_eq!(prisoner.wait().await.unwrap(), Ended::Exited(0));
}

#[tokio::test]
async fn a_dropped_prisoner_ends() {
    let jail = enforced();
    let mut prisoner = jail.start(shell("echo ready; sleep 1000")).unwrap();
    let mut stdout = prisoner.take_stdout().unwrap();
    let mut ready = [0; 6];
    stdout.read_exact(&mut ready).await.unwrap();
    drop(prisoner);
    assert_eq!(stdout.read(&mut ready).await.unwrap(), 0);
}

/// Plays the server that is killed; does nothing by itself.
#[tokio::test]
async fn a_doomed_server_starts_a_prisoner() {
    let jail = enforced();
    if std::env::var_os(DOOMED).is_none() {
        return;
    }
    let prisoner = jail.start(shell("sleep 1000")).unwrap();
    let mut stderr = std::io::stderr();
    writeln!(stderr, "prisoner").unwrap();
    prisoner.wait().await.unwrap();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a server that dies must be another process")]
fn nothing_outlives_a_server_that_is_killed() {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "jail::a_doomed_server_starts_a_prisoner", "--nocapture"])
        .env(DOOMED, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(server.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "prisoner\n");
    server.kill().unwrap();
    server.wait().unwrap();
    // The warden and the first process of the cell hold the other end until they end, and with the latter
    // ends the program. Would never return otherwise.
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    // What it could not remove the next server does, once the last process has quite gone.
    let tidied = (0..100).any(|_| {
        drop(enforced());
        groups_of(server.id(), Path::new("/sys/fs/cgroup")).is_empty()
    });
    assert!(tidied, "{:?}", groups_of(server.id(), Path::new("/sys/fs/cgroup")));
}

/// The control groups a server made.
fn groups_of(server: u32, directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut found = Vec::new();
    for entry in directories {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(&format!("{server}-")) {
            found.push(entry.path());
        } else {
            found.extend(groups_of(server, &entry.path()));
        }
    }
    found
}

#[tokio::test]
async fn memory_is_counted_while_a_prisoner_lives() {
    let jail = enforced();
    if !jail.enforcement().iter().any(|one| one.name == "memory limit" && one.enforced) {
        return;
    }
    let prisoner = jail.start(shell("sleep 1000")).unwrap();
    assert!(prisoner.memory_bytes().is_some_and(|bytes| bytes > 0));
    prisoner.kill();
    prisoner.wait().await.unwrap();
    assert_eq!(prisoner.memory_bytes(), None);
}

#[test]
fn what_is_mounted_can_be_read_or_written_as_the_cell_says() {
    let jail = enforced();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("source/deep")).unwrap();
    fs::create_dir_all(at("target/deep")).unwrap();
    fs::write(at("source/deep/file"), "read me").unwrap();
    fs::write(at("target/deep/file"), "change me").unwrap();
    let script = "cat /in/deep/file; echo no > /in/deep/file; echo no > /in/new; \
                  echo changed > /out/deep/file; mkdir /out/new";
    let mut cell = shell(script);
    cell.reads = vec![Mount { from: at("source"), to: "/in".into() }];
    cell.writes = vec![Mount { from: at("target"), to: "/out".into() }];
    let (said, ended) = runtime.block_on(run(&jail, cell));
    assert!(said.starts_with("read me"), "{said}");
    assert_eq!(said.matches("cannot create").count(), 2, "{said}");
    assert_eq!(ended, Ended::Exited(0));
    assert_eq!(fs::read_to_string(at("source/deep/file")).unwrap(), "read me");
    assert_eq!(fs::read_to_string(at("target/deep/file")).unwrap(), "changed\n");
    let made = fs::metadata(at("target/new")).unwrap();
    assert_eq!((made.uid(), made.gid()), jail.owner());
}

#[tokio::test]
async fn without_a_jail_the_same_mounts_are_at_the_same_paths() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "read me").unwrap();
    let mut cell = cell("/bin/cat", &["/run/folio/of-a-test/file"]);
    cell.reads =
        vec![Mount { from: directory.path().to_owned(), to: "/run/folio/of-a-test".into() }];
    let (said, ended) = run(&jail(Mode::Off), cell).await;
    assert_eq!((said.as_str(), ended), ("read me", Ended::Exited(0)));
    assert!(!Path::new("/run/folio/of-a-test").exists());
}

#[test]
fn a_program_or_a_mount_that_does_not_exist_is_named() {
    let jail = enforced();
    let error = jail.start(cell("/nowhere/at-all", &[])).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
    let mut cell = shell("true");
    cell.reads = vec![Mount { from: "/nowhere/at-all".into(), to: "/in".into() }];
    let error = jail.start(cell).unwrap_err();
    assert!(error.to_string().contains("`/nowhere/at-all`"), "{error}");
}

#[tokio::test]
async fn a_port_inside_is_reached_through_a_socket_outside() {
    let jail = enforced();
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let script = "import socket\n\
                  server = socket.create_server(('127.0.0.1', 8080))\n\
                  print('ready', flush=True)\n\
                  while True:\n \
                  connection, _ = server.accept()\n \
                  whole = b''\n \
                  while piece := connection.recv(65536): whole += piece\n \
                  connection.sendall(whole[::-1])\n \
                  connection.close()\n";
    let mut cell = python(script);
    cell.forward = Some(Forward { socket: socket.clone(), port: 8080 });
    let mut prisoner = jail.start(cell).unwrap();
    let mut stdout = prisoner.take_stdout().unwrap();
    let mut ready = [0; 6];
    stdout.read_exact(&mut ready).await.unwrap();
    for size in [1, 1000, 1_000_000] {
        let sent: Vec<u8> = (0..size).map(|number: u32| number.to_le_bytes()[0]).collect();
        let mut connection = tokio::net::UnixStream::connect(&socket).await.unwrap();
        connection.write_all(&sent).await.unwrap();
        connection.shutdown().await.unwrap();
        let mut heard = Vec::new();
        connection.read_to_end(&mut heard).await.unwrap();
        heard.reverse();
        assert!(heard == sent, "{size} bytes came back as {}", heard.len());
    }
}

#[tokio::test]
async fn a_prisoner_nobody_listens_to_waits_and_fills_nothing() {
    let jail = enforced();
    // More than any pipe holds: the end of the script is never reached.
    let script = "import os\nwhile os.write(1, bytes(65536)): pass";
    let mut prisoner = jail.start(python(script)).unwrap();
    let mut stdout = prisoner.take_stdout().unwrap();
    let mut some = vec![0; 1 << 20];
    stdout.read_exact(&mut some).await.unwrap();
    assert!(prisoner.memory_bytes().is_none_or(|bytes| bytes < 64 << 20));
    prisoner.kill();
    assert_eq!(prisoner.wait().await.unwrap(), Ended::Signalled(9));
}

#[tokio::test]
async fn interpreters_work_inside() {
    let jail = enforced();
    let script = "import json, ssl, sqlite3, hashlib, asyncio, os; print(os.cpu_count() > 0)";
    let mut cell = python(script);
    cell.arguments.remove(1);
    assert_eq!(run(&jail, cell).await, ("True\n".to_owned(), Ended::Exited(0)));
    let node = Interpreters::of_this_host().node.as_ref().expect("these tests need Node");
    let script =
        "console.log(require('os').userInfo().username, require('crypto').randomUUID().length)";
    let mut cell = self::cell(node.program.to_str().unwrap(), &["-e", script]);
    cell.memory_bytes = 256 << 20;
    assert_eq!(run(&jail, cell).await, ("function 36\n".to_owned(), Ended::Exited(0)));
}

#[test]
fn every_protection_is_explained_in_the_documentation() {
    let jail = enforced();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/isolation.md");
    let page = fs::read_to_string(page).unwrap();
    for protection in jail.enforcement() {
        let row = format!("| {} |", protection.name);
        assert!(page.contains(&row), "docs/isolation.md lacks `{}`", protection.name);
    }
}

#[test]
fn a_jail_that_is_off_says_so() {
    let list = jail(Mode::Off).enforcement();
    assert!(!list.is_empty() && list.iter().all(|one| !one.enforced), "{list:?}");
}
