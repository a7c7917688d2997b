//! Publishes per second with 1, 16 and 64 clients, against what the disk can do: this one, and two whose syncs take longer.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use folio_core::Folio;
use folio_testkit::sample;
use tokio::task::JoinSet;

use crate::measure::{at_least, line, start};
use crate::processor::used;
use crate::{bare, disk, slow, world};

const TIME: Duration = Duration::from_millis(1_500);
const ROUNDS: usize = 3;

/// What is added to each sync: nothing, what makes a fast disk an ordinary one, and a slow one.
const ADDED: [Duration; 3] = [Duration::ZERO, Duration::from_micros(300), Duration::from_millis(2)];

/// Whether a publish brings bytes the store does not have.
#[derive(Clone, Copy, PartialEq)]
enum Bytes {
    Known,
    New,
}

/// One round's figures.
#[derive(Default, Clone, Copy)]
struct Figures {
    raw: Figure,
    plain: Figure,
    bare: Figure,
    known: [Figure; 3],
    same: Figure,
    new: [Figure; 3],
}

/// How often something can be done a second, and what it costs.
#[derive(Default, Clone, Copy)]
struct Figure {
    rate: f64,
    /// Microseconds of the writer and of all threads.
    costs: [f64; 2],
}

const CLIENTS: [usize; 3] = [1, 16, 64];

pub(crate) async fn run(directory: &Path) {
    for added in ADDED {
        slow::slow_down(added);
        line("added to every sync", &format!("{} us", added.as_micros()), "");
        run_on(&directory.join(format!("added{}", added.as_micros()))).await;
    }
    slow::slow_down(Duration::ZERO);
}

/// Measures and shows all figures of one disk.
async fn run_on(directory: &Path) {
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        rounds.push(measure(&directory.join(format!("round{round}"))).await);
    }
    let middle = |figure: fn(&Figures) -> Figure| {
        let mut figures: Vec<_> = rounds.iter().map(figure).collect();
        figures.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        figures[ROUNDS / 2]
    };
    let (raw, plain) = (middle(|round| round.raw).rate, middle(|round| round.plain).rate);
    let known = [middle(|r| r.known[0]), middle(|r| r.known[1]), middle(|r| r.known[2])];
    let new = [middle(|r| r.new[0]), middle(|r| r.new[1]), middle(|r| r.new[2])];
    let goal = if raw < 1_000.0 { 8.0 } else { 4.0 };
    line("raw append and fdatasync, one client", &format!("{raw:.0}/s"), "");
    line("plain SQLite FULL, three rows, one client", &format!("{plain:.0}/s"), "");
    let bare = middle(|round| round.bare).rate;
    let ratio = format!("{bare:.0}/s {:.1}x", bare / plain);
    line(
        "SQLite alone, the rows of 16 publishes a transaction",
        &ratio,
        "no store of these rows can be faster",
    );
    for (clients, figure) in CLIENTS.iter().zip(known) {
        let what = format!("publish bytes the store has, {clients} clients");
        show(&what, figure, (plain, raw), (*clients == 16).then_some(goal));
    }
    let same = middle(|round| round.same);
    show("publish to one and the same package, 16 clients", same, (plain, raw), None);
    for (clients, figure) in CLIENTS.iter().zip(new) {
        let what = format!("publish new bytes, {clients} clients");
        show(&what, figure, (plain, raw), (*clients == 16).then_some(goal / 2.0));
    }
}

/// Prints a figure beside what plain SQLite does and how often the disk alone syncs; the goal is for the first.
fn show(
    what: &str,
    Figure { rate, costs: [writer, all] }: Figure,
    (plain, raw): (f64, f64),
    goal: Option<f64>,
) {
    let (ratio, of_raw) = (rate / plain, rate / raw);
    let goal = goal.map_or_else(String::new, |goal| at_least(ratio, goal));
    let cost =
        format!("{of_raw:.1}x of raw syncs, {writer:.0} us of the writer, {all:.0} us in all");
    line(what, &format!("{rate:.0}/s {ratio:.1}x"), &format!("{cost:<58} {goal}"));
}

async fn measure(directory: &Path) -> Figures {
    std::fs::create_dir_all(directory).expect("a directory");
    let plain = |rate| Figure { rate, ..Figure::default() };
    let mut figures = Figures {
        raw: plain(disk::raw_syncs(directory, TIME)),
        plain: plain(disk::plain_sqlite(directory, TIME)),
        ..Figures::default()
    };
    let (folio, data) = world::open(&directory.join("data")).await;
    for (at, &clients) in CLIENTS.iter().enumerate() {
        figures.known[at] =
            publishes(&folio, clients, Bytes::Known, |client| format!("known-{client}")).await;
        figures.new[at] =
            publishes(&folio, clients, Bytes::New, |client| format!("new-{client}")).await;
    }
    figures.same = publishes(&folio, 16, Bytes::Known, |_| "same".to_owned()).await;
    drop(folio);
    data.close().await.expect("a clean close");
    let database = directory.join("data").join("folio.db");
    figures.bare = plain(bare::rows(&database, &directory.join("bare.db"), TIME));
    figures
}

async fn publishes(
    folio: &Folio,
    clients: usize,
    bytes: Bytes,
    name: impl Fn(usize) -> String,
) -> Figure {
    static FRESH: AtomicU64 = AtomicU64::new(0);
    let known = sample::file(folio, "main.js", "known").await;
    let count = Arc::new(AtomicU64::new(0));
    let (watch, before) = (start(), used());
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
    let (count, time) = (count.load(Ordering::Relaxed), watch.elapsed());
    Figure { rate: count as f64 / time.as_secs_f64(), costs: used().each_since(before, count) }
}
