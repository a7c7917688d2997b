//! The blocks that were unpacked last. Neighbours in a block are read together: the files of one directory,
//! the directories of one tree. Blocks never change, so nothing ever has to be taken back.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::index::{PackId, Place};

/// Unpacked bytes kept at most.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// A bounded set of blocks, the oldest leaving first.
#[derive(Default)]
pub(crate) struct Cache(Mutex<Blocks>);

#[derive(Default)]
struct Blocks {
    blocks: VecDeque<((PackId, u64), Bytes)>,
    bytes: usize,
}

impl Cache {
    /// The block a node lies in, if it was unpacked lately.
    pub(crate) fn get(&self, place: Place) -> Option<Bytes> {
        let blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (place.pack, place.spot.block_at);
        let found = blocks.blocks.iter().rev().find(|(other, _)| *other == key);
        found.map(|(_, block)| block.clone())
    }

    /// Keeps a block, unless it would push out all others.
    pub(crate) fn keep(&self, place: Place, block: Bytes) {
        if block.len() > BYTES_MAX / 4 {
            return;
        }
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.bytes += block.len();
        blocks.blocks.push_back(((place.pack, place.spot.block_at), block));
        while blocks.bytes > BYTES_MAX {
            let oldest = blocks.blocks.pop_front();
            blocks.bytes -= oldest.map_or(0, |(_, block)| block.len());
        }
    }
}
