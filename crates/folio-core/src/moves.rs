//! Tells where pointers were: every move with the entry that made it, also after a pointer was removed.
//!
//! Only reads; what moves them is elsewhere. The history of tags is here, start at [`Folio::tag_moves`]; those of other
//! pointers are with what moves them, and stand on `steps`.

use folio_model::{
    Actor, AppName, Edit, Entry, Place, Pointer, ReleaseId, Timestamp, VersionId, VersionKey,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ports::{State, StoreError};
use crate::{Class, Code, Explain, Folio, folio, history, resolve};

/// One move of a pointer.
pub(crate) struct Step {
    /// What made it, without its edits.
    pub(crate) entry: Entry,
    pub(crate) from: Option<Place>,
    pub(crate) to: Option<Place>,
}

/// The moves of a pointer, oldest first.
pub(crate) fn steps(state: &dyn State, pointer: &Pointer) -> Result<Vec<Step>, StoreError> {
    let mut steps = Vec::new();
    for mut entry in state.moves(pointer)? {
        for edit in std::mem::take(&mut entry.edits) {
            match edit {
                Edit::Move { pointer: moved, from, to } if moved == *pointer => {
                    steps.push(Step { entry: entry.clone(), from, to });
                }
                _ => {}
            }
        }
    }
    Ok(steps)
}

/// A tag of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagName {
    /// On versions of functions.
    Functions(VersionId),
    /// On a release.
    Release(ReleaseId),
}

/// One move of a tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TagMove {
    /// The ledger entry.
    pub entry: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Actor,
    /// What was done.
    pub message: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it was on, a release or versions such as `hello@v1`; empty when it was made.
    pub from: Vec<String>,
    /// What it is on since; empty when it was removed.
    pub to: Vec<String>,
}

/// Why the moves of a tag cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The app never had it.
    #[error("app `{app}` never had a tag `{}`", .tag.as_str())]
    NotFound {
        /// The app.
        app: AppName,
        /// The tag.
        tag: TagName,
        /// The nearest tag there is.
        near: Option<String>,
    },
    /// What looking at an app refuses.
    #[error(transparent)]
    History(#[from] history::Error),
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
            Self::NotFound { tag: TagName::Functions(_), .. } => Code("tag_not_found"),
            Self::NotFound { tag: TagName::Release(_), .. } => Code("release_tag_not_found"),
            Self::History(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NotFound { .. } => Class::NotFound,
            Self::History(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound { near: Some(near), .. } => Some(format!("did you mean `{near}`?")),
            Self::NotFound { tag: TagName::Functions(_), .. } => {
                Some("`folio fn tag list` shows what exists".to_owned())
            }
            Self::NotFound { tag: TagName::Release(_), .. } => {
                Some("`folio release list` shows what exists".to_owned())
            }
            Self::History(error) => error.hint(),
            Self::Folio(error) => error.hint(),
        }
    }
}

impl TagName {
    /// The tag as it is written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Functions(tag) => tag.as_str(),
            Self::Release(tag) => tag.as_str(),
        }
    }

    fn pointer(&self, app: &AppName) -> Pointer {
        let app = app.clone();
        match self {
            Self::Functions(tag) => Pointer::Tag { app, name: tag.clone() },
            Self::Release(tag) => Pointer::ReleaseTag { app, name: tag.clone() },
        }
    }

    /// The nearest tag of its kind that there is.
    fn near(&self, state: &dyn State, app: &AppName) -> Result<Option<String>, StoreError> {
        let names: Vec<_> = match self {
            Self::Functions(_) => {
                state.tags(app)?.into_iter().map(|tag| tag.name.to_string()).collect()
            }
            Self::Release(_) => {
                state.release_tags(app)?.into_iter().map(|(name, _)| name.to_string()).collect()
            }
        };
        Ok(resolve::nearest(self.as_str(), names.iter().map(String::as_str)))
    }
}

impl Folio {
    /// Lists every move of a tag, newest first, also after it was removed.
    pub async fn tag_moves(&self, app: &AppName, tag: &TagName) -> Result<Vec<TagMove>, Error> {
        let (app, tag) = (app.clone(), tag.clone());
        self.look(move |state| {
            history::known(state, &app)?;
            let pointer = tag.pointer(&app);
            let steps = steps(state, &pointer)?;
            if steps.is_empty() {
                let near = tag.near(state, &app)?;
                return Err(Error::NotFound { app, tag, near });
            }
            let moved = |Step { entry, from, to }| {
                Ok(TagMove {
                    entry: entry.seq,
                    at: entry.at,
                    by: entry.by,
                    message: entry.message,
                    reason: entry.reason,
                    from: in_words(state, from.as_ref())?,
                    to: in_words(state, to.as_ref())?,
                })
            };
            steps.into_iter().rev().map(moved).collect()
        })
        .await
    }
}

/// What a tag is on.
fn in_words(state: &dyn State, place: Option<&Place>) -> Result<Vec<String>, StoreError> {
    let members = match place {
        Some(Place::Tagged(release)) => return Ok(vec![release.to_string()]),
        Some(Place::Members(members)) => members,
        _ => return Ok(Vec::new()),
    };
    let mut words = Vec::with_capacity(members.len());
    for (unit, number) in members {
        // A function that is gone since has no name any more, but it was a member.
        let name = state.unit_by_uid(*unit)?.map(|unit| unit.key.name.to_string());
        let version = state.version(VersionKey { unit: *unit, number: *number })?;
        let version = version.map_or_else(|| number.to_string(), |version| version.id.to_string());
        words.push(format!("{}@{version}", name.unwrap_or_else(|| unit.to_string())));
    }
    words.sort();
    Ok(words)
}
