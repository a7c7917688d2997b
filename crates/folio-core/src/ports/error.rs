//! What can go wrong in a store, as the decisions a caller can take.

use std::error::Error;

use folio_model::Digest;

use crate::{Class, Code, Explain};

/// What to do about bytes that are damaged.
pub const HEALING: &str = "run `folio check` to see what is affected, then publish those files again with `--no-cache`, \
                           or restore from a backup";

/// A store's refusal or failure. Nothing was changed, whichever it is.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// What an edit says it replaces is no longer there.
    #[error("{what} changed while the command ran")]
    Conflict {
        /// The thing, for people.
        what: String,
    },
    /// Bytes a change or a tree names are not stored.
    #[error("blob {digest} is not in the store")]
    MissingBlob {
        /// Their digest.
        digest: Digest,
    },
    /// Bytes that were sent are not what they claim to be.
    #[error("{what}")]
    Refused {
        /// What was wrong with them.
        what: String,
    },
    /// What was read back is not what was written.
    #[error("{what} is damaged")]
    Corrupt {
        /// The thing, for people.
        what: String,
    },
    /// No room left.
    #[error("the disk with the data directory is full")]
    Full,
    /// Another process holds the data directory.
    #[error("data directory `{directory}` is in use by another folio process")]
    Locked {
        /// The directory.
        directory: String,
    },
    /// Written by a newer folio.
    #[error("the data directory has schema {found}, this folio knows schemas up to {known}")]
    Newer {
        /// What was found.
        found: u32,
        /// The newest this program knows.
        known: u32,
    },
    /// Anything else the outside did.
    #[error("the store failed: {context}")]
    Failed {
        /// What was attempted.
        context: String,
        /// What the outside said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    /// Wraps a failure of the outside with what was attempted.
    pub fn failed(
        context: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Failed { context: context.into(), source: source.into() }
    }

    /// Whether asking again gives the same answer until somebody mends what is stored.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::MissingBlob { .. } | Self::Corrupt { .. })
    }

    /// Says that something read back is not what was written.
    pub fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }
}

impl Explain for StoreError {
    fn code(&self) -> Code {
        match self {
            Self::Conflict { .. } => Code("conflict"),
            Self::MissingBlob { .. } => Code("missing_blob"),
            Self::Refused { .. } => Code("bad_blob"),
            Self::Corrupt { .. } => Code("corrupt"),
            Self::Full => Code("disk_full"),
            Self::Locked { .. } => Code("data_locked"),
            Self::Newer { .. } => Code("data_newer"),
            Self::Failed { .. } => Code("store_failed"),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Conflict { .. } | Self::Locked { .. } => Class::Conflict,
            Self::MissingBlob { .. } | Self::Refused { .. } => Class::Invalid,
            Self::Full => Class::Full,
            Self::Corrupt { .. } | Self::Newer { .. } | Self::Failed { .. } => Class::Broken,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Conflict { .. } => "look at it again, then repeat the command",
            Self::MissingBlob { .. } => {
                "upload it first, or repeat the command: it uploads what is missing"
            }
            Self::Refused { .. } => "send the bytes whose SHA-256 is the digest, in canonical form",
            Self::Corrupt { .. } => HEALING,
            Self::Full => "free some space, or run `folio gc`; nothing was changed",
            Self::Locked { .. } => {
                "stop the other process, or choose another directory with --data"
            }
            Self::Newer { .. } => {
                "run the folio that wrote it, or a newer one; nothing was touched"
            }
            Self::Failed { .. } => return None,
        };
        Some(hint.to_owned())
    }
}
