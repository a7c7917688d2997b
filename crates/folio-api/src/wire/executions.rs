//! Bodies about executions.

use folio_core::execution;
use folio_model::{ExecutionMode, ExecutionOrigin, Reference};
use schemars::JsonSchema;
use serde::Deserialize;

/// Runs a function and records it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewExecution {
    /// The function, such as `hello@prod`; unqualified means the draft, or else the latest.
    pub(crate) function: Reference,
    /// What it is given: a JSON object's members by name, any other text as it is.
    #[serde(default)]
    input: Option<String>,
    /// Whether to wait for the end.
    #[serde(default)]
    mode: ExecutionMode,
    /// What to say about it.
    #[serde(default)]
    description: String,
}

impl From<NewExecution> for execution::NewExecution {
    fn from(new: NewExecution) -> Self {
        let NewExecution { function, input, mode, description } = new;
        Self { function, input, mode, description, origin: ExecutionOrigin::Request }
    }
}
