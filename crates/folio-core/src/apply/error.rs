//! What can be wrong with what is to be applied.

use folio_kinds::spec::path_of;
use folio_model::{Kind, Name};

use crate::ports::StoreError;
use crate::{Cause, Class, Code, Explain, Referrer, delete, folio, history, publish, resolve};

/// Something wrong with what is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where the manifest is written.
    pub at: String,
    /// The field it is about; empty if it is about the whole.
    pub path: String,
    /// What is wrong.
    pub what: String,
}

impl Fault {
    /// Something wrong with a whole manifest, or with the field that the text begins with.
    pub(super) fn new(at: impl Into<String>, what: String) -> Self {
        Self { at: at.into(), path: path_of(&what).to_owned(), what }
    }

    /// A unit that is not the deployment's, said among other things that are wrong.
    pub(super) fn of_another(self) -> Self {
        let what = format!("{}; rename it, or take it over with --allowconflicts", self.what);
        Self { what, ..self }
    }
}

/// Why nothing was applied.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Documents that are named and not known here.
    #[error("{} not remembered by this server", counted(*.0, "document is", "documents are"))]
    Unknown(usize),
    /// The last apply is not known here, or was another one.
    #[error("this server does not remember what the apply builds on")]
    BaseUnknown,
    /// What is asked for makes no sense, all of it at once.
    #[error("{} wrong with what is to be applied", counted(.0.len(), "thing is", "things are"))]
    Faults(Vec<Fault>),
    /// Units that are not the deployment's.
    #[error("{} not belong to deployment `{name}`", counted(.faults.len(), "unit does", "units do"))]
    Foreign {
        /// The deployment.
        name: String,
        /// The units.
        faults: Vec<Fault>,
    },
    /// The name is in use.
    #[error("{kind} `{name}` already exists")]
    Exists {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
    },
    /// What is no longer asked for is in use.
    #[error(transparent)]
    Delete(#[from] delete::Error),
    /// What publishing refuses.
    #[error(transparent)]
    Publish(#[from] publish::Error),
    /// There is no such group.
    #[error(transparent)]
    History(#[from] history::Error),
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::Unknown(_) | Self::BaseUnknown => Code("documents_unknown"),
            Self::Faults(_) => Code("manifests_invalid"),
            Self::Foreign { .. } => Code("owned_by_another"),
            Self::Exists { .. } => Code("unit_exists"),
            Self::Delete(error) => error.code(),
            Self::Publish(error) => error.code(),
            Self::History(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Faults(_) => Class::Invalid,
            Self::Unknown(_) | Self::BaseUnknown | Self::Foreign { .. } | Self::Exists { .. } => {
                Class::Conflict
            }
            Self::Delete(error) => error.class(),
            Self::Publish(error) => error.class(),
            Self::History(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown(_) => Some("write all documents out and apply again".to_owned()),
            Self::BaseUnknown => {
                Some("name all documents without a base and apply again".to_owned())
            }
            Self::Faults(faults) => {
                let them = if faults.len() == 1 { "it" } else { "them all" };
                Some(format!("mend {them} and apply again; nothing was changed"))
            }
            Self::Foreign { .. } => {
                Some("rename them, or take them over with --allowconflicts".to_owned())
            }
            Self::Exists { kind, name } => {
                Some(format!("look at it with `folio {kind} show {name}`, and change that"))
            }
            Self::Delete(error) => error.hint(),
            Self::Publish(error) => error.hint(),
            Self::History(error) => error.hint(),
            Self::Folio(error) => error.hint(),
        }
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::Delete(error) => error.referrers(),
            Self::Publish(error) => error.referrers(),
            _ => Vec::new(),
        }
    }

    fn causes(&self) -> Vec<Cause> {
        match self {
            Self::Faults(faults) | Self::Foreign { faults, .. } => {
                let causes = faults.iter().cloned();
                causes.map(|Fault { at, path, what }| Cause { at, path, what }).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl From<resolve::Error> for Error {
    fn from(error: resolve::Error) -> Self {
        Self::Publish(error.into())
    }
}
