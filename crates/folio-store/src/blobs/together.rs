//! Small batches that arrive at the same time share a pack, its syncs and a transaction. Whoever finds nobody
//! making a pack makes one of everything that waits; meanwhile the next gather.
//!
//! A leader that is cancelled leaves its followers without an answer: they gather again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use folio_core::crash;
use folio_core::ports::{Node, StoreError, Stored};
use folio_model::{Digest, Timestamp};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

use super::PackStore;
use super::batch::Batch;
use super::commit::{Commit, Outcome, Written};
use super::index::{Table, change_for, look};
use crate::sqlite::same;

/// Raw bytes up to which a batch is small.
const SMALL_RAW_MAX: usize = 128 * 1024;

/// Batches that share a pack at most.
const GROUP_MAX: usize = 64;

/// Batches that wait for the next pack.
pub(super) struct Gathering {
    waiting: Mutex<Vec<Waiting>>,
    /// Held by whoever makes a pack.
    lead: Semaphore,
}

impl Default for Gathering {
    fn default() -> Self {
        Self { waiting: Mutex::default(), lead: Semaphore::new(1) }
    }
}

struct Waiting {
    batch: Arc<Batch>,
    answer: oneshot::Sender<Result<Fate, StoreError>>,
}

/// What became of a batch.
enum Fate {
    Stored(Stored),
    /// It cannot be stored with others, or not as it looked a moment ago.
    Alone,
}

/// What a look at the index says of a batch.
enum Seen {
    /// Nothing has to be written.
    Stored(Stored),
    /// These nodes have to be written, if any, and their rows.
    New(Vec<Digest>),
    Alone,
    Refused(StoreError),
}

/// Whether nodes are few enough to wait for others.
pub(super) fn is_small(nodes: &[Node]) -> bool {
    nodes.iter().map(|node| node.bytes.len()).sum::<usize>() <= SMALL_RAW_MAX
}

impl Gathering {
    fn join(&self, batch: &Arc<Batch>) -> oneshot::Receiver<Result<Fate, StoreError>> {
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { batch: Arc::clone(batch), answer };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(waiting);
        answered
    }

    /// Takes those that have waited longest; nothing if a batch was taken by somebody else already.
    fn take_with(&self, batch: &Arc<Batch>) -> Vec<Waiting> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // Those whose callers went away wait for nothing.
        waiting.retain(|other| !other.answer.is_closed());
        let Some(at) = waiting.iter().position(|other| Arc::ptr_eq(&other.batch, batch)) else {
            return Vec::new();
        };
        let count = waiting.len().min(GROUP_MAX.max(at + 1));
        waiting.drain(..count).collect()
    }
}

impl PackStore {
    /// Stores a small batch together with whatever else waits.
    pub(super) async fn put_together(&self, batch: Batch) -> Result<Stored, StoreError> {
        let batch = Arc::new(batch);
        loop {
            let mut answered = self.gathering.join(&batch);
            let answer = tokio::select! {
                biased;
                answer = &mut answered => answer,
                lead = self.gathering.lead.acquire() => {
                    let lead = lead.map_err(|error| StoreError::failed("make a pack", error))?;
                    let group = self.gathering.take_with(&batch);
                    if group.is_empty() {
                        drop(lead);
                    } else {
                        self.lead(group, lead).await;
                    }
                    answered.await
                }
            };
            match answer {
                Ok(Ok(Fate::Stored(stored))) => return Ok(stored),
                Ok(Ok(Fate::Alone)) => break,
                Ok(Err(error)) => return Err(error),
                // Whoever made the pack was cancelled.
                Err(_) => {}
            }
        }
        self.put_alone(Arc::unwrap_or_clone(batch)).await
    }

    /// Stores a group and answers everyone in it.
    async fn lead(&self, group: Vec<Waiting>, lead: SemaphorePermit<'_>) {
        let batches: Arc<[_]> = group.iter().map(|waiting| Arc::clone(&waiting.batch)).collect();
        match self.store(batches, lead).await {
            Ok(fates) => {
                for (waiting, fate) in group.into_iter().zip(fates) {
                    drop(waiting.answer.send(fate));
                }
            }
            Err(error) => {
                for waiting in group {
                    drop(waiting.answer.send(Err(same(&error))));
                }
            }
        }
    }

