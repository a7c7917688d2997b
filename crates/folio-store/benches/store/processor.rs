//! Processor time, which says what a publish costs also on a machine that does other things meanwhile.

use std::fs;
use std::time::Duration;

/// Processor time used so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Used {
    /// By the thread that writes.
    pub(crate) writer: Duration,
    /// By all threads that still run.
    pub(crate) all: Duration,
}

/// What the threads of this process have used; nothing where Linux does not tell.
pub(crate) fn used() -> Used {
    let mut used = Used::default();
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    for thread in threads.map(|thread| thread.path()) {
        let read = |file: &str| fs::read_to_string(thread.join(file)).unwrap_or_default();
        let running = read("schedstat").split(' ').next().and_then(|nanos| nanos.parse().ok());
        let running = Duration::from_nanos(running.unwrap_or_default());
        used.all += running;
        if read("comm").trim() == "folio-writer" {
            used.writer += running;
        }
    }
    used
}

impl Used {
    /// What was used since an earlier moment, for each of some things, in microseconds.
    pub(crate) fn each_since(self, before: Self, count: u64) -> [f64; 2] {
        let each = |used: Duration| used.as_secs_f64() * 1e6 / count.max(1) as f64;
        let all = self.all.saturating_sub(before.all);
        [each(self.writer.saturating_sub(before.writer)), each(all)]
    }
}
