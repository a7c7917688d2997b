//! Crash points: named places where a test may kill the process, to prove that nothing is lost there; and
//! faults a test may plant, to prove that such a loss would be noticed.
//!
//! Compiled to nothing in release builds. A development build dies at the point that [`arm`] named.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Every point, in the order a publish passes them, then sweep, files beside the database, backup and restore, migration,
/// rewriting and the queue.
pub const POINTS: &[&str] = &[
    "blob.packed",
    "blob.written",
    "blob.indexed",
    "ledger.begun",
    "ledger.planned",
    "ledger.applied",
    "ledger.committed",
    "ledger.acknowledged",
    "sweep.marked",
    "sweep.rechecked",
    "sweep.committed",
    "sweep.unlinked",
    "token.written",
    "key.written",
    "authority.written",
    "copy.made",
    "copy.named",
    "migrate.step",
    "rewrite.body",
    "rewrite.noted",
    "queue.pushed",
    "queue.leased",
    "queue.done",
    "queue.returned",
];

/// Every fault that can be planted: each leaves out one sync.
pub const FAULTS: &[&str] = &["ledger.unsynced", "blob.unsynced"];

struct Armed {
    point: String,
    passes_left: AtomicU64,
}

static ARMED: OnceLock<Armed> = OnceLock::new();

/// Makes the process die when it passes `point` for the `nth` time, counted from 1. Takes effect once.
pub fn arm(point: &str, nth: u64) {
    let armed = Armed { point: point.to_owned(), passes_left: AtomicU64::new(nth) };
    // A second call changes nothing: the first point is the one under test.
    ARMED.get_or_init(|| armed);
}

/// Marks a durable step. Dies here, as if the power had gone, if a test asked for it.
pub fn point(name: &'static str) {
    if cfg!(debug_assertions) {
        assert!(POINTS.contains(&name), "crash point `{name}` is not listed");
        if let Some(armed) = ARMED.get()
            && armed.point == name
            && armed.passes_left.fetch_sub(1, Ordering::SeqCst) == 1
        {
            std::process::abort();
        }
    }
}

static PLANTED: OnceLock<String> = OnceLock::new();

/// Plants a fault for the life of the process. Takes effect once.
pub fn plant(fault: &str) {
    assert!(FAULTS.contains(&fault), "fault `{fault}` is not listed");
    PLANTED.get_or_init(|| fault.to_owned());
}

/// Whether a fault was planted. Never in a release build.
pub fn is_planted(fault: &'static str) -> bool {
    cfg!(debug_assertions) && PLANTED.get().is_some_and(|planted| planted == fault)
}
