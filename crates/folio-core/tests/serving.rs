//! What references mean, at every moment: a commit that returned is seen by whoever asks next.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use folio_core::ports::{Damage, Ledger, Look, Migrated, Plan, StoreError};
use folio_core::request::{AliasTarget, Expect, Which};
use folio_core::serving::{Meaning, Slot};
use folio_model::{Entry, FULL_WEIGHT, Timestamp};
use folio_store::MemoryLedger;
use tokio::sync::{Semaphore, watch};

use crate::runtime::{Running, reference, running, running_on, running_on_disk};
use crate::world::{World, app, function, id, request};

fn means(slot: &Slot) -> String {
    match &**slot.load() {
        Meaning::Versions(split) => {
            let shares = split.shares().map(|(plan, weight)| match weight {
                FULL_WEIGHT => plan.at.to_string(),
                weight => format!("{}:{weight}", plan.at),
            });
            shares.collect::<Vec<_>>().join(" ")
        }
        Meaning::Nothing(unresolved) => unresolved.code.0.to_owned(),
    }
}

async fn slot(world: &World, text: &str) -> Arc<Slot> {
    world.folio.slot(&app(), &reference(text)).await.unwrap()
}

async fn flip(world: &World, name: &str, at: &str) {
    let target = AliasTarget { version: at.parse().unwrap(), weight: FULL_WEIGHT };
    let key = function(name);
    let pointer = (&key, &id("prod"));
    world.folio.point(&world.caller, pointer, vec![target], Expect::Present).await.unwrap();
}

#[tokio::test]
async fn every_commit_is_seen_when_it_returns() {
    for running in [running().await, running_on_disk().await] {
        let world = &running.world;
        let hello = function("hello");
        let latest = slot(world, "hello@latest").await;
        let any = slot(world, "hello").await;
        let second = slot(world, "hello@2").await;
        let joined = slot(world, "hello-prod").await;
        let of = |slots: [&Arc<Slot>; 4]| slots.map(|slot| means(slot));
        let all = [&latest, &any, &second, &joined];
        assert_eq!(of(all), ["unit_not_found"; 4]);
        world.version(&hello, "one", "v1").await;
        assert_eq!(of(all), ["v1", "v1", "version_not_found", "unit_not_found"]);
        world.point("hello", "prod", "v1").await;
        world.version(&hello, "two", "v2").await;
        assert_eq!(of(all), ["v2", "v2", "v2", "v1"]);
        flip(world, "hello", "v2").await;
        assert_eq!(means(&joined), "v2");
        world.folio.undo(&world.caller, &app(), None).await.unwrap();
        assert_eq!(means(&joined), "v1");
        let onto = (folio_core::request::Onto::Existing, None);
        let code = world.code("three").await;
        world.folio.set_draft(&world.caller, &hello, code, onto).await.unwrap();
        assert_eq!(of(all), ["v2", "draft", "v2", "v1"]);
        let delete = Which::One("2".parse().unwrap());
        world.folio.delete_versions(&world.caller, &hello, delete, None).await.unwrap();
        assert_eq!(of(all), ["v1", "draft", "version_not_found", "v1"]);
        world.folio.undo(&world.caller, &app(), None).await.unwrap();
        assert_eq!(of(all), ["v2", "draft", "v2", "v1"]);
        let cascade = folio_core::request::Cascade::Yes;
        world.folio.delete(&world.caller, &hello, cascade, None).await.unwrap();
        assert_eq!(of(all), ["unit_not_found"; 4]);
        // Another function of the same name is another unit.
        world.version(&hello, "anew", "v9").await;
        assert_eq!(of(all), ["v9", "v9", "version_not_found", "unit_not_found"]);
    }
}

#[tokio::test]
async fn a_name_that_reads_in_two_ways_follows_both() {
    let running = running().await;
    let world = &running.world;
    let joined = slot(world, "a-b-c").await;
    world.version(&function("a"), "x", "b-c").await;
    assert_eq!(means(&joined), "b-c");
    world.version(&function("a-b"), "y", "c").await;
    assert_eq!(means(&joined), "ambiguous_reference");
}

