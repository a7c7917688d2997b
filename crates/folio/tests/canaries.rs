//! Canaries under load: whoever calls the old version notices nothing of one that fails and one that completes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use folio_testkit::transcript::Session;

use crate::program::{Over, session, works};
use crate::wire::Connection;

const OLD: &str = "module.exports = async () => ({ status: 200, body: 'old' });";
const GOOD: &str = "module.exports = async () => ({ status: 200, body: 'good' });";
const BAD: &str = "module.exports = async () => ({ status: 500, body: 'bad' });";

/// Clients of the old version.
const CLIENTS: usize = 4;

/// Requests after which a canary should have been decided.
const REQUESTS_MAX: usize = 2_000;

#[test]
fn clients_of_the_old_version_see_no_error_throughout() {
    let session = session(&[]);
    for (file, code, version) in [("old", OLD, "v1"), ("good", GOOD, "v2"), ("bad", BAD, "v3")] {
        session.write(&format!("{file}.js"), code).unwrap();
        let create = "folio fn version create hello --env nodejs";
        works(&session, &format!("{create} --code {file}.js --version {version}"));
    }
    works(&session, "folio fn alias create hello --alias prod --version v1");
    works(&session, "folio fn alias create hello --alias tick --version v1=50% --version v2=50%");
    works(&session, "folio route create pinned --url /pinned --function hello@v1");
    works(&session, "folio route create prod --url /prod --function hello@prod");
    let done = AtomicBool::new(false);
    let answers: Vec<Result<String, String>> = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CLIENTS).map(|_| scope.spawn(|| ask(session.gateway(), &done))).collect();
        let over = Over(&done);
        let canary = "folio canary create c --alias hello@prod --min-requests 5 --step 50";
        works(&session, &format!("{canary} --new-version v3 --interval 1h"));
        let failed = decided(&session, "failed:", &["200 old", "500 bad"]);
        works(&session, &format!("{canary} --new-version v2 --interval 1s"));
        let succeeded = decided(&session, "succeeded", &["200 good", "200 old"]);
        drop(over);
        let answers = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        assert!(failed && succeeded, "a canary was not decided");
        answers
    });
    let wrong: Vec<_> = answers.iter().filter(|answer| answer.as_deref() != Ok("old")).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(answers.len() > CLIENTS, "{} answers", answers.len());
}

/// Asks the old version until told to stop.
fn ask(gateway: &str, done: &AtomicBool) -> Vec<Result<String, String>> {
    let mut connection = Connection::open(gateway).unwrap();
    let mut answers = Vec::new();
    while !done.load(Ordering::SeqCst) {
        let answer = connection.ask("GET /pinned", "", b"");
        answers.push(match answer {
            Ok(answer) if answer.status == 200 => Ok(answer.text()),
            Ok(answer) => Err(format!("{} {}", answer.status, answer.text())),
            Err(error) => Err(error.to_string()),
        });
    }
    answers
}

/// Sends requests through the alias until the canary shows a word. Each is answered in one of the ways that the two
/// versions have, and in each of them at least once. The clock goes on with every draw of `tick`.
fn decided(session: &Session, word: &str, ways: &[&str]) -> bool {
    let mut connection = Connection::open(session.gateway()).unwrap();
    let mut seen = BTreeSet::new();
    let is_decided = (0..REQUESTS_MAX / 10).any(|_| {
        for _ in 0..10 {
            let answer = connection.ask("GET /prod", "", b"").unwrap();
            seen.insert(format!("{} {}", answer.status, answer.text()));
        }
        works(session, "folio invoke hello@tick");
        works(session, "folio canary show c").contains(word)
    });
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), ways);
    is_decided
}
