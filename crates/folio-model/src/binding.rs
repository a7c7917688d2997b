//! Bindings: what stands for a function and is no unit. A job runs it at set times, a webhook whenever somebody calls
//! a URL, and a name for the newest version is an alias that never needs to be moved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::secret::SecretKeyError;
use crate::{
    Misfire, Name, NameError, Number, SecretKey, Timestamp, UnitUid, VersionId, VersionKey,
};

/// Something that stands for a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    /// What it leads to.
    pub to: BoundTo,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What was said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it is.
    pub terms: BindingTerms,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

/// What a binding leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BoundTo {
    /// A function: one version, or whatever is newest.
    Function {
        /// The function.
        unit: UnitUid,
        /// The version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<Number>,
    },
    /// Whatever an alias of that name leads to by then, of whichever function of the app.
    Alias(VersionId),
    /// Whatever an alias of one function leads to by then.
    FunctionAlias {
        /// The function.
        unit: UnitUid,
        /// The alias.
        alias: VersionId,
    },
}

impl BoundTo {
    /// The function, unless only a name is known.
    pub fn unit(&self) -> Option<UnitUid> {
        match self {
            Self::Function { unit, .. } | Self::FunctionAlias { unit, .. } => Some(*unit),
            Self::Alias(_) => None,
        }
    }
}

/// What a binding is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BindingTerms {
    /// A name for a function's newest version.
    Newest,
    /// A URL that runs it.
    Webhook(Webhook),
    /// Set times at which it is run.
    Job(Job),
}

/// A URL that runs a function.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Calls in a minute at most; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_minute_max: Option<u32>,
    /// What calls have to be signed with; anybody may call if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<Signing>,
    /// Whether it was made without a word about the version, so that Qinling's API shows none; the newest is meant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub version_unsaid: bool,
}

/// The value of a secret that calls are signed with, as it is when they come. Written `secret/key`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Signing {
    /// The secret.
    pub secret: Name,
    /// Which of its values.
    pub key: SecretKey,
}

impl std::fmt::Display for Signing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.secret, self.key)
    }
}

/// Why a text does not say what calls are signed with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    /// It has no two parts.
    #[error("`{0}` is not written `secret/key`")]
    Parts(String),
    /// The first is no name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The second is no key.
    #[error(transparent)]
    Key(#[from] SecretKeyError),
}

impl std::str::FromStr for Signing {
    type Err = SigningError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/').ok_or_else(|| SigningError::Parts(text.to_owned()))?;
        Ok(Self { secret: parts.0.parse()?, key: parts.1.parse()? })
    }
}

/// Set times at which a function is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// A cron expression, in UTC; without it, it is run once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The first time.
    pub first: Timestamp,
    /// The next time, as it was when somebody last changed it.
    pub next: Timestamp,
    /// How often it is run from then on; for ever if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// What the function is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// What becomes of slots that nobody was there for.
    #[serde(default, skip_serializing_if = "Misfire::is_default")]
    pub misfire: Misfire,
    /// Whether it goes on.
    pub status: JobStatus,
}

/// Whether a job goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobStatus {
    /// It does.
    Running,
    /// Not until somebody says so.
    Paused,
    /// Never again: somebody said so.
    Cancelled,
    /// Never again: it was run as often as it was to be.
    Done,
}

impl JobStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
            Self::Done => "done",
        }
    }

    /// Whether it will never run again.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Cancelled | Self::Done)
    }
}

impl Binding {
    /// The word for what it is.
    pub fn noun(&self) -> &'static str {
        match self.terms {
            BindingTerms::Newest => "alias",
            BindingTerms::Webhook(_) => "webhook",
            BindingTerms::Job(_) => "job",
        }
    }

    /// The alias that it is, if it is a name for what is newest.
    pub fn alias(&self) -> Option<VersionId> {
        let name = self.name.as_deref().filter(|_| self.terms == BindingTerms::Newest)?;
        name.parse().ok()
    }

    /// Whether it stands in the way of removing what it leads to.
    pub fn holds(&self) -> bool {
        !matches!(&self.terms, BindingTerms::Job(job) if job.status.is_over())
    }

    /// The version it keeps from being deleted.
    pub fn version(&self) -> Option<VersionKey> {
        match self.to {
            BoundTo::Function { unit, number: Some(number) } if self.holds() => {
                Some(VersionKey { unit, number })
            }
            _ => None,
        }
    }
}
