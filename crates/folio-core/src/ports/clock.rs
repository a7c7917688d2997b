//! Time and chance: the two things a rule may not help itself to.

use folio_model::Timestamp;

/// Tells the time and gives random bytes.
pub trait Clock: Send + Sync + 'static {
    /// Now. May stand still or jump; nothing but grace periods depends on it.
    fn now(&self) -> Timestamp;

    /// Fresh random bytes, good enough for secrets.
    fn chance(&self) -> [u8; 32];
}

/// The machine's clock and the operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn chance(&self) -> [u8; 32] {
        rand::random()
    }
}
