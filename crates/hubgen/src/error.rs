//! What can go wrong, told so that a stranger can act: what happened and where, and what to do.
//!
//! Start at [`Error`]. A variant names the input at fault: a schema, the configuration, a file, or
//! what a check found.

use std::path::PathBuf;

use crate::schema::documents::Place;

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A schema says something that cannot become types.
    #[error("{place}: {what}")]
    Schema {
        /// Where in which schema.
        place: Place,
        /// What is wrong there.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The configuration is not valid, or speaks of something that does not exist.
    #[error("{file}:{line}: {what}")]
    Config {
        /// The configuration file.
        file: String,
        /// The line, counted from one.
        line: usize,
        /// What is wrong there.
        what: String,
        /// What to do.
        hint: String,
    },
    /// A file could not be read or written.
    #[error("cannot {verb} {}", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// Everything could be read, and the answer is no.
    #[error("{what}")]
    Refused {
        /// What was found.
        what: String,
        /// What to do.
        hint: String,
    },
}

impl Error {
    /// What to do about it, as a sentence for a terminal.
    pub fn hint(&self) -> &str {
        match self {
            Self::Schema { hint, .. } | Self::Config { hint, .. } | Self::Refused { hint, .. } => {
                hint
            }
            Self::File { .. } => "check that the path is right and that you may use it",
        }
    }

    pub(crate) fn schema(place: &Place, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Schema { place: place.clone(), what: what.into(), hint: hint.into() }
    }

    pub(crate) fn refused(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { what: what.into(), hint: hint.into() }
    }
}
