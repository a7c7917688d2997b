//! Why a job or webhook was not made, found or called.

use folio_model::{Signing, Timestamp, VersionId};
use uuid::Uuid;

use crate::ports::{StoreError, VaultError};
use crate::timer::ScheduleError;
use crate::{Class, Code, Explain, Referrer, alias, execution, folio, resolve};

/// Why a job or webhook was not made, found or called.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none of that identity.
    #[error("there is no {noun} {id}")]
    NotFound {
        /// What was looked for.
        noun: &'static str,
        /// Its identity.
        id: Uuid,
    },
    /// Nothing of the app is called that.
    #[error("no function has an alias `{0}`")]
    NoAlias(VersionId),
    /// What it leads to is gone.
    #[error("its function was deleted")]
    FunctionGone,
    /// The name is taken.
    #[error("the name `{0}` is taken")]
    Taken(String),
    /// Nothing says when it runs.
    #[error("a job needs a pattern or a first time")]
    NoTime,
    /// It is never to run.
    #[error("a job runs at least once")]
    NoRun,
    /// It was to run before it was made.
    #[error("the first time of a job cannot be in the past: {0}")]
    Past(Timestamp),
    /// It cannot be run more than once.
    #[error("a job that runs more than once needs a pattern")]
    NoPattern,
    /// It runs once and is to run more often, or the other way round.
    #[error("a job that runs once cannot become one that runs again, nor the other way round")]
    OtherKind,
    /// It never runs again.
    #[error("the job is over")]
    Over,
    /// A pattern that cannot be read.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A pattern that never comes.
    #[error("`{0}` never comes")]
    Never(String),
    /// It was called too often.
    #[error("webhook {0} was called more often than its limit allows")]
    TooOften(Uuid),
    /// Whoever called does not know the secret.
    #[error("the call of webhook {0} is not signed with its secret")]
    Unsigned(Uuid),
    /// What it brings cannot be the input of a function.
    #[error("the body of the call says that it is JSON, and is no object: {0}")]
    NotObject(String),
    /// Nobody could sign a call.
    #[error("there is no secret `{}` with a key `{}` to sign calls with", .0.secret, .0.key)]
    NoSecret(Signing),
    /// The secret that signs calls cannot be opened.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// A name leads nowhere.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// A name cannot lead there, or is in use.
    #[error(transparent)]
    Alias(#[from] alias::Error),
    /// It could not be run.
    #[error(transparent)]
    Execution(#[from] execution::Error),
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
            Self::NotFound { .. } => Code("binding_not_found"),
            Self::NoAlias(_) => Code("alias_not_found"),
            Self::FunctionGone => Code("unit_not_found"),
            Self::Taken(_) => Code("binding_exists"),
            Self::NoTime | Self::NoRun | Self::Past(_) | Self::NoPattern | Self::OtherKind => {
                Code("job_incomplete")
            }
            Self::Over => Code("job_over"),
            Self::Schedule(_) | Self::Never(_) => Code("bad_schedule"),
            Self::TooOften(_) => Code("webhook_too_often"),
            Self::Unsigned(_) => Code("webhook_not_signed"),
            Self::NotObject(_) => Code("webhook_not_object"),
            Self::NoSecret(_) => Code("webhook_secret_missing"),
            Self::Vault(error) => error.code(),
            Self::Resolve(error) => error.code(),
            Self::Alias(error) => error.code(),
            Self::Execution(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NotFound { .. } | Self::NoAlias(_) | Self::FunctionGone => Class::NotFound,
            Self::Taken(_) | Self::Over => Class::Conflict,
            Self::NoTime | Self::NoRun | Self::Past(_) => Class::Invalid,
            Self::NoPattern | Self::OtherKind => Class::Invalid,
            Self::Schedule(_) | Self::Never(_) => Class::Invalid,
            Self::TooOften(_) => Class::Unavailable,
            Self::Unsigned(_) => Class::Unauthenticated,
            Self::NoSecret(_) | Self::NotObject(_) => Class::Invalid,
            Self::Vault(error) => error.class(),
            Self::Resolve(error) => error.class(),
            Self::Alias(error) => error.class(),
            Self::Execution(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { noun, .. } => format!("`folio {noun} list` shows what exists"),
            Self::NoAlias(_) => "`folio fn alias list NAME` shows a function's aliases".to_owned(),
            Self::FunctionGone => "point it elsewhere, or delete it".to_owned(),
            Self::Taken(_) => "choose another name".to_owned(),
            Self::NoTime => "give --pattern '0 6 * * *' or --first TIME".to_owned(),
            Self::NoRun => "leave --count out to run it for ever".to_owned(),
            Self::Past(_) => "give a later time".to_owned(),
            Self::NoPattern => "give --pattern '0 6 * * *'".to_owned(),
            Self::OtherKind | Self::Over => "make another job".to_owned(),
            Self::Schedule(error) => error.hint().to_owned(),
            Self::Never(_) => "see `folio timer showschedule --cron ...`".to_owned(),
            Self::TooOften(_) => "try again in a minute".to_owned(),
            Self::Unsigned(_) => "send `Folio-Signature: sha256=` and the HMAC of the body in \
                                  hexadecimal digits"
                .to_owned(),
            Self::NotObject(_) => {
                "send an object such as `{\"name\": \"ada\"}`, a form, or another content type"
                    .to_owned()
            }
            Self::NoSecret(signing) => {
                format!(
                    "make it with `folio secret create {} --value {}=...`",
                    signing.secret, signing.key
                )
            }
            Self::Vault(error) => return error.hint(),
            Self::Resolve(error) => return error.hint(),
            Self::Alias(error) => return error.hint(),
            Self::Execution(error) => return error.hint(),
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::Alias(error) => error.referrers(),
            _ => Vec::new(),
        }
    }
}
