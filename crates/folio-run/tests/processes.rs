//! Everything that runs as processes of its own, without pools of workers: code on disk, builds, programs,
//! servers that speak Fission's contract, and calls between functions.

mod binaries;
mod builds;
mod code;
mod commands;
mod invoke;
pub(crate) mod place;
