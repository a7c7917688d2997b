//! The ledger in SQLite. Appends go through the one writer; views read a snapshot of their own.

use async_trait::async_trait;
use folio_core::ports::{Damage, Ledger, Look, Migrated, Plan, StoreError};
use folio_model::{Entry, Timestamp};
use tokio::sync::watch;

use super::state::{Seen, history};
use super::{Db, apply, rewrite, verify};

/// The ledger of a data directory.
pub struct SqliteLedger {
    pub(super) db: Db,
    head: watch::Sender<u64>,
}

impl SqliteLedger {
    /// The ledger of an open data directory. Make one per directory: it tells its own watchers only.
    pub fn new(db: Db) -> Result<Self, StoreError> {
        let head = db.read_now(history::head)?;
        Ok(Self { db, head: watch::Sender::new(head) })
    }
}

#[async_trait]
impl Ledger for SqliteLedger {
    async fn append(&self, mut plan: Plan) -> Result<Option<Entry>, StoreError> {
        let head = self.head.clone();
        let job = move |session: &_| apply::append(session, &mut plan);
        let durable = move |entry: &Option<Entry>| {
            if let Some(entry) = entry {
                head.send_replace(entry.seq);
            }
        };
        self.db.write_repeatable(job, durable).await
    }

    async fn view(&self, look: Look) -> Result<(), StoreError> {
        self.db.read(move |conn| look(&Seen(conn))).await
    }

    fn head(&self) -> watch::Receiver<u64> {
        self.head.subscribe()
    }

    async fn verify(&self) -> Result<Vec<Damage>, StoreError> {
        let mut damages = self.db.integrity().await?;
        damages.extend(verify::verify(&self.db).await?);
        Ok(damages)
    }

    async fn migrate_storage(&self, limit: usize, at: Timestamp) -> Result<Migrated, StoreError> {
        self.db.write(move |session| rewrite::batch(session, limit, at)).await
    }
}
