//! `kill -9` while a thousand executions run and fifty jobs wait: every execution that was accepted comes to exactly one
//! end, and no slot is run twice.

#![expect(
    clippy::disallowed_methods,
    reason = "a test that kills processes waits by the real clock"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use folio_testkit::transcript::Session;
use serde_json::{Value, json};

use crate::program::{session, works};
use crate::wire::Connection;

const CLIENTS: usize = 8;
const EXECUTIONS: usize = 1000;
const JOBS: usize = 50;
const ALL: &str = "/folio/v1/apps/default/executions";

/// A client with its token.
struct Client {
    connection: Connection,
    headers: String,
}

impl Client {
    fn open(session: &Session) -> Self {
        let token = std::fs::read_to_string(session.data().join("admin.token")).unwrap();
        let headers = format!("Authorization: Bearer {}\r\n", token.trim());
        Self { connection: Connection::open(session.url()).unwrap(), headers }
    }

    /// Asks for an execution; none if the server is gone.
    fn accept(&mut self, key: usize) -> Option<String> {
        let body = json!({ "function": "hello", "mode": "async", "input": key.to_string() });
        let headers =
            format!("{}Content-Type: application/json\r\nIdempotency-Key: {key}\r\n", self.headers);
        let asked =
            self.connection.ask(&format!("POST {ALL}"), &headers, body.to_string().as_bytes());
        let answer = asked.ok()?;
        assert_eq!(answer.status, 201, "{}", answer.text());
        let made: Value = serde_json::from_str(&answer.text()).unwrap();
        Some(made["id"].as_str().unwrap().to_owned())
    }

    fn list(&mut self, query: &str) -> Vec<Value> {
        let (mut items, mut below) = (Vec::new(), String::new());
        loop {
            let path = format!("GET {ALL}?limit=1000{query}{below}");
            let answer = self.connection.ask(&path, &self.headers, b"").unwrap();
            assert_eq!(answer.status, 200, "{}", answer.text());
            let page: Value = serde_json::from_str(&answer.text()).unwrap();
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["next"].as_u64() {
                Some(next) => below = format!("&below={next}"),
                None => return items,
            }
        }
    }
}

#[test]
fn every_accepted_execution_ends_once_and_no_slot_runs_twice() {
    let mut session = session(&["--limit", "executionAttemptsMax=1000"]);
    session.write("one.js", "module.exports = () => ({ status: 200, body: 'one' });").unwrap();
    works(&session, "folio fn version create hello --env nodejs --code one.js --version v1");
    let create = "folio job create --function hello --pattern '* * * * *' --count 3";
    works(&session, &format!("for n in $(seq {JOBS}); do {create} || exit; done"));
    let accepted = Mutex::new(BTreeSet::new());
    let next = AtomicUsize::new(0);
    for kill_at in [EXECUTIONS / 4, EXECUTIONS / 2, EXECUTIONS] {
        accept(&session, &accepted, &next, kill_at);
        session.stop();
        session.start_again().unwrap();
    }
    let accepted = accepted.into_inner().unwrap();
    assert!(accepted.len() >= EXECUTIONS);
    let mut client = Client::open(&session);
    let begun = Instant::now();
    while !client.list("&status=running").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(120), "not all ended");
        std::thread::park_timeout(Duration::from_millis(50));
    }
    let all = client.list("");
    let ended: BTreeMap<_, _> = all.iter().map(|one| (one["id"].as_str().unwrap(), one)).collect();
    assert_eq!(ended.len(), all.len(), "each is there once");
    for id in &accepted {
        assert_eq!(ended[id.as_str()]["status"], "success", "{}", ended[id.as_str()]);
    }
    let mut runs = BTreeMap::<_, usize>::new();
    for one in &all {
        if let Some(job) = one["origin"]["job"].as_str() {
            *runs.entry(job).or_default() += 1;
        }
    }
    assert!(runs.values().all(|runs| *runs <= 3), "a slot was run twice: {runs:?}");
}

/// Has clients ask for executions until so many were accepted, and the server is to be killed.
fn accept(session: &Session, accepted: &Mutex<BTreeSet<String>>, next: &AtomicUsize, until: usize) {
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = Client::open(session);
                while accepted.lock().unwrap().len() < until {
                    let key = next.fetch_add(1, Ordering::SeqCst);
                    match client.accept(key) {
                        Some(id) => assert!(accepted.lock().unwrap().insert(id)),
                        None => return,
                    }
                }
            });
        }
    });
}
