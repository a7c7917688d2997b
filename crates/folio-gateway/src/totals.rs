//! What the gateway as a whole did. Requests that reached a version are counted there, too; what was refused
//! before is counted only here.

use std::sync::atomic::{AtomicU64, Ordering};

use folio_core::measure::Parts;

/// Counters since the start. All atomics, so that counting never waits.
#[derive(Debug, Default)]
pub struct Totals {
    requests: Parts<Requests>,
    refused: AtomicU64,
    connections: AtomicU64,
    connections_open: AtomicU64,
}

/// Requests that one thread took.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Requests(AtomicU64);

/// A reading of [`Totals`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TotalsRead {
    /// Requests that were understood.
    pub requests: u64,
    /// Requests that reached no version: malformed, without a route, without a version behind it.
    pub refused: u64,
    /// Connections taken.
    pub connections: u64,
    /// Of these, open now.
    pub connections_open: u64,
}

impl Totals {
    /// Everything counted so far. Counters are read one after another, not as one.
    pub fn read(&self) -> TotalsRead {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        TotalsRead {
            requests: self.requests.iter().map(|part| read(&part.0)).sum(),
            refused: read(&self.refused),
            connections: read(&self.connections),
            connections_open: read(&self.connections_open),
        }
    }

    pub(crate) fn request(&self) {
        self.requests.own().0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn opened(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.connections_open.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn closed(&self) {
        self.connections_open.fetch_sub(1, Ordering::Relaxed);
    }
}
