//! Whether the cost of a publish or a look-up depends on how many versions exist.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::{Ledger, State, SystemClock};
use folio_core::request::ContentRef;
use folio_core::{Folio, Settings, resolve};
use folio_model::{AppName, Kind, Reference};
use folio_store::{MemoryIndex, MemoryLedger, PackOptions, PackStore};
use folio_testkit::sample;
use tokio::task::JoinSet;

use crate::measure::{at_most, line, median, start};
use crate::world;

const SIZES: [u64; 3] = [100, 10_000, 100_000];

pub async fn run(directory: &Path) {
    let (folio, data) = world::open(&directory.join("history")).await;
    let on_disk = costs(&folio).await;
    show("SQLite", &on_disk);
    drop(folio);
    data.close().await.expect("a clean close");
    let (folio, ledger) = memory().await;
    let in_memory = costs(&folio).await;
    show("memory", &in_memory);
    let each = resolve_in_memory(ledger.as_ref()).await;
    let micros = each.as_secs_f64() * 1e6;
    line("resolve in memory, 100000 versions", &format!("{micros:.2} us"), &at_most(micros, 1.0));
}

/// What a publish and a resolve cost at one size.
struct Cost {
    publish: Duration,
    resolve: Duration,
}

async fn costs(folio: &Folio) -> Vec<Cost> {
    let content = sample::file(folio, "main.js", "known").await;
    let mut costs = Vec::new();
    let mut published = 0;
    for size in SIZES {
        fill(folio, content, size - published).await;
        published = size;
        costs.push(Cost {
            publish: publish_cost(folio, content).await,
            resolve: resolve_cost(folio).await,
        });
    }
    costs
}

fn show(store: &str, costs: &[Cost]) {
    let figure = |part: fn(&Cost) -> Duration| {
        let micros: Vec<_> = costs.iter().map(|cost| part(cost).as_micros().to_string()).collect();
        let ratio = part(&costs[2]).as_secs_f64() / part(&costs[0]).as_secs_f64();
        (format!("{} us {ratio:.2}x", micros.join("/")), at_most(ratio, 1.5))
    };
    let (publish, goal) = figure(|cost| cost.publish);
    line(&format!("publish at 100/10000/100000 versions, {store}"), &publish, &goal);
    let (resolve, goal) = figure(|cost| cost.resolve);
    line(&format!("resolve at 100/10000/100000 versions, {store}"), &resolve, &goal);
}

async fn fill(folio: &Folio, content: ContentRef, count: u64) {
    const CLIENTS: u64 = 64;
    let mut tasks = JoinSet::new();
    for client in 0..CLIENTS {
        let folio = folio.clone();
        let share = count / CLIENTS + u64::from(client < count % CLIENTS);
        tasks.spawn(async move {
            let key = world::package("history");
            for _ in 0..share {
                world::publish(&folio, &key, content).await;
            }
        });
    }
    tasks.join_all().await;
}

async fn publish_cost(folio: &Folio, content: ContentRef) -> Duration {
    let key = world::package("history");
    let mut durations = Vec::new();
    for _ in 0..200 {
        let watch = start();
        world::publish(folio, &key, content).await;
        durations.push(watch.elapsed());
    }
    median(durations)
}

async fn resolve_cost(folio: &Folio) -> Duration {
    let app = AppName::default_app();
    let mut durations = Vec::new();
    for number in 0..1_000_u64 {
        let reference: Reference = format!("history@{}", 1 + number % 90).parse().expect("a reference");
        let watch = start();
        folio.resolve(&app, Kind::Package, &reference).await.expect("a version");
        durations.push(watch.elapsed());
    }
    median(durations)
}

async fn memory() -> (Folio, Arc<MemoryLedger>) {
    let (index, clock) = (MemoryIndex::default(), Arc::new(SystemClock));
    let blobs = PackStore::in_memory(index.clone(), clock.clone(), PackOptions::default()).await;
    let ledger = Arc::new(MemoryLedger::new(index));
    let blobs = Arc::new(blobs.expect("packs in memory"));
    let folio = Folio::new(ledger.clone(), blobs, clock, Settings::default());
    let token = folio.draw_token();
    folio.admit(&"admin".parse().expect("a name"), &token).await.expect("a first token");
    (folio, ledger)
}

/// Resolves references that are parsed already, as a gateway would.
async fn resolve_in_memory(ledger: &dyn Ledger) -> Duration {
    const TIMES: u32 = 1_000_000;
    let (sender, receiver) = std::sync::mpsc::channel();
    let look = move |state: &dyn State| {
        let app = AppName::default_app();
        let references: Vec<Reference> = (1..=64)
            .map(|number| format!("history@{}", number * 1_500).parse().expect("a reference"))
            .collect();
        let watch = start();
        for reference in references.iter().cycle().take(TIMES as usize) {
            let resolved = resolve::resolve(state, &app, Kind::Package, reference);
            std::hint::black_box(resolved.expect("a version"));
        }
        sender.send(watch.elapsed() / TIMES).expect("somebody waits");
        Ok(())
    };
    ledger.view(Box::new(look)).await.expect("a view");
    receiver.recv().expect("a measurement")
}
