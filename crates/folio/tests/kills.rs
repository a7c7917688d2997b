//! `kill -9` during load, of workers and of the server: only what the killed process had in hand fails, nobody is
//! left behind, and afterwards everything means what it meant before.

#![expect(
    clippy::disallowed_methods,
    reason = "a test that kills processes waits by the real clock"
)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use folio_testkit::transcript::Session;

use crate::program::{Over, session, works};
use crate::wire::Connection;

const CONNECTIONS: usize = 16;
const KILLS: usize = 8;

fn publish(session: &Session) {
    session.write("one.js", "module.exports = () => ({ status: 200, body: 'one' });").unwrap();
    session.write("two.js", "module.exports = () => ({ status: 200, body: 'two' });").unwrap();
    works(session, "folio fn version create hello --env nodejs --code one.js --version v1");
    works(session, "folio fn version create hello --env nodejs --code two.js --version v2");
    works(session, "folio fn alias create hello --alias prod --version v1");
    works(session, "folio route create --name hello --url /hello --function hello --alias prod");
}

/// The processes that serve the function. One that was just killed may still be among them.
fn workers(session: &Session) -> Vec<u32> {
    let status = works(session, "folio status -o json");
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let workers = status["runtime"]["workers"].as_array().unwrap().iter();
    let serving = workers.filter(|worker| worker["function"] == "hello");
    serving.filter_map(|worker| u32::try_from(worker["pid"].as_u64()?).ok()).collect()
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(PathBuf::from(format!("/proc/{pid}/stat")));
    // What nobody has waited for yet is dead all the same.
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Waits until something holds; half a minute is for ever.
#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_worker_fails_only_what_it_had_in_hand() {
    let session = session(&[]);
    publish(&session);
    let done = AtomicBool::new(false);
    let (answered, crashed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let _over = Over(&done);
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let mut connection = Connection::open(session.gateway()).unwrap();
                while !done.load(Ordering::SeqCst) {
                    let answer = connection.ask("GET /hello", "", b"").unwrap();
                    match answer.status {
                        200 => answered.fetch_add(1, Ordering::SeqCst),
                        502 if answer.text().contains("function_crashed") => {
                            assert!(answer.header("folio-request-id").is_some());
                            crashed.fetch_add(1, Ordering::SeqCst)
                        }
                        _ => panic!("{answer:?}"),
                    };
                }
            });
        }
        for _ in 0..KILLS {
            let before = answered.load(Ordering::SeqCst);
            wait_until("requests are answered", || answered.load(Ordering::SeqCst) > before + 50);
            let mut victim = None;
            wait_until("someone answers", || {
                victim = workers(&session).into_iter().find(|pid| is_alive(*pid));
                victim.is_some()
            });
            let pid = victim.expect("it was just found");
            works(&session, &format!("kill -9 {pid}"));
            wait_until("the worker is gone", || !is_alive(pid));
        }
        let before = answered.load(Ordering::SeqCst);
        wait_until("the pool is full again", || answered.load(Ordering::SeqCst) > before + 500);
    });
    let crashed = crashed.into_inner();
    assert!(crashed <= KILLS * CONNECTIONS, "{crashed} requests failed");
}

#[test]
fn a_killed_server_takes_its_workers_along_and_forgets_nothing() {
    let mut session = session(&[]);
    publish(&session);
    let begun = AtomicUsize::new(0);
    let pids = std::thread::scope(|scope| {
        let gateway = session.gateway().to_owned();
        let begun = &begun;
        for _ in 0..CONNECTIONS {
            let gateway = gateway.clone();
            scope.spawn(move || {
                let mut connection = Connection::open(&gateway).unwrap();
                while let Ok(answer) = connection.ask("GET /hello", "", b"") {
                    assert_eq!((answer.status, &*answer.text()), (200, "one"));
                    begun.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        wait_until("requests are answered", || begun.load(Ordering::SeqCst) > 200);
        let pids = workers(&session);
        assert!(!pids.is_empty());
        session.stop();
        pids
    });
    for pid in pids {
        wait_until("the workers are gone", || !is_alive(pid));
    }
    session.start_again().unwrap();
    let mut connection = Connection::open(session.gateway()).unwrap();
    let answer = connection.ask("GET /hello", "", b"").unwrap();
    assert_eq!((answer.status, &*answer.text()), (200, "one"));
    assert_eq!(answer.header("folio-version"), Some("hello@v1"));
    works(&session, "folio fn alias update hello --alias prod --version v2");
    assert_eq!(connection.ask("GET /hello", "", b"").unwrap().text(), "two");
    session.stop();
    works(&session, "folio check");
}
