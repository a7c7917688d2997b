//! Everything in memory, for tests and demos: what the durable stores are compared with.

mod index;

pub use index::MemoryIndex;
