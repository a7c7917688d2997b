//! How many workers a version keeps although nothing is asked of them: one rule, whatever serves the version.

use std::time::Duration;

use folio_core::ports::runtime::RunLimits;
use tokio::time::Instant;

/// What a version keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    /// How many stay, however idle.
    pub(crate) count: usize,
    /// How long the others may be idle.
    pub(crate) idle: Duration,
    /// It lost its last pointer too long ago to keep any.
    pub(crate) expired: bool,
}

impl Kept {
    /// What `limits` ask for. A version that lost its last pointer keeps at least one for as long as `keep_warm`, for
    /// whoever goes back to it, and then none.
    pub(crate) fn of(limits: &RunLimits, retired: Option<Instant>, keep_warm: Duration) -> Self {
        let count = limits.scale_min as usize;
        match retired {
            None => Self { count, idle: limits.idle, expired: false },
            Some(since) if since.elapsed() < keep_warm => {
                Self { count: count.max(1), idle: limits.idle, expired: false }
            }
            Some(_) => Self { count: 0, idle: Duration::ZERO, expired: true },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stays_warm_for_a_while_after_the_last_pointer_went() {
        const LONG: Duration = Duration::from_secs(300);
        let idle = Duration::from_secs(60);
        // Pointed at, or without a pointer from now on and kept warm for so long.
        let check = |scale_min, keep_warm: Option<Duration>, expected: (usize, bool)| {
            let limits = RunLimits {
                timeout: idle,
                memory_bytes: 0,
                cpu_millis: None,
                concurrency: 1,
                idle,
                scale_min,
                scale_max: 4,
                requests_per_worker: None,
            };
            let retired = keep_warm.map(|_| Instant::now());
            let kept = Kept::of(&limits, retired, keep_warm.unwrap_or(LONG));
            assert_eq!((kept.count, kept.expired), expected);
            assert_eq!(kept.idle, if kept.expired { Duration::ZERO } else { idle });
        };
        check(0, None, (0, false));
        check(2, None, (2, false));
        check(0, Some(LONG), (1, false));
        check(2, Some(LONG), (2, false));
        check(2, Some(Duration::ZERO), (0, true));
    }
}
