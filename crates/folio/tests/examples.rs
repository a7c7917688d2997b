//! The examples, as their READMEs have them: every command in one is run, and what calls a function is answered with
//! what stands here. What the READMEs say of streams is looked at piece by piece.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use folio_testkit::transcript::Session;

use crate::program::{session, works};
use crate::wire::Connection;

/// Where the READMEs say that the gateway is.
const GATEWAY: &str = "http://127.0.0.1:8888";

const EXAMPLES: [&str; 7] = [
    "echo-node",
    "hello-node",
    "hello-python",
    "markdown-python",
    "shop",
    "stream-node",
    "wasm-hello",
];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The commands of a README: the lines of its blocks of code.
fn commands(example: &str) -> Vec<String> {
    let readme = std::fs::read_to_string(examples().join(example).join("README.md")).unwrap();
    let (mut commands, mut is_fenced) = (Vec::new(), false);
    for line in readme.lines() {
        match line.strip_prefix("    ") {
            _ if line.starts_with("```") => is_fenced = !is_fenced,
            Some(command) => commands.push(command.to_owned()),
            None if is_fenced => commands.push(line.to_owned()),
            None => {}
        }
    }
    assert!(!commands.is_empty(), "{example} says no command");
    commands
}

/// Runs all commands of a README, and returns what those said that call a function.
#[track_caller]
fn follow(session: &Session, example: &str) -> Vec<String> {
    // Without its progress, which is for people.
    session.write(".curlrc", "silent\nshow-error").unwrap();
    let from = examples().join(example);
    works(session, &format!("mkdir -p examples && cp -r '{}' examples", from.display()));
    let calls = |command: &str| command.starts_with("folio invoke ") || command.contains("curl ");
    let mut said = Vec::new();
    for command in commands(example) {
        let answer = works(session, &command.replace(GATEWAY, session.gateway()));
        said.extend(calls(&command).then_some(answer));
    }
    said
}

/// Checks what a README's calls are answered.
#[track_caller]
fn check(example: &str, expected: &[&str]) -> Session {
    let session = session(&[]);
    assert_eq!(follow(&session, example), expected, "{example}");
    session
}

#[test]
fn there_is_no_example_that_is_not_run() {
    let entries = std::fs::read_dir(examples()).unwrap();
    let mut there: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    there.sort();
    assert_eq!(there, EXAMPLES);
}

#[test]
fn hello_in_node_does_what_its_readme_says() {
    check("hello-node", &["hello, you", "hello, you"]);
}

#[test]
fn hello_in_python_does_what_its_readme_says() {
    check("hello-python", &["hello, you", "hello, world", "welcome, world"]);
}

#[test]
fn hello_in_wasm_does_what_its_readme_says() {
    check("wasm-hello", &["Hello from wasm!"]);
}

#[test]
fn the_shop_does_what_its_readme_says() {
    let page = std::fs::read_to_string(examples().join("shop/site/index.html")).unwrap();
    check("shop", &[page.trim_end(), r#"{"apples":3,"pears":4}"#, "welcome, ada"]);
}

#[test]
fn markdown_does_what_its_readme_says_where_its_package_is_reached() {
    if !is_reached("markdown-python") {
        let reason = "skipped markdown-python: no registry that is reached has its package";
        return writeln!(std::io::stderr(), "{reason}").unwrap();
    }
    let said = follow(&session(&[]), "markdown-python");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("<h1>Hello, <em>world</em></h1>"), "{}", said[0]);
}

/// Whether pip finds what an example requires, asked as the server's builds will ask: with all that this process knows.
#[expect(clippy::disallowed_methods, reason = "a session's commands know nothing of registries")]
fn is_reached(example: &str) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let requirements = examples().join(example).join("requirements.txt");
    let pip = Command::new("python3")
        .args(["-m", "pip", "download", "--quiet", "--no-deps", "--retries", "0"])
        .args(["--timeout", "5", "--requirement"])
        .arg(requirements)
        .arg("--dest")
        .arg(directory.path())
        .output();
    pip.is_ok_and(|pip| pip.status.success())
}

#[test]
fn the_stream_sends_each_line_by_itself() {
    let ten = (1..=10).map(|number| number.to_string()).collect::<Vec<_>>().join("\n");
    let session = check("stream-node", &["1\n2\n3", &ten]);
    let mut connection = Connection::open(session.gateway()).unwrap();
    connection.send(b"GET /count?count=3 HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert_eq!(connection.head().unwrap().status, 200);
    for line in [&b"1\n"[..], b"2\n", b"3\n", b""] {
        assert_eq!(connection.chunk().unwrap(), line);
    }
}

#[test]
fn the_echo_answers_while_it_is_still_being_asked() {
    let session = check("echo-node", &["anybody there?", "one\ntwo"]);
    let mut connection = Connection::open(session.gateway()).unwrap();
    let head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    connection.send(head.as_bytes()).unwrap();
    connection.send(b"4\r\none\n\r\n").unwrap();
    assert_eq!(connection.head().unwrap().status, 200);
    assert_eq!(connection.chunk().unwrap(), b"one\n");
    connection.send(b"4\r\ntwo\n\r\n0\r\n\r\n").unwrap();
    assert_eq!(connection.chunk().unwrap(), b"two\n");
    assert_eq!(connection.chunk().unwrap(), b"");
}
