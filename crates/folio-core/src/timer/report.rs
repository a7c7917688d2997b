//! What became of timers' slots, as far as this server remembers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use folio_model::{Timestamp, UnitUid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reports that are kept of one timer.
const REPORTS_MAX: usize = 200;

/// What became of a slot, or of several that were skipped together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FireReport {
    /// The slot, or the first of several.
    pub slot: Timestamp,
    /// The last of several slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// How many slots; of very many, how many were counted.
    pub count: u64,
    /// What became of it.
    pub outcome: FireOutcome,
    /// What was called with which end, or why nothing was.
    pub detail: String,
}

/// What became of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FireOutcome {
    /// Everything was called and answered well.
    Ran,
    /// Something that was called failed.
    Failed,
    /// Nobody was there for it, and it is not made up for.
    Skipped,
    /// Its run began and was cut off by the end of its server.
    Interrupted,
}

/// The reports of every timer.
#[derive(Default)]
pub(crate) struct Fires(Mutex<HashMap<UnitUid, VecDeque<FireReport>>>);

impl Fires {
    /// The reports of a timer, newest last.
    pub(crate) fn of(&self, unit: UnitUid) -> Vec<FireReport> {
        self.lock().get(&unit).into_iter().flatten().cloned().collect()
    }

    pub(super) fn add(&self, unit: UnitUid, report: FireReport) {
        let mut reports = self.lock();
        let reports = reports.entry(unit).or_default();
        if reports.len() == REPORTS_MAX {
            reports.pop_front();
        }
        reports.push_back(report);
    }

    // Nothing that holds the lock leaves the reports half changed.
    fn lock(&self) -> MutexGuard<'_, HashMap<UnitUid, VecDeque<FireReport>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
