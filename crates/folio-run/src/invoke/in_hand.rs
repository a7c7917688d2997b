//! The requests a worker has in hand, so that a call it makes is counted as one of theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use folio_core::ports::runtime::RequestId;

/// The requests of one worker.
#[derive(Default)]
pub(super) struct Requests(Mutex<Hops>);

#[derive(Default)]
struct Hops {
    active: HashMap<RequestId, u32>,
    /// What the last request to end had, for what a worker does after its answer.
    last: u32,
}

/// A request in a worker's hands. Dropping it says that the worker is done with it.
pub struct InHand {
    requests: Arc<Requests>,
    id: RequestId,
}

impl Requests {
    pub(super) fn begin(self: &Arc<Self>, id: RequestId, hops: u32) -> InHand {
        self.hops().active.insert(id, hops);
        InHand { requests: Arc::clone(self), id }
    }

    /// Which request a call belongs to, if that is known, and how many calls led to it.
    pub(super) fn asking(&self, claimed: Option<RequestId>) -> (Option<RequestId>, u32) {
        let hops = self.hops();
        if let Some((id, found)) = claimed.and_then(|id| hops.active.get_key_value(&id)) {
            return (Some(*id), *found);
        }
        let only = hops.active.keys().next().filter(|_| hops.active.len() == 1);
        (only.copied(), hops.active.values().max().copied().unwrap_or(hops.last))
    }

    fn hops(&self) -> MutexGuard<'_, Hops> {
        self.0.lock().expect("no holder panics")
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        let mut hops = self.requests.hops();
        if let Some(ended) = hops.active.remove(&self.id) {
            hops.last = ended;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_from_the_request_that_made_it() {
        let requests = Arc::new(Requests::default());
        assert_eq!(requests.asking(None), (None, 0));
        let near = requests.begin(RequestId(1), 2);
        assert_eq!(requests.asking(None), (Some(RequestId(1)), 2));
        let far = requests.begin(RequestId(2), 7);
        assert_eq!(requests.asking(Some(RequestId(1))), (Some(RequestId(1)), 2));
        assert_eq!(requests.asking(Some(RequestId(9))), (None, 7), "a foreign id is not believed");
        drop(near);
        drop(far);
        assert_eq!(requests.asking(None), (None, 7), "work after the answer goes on counting");
    }
}
