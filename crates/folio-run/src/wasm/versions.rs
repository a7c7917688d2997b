//! The versions that are loaded. Found by function and digest, so that versions which behave alike share what was
//! compiled and nothing is shared between functions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;

use folio_core::ports::runtime::{CallError, Plan, WorkerStatus};
use folio_model::{Digest, UnitUid};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::loaded::Loaded;

type Key = (UnitUid, Digest);

/// The versions that are loaded or being loaded.
#[derive(Default)]
pub(super) struct Versions {
    slots: RwLock<HashMap<Key, Arc<Slot>>>,
    /// Requests of versions that are no longer loaded.
    past: Mutex<u64>,
}

#[derive(Default)]
struct Slot {
    /// The version, or why it will never load.
    loaded: OnceCell<Result<Arc<Loaded>, CallError>>,
    /// Since when it has no pointer and no request, and how many it had by then.
    retired: Mutex<Option<(Instant, u64)>>,
}

impl Versions {
    /// A version that is loaded, or known not to load.
    pub(super) fn ready(&self, plan: &Plan) -> Option<Result<Arc<Loaded>, CallError>> {
        self.read().get(&key(plan))?.loaded.get().cloned()
    }

    /// Loads a version; whoever asks for the same one meanwhile waits for the same result.
    pub(super) async fn load(
        &self,
        plan: &Plan,
        make: impl Future<Output = Result<Arc<Loaded>, CallError>>,
    ) -> Result<Arc<Loaded>, CallError> {
        let slot = {
            let mut slots = self.slots.write().expect("no writer panics");
            Arc::clone(slots.entry(key(plan)).or_default())
        };
        let made = slot.loaded.get_or_try_init(|| async {
            match make.await {
                // The same code would be refused again, at the same price.
                Err(error @ CallError::Load(_)) => Ok(Err(error)),
                Err(error) => Err(error),
                Ok(loaded) => Ok(Ok(loaded)),
            }
        });
        made.await?.clone()
    }

    /// Says that a version has a pointer.
    pub(super) fn hold(&self, plan: &Plan) {
        if let Some(slot) = self.read().get(&key(plan)) {
            *slot.retired() = None;
        }
    }

    /// Says that a version lost its last pointer.
    pub(super) fn retire(&self, plan: &Plan) {
        if let Some(slot) = self.read().get(&key(plan)) {
            *slot.retired() = Some((Instant::now(), slot.served()));
        }
    }

    /// Drops idle instances, and versions that had neither pointer nor request for the time given.
    pub(super) fn sweep(&self, warm_for: Duration) {
        let slots: Vec<(Key, Arc<Slot>)> =
            self.read().iter().map(|(key, slot)| (*key, Arc::clone(slot))).collect();
        for (key, slot) in slots {
            if let Some(Ok(loaded)) = slot.loaded.get() {
                loaded.sweep();
            }
            if slot.is_over(warm_for) {
                *self.past.lock().expect("no holder panics") += slot.served();
                self.slots.write().expect("no writer panics").remove(&key);
            }
        }
    }

    /// Drops everything that has no request.
    pub(super) fn clear(&self) {
        self.slots.write().expect("no writer panics").clear();
    }

    /// What each does, and the requests of all that ever were.
    pub(super) fn status(&self) -> (Vec<WorkerStatus>, u64) {
        let mut served = *self.past.lock().expect("no holder panics");
        let mut workers = Vec::new();
        for slot in self.read().values() {
            served += slot.served();
            if let Some(Ok(loaded)) = slot.loaded.get() {
                workers.push(loaded.status());
            }
        }
        (workers, served)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<Key, Arc<Slot>>> {
        self.slots.read().expect("no writer panics")
    }
}

impl Slot {
    fn served(&self) -> u64 {
        match self.loaded.get() {
            Some(Ok(loaded)) => loaded.served(),
            Some(Err(_)) | None => 0,
        }
    }

    /// Whether its time is up. A request since it was looked at last starts the time anew.
    fn is_over(&self, warm_for: Duration) -> bool {
        let busy = matches!(self.loaded.get(), Some(Ok(loaded)) if loaded.is_busy());
        let served = self.served();
        let mut retired = self.retired();
        match &mut *retired {
            Some((since, before)) if busy || *before != served => {
                (*since, *before) = (Instant::now(), served);
                false
            }
            Some((since, _)) => since.elapsed() > warm_for,
            None => false,
        }
    }

    fn retired(&self) -> MutexGuard<'_, Option<(Instant, u64)>> {
        self.retired.lock().expect("no holder panics")
    }
}

fn key(plan: &Plan) -> Key {
    (plan.unit, plan.digest)
}
