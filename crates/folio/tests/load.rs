//! Moving an alias under load: no request fails, and none is answered by a version that was not current between
//! its sending and its answer. `FOLIO_LOAD` sets how many requests.

#![expect(
    clippy::disallowed_methods,
    reason = "what is current between sending and receiving is a matter of real time, and its length of a variable"
)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use folio_testkit::transcript::Session;

use crate::program::{Over, session, works};
use crate::wire::Connection;

const CONNECTIONS: usize = 64;
const FLIPS: u64 = 1_000;

/// How many requests, all connections together.
fn requests() -> u64 {
    std::env::var("FOLIO_LOAD").ok().and_then(|text| text.parse().ok()).unwrap_or(200_000)
}

/// A stretch of time in which a version may have been the current one: from when the move to it was asked for
/// until the move away from it was acknowledged.
#[derive(Debug, Clone, Copy)]
struct Reign {
    version: u8,
    from: Instant,
    until: Option<Instant>,
}

/// One answered request.
struct Seen {
    version: u8,
    sent: Instant,
    received: Instant,
}

/// What was seen, over all connections, and what could have been.
struct Storm {
    reigns: Vec<Reign>,
    seen: Vec<Seen>,
    failed: Vec<String>,
}

const ONE: &str = "module.exports = async () => ({ status: 200, body: '1' });";
const TWO: &str = "module.exports = async () => ({ status: 200, body: '2' });";

#[test]
fn a_thousand_moves_of_an_alias_fail_no_request_and_none_is_answered_by_an_old_version() {
    let session = session(&[]);
    publish(&session);
    let storm = storm(&session, requests(), FLIPS);
    assert_eq!(storm.failed, Vec::<String>::new());
    assert_eq!(storm.wrong(), Vec::<usize>::new());
    assert!(storm.seen.len() as u64 >= requests(), "{}", storm.seen.len());
}

#[test]
fn the_watcher_of_the_storm_notices_one_wrong_answer() {
    let session = session(&[]);
    publish(&session);
    let mut storm = storm(&session, 2_000, 10);
    let (late, failed) = ask(session.gateway(), &AtomicU64::new(1), &AtomicBool::new(true));
    storm.seen.extend(late);
    assert_eq!((&storm.failed, failed), (&Vec::new(), Vec::new()));
    assert_eq!(storm.wrong(), Vec::<usize>::new());
    // The first answer came before any move, and the last one was asked for after all of them: in either reign the
    // other version is wrong, once because it is yet to come, once because it was left.
    let all = 0..storm.seen.len();
    let first = all.clone().min_by_key(|at| storm.seen[*at].received).unwrap();
    for at in [first, all.end - 1] {
        let version = storm.seen[at].version;
        storm.seen[at].version = 3 - version;
        assert_eq!(storm.wrong(), [at]);
        storm.seen[at].version = version;
    }
}

#[test]
fn the_watcher_of_the_storm_notices_a_server_that_does_not_follow_the_alias_or_does_not_answer() {
    let session = session(&[]);
    publish(&session);
    works(&session, "folio route delete hello");
    // As if moves of the alias never reached the gateway.
    works(
        &session,
        "folio route create --name hello --method GET --url /hello --function hello@v1",
    );
    let stuck = storm(&session, 2_000, 10);
    assert_eq!(stuck.failed, Vec::<String>::new());
    assert!(!stuck.wrong().is_empty(), "all of {} answers are of v1", stuck.seen.len());
    works(&session, "folio route delete hello");
    let gone = storm(&session, 1_000, 2);
    assert!(gone.seen.is_empty() && gone.failed.len() >= 1_000, "{}", gone.failed.len());
}

fn publish(session: &Session) {
    for (file, code) in [("one.js", ONE), ("two.js", TWO)] {
        session.write(file, code).unwrap();
    }
    works(session, "folio fn version create hello --env nodejs --code one.js --version v1");
    works(session, "folio fn version create hello --env nodejs --code two.js --version v2");
    works(session, "folio fn alias create hello --alias prod --version v1");
    works(
        session,
        "folio route create --name hello --method GET --url /hello --function hello --alias prod",
    );
}

