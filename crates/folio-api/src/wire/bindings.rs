//! Bodies about jobs and webhooks.

use folio_core::binding::{JobFields, NewJob as Times};
use folio_model::{JobStatus, Misfire, Reference, Signing, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;

/// Makes a job.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewJob {
    /// What it runs, such as `hello` for whatever is newest, `hello@3` or `hello@prod`.
    pub(crate) function: Reference,
    /// What it is called.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// A cron expression, in UTC.
    #[serde(default)]
    pattern: Option<String>,
    /// The first time.
    #[serde(default)]
    first: Option<Timestamp>,
    /// How often it is run; once without a pattern, else for ever.
    #[serde(default)]
    count: Option<u64>,
    /// What the function is given.
    #[serde(default)]
    input: Option<String>,
    /// What becomes of slots that nobody was there for: `skip` runs the newest, `all` runs all of them.
    #[serde(default)]
    misfire: Option<Misfire>,
}

impl NewJob {
    /// When it is run, and with what.
    pub(crate) fn times(&self) -> Times {
        let Self { pattern, first, count, input, misfire, .. } = self;
        let misfire = misfire.unwrap_or_default();
        let (pattern, input) = (pattern.clone(), input.clone());
        Times { pattern, first: *first, count: *count, input, misfire }
    }
}

/// Changes a job; what is left out stays.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewJobFields {
    /// What it is called.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// A cron expression, in UTC.
    #[serde(default)]
    pattern: Option<String>,
    /// The next time.
    #[serde(default)]
    next: Option<Timestamp>,
    /// What the function is given.
    #[serde(default)]
    input: Option<String>,
    /// What becomes of slots that nobody was there for.
    #[serde(default)]
    misfire: Option<Misfire>,
    /// Whether it goes on.
    #[serde(default)]
    status: Option<JobStatus>,
}

impl NewJobFields {
    /// What becomes of it.
    pub(crate) fn fields(&self) -> JobFields {
        let Self { pattern, next, input, misfire, status, .. } = self;
        let (pattern, input) = (pattern.clone(), input.clone());
        JobFields { pattern, next: *next, input, misfire: *misfire, status: *status }
    }
}

/// Makes a webhook.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewWebhook {
    /// What it runs, such as `hello` for whatever is newest, `hello@3` or `hello@prod`.
    pub(crate) function: Reference,
    /// What is said about it.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// Calls in a minute at most.
    #[serde(default)]
    pub(crate) calls_per_minute_max: Option<u32>,
    /// What calls have to be signed with.
    #[serde(default)]
    pub(crate) signing: Option<Signing>,
}

/// Changes a webhook; what is left out stays.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewWebhookFields {
    /// What it runs.
    #[serde(default)]
    pub(crate) function: Option<Reference>,
    /// What is said about it.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// Calls in a minute at most.
    #[serde(default)]
    pub(crate) calls_per_minute_max: Option<u32>,
    /// What calls have to be signed with.
    #[serde(default)]
    pub(crate) signing: Option<Signing>,
}
