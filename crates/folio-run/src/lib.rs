//! Runs the code of functions: the only crate that starts any. Workers are processes in a jail; wasm runs in
//! this process, in an engine of its own.

pub mod binary;
pub mod build;
pub mod code;
pub mod command;
mod frames;
mod headers;
mod host;
pub mod invoke;
pub mod jail;
mod keep;
mod local;
mod network;
mod output;
mod pool;
mod program;
mod socket;
pub mod wasm;
mod worker;

pub use local::{LocalRuntime, Settings};