#[tokio::test]
async fn the_same_version_runs_by_the_same_plan_whoever_asks() {
    let running = running().await;
    let world = &running.world;
    world.version(&function("hello"), "one", "v1").await;
    world.point("hello", "prod", "v1").await;
    let plan = |slot: Arc<Slot>| match &**slot.load() {
        Meaning::Versions(split) => Arc::as_ptr(split.sole().unwrap()),
        Meaning::Nothing(_) => panic!("callable"),
    };
    let by_alias = plan(slot(world, "hello@prod").await);
    assert_eq!(by_alias, plan(slot(world, "hello@1").await));
    assert_eq!(by_alias, plan(slot(world, "hello").await));
}

#[tokio::test]
async fn what_becomes_current_is_prepared_and_what_no_longer_is_retires() {
    let running = running().await;
    let world = &running.world;
    world.version(&function("hello"), "one", "v1").await;
    assert_eq!(*running.stub.events.lock().unwrap(), [""; 0], "nobody asked for it yet");
    let latest = slot(world, "hello@latest").await;
    running.stub.await_event("prepare hello@v1", 1).await;
    let first = slot(world, "hello@1").await;
    world.version(&function("hello"), "two", "v2").await;
    running.stub.await_event("prepare hello@v2", 1).await;
    assert_eq!(running.stub.happened("retire hello@v1"), 0, "`hello@1` still leads to it");
    let delete = Which::One("1".parse().unwrap());
    world.folio.delete_versions(&world.caller, &function("hello"), delete, None).await.unwrap();
    assert_eq!(running.stub.happened("retire hello@v1"), 1);
    drop((latest, first));
}

#[tokio::test]
async fn wasm_is_compiled_when_its_publish_returns() {
    let running = running().await;
    let world = &running.world;
    let mut fields = world.code("(component)").await;
    fields.environment = Some("wasm".parse().unwrap());
    let request = folio_core::request::Publish { id: Some(id("v1")), ..request(fields) };
    world.publish(&function("hello"), request).await.unwrap();
    let events = running.stub.events.lock().unwrap().clone();
    assert_eq!(events, ["prepare hello@v1", "retire hello@v1"], "nothing leads to it yet");
}

#[tokio::test]
async fn a_split_is_all_of_its_versions() {
    let running = running().await;
    let world = &running.world;
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    world.point("hello", "prod", "v1").await;
    let prod = slot(world, "hello@prod").await;
    let target = |at: &str, weight| AliasTarget { version: at.parse().unwrap(), weight };
    let targets = vec![target("v1", 9_000), target("v2", 1_000)];
    let key = function("hello");
    let pointer = (&key, &id("prod"));
    world.folio.point(&world.caller, pointer, targets, Expect::Present).await.unwrap();
    assert_eq!(means(&prod), "v1:9000 v2:1000");
}

/// A ledger whose readers can be held up after they have read and before anybody hears of it.
pub(crate) struct Gated {
    ledger: MemoryLedger,
    /// How many readers pass before one is held up; none is if this is `u32::MAX`.
    pass: AtomicU32,
    held: watch::Sender<u32>,
    open: Semaphore,
    /// How often every reader lets others go first.
    lag: AtomicU32,
}

impl Gated {
    /// Holds one reader up, after so many others.
    pub(crate) fn hold_after(&self, readers: u32) {
        self.pass.store(readers, Ordering::SeqCst);
    }

    pub(crate) async fn await_held(&self) {
        let mut held = self.held.subscribe();
        let held = held.wait_for(|held| *held > 0);
        tokio::time::timeout(Duration::from_secs(10), held).await.expect("a reader").unwrap();
    }

    pub(crate) fn let_go(&self) {
        self.open.add_permits(1);
    }

    async fn pass(&self) {
        for _ in 0..self.lag.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        let count = |pass: u32| (pass != u32::MAX).then(|| pass.wrapping_sub(1));
        if self.pass.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count) == Ok(0) {
            self.held.send_modify(|held| *held += 1);
            self.open.acquire().await.unwrap().forget();
        }
    }
}

#[async_trait]
impl Ledger for Gated {
    async fn append(&self, plan: Plan) -> Result<Option<Entry>, StoreError> {
        self.ledger.append(plan).await
    }

