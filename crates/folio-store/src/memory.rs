//! Everything in memory: what tests run on, and what the real stores are compared with. Nothing survives the
//! process. Start at [`MemoryLedger`].

mod apply;
mod executions;
mod index;
mod keys;
mod ledger;
mod queue;
mod rows;
mod state;
mod table;

pub use index::MemoryIndex;
pub(crate) use keys::Keys;
pub use ledger::MemoryLedger;
pub use queue::MemoryQueue;
