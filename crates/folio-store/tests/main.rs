#![cfg(test)]
//! The stores from outside: what their ports promise, and that memory and SQLite never differ.

mod concurrency;
mod edits;
mod kinds;
mod ledger;
mod machine;
mod older;
mod queue;
