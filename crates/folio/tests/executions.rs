//! `kill -9` while executions are asked for and run, and while slots of fifty jobs are started: every execution that was
//! accepted comes to exactly one end, no slot is run twice, and no job more often than it shall.

#![expect(
    clippy::disallowed_methods,
    reason = "a test that kills processes waits by the real clock"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use folio_model::Timestamp;
use folio_testkit::transcript::{Session, Time};
use serde_json::{Value, json};

use crate::program::works;
use crate::wire::{Answer, Connection};

const CLIENTS: usize = 8;
const EXECUTIONS: usize = 1000;
const KILLS: usize = 4;
/// Jobs that still run at the last kill.
const ENDLESS: usize = 50;
/// Jobs beside them that end by themselves.
const COUNTED: usize = 20;
/// Among so many of the newest executions are runs of the newest slot, whatever else is asked for.
const NEWEST: usize = 10 * (ENDLESS + COUNTED);
const ALL: &str = "/folio/v1/apps/default/executions";
const ALL_JOBS: &str = "/folio/v1/apps/default/jobs";

/// Slots that come more often than a server starts, and slots that are still the newest when it has started again; and how
/// many of each are counted.
const TERMS: [(&str, usize); 2] = [("* * * * * *", 5), ("*/5 * * * * *", 2)];

/// The seconds between slots of all jobs.
const PERIOD_SECONDS: i64 = 5;

/// Where a server is, and who may ask it.
struct Door {
    url: String,
    headers: String,
}

impl Door {
    fn of(session: &Session) -> Self {
        let token = std::fs::read_to_string(session.data().join("admin.token")).unwrap();
        let headers =
            format!("Authorization: Bearer {}\r\nContent-Type: application/json\r\n", token.trim());
        Self { url: session.url().to_owned(), headers }
    }

    fn enter(&self) -> Client {
        let connection = Connection::open(&self.url).unwrap();
        Client { connection, headers: self.headers.clone() }
    }
}

/// A client with its token.
struct Client {
    connection: Connection,
    headers: String,
}

/// What became of a request for an execution.
enum Asked {
    Accepted(String),
    /// It was sent, and nobody knows whether it was accepted.
    Unanswered,
    /// The server was gone before.
    NotSent,
}

impl Client {
    /// Asks for an execution under a key.
    fn accept(&mut self, key: usize) -> Asked {
        let body = json!({ "function": "hello", "mode": "async", "input": key.to_string() });
        let body = body.to_string();
        let head = format!(
            "POST {ALL} HTTP/1.1\r\nHost: localhost\r\n{}Idempotency-Key: {key}\r\nContent-Length: {}\r\n\r\n",
            self.headers,
            body.len()
        );
        if self.connection.send(format!("{head}{body}").as_bytes()).is_err() {
            return Asked::NotSent;
        }
        let Ok(answer) = self.connection.answer() else { return Asked::Unanswered };
        let made = whole(&answer, 201);
        Asked::Accepted(made["id"].as_str().unwrap().to_owned())
    }

    fn ask(&mut self, line: &str, body: &Value, status: u16) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.connection.ask(line, &self.headers, body.as_bytes()).unwrap();
        whole(&answer, status)
    }

    /// The newest executions that fit a query.
    fn newest(&mut self, limit: usize, query: &str) -> Vec<Value> {
        let page = self.ask(&format!("GET {ALL}?limit={limit}{query}"), &Value::Null, 200);
        page["items"].as_array().unwrap().clone()
    }

    fn all(&mut self) -> Vec<Value> {
        let (mut items, mut below) = (Vec::new(), String::new());
        loop {
            let page = self.ask(&format!("GET {ALL}?limit=1000{below}"), &Value::Null, 200);
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["next"].as_u64() {
                Some(next) => below = format!("&below={next}"),
                None => return items,
            }
        }
    }

    fn jobs(&mut self) -> Vec<Value> {
        let page = self.ask(&format!("GET {ALL_JOBS}"), &Value::Null, 200);
        page["items"].as_array().unwrap().clone()
    }

    /// How many runs of the newest slot that all jobs have there are, if it comes after a moment.
    fn begun_after(&mut self, moment: Timestamp) -> usize {
        let newest = self.newest(NEWEST, "");
        let slots = newest.iter().filter_map(slot).filter(|slot| *slot > moment);
        let slots: Vec<_> = slots.filter(|slot| slot.as_second() % PERIOD_SECONDS == 0).collect();
        slots.iter().filter(|slot| Some(*slot) == slots.iter().max()).count()
    }
}

