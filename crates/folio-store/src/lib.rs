//! Where folio keeps things: memory for tests and comparison, SQLite for real, and packs of blobs beside it.
//! Every implementation runs the conformance suite of its port. Rules live in `folio-core`, not here.

mod sqlite;

pub use sqlite::{Db, Options};
