//! Everything that lies in SQLite: one database per data directory. Start at [`Db`], then [`SqliteLedger`].

mod apply;
mod db;
mod directory;
mod error;
mod executions;
mod fold;
mod index;
mod ledger;
mod log;
mod migrate;
mod newest;
mod query;
mod queue;
mod readers;
mod rewrite;
mod session;
mod settings;
mod state;
mod verify;
mod writer;

pub use db::{Db, Options};
pub use ledger::SqliteLedger;
pub use queue::SqliteQueue;
pub(crate) use writer::same;

#[cfg(test)]
mod tests;
