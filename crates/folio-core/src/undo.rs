//! Takes an entry back, by an entry of its own. Undoing a publish is a guarded delete, undoing a delete
//! restores the same numbers, undoing a move moves back. Nothing is ever erased.

use folio_model::{AppName, Edit, Entry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::delete::guard;
use crate::ports::{State, StoreError};
use crate::request::Caller;
use crate::view::Done;
use crate::{Class, Code, Explain, Folio, Referrer, folio};

use self::reversal::Reversal;

mod check;
mod reversal;
mod routes;

/// Why an entry was not taken back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such entry in this app.
    #[error("app `{app}` has no entry {seq}")]
    NoEntry {
        /// The app.
        app: AppName,
        /// The entry asked for.
        seq: u64,
    },
    /// Nothing is left to undo.
    #[error("app `{0}` has nothing to undo")]
    Nothing(AppName),
    /// Already taken back.
    #[error("entry {seq} was already undone by entry {by}")]
    AlreadyUndone {
        /// The entry.
        seq: u64,
        /// What took it back.
        by: u64,
    },
    /// What can never be taken back: apps, tokens, releases, plans and the ends of builds.
    #[error(
        "entry {0} cannot be undone: it is about an app, a token, a release or a plan, or says how a build ended"
    )]
    Permanent(u64),
    /// Something stands on what the entry made.
    #[error("entry {seq} cannot be undone: what it made is in use by {}", guard::names(.referrers))]
    InUse {
        /// The entry.
        seq: u64,
        /// By whom.
        referrers: Vec<Referrer>,
    },
    /// What the entry changed was changed again.
    #[error("entry {seq} cannot be undone: {what} was changed since")]
    Changed {
        /// The entry.
        seq: u64,
        /// What was changed.
        what: String,
    },
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
            Self::NoEntry { .. } => Code("entry_not_found"),
            Self::Nothing(_) => Code("nothing_to_undo"),
            Self::AlreadyUndone { .. } => Code("already_undone"),
            Self::Permanent(_) => Code("cannot_undo"),
            Self::InUse { .. } => Code("in_use"),
            Self::Changed { .. } => Code("undo_conflict"),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NoEntry { .. } | Self::Nothing(_) => Class::NotFound,
            Self::Permanent(_) => Class::Invalid,
            Self::AlreadyUndone { .. } | Self::InUse { .. } | Self::Changed { .. } => {
                Class::Conflict
            }
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoEntry { .. } | Self::Nothing(_) => "`folio log` shows what was done".to_owned(),
            Self::AlreadyUndone { by, .. } => format!("do it again with `folio undo {by}`"),
            Self::Permanent(_) => return None,
            Self::InUse { referrers, .. } => return referrers.first().map(guard::way_out),
            Self::Changed { .. } => {
                "undo the newer entries first; `folio log` shows them".to_owned()
            }
            Self::Folio(folio::Error::Store(StoreError::MissingBlob { .. })) => {
                "its files were removed by `folio gc` after the grace period; publish them again"
                    .to_owned()
            }
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::InUse { referrers, .. } => referrers.clone(),
            _ => Vec::new(),
        }
    }
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Undone {
    /// The entry that was taken back.
    pub undone: u64,
    /// What it had done.
    pub message: String,
}

impl Folio {
    /// Takes back one entry of an app, or the newest that is neither undone nor an undo.
    pub async fn undo(
        &self,
        caller: &Caller,
        app: &AppName,
        seq: Option<u64>,
    ) -> Result<Done<Undone>, Error> {
        let app = app.clone();
        self.commit(caller, &app.clone(), move |builder| {
            let entry = match seq {
                Some(seq) => chosen(builder.state, &app, seq)?,
                None => newest(builder.state, &app)?,
            };
            builder.undoes(entry.seq);
            builder.say(format!("undo {}: {}", entry.seq, entry.message));
            let undone = Undone { undone: entry.seq, message: entry.message.clone() };
            let reversal = Reversal::of(builder.state, entry)?;
            check::check(builder.state, &reversal)?;
            for edit in reversal.edits {
                match edit {
                    Edit::Move { pointer, from, to } => builder.point(pointer, from, to)?,
                    edit => builder.push(edit)?,
                }
            }
            Ok(undone)
        })
        .await
    }
}

fn chosen(state: &dyn State, app: &AppName, seq: u64) -> Result<Entry, Error> {
    let entry = state.entry(seq)?.filter(|entry| entry.app == *app);
    let entry = entry.ok_or_else(|| Error::NoEntry { app: app.clone(), seq })?;
    match state.undone_by(seq)? {
        Some(by) => Err(Error::AlreadyUndone { seq, by }),
        None => Ok(entry),
    }
}

fn newest(state: &dyn State, app: &AppName) -> Result<Entry, Error> {
    const STRETCH: usize = 64;
    let mut below = u64::MAX;
    loop {
        let entries = state.entries_before(app, below, STRETCH)?;
        let Some(last) = entries.last() else { return Err(Error::Nothing(app.clone())) };
        below = last.seq;
        for entry in entries {
            if is_undo(&entry) || is_build(&entry) || state.undone_by(entry.seq)?.is_some() {
                continue;
            }
            let permanent =
                |edit: &Edit| matches!(edit, Edit::CreateApp { .. } | Edit::AddToken { .. });
            if entry.edits.iter().any(permanent) {
                return Err(Error::Nothing(app.clone()));
            }
            return Ok(entry);
        }
    }
}

/// Whether an entry only says how a build ended, and releases what it made: nobody's command, so nothing to undo.
fn is_build(entry: &Entry) -> bool {
    let of_build = |edit: &Edit| matches!(edit, Edit::Built { .. } | Edit::Forget { .. });
    let mut edits = entry.edits.iter();
    edits.all(|edit| of_build(edit) || reversal::is_of_releases(edit))
        && entry.edits.iter().any(of_build)
}

/// Whether an entry was made by an undo. A rollback takes a move back too, but is a command of its own.
fn is_undo(entry: &Entry) -> bool {
    entry.undoes.is_some() && !entry.rollback
}
