//! The wasm environment: what a guest may do, what becomes of one that misbehaves, and what outlives it.

mod commands;
mod fixture;
mod instances;
mod misbehaviour;
mod requests;
mod stage;
