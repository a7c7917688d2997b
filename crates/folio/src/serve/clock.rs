//! A clock for transcripts: chance comes from a seed, and every draw takes a second. How often somebody looks at
//! the time depends on the machine; how often something new is made does not. Development builds only.

use std::sync::{Mutex, PoisonError};

use folio_core::ports::Clock;
use folio_model::Timestamp;
use jiff::SignedDuration;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// 2026-01-01T00:00:00Z.
const START_SECONDS: i64 = 1_767_225_600;

/// Time and chance that are the same in every run.
pub(super) struct ScriptedClock(Mutex<Script>);

struct Script {
    now: Timestamp,
    chance: StdRng,
}

impl ScriptedClock {
    /// A clock at the start of 2026.
    pub(super) fn new(seed: u64) -> Self {
        let now = Timestamp::from_second(START_SECONDS).expect("2026 is in range");
        Self(Mutex::new(Script { now, chance: StdRng::seed_from_u64(seed) }))
    }
}

impl Clock for ScriptedClock {
    fn now(&self) -> Timestamp {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).now
    }

    fn chance(&self) -> [u8; 32] {
        let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = script.now;
        script.now = now.saturating_add(SignedDuration::from_secs(1)).unwrap_or(now);
        let mut bytes = [0; 32];
        script.chance.fill_bytes(&mut bytes);
        bytes
    }
}
