//! Kinds of folio's own group.

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Named;

/// A function in folio's words.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(group = "folio.dev", version = "v1", kind = "Function", namespaced, schema = "disabled")]
pub struct FunctionSpec {
    /// What runs it.
    pub environment: String,
    /// What it is made of.
    pub package: Named,
    /// How it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// Everything else that it says.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// How a function runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Milliseconds that a call may take.
    #[serde(rename = "timeoutMs", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// Everything else that it says.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Set times at which a function is run.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "folio.dev",
    version = "v1",
    kind = "Job",
    namespaced,
    schema = "disabled",
    status = "JobStatus"
)]
pub struct JobSpec {
    /// What is run.
    pub function: String,
    /// When, as a cron expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Whether it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Everything else that it says.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// How far a job is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// How it stands.
    pub state: String,
    /// Everything else that is said of it.
    #[serde(flatten)]
    pub said: Map<String, Value>,
}
