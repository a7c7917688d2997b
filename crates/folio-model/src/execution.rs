//! Executions: runs of a function that are recorded, with what went in and what came out.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::{Actor, AppName, Name, Number, ReleaseId, Timestamp, UnitUid, VersionId};

/// Names one execution.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct ExecutionId(pub Uuid);

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ExecutionId {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(Self)
    }
}

/// One run of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// Its name.
    pub id: ExecutionId,
    /// Its place among all: larger is newer. Given by the store.
    pub seq: u64,
    /// The app.
    pub app: AppName,
    /// The function's identity.
    pub unit: UnitUid,
    /// The number of the version that runs; absent for a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<Number>,
    /// What was asked for.
    #[serde(flatten)]
    pub asked: ExecutionAsked,
    /// What the function is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// How far it is.
    pub status: ExecutionStatus,
    /// What the function returned, or why it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How long the function took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// What decides a run, besides its input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionAsked {
    /// The function.
    pub function: Name,
    /// The id of the version that runs; absent for a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionId>,
    /// Whether one version was asked for, by number, id or alias, and not whatever is newest.
    #[serde(default)]
    pub pinned: bool,
    /// The alias that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<VersionId>,
    /// The release that was live when it was accepted: what the function calls is looked up in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseId>,
    /// Whether whoever asked waits for the end.
    pub mode: ExecutionMode,
    /// What started it.
    pub origin: ExecutionOrigin,
    /// The slot of the job that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Timestamp>,
    /// Who asked.
    pub by: Actor,
    /// What was said about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// Whether whoever asks waits for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    /// The answer is the end.
    #[default]
    Sync,
    /// The answer is that it will be run, whatever happens to the server.
    Async,
}

/// What starts executions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionOrigin {
    /// A request.
    #[default]
    Request,
    /// A slot of a job.
    Job(Uuid),
    /// A call of a webhook.
    Webhook(Uuid),
}

/// How far an execution is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionStatus {
    /// It waits, or runs.
    Running,
    /// The function returned.
    Success,
    /// The function raised an error, took too long, or was ended.
    Failed,
    /// The platform could not run it.
    Error,
    /// Somebody ended it.
    Cancelled,
}

impl ExecutionStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for ExecutionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a text is not a status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not running, success, failed, error or cancelled")]
pub struct ExecutionStatusError(String);

impl FromStr for ExecutionStatus {
    type Err = ExecutionStatusError;
    fn from_str(text: &str) -> Result<Self, ExecutionStatusError> {
        let all = [Self::Running, Self::Success, Self::Failed, Self::Error, Self::Cancelled];
        let found = all.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| ExecutionStatusError(text.to_owned()))
    }
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionEnd {
    /// In which way; never running.
    pub status: ExecutionStatus,
    /// What the function returned, or why it did not.
    pub output: Option<Value>,
    /// What it printed.
    pub log: String,
    /// When.
    pub at: Timestamp,
    /// How long the function took.
    pub duration_ms: Option<u64>,
}
