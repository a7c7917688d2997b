//! The requests a worker has in hand, so that a call it makes is counted as one of theirs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use folio_core::ports::runtime::{Call, RequestId};
use folio_core::serving::Shown;

/// Requests of one worker that are remembered after their answer.
const ENDED_KEPT: usize = 64;

/// The requests of one worker.
#[derive(Default)]
pub(super) struct Requests(Mutex<Known>);

type Entry = (RequestId, Lineage);

#[derive(Default)]
struct Known {
    /// One that functions passed on is here once for each time it came.
    active: Vec<Entry>,
    /// The last ones to end, for what a worker does after its answers.
    ended: VecDeque<Entry>,
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
    hops: u32,
}

impl Requests {
    pub(super) fn begin(self: &Arc<Self>, id: RequestId, lineage: Lineage) -> InHand {
        let hops = lineage.hops;
        self.known().active.push((id, lineage));
        InHand { requests: Arc::clone(self), id, hops }
    }

    /// Which request a call belongs to, if that is known, and where it comes from.
    pub(super) fn asking(&self, claimed: Option<RequestId>) -> (Option<RequestId>, Lineage) {
        let known = self.known();
        if let Some((id, found)) = claimed.and_then(|id| known.find(id)) {
            let mut found = found.clone();
            // What goes on after its request, such as a thread that serves all, is of the present.
            if let Some((_, now)) = known.now_instead_of(id) {
                found.release = now.release.clone();
            }
            return (Some(*id), found);
        }
        let furthest = furthest(known.active.iter());
        let only = furthest.filter(|(id, _)| known.active.iter().all(|(other, _)| other == id));
        let lineage = furthest.or(known.ended.back()).map(|(_, lineage)| lineage.clone());
        (only.map(|(id, _)| *id), lineage.unwrap_or_default())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().expect("no holder panics")
    }
}

impl Known {
    /// The request that came furthest of those in hand, unless one is among them that is asked about.
    fn now_instead_of(&self, id: &RequestId) -> Option<&Entry> {
        let is_over = self.active.iter().all(|(active, _)| active != id);
        furthest(self.active.iter()).filter(|_| is_over)
    }

    fn find(&self, id: RequestId) -> Option<&Entry> {
        let same = |known: &&Entry| known.0 == id;
        let active = furthest(self.active.iter().filter(same));
        active.or_else(|| self.ended.iter().rev().find(same))
    }
}

// The one that came furthest, so that no loop is ever counted short.
fn furthest<'a>(requests: impl Iterator<Item = &'a Entry>) -> Option<&'a Entry> {
    requests.max_by_key(|(_, lineage)| lineage.hops)
}

impl Drop for InHand {
    fn drop(&mut self) {
        let mut known = self.requests.known();
        // Where there are several of one id and as far, they are one request, and either can go.
        let same = |(id, lineage): &Entry| *id == self.id && lineage.hops == self.hops;
        let Some(at) = known.active.iter().position(same) else { return };
        let ended = known.active.swap_remove(at);
        if known.ended.len() >= ENDED_KEPT {
            known.ended.pop_front();
        }
        known.ended.push_back(ended);
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
        let other = begin(3, 4);
        assert_eq!(asking(Some(RequestId(1))), (Some(RequestId(1)), 2), "also beside another's");
        drop(other);
    }

    #[test]
    fn what_goes_on_after_its_request_is_of_the_present() {
        let requests = Arc::new(Requests::default());
        let begin = |id| requests.begin(RequestId(id), Lineage::default());
        let present = || requests.known().now_instead_of(&RequestId(1)).map(|(id, _)| id.0);
        let (first, second) = (begin(1), begin(2));
        assert_eq!(present(), None, "it is not over");
        drop(first);
        assert_eq!(present(), Some(2));
        drop(second);
        assert_eq!(present(), None, "there is no other");
    }

    #[test]
    fn a_request_that_comes_back_is_counted_each_time() {
        let requests = Arc::new(Requests::default());
        let begin = |hops| requests.begin(RequestId(1), Lineage { hops, release: None });
        let asking = || requests.asking(Some(RequestId(1))).1.hops;
        let first = begin(0);
        for _ in 0..3 {
            let inner = begin(1);
            assert_eq!(asking(), 1);
            assert_eq!(requests.asking(None).0, Some(RequestId(1)), "there is no other");
            drop(inner);
            assert_eq!(asking(), 0, "calls one after another are no loop");
        }
        drop(first);
    }
}
