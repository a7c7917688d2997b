//! What every version did: counters and a histogram of latencies, all atomics, so that counting never waits.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The upper bounds of the histogram's buckets, in microseconds: 1-2-5 steps from 100 us to 50 s.
pub const BUCKETS_US: [u64; 18] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000,
];

/// Parts that counters are kept in. More threads than these share one.
const PARTS: usize = 8;

/// Counters in parts, so that threads that count at the same time do not wait for each other's memory. Each thread has
/// one part and only ever adds to it; whoever reads adds them up.
#[derive(Debug)]
pub struct Parts<T>([OnceLock<Box<T>>; PARTS]);

impl<T> Default for Parts<T> {
    fn default() -> Self {
        Self([const { OnceLock::new() }; PARTS])
    }
}

impl<T: Default> Parts<T> {
    /// The part of the thread that asks.
    pub fn own(&self) -> &T {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static PART: usize = THREADS.fetch_add(1, Ordering::Relaxed) % PARTS;
        }
        self.0[PART.with(|part| *part)].get_or_init(Box::default)
    }

    /// All parts that were ever used.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().filter_map(|part| part.get().map(|part| &**part))
    }
}

/// What one version did since the server started.
#[derive(Debug, Default)]
pub struct Meter {
    cold_starts: AtomicU64,
    parts: Parts<Part>,
}

/// What one thread counted. Of its own cache lines, and of those that are fetched with them.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Part {
    /// Requests begun less requests ended. Another thread may end them, so only the sum of all parts says something.
    active: AtomicU64,
    client_errors: AtomicU64,
    server_errors: AtomicU64,
    total_us: AtomicU64,
    buckets: [AtomicU64; BUCKETS_US.len() + 1],
}

/// A request that is being answered. Counts as active until it is dropped.
#[derive(Debug)]
pub struct Active<'a>(&'a Meter);

/// As [`Active`], for an answer that outlives whoever counts it.
#[derive(Debug)]
pub struct Lasting(Arc<Meter>);

impl Meter {
    /// Counts a request as active.
    pub fn begin(&self) -> Active<'_> {
        self.parts.own().active.fetch_add(1, Ordering::Relaxed);
        Active(self)
    }

    /// As [`Meter::begin`], for an answer that outlives whoever counts it.
    pub fn begin_lasting(self: &Arc<Self>) -> Lasting {
        self.parts.own().active.fetch_add(1, Ordering::Relaxed);
        Lasting(Arc::clone(self))
    }

    fn end(&self) {
        self.parts.own().active.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a worker that had to be made.
    pub fn cold_start(&self) {
        self.cold_starts.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an answer.
    pub fn record(&self, status: u16, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS_US.partition_point(|bound| *bound < us);
        let part = self.parts.own();
        part.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        part.total_us.fetch_add(us, Ordering::Relaxed);
        match status {
            400..=499 => part.client_errors.fetch_add(1, Ordering::Relaxed),
            500.. => part.server_errors.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    /// Everything counted so far. Counters are read one after another, not as one.
    pub fn read(&self) -> Measured {
        let sum = |counter: fn(&Part) -> &AtomicU64| {
            let parts = self.parts.iter().map(|part| counter(part).load(Ordering::Relaxed));
            parts.fold(0, u64::wrapping_add)
        };
        let mut buckets = vec![0; BUCKETS_US.len() + 1];
        for part in self.parts.iter() {
            let counted = part.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed));
            buckets.iter_mut().zip(counted).for_each(|(all, one)| *all += one);
        }
        Measured {
            requests: buckets.iter().sum(),
            client_errors: sum(|part| &part.client_errors),
            server_errors: sum(|part| &part.server_errors),
            // One part may be read before a request and another after it.
            active: sum(|part| &part.active).cast_signed().max(0).cast_unsigned(),
            cold_starts: self.cold_starts.load(Ordering::Relaxed),
            total_us: sum(|part| &part.total_us),
            buckets,
        }
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A reading of a [`Meter`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// Answers given.
    pub requests: u64,
    /// Of these, with status 400 to 499.
    pub client_errors: u64,
    /// Of these, with status 500 or above.
    pub server_errors: u64,
    /// Requests being answered.
    pub active: u64,
    /// Workers made for it.
    pub cold_starts: u64,
    /// Time of all answers together.
    pub total_us: u64,
    /// Answers per bucket of [`BUCKETS_US`], the last for everything slower.
    pub buckets: Vec<u64>,
}

/// About the time that a share of answers took, from how many fell into each bucket: even within a bucket, so that
/// two sides of a bound do not look far apart.
#[expect(clippy::cast_precision_loss, reason = "a quantile of counts is an estimate")]
pub(crate) fn estimate(buckets: &[u64], share: f64) -> Option<Duration> {
    let total: u64 = buckets.iter().sum();
    let wanted = (total as f64 * share).max(1.0);
    let slowest = BUCKETS_US[BUCKETS_US.len() - 1];
    let mut seen = 0.0;
    for (at, count) in buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
        let low = at.checked_sub(1).map_or(0, |before| BUCKETS_US[before]);
        let high = BUCKETS_US.get(at).copied().unwrap_or(slowest * 2);
        let count = *count as f64;
        if seen + count >= wanted {
            let within = (wanted - seen) / count;
            let us = low as f64 + (high - low) as f64 * within;
            return Some(Duration::from_secs_f64(us / 1e6));
        }
        seen += count;
    }
    None
}

impl Measured {
    /// An upper bound of the time that a share of the answers took, `0.99` for the 99th percentile.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let total: u64 = self.buckets.iter().sum();
        #[expect(clippy::cast_precision_loss, reason = "a quantile of counts is an estimate")]
        let wanted = total as f64 * share;
        let mut seen = 0;
        for (at, count) in self.buckets.iter().enumerate() {
            seen += count;
            #[expect(clippy::cast_precision_loss, reason = "a quantile of counts is an estimate")]
            if total > 0 && seen as f64 >= wanted {
                let bound = BUCKETS_US.get(at).copied().unwrap_or(u64::MAX);
                return Some(Duration::from_micros(bound));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_fall_into_the_bucket_that_bounds_them() {
        let meter = Meter::default();
        for us in [100, 101, 200, 60_000_000] {
            meter.record(200, Duration::from_micros(us));
        }
        let measured = meter.read();
        assert_eq!(measured.buckets[..3], [1, 2, 0]);
        assert_eq!(measured.buckets.last(), Some(&1));
        assert_eq!(measured.quantile(0.5), Some(Duration::from_micros(200)));
    }

    #[test]
    fn what_one_thread_begins_another_ends() {
        let meter = Arc::new(Meter::default());
        let begun: Vec<_> = (0..3).map(|_| meter.begin_lasting()).collect();
        assert_eq!(meter.read().active, 3);
        let ends = std::thread::spawn(move || drop(begun));
        ends.join().unwrap();
        assert_eq!(meter.read().active, 0);
    }

    #[test]
    fn an_estimate_lies_within_the_bucket_that_holds_it() {
        let meter = Meter::default();
        assert_eq!(estimate(&meter.read().buckets, 0.99), None);
        (0..100).for_each(|_| meter.record(200, Duration::from_micros(150)));
        let near = estimate(&meter.read().buckets, 0.5).unwrap();
        assert_eq!(near, Duration::from_micros(150));
        let last = estimate(&meter.read().buckets, 1.0).unwrap();
        assert_eq!(last, Duration::from_micros(200));
    }
}
