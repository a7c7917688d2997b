//! The requests a worker has in hand, so that a call it makes is counted as one of theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use folio_core::ports::runtime::{Call, RequestId};
use folio_core::serving::Shown;

/// The requests of one worker.
#[derive(Default)]
pub(super) struct Requests(Mutex<Known>);

#[derive(Default)]
struct Known {
    active: HashMap<RequestId, Lineage>,
    /// What the last request to end had, for what a worker does after its answer.
    last: Lineage,
}

/// Where a request comes from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lineage {
    /// How many functions called one another to get here.
    pub(crate) hops: u32,
    /// The release that it was admitted to.
    pub(crate) release: Option<Arc<Shown>>,
}

impl Lineage {
    /// Where a call comes from.
    pub(crate) fn of(call: &Call) -> Self {
        Self { hops: call.hops, release: call.release.clone() }
    }

    /// The same, one call further.
    #[must_use]
    pub(crate) fn called(self) -> Self {
        Self { hops: self.hops + 1, ..self }
    }
}

/// A request in a worker's hands. Dropping it says that the worker is done with it.
pub struct InHand {
    requests: Arc<Requests>,
    id: RequestId,
}

impl Requests {
    pub(super) fn begin(self: &Arc<Self>, id: RequestId, lineage: Lineage) -> InHand {
        self.known().active.insert(id, lineage);
        InHand { requests: Arc::clone(self), id }
    }

    /// Which request a call belongs to, if that is known, and where it comes from.
    pub(super) fn asking(&self, claimed: Option<RequestId>) -> (Option<RequestId>, Lineage) {
        let known = self.known();
        if let Some((id, found)) = claimed.and_then(|id| known.active.get_key_value(&id)) {
            return (Some(*id), found.clone());
        }
        let only = known.active.keys().next().filter(|_| known.active.len() == 1);
        let furthest = known.active.values().max_by_key(|lineage| lineage.hops);
        (only.copied(), furthest.unwrap_or(&known.last).clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().expect("no holder panics")
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        let mut known = self.requests.known();
        if let Some(ended) = known.active.remove(&self.id) {
            known.last = ended;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_from_the_request_that_made_it() {
        let requests = Arc::new(Requests::default());
        let asking = |claimed| {
            let (id, lineage) = requests.asking(claimed);
            (id, lineage.hops)
        };
        let begin = |id, hops| requests.begin(RequestId(id), Lineage { hops, release: None });
        assert_eq!(asking(None), (None, 0));
        let near = begin(1, 2);
        assert_eq!(asking(None), (Some(RequestId(1)), 2));
        let far = begin(2, 7);
        assert_eq!(asking(Some(RequestId(1))), (Some(RequestId(1)), 2));
        assert_eq!(asking(Some(RequestId(9))), (None, 7), "a foreign id is not believed");
        drop(near);
        drop(far);
        assert_eq!(asking(None), (None, 7), "work after the answer goes on counting");
    }
}
