//! Everything in memory: what tests run on, and what the real stores are compared with. Nothing survives the
//! process. Start at [`MemoryLedger`].

mod apply;
mod index;
mod ledger;
mod queue;
mod rows;
mod state;
mod table;

pub use index::MemoryIndex;
pub use ledger::MemoryLedger;
pub use queue::MemoryQueue;
