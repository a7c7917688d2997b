//! Why an archive is refused.

use std::io;

use folio_model::EntryNameError;

use crate::ports::StoreError;
use crate::{Class, Code, Explain};

/// Why an archive cannot be used. Nothing of it is kept.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// None of the formats.
    #[error("the file is not an archive: it is neither zip nor tar nor tar.gz")]
    Unknown,
    /// No file in it.
    #[error("the archive has no files")]
    Empty,
    /// A path that could lead outside, or is not text.
    #[error("the archive has the path {path:?}: {reason}")]
    Path {
        /// The path as the archive has it.
        path: String,
        /// What is wrong with it.
        reason: EntryNameError,
    },
    /// A symbolic or hard link.
    #[error("`{path}` in the archive is a link")]
    Link {
        /// Where.
        path: String,
    },
    /// A device, a pipe, a socket.
    #[error("`{path}` in the archive is neither a file nor a directory")]
    Special {
        /// Where.
        path: String,
    },
    /// Two entries for one place.
    #[error("the archive has `{path}` twice, or as a file and as a directory")]
    Twice {
        /// Where.
        path: String,
    },
    /// A password is needed.
    #[error("`{path}` in the archive is encrypted")]
    Encrypted {
        /// Where.
        path: String,
    },
    /// A form of the format that not every reader understands alike.
    #[error("the archive uses {what}, which is not supported")]
    Unsupported {
        /// What.
        what: String,
    },
    /// It contradicts itself, so two readers could see different files.
    #[error("the archive contradicts itself: {what}")]
    Inconsistent {
        /// How.
        what: String,
    },
    /// Cut short or altered.
    #[error("the archive is damaged: {what}")]
    Damaged {
        /// How.
        what: String,
    },
    /// More entries than allowed.
    #[error("the archive has more than {max} files")]
    TooManyFiles {
        /// How many may be.
        max: u64,
    },
    /// More bytes than allowed, unpacked.
    #[error("the files of the archive have more than {max} bytes together")]
    ContentTooLarge {
        /// How many may be.
        max: u64,
    },
    /// More bytes than allowed, as it is.
    #[error("the archive has more than {max} bytes")]
    ArchiveTooLarge {
        /// How many may be.
        max: u64,
    },
    /// It swells more than honest archives do.
    #[error("the files of the archive are more than {max} times larger than the archive")]
    Swells {
        /// How much is allowed.
        max: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::Unknown => Code("archive_unknown"),
            Self::Empty => Code("archive_empty"),
            Self::Path { .. } => Code("archive_path"),
            Self::Link { .. } => Code("archive_link"),
            Self::Special { .. } => Code("archive_special"),
            Self::Twice { .. } => Code("archive_duplicate"),
            Self::Encrypted { .. } => Code("archive_encrypted"),
            Self::Unsupported { .. } => Code("archive_unsupported"),
            Self::Inconsistent { .. } => Code("archive_inconsistent"),
            Self::Damaged { .. } => Code("archive_damaged"),
            Self::TooManyFiles { .. } => Code("archive_too_many_files"),
            Self::ContentTooLarge { .. } | Self::ArchiveTooLarge { .. } => {
                Code("archive_too_large")
            }
            Self::Swells { .. } => Code("archive_swells"),
            Self::Store(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Unknown
            | Self::Empty
            | Self::Path { .. }
            | Self::Link { .. }
            | Self::Special { .. }
            | Self::Twice { .. }
            | Self::Encrypted { .. }
            | Self::Unsupported { .. }
            | Self::Inconsistent { .. }
            | Self::Damaged { .. } => Class::Invalid,
            Self::TooManyFiles { .. }
            | Self::ContentTooLarge { .. }
            | Self::ArchiveTooLarge { .. }
            | Self::Swells { .. } => Class::TooLarge,
            Self::Store(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unknown => "send a zip, tar or tar.gz, or publish the directory itself",
            Self::Empty => "check what was packed: an archive needs at least one file",
            Self::Path { .. } => "pack with paths relative to the project's directory",
            Self::Link { .. } => "pack the files that links lead to: `zip -r`, `tar --dereference`",
            Self::Special { .. } => "pack regular files and directories only",
            Self::Twice { .. } => "pack again, each file once",
            Self::Encrypted { .. } => "pack again without a password",
            Self::Unsupported { .. } => "pack again with plain `zip -r` or `tar -czf`",
            Self::Inconsistent { .. } => "pack again; no common tool writes such archives",
            Self::Damaged { .. } => "pack and upload it again",
            Self::TooManyFiles { .. } | Self::ContentTooLarge { .. } => {
                "leave out what the code does not need, or raise the limit in the configuration"
            }
            Self::ArchiveTooLarge { .. } => {
                "publish the directory itself, which uploads only what is new, or raise the limit"
            }
            Self::Swells { .. } => {
                "publish the directory itself, or raise the limit in the configuration"
            }
            Self::Store(error) => return error.hint(),
        };
        Some(hint.to_owned())
    }
}

/// A reader can only fail with an io error; what it carries is what happened.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(error) => return error,
            Err(error) => error,
        };
        match error.downcast::<StoreError>() {
            Ok(error) => Self::Store(error),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Self::Damaged { what: "it ends too early".to_owned() }
            }
            Err(error) => Self::Damaged { what: error.to_string() },
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::other(error)
    }
}
