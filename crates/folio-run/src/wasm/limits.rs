//! How much an instance may take, and what all instances of a version took.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wasmtime::ResourceLimiter;

use super::engine::TABLE_ELEMENTS_MAX;
use super::loaded::Host;

/// Refuses an instance more than its share. A guest sees a refusal as a failed `memory.grow`.
pub(super) struct Limits {
    memory_max: usize,
    memory: usize,
    host: Arc<Host>,
    refused: bool,
}

impl Limits {
    /// Starts with nothing taken; what is taken is also counted by the host, for as long as this lives.
    pub(super) fn new(memory_max: u64, host: Arc<Host>) -> Self {
        let memory_max = usize::try_from(memory_max).unwrap_or(usize::MAX);
        Self { memory_max, memory: 0, host, refused: false }
    }

    /// Whether memory was asked for that was not given. A guest that fails afterwards failed for that.
    pub(super) fn out_of_memory(&self) -> bool {
        self.refused
    }
}

impl ResourceLimiter for Limits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current);
        let wanted = self.memory.saturating_add(more);
        if wanted > self.memory_max {
            self.refused = true;
            return Ok(false);
        }
        self.memory = wanted;
        self.host.memory.fetch_add(more as u64, Ordering::Relaxed);
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS_MAX)
    }

    fn instances(&self) -> usize {
        256
    }

    fn tables(&self) -> usize {
        256
    }

    fn memories(&self) -> usize {
        16
    }
}

impl Drop for Limits {
    fn drop(&mut self) {
        self.host.memory.fetch_sub(self.memory as u64, Ordering::Relaxed);
    }
}