/// Asks from many connections while the alias moves.
fn storm(session: &Session, requests: u64, flips: u64) -> Storm {
    let left = AtomicU64::new(requests);
    let done = AtomicBool::new(false);
    let reigns = Mutex::new(vec![Reign { version: 1, from: Instant::now(), until: None }]);
    let gateway = session.gateway();
    let (seen, failed) = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CONNECTIONS).map(|_| scope.spawn(|| ask(gateway, &left, &done))).collect();
        let over = Over(&done);
        flip(session, &reigns, &left, (requests, flips));
        drop(over);
        let mut all = (Vec::new(), Vec::new());
        for client in clients {
            let (seen, failed) = client.join().unwrap();
            all.0.extend(seen);
            all.1.extend(failed);
        }
        all
    });
    Storm { reigns: reigns.into_inner().unwrap(), seen, failed }
}

impl Storm {
    /// The answers of versions that were not current between their sending and their answer.
    fn wrong(&self) -> Vec<usize> {
        let is_wrong = |seen: &Seen| !self.reigns.iter().any(|reign| reign.covers(seen));
        let seen = self.seen.iter().enumerate();
        seen.filter(|(_, seen)| is_wrong(seen)).map(|(at, _)| at).collect()
    }
}

impl Reign {
    fn covers(&self, seen: &Seen) -> bool {
        self.version == seen.version
            && self.from <= seen.received
            && self.until.is_none_or(|until| seen.sent <= until)
    }
}

/// One connection's requests, until as many were sent as asked for and the flips are over.
fn ask(gateway: &str, left: &AtomicU64, done: &AtomicBool) -> (Vec<Seen>, Vec<String>) {
    let mut connection = Connection::open(gateway).unwrap();
    let (mut seen, mut failed) = (Vec::new(), Vec::new());
    while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
        || !done.load(Ordering::SeqCst)
    {
        let sent = Instant::now();
        match connection.ask("GET /hello", "", b"") {
            Ok(answer) if answer.status == 200 && answer.body.len() == 1 => {
                let version = answer.body[0] - b'0';
                let named = answer.header("folio-version").unwrap_or_default();
                if named != format!("hello@v{version}") {
                    failed.push(format!("answered {version}, named {named}"));
                }
                seen.push(Seen { version, sent, received: Instant::now() });
            }
            Ok(answer) => failed.push(format!("{} {}", answer.status, answer.text())),
            Err(error) => {
                failed.push(error.to_string());
                break;
            }
        }
    }
    (seen, failed)
}

/// Moves the alias to and fro, spread over the time the requests take.
fn flip(
    session: &Session,
    reigns: &Mutex<Vec<Reign>>,
    left: &AtomicU64,
    (requests, flips): (u64, u64),
) {
    let mut control = Connection::open(session.url()).unwrap();
    let token = std::fs::read_to_string(session.data().join("admin.token")).unwrap();
    let headers =
        format!("Authorization: Bearer {}\r\nContent-Type: application/json\r\n", token.trim());
    let path = "PUT /folio/v1/apps/default/functions/hello/aliases/prod";
    for flip in 0..flips {
        let due = requests - requests * (flip + 1) / (flips + 1);
        while left.load(Ordering::SeqCst) > due {
            std::thread::park_timeout(Duration::from_micros(200));
        }
        let version = if flip % 2 == 0 { 2 } else { 1 };
        reigns.lock().unwrap().push(Reign { version, from: Instant::now(), until: None });
        let body = format!(r#"{{"targets":[{{"version":"v{version}","weight":10000}}]}}"#);
        let answer = control.ask(path, &headers, body.as_bytes()).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        let mut reigns = reigns.lock().unwrap();
        let old = reigns.len() - 2;
        reigns[old].until = Some(Instant::now());
    }
}
