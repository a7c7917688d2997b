#![cfg(test)]
//! What running code does, as seen from outside the crate.

mod processes;
mod wasm;
mod workers;
