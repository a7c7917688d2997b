//! Whether the cost of a publish or a look-up depends on how many versions exist.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use folio_core::ports::{Ledger, State, SystemClock};
use folio_core::request::ContentRef;
use folio_core::{Folio, Settings, resolve};
use folio_model::{AppName, Kind, Reference};
use folio_store::{DataDirectory, MemoryIndex, MemoryLedger, PackOptions, PackStore};
use folio_testkit::sample;
use tokio::task::JoinSet;

use crate::measure::{at_most, line, median, start};
use crate::world;

const SIZES: [u64; 3] = [100, 10_000, 100_000];
const TIMES: usize = 300;

/// Who publishes at the same time to make a history.
const CLIENTS: u64 = 64;

pub(crate) async fn run(directory: &Path) {
    let mut stores = Vec::new();
    for size in SIZES {
        stores.push(Grown::open(&directory.join(format!("history{size}")), size).await);
    }
    // Interleaved, because the disk of one minute is not the disk of the next.
    for _ in 0..TIMES {
        for store in &mut stores {
            store.measure().await;
        }
    }
    show("publish", stores.iter_mut().map(|store| std::mem::take(&mut store.publish)).collect());
    show("resolve", stores.iter_mut().map(|store| std::mem::take(&mut store.resolve)).collect());
    for store in stores {
        drop(store.folio);
        store.data.close().await.expect("a clean close");
    }
    let ledger = memory().await;
    let each = resolve_in_memory(&ledger).await;
    let micros = each.as_secs_f64() * 1e6;
    line("resolve in memory, 100000 versions", &format!("{micros:.2} us"), &at_most(micros, 1.0));
}

/// A store that already holds a number of versions.
struct Grown {
    size: u64,
    folio: Folio,
    data: DataDirectory,
    content: ContentRef,
    publish: Vec<Duration>,
    resolve: Vec<Duration>,
}

impl Grown {
    async fn open(directory: &Path, size: u64) -> Self {
        let (folio, data) = world::open(directory).await;
        let content = sample::file(&folio, "main.js", "known").await;
        fill(&folio, content, size).await;
        Self { size, folio, data, content, publish: Vec::new(), resolve: Vec::new() }
    }

    async fn measure(&mut self) {
        let watch = start();
        world::publish(&self.folio, &world::package("history"), self.content).await;
        self.publish.push(watch.elapsed());
        let reference = self.reference(self.resolve.len() as u64);
        let (caller, app) = (world::caller(), AppName::default_app());
        let watch = start();
        let resolved = self.folio.resolve(&caller, &app, Kind::Package, &reference).await;
        resolved.expect("a version");
        self.resolve.push(watch.elapsed());
    }

    /// A version anywhere in the history, named by its number or by its id.
    fn reference(&self, at: u64) -> Reference {
        let place = at * 7_919 % self.size;
        let name = match at % 2 {
            0 => format!("history@{}", place + 1),
            _ => format!("history@{}", id(place % CLIENTS, place / CLIENTS)),
        };
        name.parse().expect("a reference")
    }
}

/// The id of a version that a client published.
fn id(client: u64, at: u64) -> String {
    format!("c{client}v{at}")
}

fn show(what: &str, durations: Vec<Vec<Duration>>) {
    let medians: Vec<_> = durations.into_iter().map(median).collect();
    let micros: Vec<_> = medians.iter().map(|each| each.as_micros().to_string()).collect();
    let ratio = medians[2].as_secs_f64() / medians[0].as_secs_f64();
    let figure = format!("{} us {ratio:.2}x", micros.join("/"));
    line(&format!("{what} at 100/10000/100000 versions"), &figure, &at_most(ratio, 1.5));
}

async fn fill(folio: &Folio, content: ContentRef, count: u64) {
    let mut tasks = JoinSet::new();
    for client in 0..CLIENTS {
        let folio = folio.clone();
        let share = count / CLIENTS + u64::from(client < count % CLIENTS);
        tasks.spawn(async move {
            let key = world::package("history");
            for at in 0..share {
                let id = id(client, at).parse().expect("an id");
                world::publish_as(&folio, &key, content, Some(id)).await;
            }
        });
    }
    tasks.join_all().await;
}

async fn memory() -> Arc<MemoryLedger> {
    let (index, clock) = (MemoryIndex::default(), Arc::new(SystemClock));
    let blobs = PackStore::in_memory(index.clone(), clock.clone(), PackOptions::default()).await;
    let ledger = Arc::new(MemoryLedger::new(index));
    let blobs = Arc::new(blobs.expect("packs in memory"));
    let folio = Folio::new(ledger.clone(), blobs, clock, Settings::default());
    let token = folio.draw_token();
    folio.admit(&"admin".parse().expect("a name"), &token).await.expect("a first token");
    let content = sample::file(&folio, "main.js", "known").await;
    fill(&folio, content, SIZES[2]).await;
    ledger
}

/// Resolves references that are parsed already, as a gateway would.
async fn resolve_in_memory(ledger: &MemoryLedger) -> Duration {
    const LOOKS: u32 = 1_000_000;
    let (sender, receiver) = std::sync::mpsc::channel();
    let look = move |state: &dyn State| {
        let app = AppName::default_app();
        let references: Vec<Reference> = (1..=64)
            .map(|number| format!("history@{}", number * 1_500).parse().expect("a reference"))
            .collect();
        let watch = start();
        for reference in references.iter().cycle().take(LOOKS as usize) {
            let resolved = resolve::resolve(state, &app, Kind::Package, reference);
            std::hint::black_box(resolved.expect("a version"));
        }
        sender.send(watch.elapsed() / LOOKS).expect("somebody waits");
        Ok(())
    };
    ledger.view(Box::new(look)).await.expect("a view");
    receiver.recv().expect("a measurement")
}
