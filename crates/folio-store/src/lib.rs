//! Where folio keeps things: memory for tests and comparison, SQLite for real, and packs of blobs beside it.
//! Every implementation runs the conformance suite of its port. Rules live in `folio-core`, not here.

mod blobs;
mod directory;
mod memory;
mod sqlite;

pub use blobs::{PackOptions, PackStore};
pub use directory::DataDirectory;
pub use memory::{MemoryIndex, MemoryLedger, MemoryQueue};
pub use sqlite::{Db, Options, SqliteLedger, SqliteQueue};
