//! Why a trigger was not found or changed.

use folio_model::{FULL_WEIGHT, Name, SnapshotError, VersionId};

use crate::ports::StoreError;
use crate::timer::ScheduleError;
use crate::{Class, Code, Explain, Referrer, delete, folio, publish, resolve};

/// Why a trigger was not found or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It exists already.
    #[error("{is} `{name}` already exists")]
    Exists {
        /// The name.
        name: Name,
        /// What has it.
        is: &'static str,
    },
    /// The name is that of another kind of trigger.
    #[error("`{name}` is a {is}")]
    Other {
        /// The name.
        name: Name,
        /// What has it.
        is: &'static str,
    },
    /// It is not as the caller saw it.
    #[error("{noun} `{name}` is at revision {found}, not {expected}")]
    Stale {
        /// The name.
        name: Name,
        /// What it is.
        noun: &'static str,
        /// What the caller saw.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// A part without which it is nothing.
    #[error("a {noun} needs {what}")]
    Incomplete {
        /// What it is.
        noun: &'static str,
        /// What is missing.
        what: &'static str,
    },
    /// Nothing says what is called.
    #[error("a {0} needs a function")]
    NoTarget(&'static str),
    /// A tag that is not there.
    #[error("there is no tag `{0}` to run")]
    NoTag(VersionId),
    /// A moment that cannot be read.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A moment that never comes.
    #[error("`{0}` never comes")]
    Never(String),
    /// Nothing reads messages here.
    #[error("this server is connected to no message queue")]
    NoQueue,
    /// Too many targets.
    #[error("{found} targets are more than the {max} a trigger may have")]
    TooManyTargets {
        /// How many were given.
        found: usize,
        /// The limit.
        max: u64,
    },
    /// The fields contradict themselves.
    #[error(transparent)]
    Spec(#[from] SnapshotError),
    /// A name leads nowhere.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// What publishing refuses.
    #[error(transparent)]
    Publish(#[from] publish::Error),
    /// What deleting refuses.
    #[error(transparent)]
    Delete(delete::Error),
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
            Self::Exists { .. } => Code("unit_exists"),
            Self::Other { .. } => Code("other_trigger"),
            Self::Stale { .. } => Code("stale"),
            Self::Incomplete { .. } | Self::NoTarget(_) => Code("trigger_incomplete"),
            Self::NoTag(_) => Code("tag_not_found"),
            Self::Schedule(_) | Self::Never(_) => Code("bad_schedule"),
            Self::NoQueue => Code("no_message_queue"),
            Self::Spec(_) => Code("bad_spec"),
            Self::TooManyTargets { .. } => Code("too_many_targets"),
            Self::Resolve(error) => error.code(),
            Self::Publish(error) => error.code(),
            Self::Delete(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Exists { .. } | Self::Other { .. } | Self::Stale { .. } => Class::Conflict,
            Self::Incomplete { .. } | Self::NoTarget(_) | Self::Spec(_) => Class::Invalid,
            Self::Schedule(_) | Self::Never(_) => Class::Invalid,
            Self::NoTag(_) => Class::NotFound,
            Self::NoQueue => Class::Unavailable,
            Self::TooManyTargets { .. } => Class::TooLarge,
            Self::Resolve(error) => error.class(),
            Self::Publish(error) => error.class(),
            Self::Delete(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Exists { name, is } => format!("change it with `folio {is} update {name}`"),
            Self::Other { name, is } => {
                format!("use `folio {is} ... {name}`, or choose another name")
            }
            Self::Stale { noun, .. } => {
                format!("look at it with `folio {noun} list`, then repeat with its revision")
            }
            Self::Incomplete { what: "a cron expression", .. } => {
                "give --cron '30 6 * * *' or --cron '@every 5m'".to_owned()
            }
            Self::Incomplete { what: "a topic", .. } => "give --topic TOPIC".to_owned(),
            Self::Incomplete { .. } => "give --type function".to_owned(),
            Self::NoTarget("timer") => "give --function NAME or --tag TAG".to_owned(),
            Self::NoTarget(_) => "give --function NAME".to_owned(),
            Self::NoTag(_) => "`folio fn tag list` shows what exists".to_owned(),
            Self::Schedule(error) => error.hint().to_owned(),
            Self::Never(_) => "see `folio timer showschedule --cron ...`".to_owned(),
            Self::NoQueue => {
                "start the server with `folio serve --nats nats://127.0.0.1:4222`".to_owned()
            }
            Self::TooManyTargets { .. } => "use fewer, or raise `aliasTargetsMax`".to_owned(),
            Self::Spec(SnapshotError::Weights(_)) => {
                format!("weights are shares of {FULL_WEIGHT}")
            }
            Self::Spec(SnapshotError::Queue(_)) => "give --mqtype nats-jetstream".to_owned(),
            Self::Spec(SnapshotError::NoCluster(_) | SnapshotError::Watched(_)) => {
                "watch folio's own objects, such as --type function".to_owned()
            }
            Self::Spec(_) => return None,
            Self::Resolve(error) => return error.hint(),
            Self::Publish(error) => return error.hint(),
            Self::Delete(error) => return error.hint(),
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::Delete(error) => error.referrers(),
            _ => Vec::new(),
        }
    }
}
