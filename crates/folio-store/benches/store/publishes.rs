//! Publishes per second with 1, 16 and 64 clients, against what the disk can do.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use folio_core::Folio;
use folio_testkit::sample;
use tokio::task::JoinSet;

use crate::measure::{at_least, line, start};
use crate::{disk, world};

const TIME: Duration = Duration::from_millis(1_500);
const ROUNDS: usize = 3;

/// Whether a publish brings bytes the store does not have.
#[derive(Clone, Copy, PartialEq)]
enum Bytes {
    Known,
    New,
}

/// One round's rates.
#[derive(Default, Clone, Copy)]
struct Rates {
    raw: f64,
    plain: f64,
    known: [f64; 3],
    same: f64,
    new: [f64; 3],
}

const CLIENTS: [usize; 3] = [1, 16, 64];

pub(crate) async fn run(directory: &Path) {
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        rounds.push(measure(&directory.join(format!("round{round}"))).await);
    }
    let middle = |rate: fn(&Rates) -> f64| {
        let mut rates: Vec<_> = rounds.iter().map(rate).collect();
        rates.sort_by(f64::total_cmp);
        rates[ROUNDS / 2]
    };
    let (raw, plain) = (middle(|rates| rates.raw), middle(|rates| rates.plain));
    let known = [middle(|r| r.known[0]), middle(|r| r.known[1]), middle(|r| r.known[2])];
    let new = [middle(|r| r.new[0]), middle(|r| r.new[1]), middle(|r| r.new[2])];
    let goal = if raw < 1_000.0 { 8.0 } else { 4.0 };
    line("raw append and fdatasync, one client", &format!("{raw:.0}/s"), "");
    line("plain SQLite FULL, three rows, one client", &format!("{plain:.0}/s"), "");
    for (clients, rate) in CLIENTS.iter().zip(known) {
        let what = format!("publish bytes the store has, {clients} clients");
        let goal = if *clients == 16 { at_least(rate / plain, goal) } else { String::new() };
        line(&what, &ratio(rate, plain, raw), &goal);
    }
    let same = middle(|rates| rates.same);
    line("publish to one and the same package, 16 clients", &ratio(same, plain, raw), "");
    for (clients, rate) in CLIENTS.iter().zip(new) {
        let what = format!("publish new bytes, {clients} clients");
        let goal = if *clients == 16 { at_least(rate / plain, goal / 2.0) } else { String::new() };
        line(&what, &ratio(rate, plain, raw), &goal);
    }
}

fn ratio(rate: f64, plain: f64, raw: f64) -> String {
    format!("{rate:.0}/s {:.1}x {:.1}x", rate / plain, rate / raw)
}

async fn measure(directory: &Path) -> Rates {
    std::fs::create_dir_all(directory).expect("a directory");
    let mut rates = Rates {
        raw: disk::raw_syncs(directory, TIME),
        plain: disk::plain_sqlite(directory, TIME),
        ..Rates::default()
    };
    let (folio, data) = world::open(&directory.join("data")).await;
    for (at, &clients) in CLIENTS.iter().enumerate() {
        rates.known[at] =
            publishes(&folio, clients, Bytes::Known, |client| format!("known-{client}")).await;
        rates.new[at] =
            publishes(&folio, clients, Bytes::New, |client| format!("new-{client}")).await;
    }
    rates.same = publishes(&folio, 16, Bytes::Known, |_| "same".to_owned()).await;
    drop(folio);
    data.close().await.expect("a clean close");
    rates
}

async fn publishes(
    folio: &Folio,
    clients: usize,
    bytes: Bytes,
    name: impl Fn(usize) -> String,
) -> f64 {
    static FRESH: AtomicU64 = AtomicU64::new(0);
    let known = sample::file(folio, "main.js", "known").await;
    let count = Arc::new(AtomicU64::new(0));
    let watch = start();
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let (folio, count, key) =
            (folio.clone(), Arc::clone(&count), world::package(&name(client)));
        tasks.spawn(async move {
            while watch.elapsed() < TIME {
                let content = match bytes {
                    Bytes::Known => known,
                    Bytes::New => {
                        let fresh = FRESH.fetch_add(1, Ordering::Relaxed);
                        sample::file(&folio, "main.js", &format!("fresh {fresh}")).await
                    }
                };
                world::publish(&folio, &key, content).await;
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tasks.join_all().await;
    count.load(Ordering::Relaxed) as f64 / watch.elapsed().as_secs_f64()
}
