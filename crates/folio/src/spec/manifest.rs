//! A manifest of a spec directory: what it says, or what is remembered of it, and where its files come from.

use std::path::PathBuf;

use folio_model::Digest;
use serde_json::Value;

use super::fetch::{self, Origin};

/// One manifest of a unit.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// Where it is written: file, line and column.
    pub(crate) at: String,
    /// The file it is in.
    pub(crate) file: PathBuf,
    pub(super) said: Said,
    /// The archive that one of its parts is, where the manifest itself does not say so.
    pub(super) content: Option<(Side, String)>,
}

/// What a manifest says.
#[derive(Debug)]
pub(super) enum Said {
    /// It was read now; this is it in the form of its version.
    Now(Value),
    /// It was sent before and did not change since.
    Before(Before),
}

/// What is remembered of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Before {
    /// What it is named by.
    pub(super) digest: Digest,
    /// The archives that its parts are made of.
    pub(super) archives: [Option<String>; 2],
}

/// The parts of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    Source,
    Deployment,
}

impl Side {
    pub(super) const ALL: [Self; 2] = [Self::Source, Self::Deployment];

    /// The field of a manifest.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Deployment => "deployment",
        }
    }
}

impl Manifest {
    /// What it says, if it was read now.
    pub(crate) fn value(&self) -> &Value {
        match &self.said {
            Said::Now(value) => value,
            Said::Before(_) => &Value::Null,
        }
    }

    /// As [`Self::value`], to be changed.
    pub(crate) fn value_mut(&mut self) -> Option<&mut Value> {
        match &mut self.said {
            Said::Now(value) => Some(value),
            Said::Before(_) => None,
        }
    }

    /// What a part of a package says about its files.
    pub(super) fn part(&self, side: Side) -> &Value {
        &self.value()["spec"][side.word()]
    }

    /// Where the files of a part come from.
    pub(super) fn origin(&self, side: Side) -> Result<Origin, String> {
        if let Some((own, archive)) = &self.content {
            let archive = (*own == side).then(|| archive.clone());
            return Ok(archive.map_or(Origin::Nothing, Origin::Archive));
        }
        match &self.said {
            Said::Now(value) if value["kind"] != "Package" => Ok(Origin::Nothing),
            Said::Now(_) => fetch::origin(self.part(side)),
            Said::Before(Before { archives: [source, deployment], .. }) => {
                let archive = if side == Side::Source { source } else { deployment };
                Ok(archive.clone().map_or(Origin::Nothing, Origin::Archive))
            }
        }
    }
}