fn whole(answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{}", answer.text());
    serde_json::from_str(&answer.text()).unwrap()
}

/// The slot of a job that an execution is the run of.
fn slot(execution: &Value) -> Option<Timestamp> {
    execution["origin"]["job"].as_str()?;
    Some(execution["slot"].as_str().expect("a job's run says its slot").parse().unwrap())
}

/// Waits until something holds; two minutes are for ever.
#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// What clients asked for so far.
#[derive(Default)]
struct Asking {
    next: AtomicUsize,
    accepted: Mutex<BTreeMap<usize, String>>,
    /// Keys whose request got no answer: they are asked for again.
    open: Mutex<Vec<usize>>,
    unanswered: AtomicUsize,
}

impl Asking {
    fn accepted(&self) -> usize {
        self.accepted.lock().unwrap().len()
    }

    /// Asks for one execution after the other until the server is gone, or so many were accepted.
    fn go_on(&self, door: &Door, until: usize) {
        let mut client = door.enter();
        while self.accepted() < until || !self.open.lock().unwrap().is_empty() {
            let again = self.open.lock().unwrap().pop();
            let key = again.unwrap_or_else(|| self.next.fetch_add(1, Ordering::SeqCst));
            match client.accept(key) {
                Asked::Accepted(id) => {
                    let before = self.accepted.lock().unwrap().insert(key, id);
                    assert_eq!(before, None, "no key is asked for again once it was accepted");
                    continue;
                }
                Asked::Unanswered => self.unanswered.fetch_add(1, Ordering::SeqCst),
                Asked::NotSent => 0,
            };
            self.open.lock().unwrap().push(key);
            return;
        }
    }

    /// Has clients ask while all jobs have a slot, and kills the server when some of its runs were started and others not.
    fn until_killed(&self, session: &mut Session) -> Timestamp {
        let door = Door::of(session);
        wait_until("a second before a slot of all jobs", || {
            Timestamp::now().as_second() % PERIOD_SECONDS == PERIOD_SECONDS - 1
        });
        let begun = Timestamp::now();
        let unanswered = self.unanswered.load(Ordering::SeqCst);
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| self.go_on(&door, usize::MAX));
            }
            let mut client = door.enter();
            wait_until("a slot was begun", || client.begun_after(begun) > 0);
            session.stop();
        });
        let lost = self.unanswered.load(Ordering::SeqCst) - unanswered;
        assert!(lost > 0, "requests were under way when the server ended");
        Timestamp::now()
    }
}

#[test]
fn every_accepted_execution_ends_once_and_no_slot_runs_twice() {
    let flags = ["--limit", "executionAttemptsMax=1000"].map(str::to_owned);
    let program = Path::new(env!("CARGO_BIN_EXE_folio"));
    let mut session = Session::start_in(program, &flags, Time::Real).unwrap();
    session.write("one.js", "module.exports = () => ({ status: 200, body: 'one' });").unwrap();
    works(&session, "folio fn version create hello --env nodejs --code one.js --version v1");
    let counts = make_jobs(&mut Door::of(&session).enter());
    let asking = Asking::default();
    let mut kills = Vec::new();
    while kills.len() < KILLS {
        let killed = asking.until_killed(&mut session);
        if kills.len() % 2 == 1 {
            // What was begun is no longer the newest slot when it is found again.
            wait_until("a second passed", || Timestamp::now().as_second() > killed.as_second());
        }
        kills.push(killed);
        session.start_again().unwrap();
    }
    let door = Door::of(&session);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| asking.go_on(&door, EXECUTIONS));
        }
    });
    let all = settled(&mut door.enter(), *kills.last().unwrap());
    check_requests(&asking, &all);
    check_slots(&counts, &kills, &all);
}

