//! Takes an entry back, by an entry of its own. Undoing a publish is a guarded delete, undoing a delete
//! restores the same numbers, undoing a move moves back. Nothing is ever erased.

use folio_model::{AppName, Edit, Entry, Place, Pointer, UnitUid, Version, VersionKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::builder::Builder;
use crate::ports::{State, StoreError};
use crate::request::Caller;
use crate::view::Done;
use crate::{Class, Code, Explain, Folio, Referrer, folio};

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
    /// What can never be taken back: apps and tokens.
    #[error("entry {0} cannot be undone: it made an app or a token")]
    Permanent(u64),
    /// Something stands on what the entry made.
    #[error("entry {seq} cannot be undone: {what} is in use")]
    InUse {
        /// The entry.
        seq: u64,
        /// What is in use.
        what: String,
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
            Self::InUse { .. } => "take those out of the way first".to_owned(),
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
            let edits = inverse(&entry)?;
            for edit in &edits {
                if still_needed(builder.state, edit, &edits)? {
                    check(builder, edit, &edits, entry.seq)?;
                    builder.push(edit.clone())?;
                }
            }
            Ok(Undone { undone: entry.seq, message: entry.message })
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
            if entry.undoes.is_some() || state.undone_by(entry.seq)?.is_some() {
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

fn inverse(entry: &Entry) -> Result<Vec<Edit>, Error> {
    let edits = entry.edits.iter().rev().cloned().map(Edit::inverse);
    edits.collect::<Option<_>>().ok_or(Error::Permanent(entry.seq))
}

/// A unit made by the undone entry goes only if nothing else came to live in it.
fn still_needed(state: &dyn State, edit: &Edit, edits: &[Edit]) -> Result<bool, Error> {
    let Edit::DeleteUnit { uid, .. } = edit else { return Ok(true) };
    let leaving: Vec<_> = edits.iter().filter_map(|edit| deleted(edit, *uid)).collect();
    let others = state
        .versions(*uid, crate::ports::Page { after: 0, limit: leaving.len() + 1 })?
        .into_iter()
        .any(|version| !leaving.contains(&version.number));
    let drops_draft = edits
        .iter()
        .any(|edit| matches!(edit, Edit::SetDraft { uid: of, to: None, .. } if of == uid));
    let draft = state.unit_by_uid(*uid)?.is_some_and(|unit| unit.draft.is_some()) && !drops_draft;
    Ok(!others && !draft && state.aliases(*uid)?.is_empty())
}

fn deleted(edit: &Edit, unit: UnitUid) -> Option<folio_model::Number> {
    match edit {
        Edit::DeleteVersion { uid, version } if *uid == unit => Some(version.number),
        _ => None,
    }
}

/// Checks that taking a step back breaks nothing that came after it.
fn check(builder: &Builder<'_>, edit: &Edit, edits: &[Edit], seq: u64) -> Result<(), Error> {
    let state = builder.state;
    let changed = |what: String| Err(Error::Changed { seq, what });
    match edit {
        Edit::DeleteVersion { uid, version } => check_delete(state, (*uid, version), edits, seq),
        Edit::RestoreVersion { uid, version } => check_restore(state, (*uid, version), edits, seq),
        Edit::SetDraft { uid, from, .. } => match state.unit_by_uid(*uid)? {
            Some(unit) if unit.draft != *from => changed(format!("the draft of {}", unit.key)),
            _ => Ok(()),
        },
        Edit::Describe { uid, number, from, .. } => {
            let version = state.version(VersionKey { unit: *uid, number: *number })?;
            match version {
                Some(version) if version.description == *from => Ok(()),
                _ => changed(format!("the description of version {number}")),
            }
        }
        Edit::Move { pointer, from, to } => {
            let current = match pointer {
                Pointer::Alias { unit, name } => {
                    state.alias(*unit, name)?.map(|alias| Place::Versions(alias.weights))
                }
                Pointer::Tag { app, name } => {
                    state.tag(app, name)?.map(|tag| Place::Members(tag.members))
                }
            };
            let gone = match to {
                Some(place) => missing(state, place.versions(pointer), edits)?,
                None => false,
            };
            if current != *from || gone { changed(pointer.to_string()) } else { Ok(()) }
        }
        Edit::RestoreUnit { key, .. } => match state.unit(key)? {
            Some(_) => changed(format!("the name of {key}")),
            None => Ok(()),
        },
        Edit::DeleteUnit { .. } | Edit::CreateUnit { .. } | Edit::Publish { .. } => Ok(()),
        Edit::CreateApp { .. } | Edit::AddToken { .. } => Ok(()),
    }
}

fn check_delete(
    state: &dyn State,
    (uid, version): (UnitUid, &Version),
    edits: &[Edit],
    seq: u64,
) -> Result<(), Error> {
    let key = VersionKey { unit: uid, number: version.number };
    let what = format!("version {}", version.id);
    if state.version(key)?.is_none() {
        return Err(Error::Changed { seq, what });
    }
    let moved = |pointer: &Pointer| {
        edits
            .iter()
            .any(|edit| matches!(edit, Edit::Move { pointer: moved, .. } if moved == pointer))
    };
    let mut referrers = Vec::new();
    for pointer in state.pointers_to(key)?.into_iter().filter(|pointer| !moved(pointer)) {
        let kind = match pointer {
            Pointer::Alias { .. } => "alias",
            Pointer::Tag { .. } => "tag",
        };
        referrers.push(Referrer { kind: kind.to_owned(), name: pointer.name().to_string() });
    }
    for user in state.users(key)? {
        let leaving = edits.iter().any(|edit| deleted(edit, user.unit) == Some(user.number));
        if !leaving {
            let name = state.unit_by_uid(user.unit)?.map(|unit| unit.key.name.to_string());
            let name = format!("{}@{}", name.unwrap_or_default(), user.number);
            referrers.push(Referrer { kind: "function version".to_owned(), name });
        }
    }
    for draft in state.draft_users(key)? {
        let name = state.unit_by_uid(draft)?.map(|unit| unit.key.name.to_string());
        let name = name.unwrap_or_default();
        referrers.push(Referrer { kind: "function draft".to_owned(), name });
    }
    if referrers.is_empty() { Ok(()) } else { Err(Error::InUse { seq, what, referrers }) }
}

fn check_restore(
    state: &dyn State,
    (uid, version): (UnitUid, &Version),
    edits: &[Edit],
    seq: u64,
) -> Result<(), Error> {
    let key = VersionKey { unit: uid, number: version.number };
    let gone = missing(state, version.uses.into_iter(), edits)?;
    let unit_returns =
        edits.iter().any(|edit| matches!(edit, Edit::RestoreUnit { uid: of, .. } if *of == uid));
    let unit = unit_returns || state.unit_by_uid(uid)?.is_some();
    // The name may have become an alias since.
    let alias = state.alias(uid, &version.id)?.is_some();
    if gone || alias || !unit || state.version(key)?.is_some() {
        return Err(Error::Changed { seq, what: format!("version {}", version.id) });
    }
    Ok(())
}

/// Whether any of these versions neither survives nor is restored by the same undo.
fn missing(
    state: &dyn State,
    mut keys: impl Iterator<Item = VersionKey>,
    edits: &[Edit],
) -> Result<bool, Error> {
    let restored = |key: VersionKey| {
        edits.iter().any(|edit| {
            matches!(edit, Edit::RestoreVersion { uid, version }
                if *uid == key.unit && version.number == key.number)
        })
    };
    keys.try_fold(false, |gone, key| Ok(gone || (!restored(key) && state.version(key)?.is_none())))
}
