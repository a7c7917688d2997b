//! The right to one request on one worker. It counts until the worker is done with the request, or until it is
//! dropped without having been used.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use folio_core::ports::Body;
use folio_core::ports::runtime::{Call, CallError};
use http::Response;

use super::Pool;
use crate::worker::Worker;

/// One request's place on a worker.
pub(crate) struct Lease {
    place: Option<(Arc<Worker>, Arc<Pool>)>,
}

impl Lease {
    pub(super) fn new(worker: Arc<Worker>, pool: Arc<Pool>) -> Self {
        Self { place: Some((worker, pool)) }
    }

    /// Passes the request on and returns when its answer begins.
    pub(crate) async fn call(mut self, call: Call) -> Result<Response<Body>, CallError> {
        let (worker, pool) = self.place.take().expect("a lease is used once");
        let timeout = pool.plan.limits.timeout;
        match worker.send(call, timeout) {
            Ok(sent) => sent.answer().await,
            Err(error) => {
                // The worker never saw it, so it will never say that it is done.
                pool.returned(&worker);
                Err(error)
            }
        }
    }

    /// Gives the place back while the pool's lock is held.
    pub(super) fn give_back_unlocked(mut self) {
        if let Some((worker, _)) = self.place.take() {
            worker.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some((worker, pool)) = self.place.take() {
            pool.returned(&worker);
        }
    }
}
