//! Gives back the bytes nothing reaches, brings storage to its newest form, and checks that everything is whole.

mod affected;

use folio_model::{Digest, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Folio;
use crate::ports::{Damage, StoreError, SweepMark};

/// Snapshots rewritten in one transaction: few enough that nobody who writes waits long.
const REWRITTEN_AT_ONCE: usize = 100;

/// How a migration of the storage went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MigrationReport {
    /// The version of the hub that everything stored is in.
    pub hub_version: String,
    /// Snapshots that were in an older one.
    pub rewritten: u64,
    /// Since when everything is.
    pub done_at: Timestamp,
}

/// Something that does not read back as it was written, and what it spoils.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What is damaged.
    pub what: String,
    /// The node that cannot be read, if one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The versions, drafts and releases that hold that node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affects: Vec<String>,
}

/// What is stored, and what a sweep removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SweepReport {
    /// Nodes removed.
    pub removed_nodes: u64,
    /// Bytes of storage given back.
    pub removed_bytes: u64,
    /// Distinct nodes stored.
    pub nodes: u64,
    /// Their bytes before compression.
    pub bytes: u64,
    /// Objects they are packed into.
    pub objects: u64,
    /// Bytes of those objects.
    pub stored_bytes: u64,
}

impl Folio {
    /// Removes what nothing has reached for the grace period.
    pub async fn sweep(&self) -> Result<SweepReport, StoreError> {
        // The mark comes first: what is used after it is kept, so roots taken later miss nothing.
        let mark = self.blobs.mark().await?;
        self.sweep_from(mark).await
    }

    async fn sweep_from(&self, mark: SweepMark) -> Result<SweepReport, StoreError> {
        let roots: Vec<Digest> = self.look(|state| state.content_roots()).await?;
        let keep_since =
            self.clock.now().checked_sub(self.settings.grace).unwrap_or(Timestamp::MIN);
        let swept = self.blobs.sweep(mark, roots, keep_since).await?;
        let usage = self.usage().await?;
        Ok(SweepReport { removed_nodes: swept.nodes, removed_bytes: swept.bytes, ..usage })
    }

    /// Says how much is stored, removing nothing.
    pub async fn usage(&self) -> Result<SweepReport, StoreError> {
        let usage = self.blobs.usage().await?;
        Ok(SweepReport {
            removed_nodes: 0,
            removed_bytes: 0,
            nodes: usage.nodes,
            bytes: usage.bytes,
            objects: usage.objects,
            stored_bytes: usage.stored_bytes,
        })
    }

    /// Rewrites what is stored in an older version of the hub, a little at a time. What was rewritten stays so if
    /// it is stopped, and the next run goes on from there. Nothing published changes: digests stay as they are.
    pub async fn migrate_storage(&self) -> Result<MigrationReport, StoreError> {
        let mut rewritten = 0;
        loop {
            let batch = self.ledger.migrate_storage(REWRITTEN_AT_ONCE, self.clock.now()).await?;
            rewritten += batch.rewritten;
            if let Some(done_at) = batch.done_at {
                return Ok(MigrationReport { hub_version: batch.hub, rewritten, done_at });
            }
        }
    }

    /// Reads everything back and lists what is damaged, with what stands on it.
    pub async fn check(&self) -> Result<Vec<Finding>, StoreError> {
        let mut damage = self.ledger.verify().await?;
        damage.extend(self.blobs.verify().await?);
        let roots = self.look(|state| state.content_roots()).await?;
        for digest in roots {
            if self.blobs.about(digest).await?.is_none() {
                let what = format!("content {digest} of a version or draft is missing");
                damage.push(Damage { what, digest: Some(digest) });
            }
        }
        let damaged: Vec<Digest> = damage.iter().filter_map(|damage| damage.digest).collect();
        let mut affected = self.affected(&damaged).await?;
        let findings = damage.into_iter().map(|Damage { what, digest }| {
            let affects = digest.and_then(|digest| affected.remove(&digest)).unwrap_or_default();
            Finding { what, digest, affects: affects.into_iter().collect() }
        });
        Ok(findings.collect())
    }
}