    async fn store(
        &self,
        batches: Arc<[Arc<Batch>]>,
        lead: SemaphorePermit<'_>,
    ) -> Result<Vec<Result<Fate, StoreError>>, StoreError> {
        let now = self.clock.now();
        let looked = Arc::clone(&batches);
        let see = move |table: &dyn Table| {
            looked.iter().map(|batch| see(table, batch, now)).collect::<Result<Vec<_>, _>>()
        };
        let mut seen = look(&*self.index, see).await?;
        let written = self.write_pack(nodes(&batches, &mut seen)).await?;
        // The next pack is made while the rows of this one are written.
        drop(lead);
        let object = written.as_ref().and_then(Written::object);
        let mark = self.abouts.mark();
        let add = Arc::clone(&batches);
        let commit = move |table: &mut dyn Table| {
            // The name stays reserved until the rows are committed.
            commit(table, &add, (seen, written.as_ref()), now).map(|done| (done, written))
        };
        let ((fates, is_used), written) = change_for(&*self.index, batches.len(), commit).await?;
        crash::point("blob.indexed");
        drop(written);
        for (batch, fate) in batches.iter().zip(&fates) {
            if let Ok(Fate::Stored(_)) = fate {
                self.abouts.note(mark, batch.directories());
            }
        }
        if let Some(name) = object.filter(|_| !is_used) {
            self.objects.remove(&name).await?;
        }
        Ok(fates)
    }
}

fn see(table: &dyn Table, batch: &Batch, now: Timestamp) -> Result<Seen, StoreError> {
    let unknown = batch.unknown(table)?;
    if !unknown.files.is_empty() || !unknown.directories.is_empty() {
        return Ok(Seen::Alone);
    }
    match batch.plan(table, now) {
        Ok(None) => Ok(Seen::Alone),
        // All of it is stored and was used so lately that no sweep takes it: nothing to write.
        Ok(Some(plan)) if plan.new.is_empty() && plan.used.is_empty() => {
            Ok(Seen::Stored(Stored { added: 0, reused: plan.reused }))
        }
        Ok(Some(plan)) => Ok(Seen::New(plan.new)),
        Err(error) => refusal(error).map(Seen::Refused),
    }
}

/// Passes on an error that concerns one batch only.
fn refusal(error: StoreError) -> Result<StoreError, StoreError> {
    match error {
        StoreError::MissingBlob { .. } | StoreError::Refused { .. } => Ok(error),
        other => Err(other),
    }
}

/// The new nodes of a group, each once. A batch that has one of them as something else goes alone.
fn nodes(batches: &[Arc<Batch>], seen: &mut [Seen]) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut kinds = HashMap::new();
    for (batch, seen) in batches.iter().zip(seen) {
        let Seen::New(new) = seen else { continue };
        let own = batch.nodes(new);
        if own.iter().any(|node| kinds.get(&node.digest).is_some_and(|kind| *kind != node.kind)) {
            *seen = Seen::Alone;
            continue;
        }
        nodes.extend(own.into_iter().filter(|node| kinds.insert(node.digest, node.kind).is_none()));
    }
    nodes
}

/// What became of each batch, and whether the pack is needed.
type Fates = (Vec<Result<Fate, StoreError>>, bool);

fn commit(
    table: &mut dyn Table,
    batches: &[Arc<Batch>],
    (seen, written): (Vec<Seen>, Option<&Written>),
    now: Timestamp,
) -> Result<Fates, StoreError> {
    let mut commit = Commit::new(table, written, now);
    let mut fates = Vec::with_capacity(batches.len());
    for (batch, seen) in batches.iter().zip(seen) {
        fates.push(match seen {
            Seen::Stored(stored) => Ok(Fate::Stored(stored)),
            Seen::Alone => Ok(Fate::Alone),
            Seen::Refused(error) => Err(error),
            Seen::New(_) => match commit.add(batch) {
                Ok(Outcome::Stored(stored)) => Ok(Fate::Stored(stored)),
                Ok(Outcome::Overtaken) => Ok(Fate::Alone),
                Err(error) => Err(refusal(error)?),
            },
        });
    }
    Ok((fates, commit.uses_pack()))
}