    async fn view(&self, look: Look) -> Result<(), StoreError> {
        self.ledger.view(look).await?;
        self.pass().await;
        Ok(())
    }

    fn head(&self) -> watch::Receiver<u64> {
        self.ledger.head()
    }

    async fn verify(&self) -> Result<Vec<Damage>, StoreError> {
        self.ledger.verify().await
    }

    async fn migrate_storage(&self, limit: usize, at: Timestamp) -> Result<Migrated, StoreError> {
        self.ledger.migrate_storage(limit, at).await
    }
}

pub(crate) async fn gated() -> (Running, Arc<Gated>) {
    let mut kept = None;
    let running = running_on(|ledger| {
        let gated = Arc::new(Gated {
            ledger,
            pass: AtomicU32::new(u32::MAX),
            held: watch::Sender::new(0),
            open: Semaphore::new(0),
            lag: AtomicU32::new(0),
        });
        kept = Some(Arc::clone(&gated));
        gated
    })
    .await;
    (running, kept.unwrap())
}

/// Loads `hello@prod`, which is v1, and holds up one of its reads; flips the alias to v2 meanwhile.
async fn flip_during_read(number: u32) -> String {
    let (running, ledger) = gated().await;
    let world = &running.world;
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    world.point("hello", "prod", "v1").await;
    ledger.hold_after(number);
    let load = slot(world, "hello@prod");
    let flipped = async {
        ledger.await_held().await;
        flip(world, "hello", "v2").await;
        ledger.let_go();
    };
    let (slot, ()) = tokio::join!(load, flipped);
    means(&slot)
}

#[tokio::test]
async fn a_flip_that_cannot_know_of_a_slot_is_seen_by_it() {
    // The first read has seen v1, and nobody knows yet that the slot depends on the alias.
    assert_eq!(flip_during_read(0).await, "v2");
}

#[tokio::test]
async fn an_older_reading_never_replaces_a_newer_one() {
    // The second read has seen v1 too; the flip finds the slot and reads it first.
    assert_eq!(flip_during_read(1).await, "v2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn slots_that_are_loaded_while_their_alias_flips_are_never_behind() {
    let (memory, ledger) = gated().await;
    for (running, functions) in [(memory, 100), (running_on_disk().await, 20)] {
        let world = Arc::new(running.world);
        for at in 0..functions {
            let name = format!("f{at}");
            world.version(&function(&name), &format!("one {at}"), "v1").await;
            world.version(&function(&name), &format!("two {at}"), "v2").await;
            world.point(&name, "prod", "v1").await;
        }
        ledger.lag.store(20, Ordering::SeqCst);
        let mut races = tokio::task::JoinSet::new();
        for at in 0..functions {
            let world = Arc::clone(&world);
            races.spawn(async move {
                let name = format!("f{at}");
                let alias = format!("{name}@prod");
                let late = async {
                    for _ in 0..at % 40 {
                        tokio::task::yield_now().await;
                    }
                    flip(&world, &name, "v2").await;
                };
                let (slot, ()) = tokio::join!(slot(&world, &alias), late);
                assert_eq!(means(&slot), "v2", "{alias}");
                flip(&world, &name, "v1").await;
                assert_eq!(means(&slot), "v1", "{alias}");
            });
        }
        while let Some(race) = races.join_next().await {
            race.unwrap();
        }
    }
}

#[tokio::test]
async fn a_commit_that_nobody_waits_for_is_seen_all_the_same() {
    let (running, ledger) = gated().await;
    let world = &running.world;
    world.version(&function("hello"), "one", "v1").await;
    world.version(&function("hello"), "two", "v2").await;
    world.point("hello", "prod", "v1").await;
    let prod = slot(world, "hello@prod").await;
    // The flip is durable; its caller leaves while the slot is being read.
    ledger.hold_after(0);
    {
        let flipping = flip(world, "hello", "v2");
        tokio::pin!(flipping);
        tokio::select! {
            () = &mut flipping => panic!("it is held up"),
            () = ledger.await_held() => {}
        }
    }
    ledger.open.add_permits(8);
    while means(&prod) != "v2" {
        tokio::task::yield_now().await;
    }
}
