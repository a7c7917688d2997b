//! A clock and a source of chance that a test owns.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use folio_core::ports::Clock;
use folio_model::{Digest, Timestamp};

/// Stands still until told otherwise; chance follows from a seed.
#[derive(Debug)]
pub struct TestClock {
    now: Mutex<Timestamp>,
    seed: u64,
    draws: AtomicU64,
}

impl TestClock {
    /// Starts on the first of January 2026.
    pub fn new(seed: u64) -> Self {
        let start = Timestamp::from_second(1_767_225_600).expect("a moment in 2026");
        Self { now: Mutex::new(start), seed, draws: AtomicU64::new(0) }
    }

    /// Moves time, forwards or backwards.
    pub fn jump(&self, seconds: i64) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now += jiff::SignedDuration::from_secs(seconds);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn chance(&self) -> [u8; 32] {
        let draw = self.draws.fetch_add(1, Ordering::Relaxed);
        *Digest::of(format!("{}/{draw}", self.seed).as_bytes()).as_bytes()
    }
}
