#![cfg(test)]
//! The rules, told as facts, on the memory stores.

mod aliases;
mod archives;
mod contents;
mod deletes;
mod history;
mod packages;
mod publishing;
mod references;
mod world;
