//! Killed at random moments while eight clients write, again and again on one data directory.

use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::client::Client;
use super::record::Record;
use super::server::{Harm, Server, check, token};

const CLIENTS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_moments_nothing_acknowledged_is_lost() {
    let kills = kills();
    let directory = TempDir::new().unwrap();
    let data = directory.path().join("data");
    let mut chance = rand::rngs::StdRng::seed_from_u64(7);
    let mut records: Vec<_> =
        (0..CLIENTS).map(|client| Record::new(&format!("f{client}"))).collect();
    for kill in 0..kills {
        let mut server = Server::start(&data, &Harm::default()).expect("it starts after a kill");
        let client = Client::new(&server.url, &token(&data));
        let (progress, mut steps) = watch::channel(0);
        let clients = drive(records, &client, &progress);
        // While one client hears its answer, the others are anywhere.
        let moment = chance.random_range(1..40);
        let reached = steps.wait_for(|steps| *steps >= moment);
        tokio::time::timeout(PATIENCE, reached)
            .await
            .expect("the clients get on")
            .expect("they live");
        server.kill();
        records = clients.join_all().await;
        if kill % 10 == 9 {
            check(&data);
        }
    }
    check(&data);
    let server = Server::start(&data, &Harm::default()).expect("it starts after a kill");
    let client = Client::new(&server.url, &token(&data));
    for record in &mut records {
        record.verify(&client).await;
        record.retry(&client).await;
        record.verify(&client).await;
    }
}

/// Starts every client on its story: first what is still unanswered, then on until the connection breaks.
fn drive(records: Vec<Record>, client: &Client, progress: &watch::Sender<u64>) -> JoinSet<Record> {
    let mut clients = JoinSet::new();
    for mut record in records {
        let (client, progress) = (client.clone(), progress.clone());
        clients.spawn(async move {
            if let Some(step) = record.unanswered.take()
                && !record.take(&client, step).await
            {
                return record;
            }
            loop {
                let step = record.next();
                if !record.take(&client, step).await {
                    return record;
                }
                progress.send_modify(|steps| *steps += 1);
            }
        });
    }
    clients
}

#[expect(
    clippy::disallowed_methods,
    reason = "how often to kill is for whoever runs the test to say"
)]
fn kills() -> u32 {
    std::env::var("FOLIO_KILLS").map_or(100, |text| text.parse().expect("a number of kills"))
}