/// Makes jobs; gives the count of each, by id.
fn make_jobs(client: &mut Client) -> BTreeMap<String, Option<usize>> {
    let make = |number: usize| {
        let (pattern, count) = TERMS[number % TERMS.len()];
        let count = (number >= ENDLESS).then_some(count);
        let body = json!({ "function": "hello", "pattern": pattern, "count": count });
        let made = client.ask(&format!("POST {ALL_JOBS}"), &body, 201);
        (id(&made).to_owned(), count)
    };
    (0..ENDLESS + COUNTED).map(make).collect()
}

fn id(made: &Value) -> &str {
    made["id"].as_str().or(made["result"]["id"].as_str()).expect("what was made has an id")
}

/// Lets slots come after the last kill, ends the jobs that go on for ever, and gives all executions once none runs.
fn settled(client: &mut Client, killed: Timestamp) -> Vec<Value> {
    let endless = client.jobs().iter().filter(|job| job["terms"]["job"]["count"].is_null()).count();
    wait_until("slots are begun after the last kill", || client.begun_after(killed) >= endless);
    let status = |job: &Value| job["terms"]["job"]["status"].as_str().unwrap().to_owned();
    for job in client.jobs() {
        if job["terms"]["job"]["count"].is_null() {
            let line = format!("PATCH {ALL_JOBS}/{}", id(&job));
            client.ask(&line, &json!({ "status": "cancelled" }), 200);
        }
    }
    wait_until("counted jobs are done", || {
        client.jobs().iter().all(|job| status(job) != "running")
    });
    wait_until("all ended", || client.newest(1, "&status=running").is_empty());
    client.all()
}

/// Every key has one execution, which is the one that was answered, and ended well.
fn check_requests(asking: &Asking, all: &[Value]) {
    let accepted = asking.accepted.lock().unwrap();
    assert!(accepted.len() >= EXECUTIONS);
    let asked = all.iter().filter(|one| one["origin"] == "request");
    let mut found = BTreeMap::new();
    for one in asked {
        let key: usize = one["input"].as_str().unwrap().parse().unwrap();
        assert_eq!(one["status"], "success", "{one}");
        let before = found.insert(key, id(one).to_owned());
        assert_eq!(before, None, "key {key} is there once");
    }
    assert_eq!(found, *accepted);
}

/// No slot was run twice, slots were run before and after every kill, and counted jobs as often as they shall.
fn check_slots(counts: &BTreeMap<String, Option<usize>>, kills: &[Timestamp], all: &[Value]) {
    let mut runs = BTreeMap::<&str, BTreeSet<Timestamp>>::new();
    for one in all {
        let Some(slot) = slot(one) else { continue };
        assert_eq!(one["status"], "success", "{one}");
        let job = one["origin"]["job"].as_str().unwrap();
        assert!(runs.entry(job).or_default().insert(slot), "slot {slot} of job {job} ran twice");
    }
    for (job, count) in counts {
        let slots = &runs[job.as_str()];
        match count {
            Some(count) => assert_eq!(slots.len(), *count, "job {job} ran at {slots:?}"),
            None => assert!(slots.last() > kills.last(), "job {job} ran at {slots:?}"),
        }
    }
    let mut after = Timestamp::MIN;
    for &kill in kills {
        let mut slots = runs.values().flatten();
        assert!(
            slots.any(|slot| (after..kill).contains(slot)),
            "no slot between {after} and {kill}"
        );
        after = kill;
    }
}
