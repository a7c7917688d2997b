//! When the store does not work.

use std::sync::Arc;

use async_trait::async_trait;
use folio_core::ports::{Damage, Ledger, Look, Migrated, Plan, StoreError};
use folio_core::{Folio, Settings};
use folio_model::{Entry, Timestamp};
use folio_store::{MemoryIndex, PackOptions, PackStore};
use folio_testkit::clock::TestClock;
use tokio::sync::watch;

use crate::client::{APP, World};

/// A ledger that answers with nothing but a failure.
struct Broken(fn() -> StoreError);

#[async_trait]
impl Ledger for Broken {
    async fn append(&self, _: Plan) -> Result<Option<Entry>, StoreError> {
        Err(self.0())
    }

    async fn view(&self, _: Look) -> Result<(), StoreError> {
        Err(self.0())
    }

    fn head(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }

    async fn verify(&self) -> Result<Vec<Damage>, StoreError> {
        Err(self.0())
    }

    async fn migrate_storage(&self, _: usize, _: Timestamp) -> Result<Migrated, StoreError> {
        Err(self.0())
    }
}

async fn world(failure: fn() -> StoreError) -> World {
    let clock = Arc::new(TestClock::new(7));
    let options = PackOptions { grace: std::time::Duration::ZERO };
    let blobs = PackStore::in_memory(MemoryIndex::default(), clock.clone(), options).await.unwrap();
    let folio = Folio::new(Arc::new(Broken(failure)), Arc::new(blobs), clock, Settings::default());
    let token = folio.draw_token().reveal();
    World::with(folio, token, None)
}

#[tokio::test]
async fn our_fault_is_told_with_its_cause() {
    let world = world(|| StoreError::failed("reading a token", "input/output error")).await;
    let error = world.get(&format!("{APP}/log")).await.refused(500, "store_failed");
    assert_eq!(error["message"], "the store failed: reading a token: input/output error");
    world.get("/healthz").await.ok();
}

#[tokio::test]
async fn a_full_disk_is_no_fault_of_the_request() {
    let world = world(|| StoreError::Full).await;
    world.get(&format!("{APP}/log")).await.refused(507, "disk_full");
}
