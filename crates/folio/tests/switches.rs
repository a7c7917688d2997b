//! Switching what is live under load: no request fails, and no page loads an asset of another release.
//! `FOLIO_SWITCH_LOAD` sets how many requests.

#![expect(
    clippy::disallowed_methods,
    reason = "how many requests there are is said by whoever runs the tests"
)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use folio_testkit::transcript::Session;

use crate::program::{Over, session, works};
use crate::wire::{Answer, Connection};

const CONNECTIONS: usize = 16;
const SWITCHES: u64 = 500;

/// How many requests, all connections together.
fn requests() -> u64 {
    std::env::var("FOLIO_SWITCH_LOAD").ok().and_then(|text| text.parse().ok()).unwrap_or(200_000)
}

/// How pages name what they load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// By what it holds, so that an older release still has it.
    Fingerprinted,
    /// Always the same, so that only clients that stay with a release get the right one.
    Plain,
}

/// What went wrong, over all connections.
#[derive(Debug, Default)]
struct Outcome {
    answered: u64,
    failed: Vec<String>,
    mixed: u64,
    releases: std::collections::BTreeSet<String>,
}

#[test]
fn five_hundred_switches_fail_no_request_and_mix_no_page_with_fingerprinted_assets() {
    check(Naming::Fingerprinted);
}

#[test]
fn five_hundred_switches_mix_no_page_of_clients_that_stay_with_their_release() {
    check(Naming::Plain);
}

#[test]
fn pages_with_plain_names_and_clients_that_do_not_stay_are_noticed_to_mix() {
    let session = session(&[]);
    let releases = publish(&session, Naming::Plain);
    let outcome = storm(&session, (&releases, Naming::Fingerprinted), 4_000);
    assert!(outcome.mixed > 0, "the watcher notices nothing: {outcome:?}");
}

fn check(naming: Naming) {
    let session = session(&[]);
    let releases = publish(&session, naming);
    if naming == Naming::Plain {
        works(&session, "folio release policy set --skew 1h");
    }
    let outcome = storm(&session, (&releases, naming), requests());
    assert_eq!(outcome.failed, Vec::<String>::new());
    assert_eq!(outcome.mixed, 0);
    assert_eq!(outcome.releases.len(), 2, "both were live");
    assert!(outcome.answered >= requests(), "{}", outcome.answered);
}

/// Two releases of a site, each page of which loads two assets that hold the same word.
fn publish(session: &Session, naming: Naming) -> [String; 2] {
    ["one", "two"].map(|word| {
        let (script, style) = match (naming, word) {
            (Naming::Plain, _) => ("app.js", "app.css"),
            (Naming::Fingerprinted, "one") => ("app.1a1a1a1a.js", "app.1b1b1b1b.css"),
            (Naming::Fingerprinted, _) => ("app.2a2a2a2a.js", "app.2b2b2b2b.css"),
        };
        for (file, text) in [
            ("index.html", format!("{word} {script} {style}")),
            (script, word.to_owned()),
            (style, word.to_owned()),
        ] {
            session.write(&format!("{word}/{file}"), &text).unwrap();
        }
        works(session, &format!("folio static deploy {word} --path / --name site"));
        let listed = works(session, "folio release list -o json");
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        listed[0]["id"].as_str().unwrap().to_owned()
    })
}

/// Loads pages from many connections while live is switched.
fn storm(session: &Session, (releases, naming): (&[String; 2], Naming), requests: u64) -> Outcome {
    let left = AtomicU64::new(requests);
    let done = AtomicBool::new(false);
    let gateway = session.gateway();
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CONNECTIONS).map(|_| scope.spawn(|| load(gateway, naming, &left, &done))).collect();
        let over = Over(&done);
        switch(session, releases, &left, requests);
        drop(over);
        let mut all = Outcome::default();
        for client in clients {
            let outcome = client.join().unwrap();
            all.answered += outcome.answered;
            all.mixed += outcome.mixed;
            all.failed.extend(outcome.failed);
            all.releases.extend(outcome.releases);
        }
        all
    })
}

/// Loads pages, each with its assets, until as many requests were sent as asked for and the switches are over.
fn load(gateway: &str, naming: Naming, left: &AtomicU64, done: &AtomicBool) -> Outcome {
    let mut connection = Connection::open(gateway).unwrap();
    let mut outcome = Outcome::default();
    while left.load(Ordering::SeqCst) > 0 || !done.load(Ordering::SeqCst) {
        let page = connection.ask("GET /", "", b"").unwrap();
        let cookie = page.header("set-cookie").and_then(|given| given.split(';').next());
        let stay = match (naming, cookie) {
            (Naming::Plain, Some(cookie)) => format!("Cookie: {cookie}\r\n"),
            _ => String::new(),
        };
        let text = page.text();
        let mut words = text.split_whitespace();
        let word = words.next().unwrap_or_default().to_owned();
        let mut answers = vec![page];
        for asset in words {
            answers.push(connection.ask(&format!("GET /{asset}"), &stay, b"").unwrap());
        }
        let sent = answers.len() as u64;
        let take = |left: u64| Some(left.saturating_sub(sent));
        left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).unwrap();
        outcome.note(&word, &answers);
    }
    outcome
}

impl Outcome {
    fn note(&mut self, word: &str, answers: &[Answer]) {
        for answer in answers {
            self.answered += 1;
            match answer.status {
                200 => self.mixed += u64::from(!answer.text().starts_with(word)),
                status => self.failed.push(format!("{status} {}", answer.text())),
            }
        }
        let release = answers[0].header("folio-release").unwrap_or_default();
        self.releases.insert(release.to_owned());
    }
}

/// Sets live to and fro, spread over the time the requests take.
fn switch(session: &Session, releases: &[String; 2], left: &AtomicU64, requests: u64) {
    let mut control = Connection::open(session.url()).unwrap();
    let token = std::fs::read_to_string(session.data().join("admin.token")).unwrap();
    let headers =
        format!("Authorization: Bearer {}\r\nContent-Type: application/json\r\n", token.trim());
    for (at, release) in (0..SWITCHES).zip(releases.iter().cycle()) {
        let due = requests - requests * (at + 1) / (SWITCHES + 1);
        while left.load(Ordering::SeqCst) > due {
            std::thread::park_timeout(Duration::from_micros(200));
        }
        let body = format!(r#"{{"release":"{release}"}}"#);
        let answer = control.ask("PUT /folio/v1/apps/default/live", &headers, body.as_bytes());
        let answer = answer.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}
