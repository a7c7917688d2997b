//! How a client takes what it is sent. Time that it keeps somebody waiting is owed, and bytes that it takes pay it
//! back, at the least rate. Whoever owes as much as a connection may be silent is given up.

use std::time::Duration;

use tokio::time::Instant;

use crate::settings::GatewayLimits;

/// What one client owes.
#[derive(Debug)]
pub(crate) struct Taking {
    owed_max: Duration,
    rate_min: u64,
    owed: Duration,
    /// Bytes that were taken and are not counted yet.
    taken: u64,
    since: Option<Instant>,
}

impl Taking {
    pub(crate) fn new(limits: &GatewayLimits) -> Self {
        let (owed_max, rate_min) = (limits.idle_timeout, limits.answer_rate_min.max(1));
        Self { owed_max, rate_min, owed: Duration::ZERO, taken: 0, since: None }
    }

    /// The client has to do something before it can be sent more.
    pub(crate) fn waits(&mut self) {
        if self.since.is_none() {
            self.since = Some(Instant::now());
            self.owed = self.owed.saturating_sub(self.paid());
            self.taken = 0;
        }
    }

    /// The client took bytes, perhaps none of them while it was waited for.
    pub(crate) fn took(&mut self, bytes: usize) {
        self.goes_on();
        self.taken += bytes as u64;
    }

    /// It is not the client that is waited for.
    pub(crate) fn goes_on(&mut self) {
        if let Some(since) = self.since.take() {
            self.owed += since.elapsed();
        }
    }

    /// How much longer it may take nothing.
    pub(crate) fn left(&self) -> Duration {
        let waiting = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.owed_max.saturating_sub((self.owed + waiting).saturating_sub(self.paid()))
    }

    fn paid(&self) -> Duration {
        Duration::from_micros(self.taken.saturating_mul(1_000_000) / self.rate_min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left after so many seconds, in each of which a client took so many bytes.
    async fn left(bytes: usize, seconds: u32) -> Duration {
        let limits = GatewayLimits {
            idle_timeout: Duration::from_secs(75),
            answer_rate_min: 256,
            ..GatewayLimits::default()
        };
        let mut taking = Taking::new(&limits);
        for _ in 0..seconds {
            taking.waits();
            tokio::time::advance(Duration::from_secs(1)).await;
            taking.took(bytes);
        }
        taking.waits();
        taking.left()
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_buy_time_at_the_least_rate() {
        let check = async |bytes, seconds, expected| {
            assert_eq!(left(bytes, seconds).await, Duration::from_secs(expected));
        };
        check(0, 0, 75).await;
        check(0, 74, 1).await;
        check(0, 80, 0).await;
        check(256, 10_000, 75).await;
        check(64, 40, 75 - 40 + 10).await;
        check(64, 100, 0).await;
        // What was taken fast buys no time later.
        check(1_000_000, 10, 75).await;
    }
}
