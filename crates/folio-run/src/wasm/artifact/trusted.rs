//! The one place that hands machine code to the engine without compiling it.
#![expect(unsafe_code, reason = "wasmtime cannot check machine code, so loading it is unsafe")]

use wasmtime::component::Component;
use wasmtime::{Engine, Module};

use super::Sealed;

/// Loads a component this server compiled itself.
pub(super) fn component(engine: &Engine, artifact: &Sealed) -> wasmtime::Result<Component> {
    // SAFETY: a `Sealed` is what this process just compiled, or bytes whose keyed digest was checked against the
    // key only this server has; both came out of `precompile_component`. The engine checks version and flags.
    unsafe { Component::deserialize(engine, artifact.bytes()) }
}

/// Loads a module this server compiled itself.
pub(super) fn module(engine: &Engine, artifact: &Sealed) -> wasmtime::Result<Module> {
    // SAFETY: as above, out of `precompile_module`.
    unsafe { Module::deserialize(engine, artifact.bytes()) }
}
