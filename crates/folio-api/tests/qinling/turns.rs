//! A ledger that lets everybody else go first, so that those who come at the same time see one another.

use async_trait::async_trait;
use folio_core::ports::{Damage, Ledger, Look, Migrated, Plan, StoreError};
use folio_model::{Entry, Timestamp};
use folio_store::MemoryLedger;
use tokio::sync::watch;
use tokio::task::yield_now;

pub(crate) struct InTurns(pub(crate) MemoryLedger);

#[async_trait]
impl Ledger for InTurns {
    async fn append(&self, plan: Plan) -> Result<Option<Entry>, StoreError> {
        yield_now().await;
        self.0.append(plan).await
    }

    async fn view(&self, look: Look) -> Result<(), StoreError> {
        yield_now().await;
        self.0.view(look).await
    }

    fn head(&self) -> watch::Receiver<u64> {
        self.0.head()
    }

    async fn verify(&self) -> Result<Vec<Damage>, StoreError> {
        self.0.verify().await
    }

    async fn migrate_storage(&self, limit: usize, at: Timestamp) -> Result<Migrated, StoreError> {
        self.0.migrate_storage(limit, at).await
    }
}
