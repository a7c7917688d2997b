//! A fast hash for names that only an app's own people choose. A client looks names up and never adds one, so it
//! cannot make them collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys no client chooses.
pub(crate) type Named<V> = HashMap<std::sync::Arc<str>, V, BuildHasherDefault<Fnv>>;

/// FNV-1a.
#[derive(Debug, Clone)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
