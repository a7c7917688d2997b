//! Workers that are up and wait to become a function: as many of each kind as its environment asks for, from the
//! first time the environment is used. Taking one starts the next.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use folio_core::ports::runtime::{CallError, Plan, PlanFile};
use folio_model::Name;
use tokio::time::Instant;

use super::Need;
use crate::host::Host;
use crate::worker::{self, Fitting, Worker};

/// A kind that nobody took a worker of for so long keeps none.
const UNUSED_MAX: Duration = Duration::from_secs(900);
const BOOT_MAX: Duration = Duration::from_secs(30);

/// The generic workers of all environments.
pub(crate) struct Generics {
    host: Arc<Host>,
    shelves: Mutex<HashMap<(Name, Fitting), Shelf>>,
}

struct Shelf {
    ready: Vec<Arc<Worker>>,
    starting: u32,
    wanted: u32,
    used: Instant,
}

impl Generics {
    pub(crate) fn new(host: Arc<Host>) -> Arc<Self> {
        Arc::new(Self { host, shelves: Mutex::default() })
    }

    /// Takes a worker that fits a plan, or makes one, and sees to the next.
    pub(crate) async fn take(
        self: &Arc<Self>,
        plan: &Plan,
        need: Need,
    ) -> Result<Arc<Worker>, CallError> {
        let key = (plan.environment.clone(), Fitting::of(plan));
        if !plan.files.is_empty() {
            // Nothing can be put into a jail that stands, so what needs files is started with them.
            return self.make(&key.1, plan.files.clone(), need).await;
        }
        let found = self.pop(&key, plan.spec.poolsize.unwrap_or(1));
        let worker = match found {
            Some(worker) => Ok(worker),
            None => self.make(&key.1, Vec::new(), need).await,
        };
        self.refill(&key);
        worker
    }

    /// Sees to it that workers of a plan's environment are ready, or will be.
    pub(crate) fn warm(self: &Arc<Self>, plan: &Plan) {
        let key = (plan.environment.clone(), Fitting::of(plan));
        let wanted = plan.spec.poolsize.unwrap_or(1);
        let now = Instant::now();
        let mut shelves = self.lock();
        shelves.entry(key.clone()).or_insert_with(|| Shelf::new(now)).wanted = wanted;
        drop(shelves);
        self.refill(&key);
    }

    /// Those that wait, by environment.
    pub(crate) fn ready(&self) -> Vec<(Name, Arc<Worker>)> {
        let shelves = self.lock();
        let each = shelves.iter().flat_map(|((name, _), shelf)| {
            shelf.ready.iter().map(|worker| (name.clone(), Arc::clone(worker)))
        });
        each.collect()
    }

    /// Lets go of what died, of what nobody used for long, and refills the rest.
    pub(crate) fn tend(self: &Arc<Self>) {
        let mut shelves = self.lock();
        shelves.retain(|_, shelf| shelf.used.elapsed() < UNUSED_MAX || shelf.starting > 0);
        for shelf in shelves.values_mut() {
            shelf.ready.retain(|worker| worker.is_open());
        }
        let keys: Vec<_> = shelves.keys().cloned().collect();
        drop(shelves);
        keys.iter().for_each(|key| self.refill(key));
    }

    /// Ends one that waits, to make room for a worker that somebody needs. Says whether there was one.
    pub(crate) fn evict(&self) -> bool {
        let mut shelves = self.lock();
        shelves.values_mut().find_map(|shelf| shelf.ready.pop()).is_some()
    }

    /// Ends all of them.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn pop(&self, key: &(Name, Fitting), wanted: u32) -> Option<Arc<Worker>> {
        let now = Instant::now();
        let mut shelves = self.lock();
        let shelf = shelves.entry(key.clone()).or_insert_with(|| Shelf::new(now));
        shelf.wanted = wanted;
        shelf.used = now;
        shelf.ready.retain(|worker| worker.is_open());
        shelf.ready.pop()
    }

    async fn make(
        &self,
        fitting: &Fitting,
        files: Vec<PlanFile>,
        need: Need,
    ) -> Result<Arc<Worker>, CallError> {
        let makes_room = || self.evict() || (need == Need::Now && self.host.reclaim());
        match worker::start(&self.host, fitting, files.clone()).await {
            Err(CallError::Full) if makes_room() => worker::start(&self.host, fitting, files).await,
            other => other,
        }
    }

    fn refill(self: &Arc<Self>, key: &(Name, Fitting)) {
        let mut shelves = self.lock();
        let Some(shelf) = shelves.get_mut(key) else { return };
        while (shelf.ready.len() as u32 + shelf.starting) < shelf.wanted && !self.host.is_stopping()
        {
            shelf.starting += 1;
            let (generics, key) = (Arc::clone(self), key.clone());
            self.host.spawn(async move { generics.stock(key).await });
        }
    }

    // Makes one and puts it on its shelf once it is up.
    async fn stock(self: Arc<Self>, key: (Name, Fitting)) {
        let made = worker::start(&self.host, &key.1, Vec::new()).await;
        let up = match &made {
            Ok(worker) => tokio::time::timeout(BOOT_MAX, worker.booted()).await,
            Err(error) => Ok(Err(error.clone())),
        };
        let mut shelves = self.lock();
        let Some(shelf) = shelves.get_mut(&key) else { return };
        shelf.starting -= 1;
        match (made, up) {
            (Ok(worker), Ok(Ok(()))) => shelf.ready.push(worker),
            (_, why) => {
                // Not tried again before somebody needs one, or a failing host would do nothing else.
                shelf.wanted = 0;
                tracing::warn!(environment = %key.0, ?why, "Could not keep a worker ready");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Name, Fitting), Shelf>> {
        self.shelves.lock().expect("nothing panics while it holds the lock")
    }
}

impl Shelf {
    fn new(now: Instant) -> Self {
        Self { ready: Vec::new(), starting: 0, wanted: 0, used: now }
    }
}
