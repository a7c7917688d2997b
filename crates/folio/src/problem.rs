//! Failures a user reads: what happened, what to do about it, and who stands in the way. Put one at the top of
//! an error, or anywhere in its chain; [`crate::output`] finds and prints it.

use folio_core::Explain;
use serde::Deserialize;

/// A failure with its way out.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Problem {
    message: String,
    /// The code under which a server refused.
    pub(crate) code: Option<String>,
    /// What to do next.
    pub(crate) hint: Option<String>,
    /// Everything that stands in the way.
    pub(crate) referrers: Vec<Referrer>,
    /// Everything that is wrong, where that is more than one thing.
    pub(crate) causes: Vec<Cause>,
    /// The exit code of the command.
    pub(crate) exit: u8,
}

/// One of several things that are wrong.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Cause {
    /// Where it is written.
    pub(crate) at: String,
    /// The field of the manifest there that it is about; empty if that is said already.
    #[serde(default)]
    pub(crate) path: String,
    /// What is wrong.
    pub(crate) what: String,
}

impl Cause {
    /// Something wrong at a place.
    pub(crate) fn new(at: impl Into<String>, what: String) -> Self {
        Self { at: at.into(), path: String::new(), what }
    }

    /// Where it is, in the order of files, lines and columns.
    pub(crate) fn place(&self) -> (String, Vec<u64>) {
        let (mut file, mut numbers) = (self.at.as_str(), Vec::new());
        while let Some((rest, number)) = file.rsplit_once(':')
            && let Ok(number) = number.parse()
        {
            numbers.insert(0, number);
            file = rest;
        }
        (file.to_owned(), numbers)
    }
}

/// Something that stands in the way.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Referrer {
    /// What it is.
    pub(crate) kind: String,
    /// Its name.
    pub(crate) name: String,
}

impl Problem {
    /// A failure without a hint yet.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        let (message, referrers) = (message.into(), Vec::new());
        Self { message, code: None, hint: None, referrers, causes: Vec::new(), exit: 1 }
    }

    /// A command line that makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: 2, ..Self::new(message) }
    }

    /// Says what to do.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Lists everything that is wrong.
    pub(crate) fn causes(self, causes: Vec<Cause>) -> Self {
        Self { causes, ..self }
    }

    /// Names what stands in the way.
    pub(crate) fn referrers(self, referrers: Vec<Referrer>) -> Self {
        Self { referrers, ..self }
    }
}

/// A refusal of the core, for a command that works on the data directory itself.
pub(crate) fn explained<E: Explain + Send + Sync + 'static>(error: E) -> anyhow::Error {
    let mut problem = Problem::new(error.to_string());
    problem.hint = error.hint();
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let causes: Vec<_> = causes.map(ToString::to_string).collect();
    let mut report: Option<anyhow::Error> = None;
    for cause in causes.into_iter().rev() {
        report = Some(match report {
            None => anyhow::Error::msg(cause),
            Some(below) => below.context(cause),
        });
    }
    match report {
        None => problem.into(),
        Some(below) => below.context(problem),
    }
}
