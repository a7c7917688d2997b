//! Everything that lies in SQLite: one database per data directory. Start at [`Db`], then [`SqliteLedger`].

mod db;
mod directory;
mod error;
mod migrate;
mod readers;
mod settings;
mod writer;

pub use db::{Db, Options};
