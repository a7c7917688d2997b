//! Runs the code of functions: the only crate that starts any. Workers are processes in a jail; wasm runs in
//! this process, in an engine of its own.

pub mod code;
pub mod jail;
mod headers;
pub mod invoke;
mod socket;
pub mod build;
mod program;
pub mod wasm;
pub mod binary;
pub mod command;
mod output;
mod frames;
mod host;
mod local;
mod pool;
mod worker;

pub use local::{LocalRuntime, Settings};
