//! Why an execution was not started, found or ended.

use folio_model::ExecutionId;

use crate::ports::StoreError;
use crate::{Class, Code, Explain, folio, invoke, resolve};

/// Why an execution was not started, found or ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing records executions here.
    #[error("this server runs no functions")]
    Unavailable,
    /// There is none of that name.
    #[error("there is no execution {0}")]
    NotFound(ExecutionId),
    /// It had ended.
    #[error("execution {0} has already ended")]
    Ended(ExecutionId),
    /// The input is over its limit.
    #[error("the input has {bytes} bytes, more than the {max} allowed")]
    InputTooLarge {
        /// Its length.
        bytes: usize,
        /// The limit.
        max: u64,
    },
    /// The reference leads to nothing that can be run.
    #[error(transparent)]
    Invoke(#[from] invoke::Error),
    /// The function of a list leads nowhere.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::Unavailable => Code("executions_unavailable"),
            Self::NotFound(_) => Code("execution_not_found"),
            Self::Ended(_) => Code("execution_ended"),
            Self::InputTooLarge { .. } => Code("execution_input_too_large"),
            Self::Invoke(error) => error.code(),
            Self::Resolve(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Unavailable => Class::Unavailable,
            Self::NotFound(_) => Class::NotFound,
            Self::Ended(_) => Class::Conflict,
            Self::InputTooLarge { .. } => Class::TooLarge,
            Self::Invoke(error) => error.class(),
            Self::Resolve(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unavailable => Some("ask a server that runs functions".to_owned()),
            Self::NotFound(_) => Some("`folio execution list` shows what is kept".to_owned()),
            Self::Ended(id) => Some(format!("see `folio execution show {id}`")),
            Self::InputTooLarge { .. } => {
                Some("send less, or raise `executionInputBytesMax`".to_owned())
            }
            Self::Invoke(error) => error.hint(),
            Self::Resolve(error) => error.hint(),
            Self::Folio(error) => error.hint(),
        }
    }
}
