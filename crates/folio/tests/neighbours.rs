//! Functions that misbehave, and their neighbours: another version of the same function and a function of another app
//! answer everything they are asked meanwhile, and who calls the one that misbehaves is told what happened.

#![expect(
    clippy::disallowed_methods,
    reason = "what happens meanwhile is waited for by the real clock"
)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use folio_testkit::transcript::Session;

use crate::program::{Over, session, works};
use crate::wire::{Answer, Connection};

const CALM_NODE: &str = "module.exports = async (context) => \
    ({ status: 200, body: `calm ${context.request.query.n}` });";

const CALM_PYTHON: &str = "from flask import request\n\n\ndef main():\n    \
    return 'calm ' + request.args['n']";

const FORKS: &str = r#"import os

def main():
    is_full = False
    while True:
        try:
            os.fork()
        except OSError:
            if not is_full:
                print("no more processes", flush=True)
            is_full = True
"#;

const EXHAUSTS: &str = "const held = [];
module.exports = async () => { for (;;) held.push(new Array(1000).fill({})); };";

const FLOODED_BYTES: usize = 200 << 20;

const FLOODS: &str = r#"from flask import request

def main():
    line, printed = "flood " * 200, 0
    while printed < int(request.args["bytes"]):
        print(line)
        printed += len(line)
    return str(printed)
"#;

const SILENT: &str = "module.exports = () => new Promise(() => {});";

const BUSY: &str = "module.exports = () => { for (;;); };";

/// A function that misbehaves.
struct Wild {
    environment: &'static str,
    code: &'static str,
    flags: &'static str,
}

/// A server with a function that misbehaves in its version `wild` and not in `calm`, and one in another app.
fn village(wild: &Wild) -> Session {
    let session = session(&[]);
    let Wild { environment, code, flags } = wild;
    session.write("calm.js", CALM_NODE).unwrap();
    session.write("calm.py", CALM_PYTHON).unwrap();
    session.write("wild", code).unwrap();
    works(&session, "cp wild wild.js && mv wild wild.py");
    let file = if *environment == "python" { "wild.py" } else { "wild.js" };
    // Whoever is kept waiting for longer counts as one who was not answered.
    let calm = "folio fn version create --name hamlet --env nodejs --code calm.js --version calm";
    works(&session, &format!("{calm} --timeout 10s"));
    let wild = format!("folio fn version update hamlet --env {environment} --code {file}");
    works(&session, &format!("{wild} --version wild {flags}"));
    works(&session, "folio route create --url /calm --function hamlet@calm");
    works(&session, "folio route create --url /wild --function hamlet@wild");
    works(&session, "folio app create other");
    let calm = "folio --app other fn version create --name calm --env python --code calm.py";
    works(&session, &format!("{calm} --timeout 10s"));
    works(&session, "folio --app other route create --url /calm --function calm");
    session
}

/// What a function's callers are answered, one after another, while all its neighbours are asked too.
fn meanwhile(session: &Session, asks: &[&str]) -> Vec<Answer> {
    let hosts = ["localhost", "other.localhost"];
    let (done, answered) = (AtomicBool::new(false), [const { AtomicUsize::new(0) }; 2]);
    std::thread::scope(|scope| {
        let _over = Over(&done);
        for (host, answered) in hosts.iter().zip(&answered) {
            scope.spawn(|| neighbour(session.gateway(), host, answered, &done));
        }
        let enough = |more: usize| {
            let begun = Instant::now();
            let wanted = answered.each_ref().map(|one| one.load(Ordering::SeqCst) + more);
            while answered
                .iter()
                .zip(wanted)
                .any(|(one, wanted)| one.load(Ordering::SeqCst) < wanted)
            {
                assert!(begun.elapsed() < Duration::from_secs(30), "a neighbour stopped");
                std::thread::park_timeout(Duration::from_millis(1));
            }
        };
        enough(1);
        let mut connection = Connection::open(session.gateway()).unwrap();
        let before = answered.each_ref().map(|one| one.load(Ordering::SeqCst));
        let answers = asks.iter().map(|line| connection.ask(line, "", b"").unwrap()).collect();
        for (one, before) in answered.iter().zip(before) {
            let count = one.load(Ordering::SeqCst) - before;
            assert!(count > 0, "a neighbour answered nothing meanwhile");
        }
        enough(10);
        answers
    })
}

/// A small steady load, until it is no longer needed. Every answer must be right.
fn neighbour(gateway: &str, host: &str, answered: &AtomicUsize, done: &AtomicBool) {
    let mut connection = Connection::open(gateway).unwrap();
    for number in 0.. {
        if done.load(Ordering::SeqCst) {
            return;
        }
        let ask = format!("GET /calm?n={number} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        connection.send(ask.as_bytes()).unwrap();
        let answer = connection.answer().unwrap();
        assert_eq!((answer.status, answer.text()), (200, format!("calm {number}")), "{host}");
        answered.fetch_add(1, Ordering::SeqCst);
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Checks that an answer is an error with its code and the request's id.
#[track_caller]
fn check(answer: &Answer, status: u16, code: &str) {
    let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let said = (answer.status, said["error"]["code"].as_str(), said["error"]["requestId"].as_str());
    let request = answer.header("folio-request-id").expect("every answer has one");
    assert_eq!(said, (status, Some(code), Some(request)), "{}", answer.text());
}

#[test]
fn nobody_else_suffers_from_a_function_that_forks_without_end() {
    let wild = Wild { environment: "python", code: FORKS, flags: "--timeout 2s" };
    let session = village(&wild);
    let answers = meanwhile(&session, &["GET /wild"]);
    check(&answers[0], 504, "function_timeout");
    let log = works(&session, "folio fn logs hamlet --version wild");
    assert!(log.contains("no more processes"), "it did not get as far as its limit: {log}");
}

#[test]
fn nobody_else_suffers_from_a_function_that_exhausts_its_memory() {
    let wild =
        Wild { environment: "nodejs", code: EXHAUSTS, flags: "--memory 128MiB --timeout 50s" };
    let session = village(&wild);
    // The second one finds no worker, because the first took it along.
    for answer in meanwhile(&session, &["GET /wild", "GET /wild"]) {
        check(&answer, 502, "function_crashed");
    }
}

#[test]
fn nobody_else_suffers_from_a_function_that_floods_its_log() {
    let wild = Wild { environment: "python", code: FLOODS, flags: "--timeout 60s" };
    let session = village(&wild);
    let answers = meanwhile(&session, &[&format!("GET /wild?bytes={FLOODED_BYTES}")]);
    assert_eq!(answers[0].status, 200, "{}", answers[0].text());
    assert!(answers[0].text().parse::<usize>().unwrap() >= FLOODED_BYTES);
    let log = works(&session, "folio fn logs hamlet --version wild | wc -c");
    assert!(log.parse::<usize>().unwrap() < 2 << 20, "{log} bytes of it are kept");
}

#[test]
fn nobody_else_suffers_from_a_function_that_never_answers() {
    for code in [SILENT, BUSY] {
        let session = village(&Wild { environment: "nodejs", code, flags: "--timeout 2s" });
        let answers = meanwhile(&session, &["GET /wild"]);
        check(&answers[0], 504, "function_timeout");
    }
}
