//! Dies at every named point, once early and once later, and loses nothing.

use folio_core::crash::POINTS;
use tempfile::TempDir;

use super::client::Client;
use super::record::Record;
use super::server::{Harm, Server, check, token};

/// How many requests a story has; more than enough to pass every point.
const STEPS: u64 = 12;

#[tokio::test]
async fn whatever_step_it_dies_at_nothing_acknowledged_is_lost() {
    // No request of the story passes the others: commands and flags do, and folio-store's own tests die at those of the
    // queue and of rewriting.
    let elsewhere = ["queue.", "rewrite.", "copy.", "key.", "authority."];
    let here = |point: &&&str| !elsewhere.iter().any(|start| point.starts_with(start));
    for point in POINTS.iter().filter(here) {
        let died = dies_at(point, 1).await;
        assert!(died, "nothing passes crash point `{point}`");
        dies_at(point, 4).await;
    }
}

/// Runs the story on a server that dies at the nth pass of a point. Returns whether it did.
async fn dies_at(point: &str, nth: u64) -> bool {
    let directory = TempDir::new().unwrap();
    let data = directory.path().join("data");
    let harm = Harm { crash: Some(format!("{point}:{nth}")), ..Harm::default() };
    let mut record = Record::new("hello");
    // A server that dies before it listens may leave a directory that only its next start completes.
    let mut died = true;
    if let Some(mut server) = Server::start(&data, &harm) {
        let client = Client::new(&server.url, &token(&data));
        died = !tell(&mut record, &client).await;
        if died {
            server.wait();
        } else {
            server.kill();
        }
        check(&data);
    }
    let mut server = Server::start(&data, &Harm::default()).expect("it starts after a crash");
    let client = Client::new(&server.url, &token(&data));
    record.verify(&client).await;
    record.retry(&client).await;
    assert!(tell(&mut record, &client).await, "the story goes on after a crash at {point}");
    record.verify(&client).await;
    server.kill();
    check(&data);
    died
}

/// Tells the story until it ends or the connection breaks.
async fn tell(record: &mut Record, client: &Client) -> bool {
    for _ in 0..STEPS {
        let step = record.next();
        if !record.take(client, step).await {
            return false;
        }
    }
    true
}
