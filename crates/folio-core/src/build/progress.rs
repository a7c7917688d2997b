//! Builds that are on their way, as this process knows them: queued or running, and what they printed so far.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use folio_model::{Build, Digest};
use tokio::sync::watch;

use super::LogPart;

/// All builds that are on their way.
#[derive(Default)]
pub(crate) struct Builds {
    rows: Mutex<HashMap<Digest, Row>>,
}

#[derive(Default)]
struct Row {
    running: bool,
    /// Whether it was asked for again while it ran.
    again: bool,
    log: Vec<u8>,
    grown: watch::Sender<u64>,
}

impl Builds {
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// How many wait, and how many run.
    pub(crate) fn count(&self) -> (u64, u64) {
        let rows = self.lock();
        let running = rows.values().filter(|row| row.running).count() as u64;
        (rows.len() as u64 - running, running)
    }

    /// Notes that somebody waits for a build.
    pub(super) fn queued(&self, key: Digest) {
        let mut rows = self.lock();
        let row = rows.entry(key).or_default();
        row.again = row.running;
    }

    /// Notes that a build starts, with an empty log.
    pub(super) fn started(&self, key: Digest) {
        let mut rows = self.lock();
        let row = rows.entry(key).or_default();
        *row = Row { running: true, again: false, log: Vec::new(), grown: row.grown.clone() };
    }

    /// Notes that a build waits again.
    pub(super) fn paused(&self, key: Digest) {
        if let Some(row) = self.lock().get_mut(&key) {
            row.running = false;
        }
    }

    /// Adds what a build printed, up to so many bytes in all.
    pub(super) fn printed(&self, key: Digest, text: &[u8], max: usize) {
        let mut rows = self.lock();
        let Some(row) = rows.get_mut(&key) else { return };
        let room = max.saturating_sub(row.log.len());
        if room == 0 || text.is_empty() {
            return;
        }
        row.log.extend_from_slice(&text[..room.min(text.len())]);
        if text.len() >= room {
            row.log.extend_from_slice(b"\n[the rest is left out]\n");
        }
        row.grown.send_replace(row.log.len() as u64);
    }

    /// What a build printed so far.
    pub(super) fn text(&self, key: Digest) -> Bytes {
        self.lock().get(&key).map(|row| Bytes::copy_from_slice(&row.log)).unwrap_or_default()
    }

    /// Forgets a build whose end is in the ledger; whoever follows its log hears that there is no more. Returns
    /// whether it was asked for again meanwhile.
    pub(super) fn ended(&self, key: Digest) -> bool {
        self.lock().remove(&key).is_some_and(|row| row.again)
    }

    /// How far a build is, if it is on its way.
    pub(super) fn status(&self, key: Digest) -> Option<Build> {
        let rows = self.lock();
        rows.get(&key).map(|row| if row.running { Build::Running } else { Build::Pending })
    }

    /// The log of a build that is on its way, after a place.
    pub(super) fn log(&self, key: Digest, after: u64) -> Option<LogPart> {
        let rows = self.lock();
        let row = rows.get(&key)?;
        let from = usize::try_from(after).unwrap_or(usize::MAX).min(row.log.len());
        Some(LogPart {
            build: if row.running { Build::Running } else { Build::Pending },
            text: Bytes::copy_from_slice(&row.log[from..]),
            more: Some(row.grown.subscribe()),
        })
    }

    // Nothing that holds the lock leaves the rows half changed.
    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
