//! Environments: what runs and builds code. A function's version freezes the environment it was published in.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Access;
use crate::snapshot::{Bag, SnapshotError, check_text};

/// What decides how an environment runs and builds code.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentSpec {
    /// What starts the code.
    pub runtime: RuntimeKind,
    /// The image a manifest names; kept, and where no command is given it says which runtime is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The server a `command` environment starts: a program and its arguments, split at spaces, no shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program that builds packages which name none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builder: Option<String>,
    /// How many generic workers wait for a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poolsize: Option<u32>,
    /// What its functions can reach.
    #[serde(default)]
    pub network: Network,
    /// What a manifest says beyond this; folio keeps it and never reads it.
    #[serde(rename = "$bag", default, skip_serializing_if = "Bag::is_empty")]
    pub bag: Bag,
}

/// What starts code.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RuntimeKind {
    /// A WebAssembly component or module, inside the server's own engine.
    Wasm,
    /// Node.js.
    Nodejs,
    /// Python 3.
    Python,
    /// An executable of the package itself.
    Binary,
    /// A server that speaks Fission's environment contract.
    Command,
}

/// What code can reach over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Nothing but the functions it calls through folio.
    #[default]
    None,
    /// Whatever the host reaches, outgoing only.
    Egress,
}

impl EnvironmentSpec {
    /// The environments that exist without being made: one for each runtime, under its name.
    pub fn built_in(name: &str) -> Option<Self> {
        let runtime = match name {
            "wasm" => RuntimeKind::Wasm,
            "nodejs" => RuntimeKind::Nodejs,
            "python" => RuntimeKind::Python,
            "binary" => RuntimeKind::Binary,
            _ => return None,
        };
        Some(Self::of(runtime))
    }

    /// The names of the environments that exist without being made.
    pub const BUILT_IN: [&'static str; 4] = ["binary", "nodejs", "python", "wasm"];

    /// A runtime with everything else left to its default.
    pub fn of(runtime: RuntimeKind) -> Self {
        Self {
            runtime,
            image: None,
            command: None,
            builder: None,
            poolsize: None,
            network: Network::None,
            bag: Bag::new(),
        }
    }

    pub(crate) fn validate(&self) -> Result<(), SnapshotError> {
        check_text("the image", self.image.as_deref())?;
        check_text("the command", self.command.as_deref())?;
        check_text("the builder", self.builder.as_deref())?;
        match (self.runtime, &self.command) {
            (RuntimeKind::Command, None) => Err(SnapshotError::NoCommand),
            (RuntimeKind::Command, Some(_)) | (_, None) => Ok(()),
            (_, Some(_)) => Err(SnapshotError::StrayCommand),
        }
    }
}

/// Requests that one worker may have in hand at most, whatever a function asks for.
pub const CONCURRENCY_MAX: u32 = 10_000;

/// How a function is run. What is absent is left to the server's defaults, which are not part of the version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RunSettings {
    /// Environment variables of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// How long one request may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Memory of one worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processor time of one worker, in thousandths of a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u32>,
    /// Requests one worker has in hand at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// How long a worker without requests is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// Workers that are kept however idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_min: Option<u32>,
    /// Workers at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_max: Option<u32>,
    /// Requests a worker or an instance serves before it is replaced; 1 gives each request a fresh one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_worker: Option<u32>,
    /// Who may call it through the gateway; everybody if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
}

impl RunSettings {
    /// Whether everything is left to the defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn validate(&self) -> Result<(), SnapshotError> {
        for (name, value) in &self.variables {
            let odd = name.is_empty() || name.len() > 256 || name.contains(['=', '\0']);
            if odd || value.len() > 32 * 1024 || value.contains('\0') {
                return Err(SnapshotError::Variable(name.clone()));
            }
            if name.starts_with("FOLIO_") {
                return Err(SnapshotError::ReservedVariable(name.clone()));
            }
        }
        let zeros = [
            ("timeout", self.timeout_ms == Some(0)),
            ("memory", self.memory_bytes == Some(0)),
            ("cpu", self.cpu_millis == Some(0)),
            ("concurrency", self.concurrency == Some(0)),
            ("largest scale", self.scale_max == Some(0)),
            ("number of requests per worker", self.requests_per_worker == Some(0)),
        ];
        if let Some((what, _)) = zeros.into_iter().find(|(_, zero)| *zero) {
            return Err(SnapshotError::Zero(what));
        }
        if self.concurrency.is_some_and(|count| count > CONCURRENCY_MAX) {
            return Err(SnapshotError::Concurrency);
        }
        match (self.scale_min, self.scale_max) {
            (Some(min), Some(max)) if min > max => Err(SnapshotError::Scale { min, max }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_given_no_more_than_it_has_places_for() {
        let check = |concurrency, expected: Result<(), &str>| {
            let run = RunSettings { concurrency: Some(concurrency), ..RunSettings::default() };
            let told = run.validate().map_err(|error| error.to_string());
            assert_eq!(told, expected.map_err(str::to_owned), "{concurrency}");
        };
        check(0, Err("the concurrency must not be zero"));
        check(1, Ok(()));
        check(CONCURRENCY_MAX, Ok(()));
        check(CONCURRENCY_MAX + 1, Err("the concurrency must not be above 10000"));
    }
}
