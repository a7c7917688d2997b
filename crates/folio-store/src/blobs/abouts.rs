//! What is known of directories that were stored or asked for lately, so that publishing one need not ask the
//! index what it holds. A directory never changes; it only ever goes, when a sweep takes it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use folio_core::ports::About;
use folio_model::{Digest, NodeKind};

/// Directories known at most.
const KNOWN_MAX: usize = 4096;

/// Directories and what is behind them.
#[derive(Default)]
pub(super) struct Abouts(Mutex<Known>);

#[derive(Default)]
struct Known {
    abouts: HashMap<Digest, About>,
    /// How many sweeps have made it forget.
    sweeps: u64,
}

/// A moment between two sweeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u64);

impl Abouts {
    /// What is known of a directory.
    pub(super) fn get(&self, digest: Digest) -> Option<About> {
        self.known().abouts.get(&digest).copied()
    }

    /// The moment before something is read that is to be noted.
    pub(super) fn mark(&self) -> Mark {
        Mark(self.known().sweeps)
    }

    /// Notes directories that were seen after a mark, unless a sweep may have taken them since.
    pub(super) fn note(&self, mark: Mark, seen: impl Iterator<Item = (Digest, About)>) {
        let mut known = self.known();
        if mark != Mark(known.sweeps) {
            return;
        }
        for (digest, about) in seen.filter(|(_, about)| about.kind == NodeKind::Tree) {
            if known.abouts.len() >= KNOWN_MAX {
                known.abouts.clear();
            }
            known.abouts.insert(digest, about);
        }
    }

    /// Forgets everything, after a sweep has removed rows.
    pub(super) fn forget(&self) {
        let mut known = self.known();
        known.sweeps += 1;
        known.abouts.clear();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
