//! Why a guest gave no answer: the engine's errors, sorted into what the caller is told and what the log is.

use std::fmt;

use folio_core::ports::runtime::CallError;
use wasmtime::{PoolConcurrencyLimitError, Trap};
use wasmtime_wasi::I32Exit;

/// A guest that did not end well.
#[derive(Debug)]
pub(super) struct Failure {
    /// What the caller is told.
    pub(super) error: CallError,
    /// What the function's log gets.
    pub(super) text: String,
}

impl Failure {
    /// Sorts an error of the engine.
    pub(super) fn of(error: &wasmtime::Error, out_of_memory: bool) -> Self {
        let text = format!("{error:?}");
        let said = if error.is::<PoolConcurrencyLimitError>() {
            CallError::Busy
        } else if error.is::<Starting>() && !error.is::<Trap>() {
            CallError::Load(format!("it could not be started: {}", error.root_cause()))
        } else if out_of_memory {
            CallError::Crashed("out of memory".to_owned())
        } else if matches!(error.downcast_ref(), Some(I32Exit(0))) {
            CallError::Garbled("it ended before it answered".to_owned())
        } else {
            CallError::Failed
        };
        Self { error: said, text }
    }
}

/// Marks errors that came up before the guest saw its request.
#[derive(Debug)]
struct Starting;

impl fmt::Display for Starting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the instance could not be made")
    }
}

impl std::error::Error for Starting {}

/// Says that an error came up before the guest saw its request.
pub(super) fn while_starting(error: wasmtime::Error) -> wasmtime::Error {
    error.context(Starting)
}
