//! What the door itself refuses, before any verb is asked: requests it cannot read.

use folio_core::{Class, Code, Explain};

/// The code of a path that exists for other methods.
pub(crate) const METHOD_NOT_ALLOWED: Code = Code("method_not_allowed");

/// Why a request was not understood.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// A name, query, header or body makes no sense.
    #[error("{what}")]
    BadRequest {
        /// What is wrong with it, and where.
        what: String,
        /// What to send instead.
        hint: &'static str,
    },
    /// Nothing is served there.
    #[error("there is nothing at `{path}`")]
    NoSuchPath {
        /// The path as sent.
        path: String,
    },
    /// The path exists for other methods.
    #[error("`{path}` cannot be asked with {method}")]
    MethodNotAllowed {
        /// The path as sent.
        path: String,
        /// The method as sent.
        method: String,
    },
    /// The body is over its limit.
    #[error("the body has more than the {max} bytes allowed")]
    BodyTooLarge {
        /// The limit.
        max: u64,
    },
    /// The body did not come to its end.
    #[error("the body ended early: {why}")]
    BodyBroke {
        /// How it ended.
        why: String,
    },
    /// The nodes of an upload cannot be read.
    #[error("the upload cannot be read: {what}")]
    BadUpload {
        /// What is wrong with it.
        what: String,
    },
}

impl Refusal {
    pub(crate) fn bad(what: impl Into<String>, hint: &'static str) -> Self {
        Self::BadRequest { what: what.into(), hint }
    }
}

impl Explain for Refusal {
    fn code(&self) -> Code {
        match self {
            Self::BadRequest { .. } | Self::BodyBroke { .. } => Code("bad_request"),
            Self::NoSuchPath { .. } => Code("no_such_path"),
            Self::MethodNotAllowed { .. } => METHOD_NOT_ALLOWED,
            Self::BodyTooLarge { .. } => Code("request_too_large"),
            Self::BadUpload { .. } => Code("bad_upload"),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NoSuchPath { .. } => Class::NotFound,
            Self::BodyTooLarge { .. } => Class::TooLarge,
            Self::BadRequest { .. }
            | Self::MethodNotAllowed { .. }
            | Self::BodyBroke { .. }
            | Self::BadUpload { .. } => Class::Invalid,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::BadRequest { hint, .. } => hint,
            Self::NoSuchPath { .. } => "`GET /folio/v1/openapi.json` lists what is served",
            Self::MethodNotAllowed { .. } => "the header `Allow` lists what it can be asked with",
            Self::BodyTooLarge { .. } => "send less, or have the operator raise `requestBytesMax`",
            Self::BodyBroke { .. } => "send the request again",
            Self::BadUpload { .. } => "nothing was stored; send the whole batch again",
        };
        Some(hint.to_owned())
    }
}
