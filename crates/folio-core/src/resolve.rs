//! Finds what a reference means. Reads only; the one place that turns names into units and versions.

use folio_model::{
    AppName, Kind, Name, Number, Qualifier, Reference, Right, Share, Subject, Unit, UnitKey,
    Version, VersionId, VersionKey,
};

use crate::ports::{Page, State, StoreError};
use crate::request::Caller;
use crate::serving::Unready;
use crate::token::Forbidden;
use crate::view::{self, ResolvedView};
use crate::{Class, Code, Explain, Folio};

/// Why a reference leads nowhere.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such app.
    #[error("app `{0}` does not exist")]
    NoApp(AppName),
    /// No such unit.
    #[error("{kind} `{name}` does not exist")]
    NoUnit {
        /// What was looked for.
        kind: Kind,
        /// The name as written.
        name: String,
        /// The nearest name that exists.
        near: Option<String>,
    },
    /// No such version or alias.
    #[error("{kind} `{name}` has no version or alias `{at}`")]
    NoVersion {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
        /// What was looked for.
        at: String,
        /// The nearest id or alias it has.
        near: Option<String>,
    },
    /// The version is no more.
    #[error("version `{at}` of {kind} `{name}` was deleted")]
    Deleted {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
        /// The version's id.
        at: String,
    },
    /// The unit was never published.
    #[error("{kind} `{name}` has no published version")]
    Unpublished {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
    },
    /// The unit has no draft.
    #[error("{kind} `{name}` has no draft")]
    NoDraft {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
    },
    /// A draft was named where a version is needed.
    #[error("the draft of {kind} `{name}` is not a version")]
    IsDraft {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
    },
    /// A joined name can be read in several ways.
    #[error("`{text}` can mean {}", readings.join(" or "))]
    Ambiguous {
        /// The text as written.
        text: String,
        /// Every reading that exists.
        readings: Vec<String>,
    },
    /// An alias was named where one version is needed.
    #[error("alias `{alias}` of function `{name}` is split among versions; name one of them")]
    Split {
        /// The function.
        name: Name,
        /// The alias.
        alias: VersionId,
    },
    /// They may not name what is in that app.
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    /// What it leads to is not built, or could not be.
    #[error(transparent)]
    Unready(#[from] Unready),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::NoApp(_) => Code("app_not_found"),
            Self::NoUnit { .. } => Code("unit_not_found"),
            Self::NoVersion { .. } | Self::Deleted { .. } => Code("version_not_found"),
            Self::Unpublished { .. } => Code("never_published"),
            Self::NoDraft { .. } => Code("draft_not_found"),
            Self::IsDraft { .. } => Code("draft_not_version"),
            Self::Ambiguous { .. } => Code("ambiguous_reference"),
            Self::Split { .. } => Code("alias_is_split"),
            Self::Forbidden(error) => error.code(),
            Self::Unready(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Ambiguous { .. } | Self::Split { .. } | Self::IsDraft { .. } => Class::Invalid,
            Self::Forbidden(error) => error.class(),
            Self::Unready(error) => error.class(),
            Self::Store(error) => error.class(),
            _ => Class::NotFound,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoUnit { near: Some(near), .. } | Self::NoVersion { near: Some(near), .. } => {
                Some(format!("did you mean `{near}`?"))
            }
            Self::NoUnit { kind: Kind::Trigger, .. } => {
                let lists = ["route", "timer", "mqtrigger", "watch"];
                let lists = lists.map(|noun| format!("`folio {noun} list`")).join(", ");
                Some(format!("{lists} show what exists"))
            }
            Self::NoUnit { kind, .. } => Some(format!("`folio {kind} list` shows what exists")),
            Self::NoVersion { kind, name, .. } | Self::Deleted { kind, name, .. } => {
                Some(format!("`folio {kind} version list {name}` shows what exists"))
            }
            Self::Unpublished { kind, name } | Self::IsDraft { kind, name } => {
                Some(format!("publish it with `folio {kind} version create {name}`"))
            }
            Self::NoDraft { kind, name } => {
                Some(format!("make one with `folio {kind} update {name}`"))
            }
            Self::Ambiguous { .. } => Some("write it with `@`".to_owned()),
            Self::NoApp(_) => Some("the app `default` always exists".to_owned()),
            Self::Split { .. } => None,
            Self::Forbidden(error) => error.hint(),
            Self::Unready(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

/// What a reference leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The unit.
    pub unit: Unit,
    /// Which of its states.
    pub what: What,
}

/// The state of a unit that a reference names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Unpublished.
    Draft,
    /// One version.
    Version(Number),
    /// Versions with their shares of the calls, through an alias.
    Split(VersionId, Vec<Share>),
}

impl Folio {
    /// Says what a reference means right now.
    pub async fn resolve(
        &self,
        caller: &Caller,
        app: &AppName,
        kind: Kind,
        reference: &Reference,
    ) -> Result<ResolvedView, Error> {
        caller.may_name(Right::View, reference)?;
        let (app, reference) = (app.clone(), reference.clone());
        self.look(move |state| {
            let Resolved { unit, what } = resolve(state, &app, kind, &reference)?;
            let shares = match &what {
                What::Draft => Vec::new(),
                What::Version(number) => {
                    vec![Share { number: *number, weight: folio_model::FULL_WEIGHT }]
                }
                What::Split(_, shares) => shares.clone(),
            };
            Ok(ResolvedView {
                draft: what == What::Draft,
                targets: view::targets(state, unit.uid, &shares)?,
                app: unit.key.app,
                kind,
                name: unit.key.name,
            })
        })
        .await
    }
}

/// Finds what a reference means in a state. A few indexed lookups, however many versions exist.
pub fn resolve(
    state: &dyn State,
    app: &AppName,
    kind: Kind,
    reference: &Reference,
) -> Result<Resolved, Error> {
    let app = reference.app.as_ref().unwrap_or(app);
    if let Subject::Name(name) = &reference.name
        && let Some(unit) = find(state, app, kind, name)?
    {
        return qualified(state, unit, reference.at.as_ref());
    }
    let joined = match reference.at {
        None => joined(state, app, kind, &reference.name)?,
        Some(_) => None,
    };
    match joined {
        Some(resolved) => Ok(resolved),
        None => Err(no_unit(state, app, kind, reference.name.as_str())?),
    }
}

/// Finds a unit that can be seen, by name.
pub(crate) fn unit(state: &dyn State, key: &UnitKey) -> Result<Unit, Error> {
    match find(state, &key.app, key.kind, &key.name)? {
        Some(unit) => Ok(unit),
        None => Err(no_unit(state, &key.app, key.kind, key.name.as_str())?),
    }
}

/// Finds exactly one version of a unit: by number, by id, through an alias that is not split, or the latest.
pub(crate) fn version(state: &dyn State, unit: &Unit, at: &Qualifier) -> Result<Version, Error> {
    let resolved = qualified(state, unit.clone(), Some(at))?;
    sole(state, resolved)
}

/// The one version that a resolved reference leads to.
pub(crate) fn sole(state: &dyn State, resolved: Resolved) -> Result<Version, Error> {
    let Resolved { unit, what } = resolved;
    let (kind, name) = (unit.key.kind, unit.key.name.clone());
    let number = match what {
        What::Version(number) => number,
        What::Draft => return Err(Error::IsDraft { kind, name }),
        What::Split(alias, _) => return Err(Error::Split { name, alias }),
    };
    let found = state.version(VersionKey { unit: unit.uid, number })?;
    found.ok_or_else(|| StoreError::corrupt(format!("version {number} of {}", unit.key)).into())
}

fn find(
    state: &dyn State,
    app: &AppName,
    kind: Kind,
    name: &Name,
) -> Result<Option<Unit>, StoreError> {
    let key = UnitKey { app: app.clone(), kind, name: name.clone() };
    Ok(state.unit(&key)?.filter(Unit::is_visible))
}

fn qualified(state: &dyn State, unit: Unit, at: Option<&Qualifier>) -> Result<Resolved, Error> {
    let what = match at {
        None if unit.draft.is_some() => What::Draft,
        None | Some(Qualifier::Latest) => match unit.latest {
            Some(latest) => What::Version(latest),
            None => return Err(without_latest(state, &unit)?),
        },
        Some(Qualifier::Draft) if unit.draft.is_some() => What::Draft,
        Some(Qualifier::Draft) => {
            return Err(Error::NoDraft { kind: unit.key.kind, name: unit.key.name });
        }
        Some(at @ Qualifier::Number(number)) => {
            match state.version(VersionKey { unit: unit.uid, number: *number })? {
                Some(version) => What::Version(version.number),
                None => return Err(no_version(state, &unit, at)?),
            }
        }
        Some(at @ Qualifier::Named(id)) => match named(state, &unit, id)? {
            Some(what) => what,
            None => return Err(no_version(state, &unit, at)?),
        },
    };
    Ok(Resolved { unit, what })
}

fn named(state: &dyn State, unit: &Unit, id: &VersionId) -> Result<Option<What>, StoreError> {
    if let Some((version, true)) = state.version_by_id(unit.uid, id)? {
        return Ok(Some(What::Version(version.number)));
    }
    Ok(state.alias(unit.uid, id)?.map(|alias| match alias.weights.sole() {
        Some(number) => What::Version(number),
        None => What::Split(alias.name, alias.weights.shares().to_vec()),
    }))
}

/// Reads `name-id` and `name_id`, if that works in exactly one way.
fn joined(
    state: &dyn State,
    app: &AppName,
    kind: Kind,
    subject: &Subject,
) -> Result<Option<Resolved>, Error> {
    let mut readings = Vec::new();
    for (name, at) in subject.splits() {
        let Some(unit) = find(state, app, kind, &name)? else { continue };
        match qualified(state, unit, Some(&at)) {
            Ok(resolved) => readings.push((format!("`{name}@{at}`"), resolved)),
            Err(Error::Store(error)) => return Err(error.into()),
            Err(_) => {}
        }
    }
    if readings.len() > 1 {
        let readings = readings.into_iter().map(|(text, _)| text).collect();
        return Err(Error::Ambiguous { text: subject.as_str().to_owned(), readings });
    }
    Ok(readings.pop().map(|(_, resolved)| resolved))
}

/// Why a unit has no latest version: it has none at all, or none that is built.
fn without_latest(state: &dyn State, unit: &Unit) -> Result<Error, StoreError> {
    let newest = match unit.newest {
        Some(number) => state.version(VersionKey { unit: unit.uid, number })?,
        None => None,
    };
    let unready = match newest {
        Some(newest) => Unready::of(state, unit, &newest)?,
        None => None,
    };
    Ok(unready.map_or_else(
        || Error::Unpublished { kind: unit.key.kind, name: unit.key.name.clone() },
        Error::from,
    ))
}

fn no_unit(state: &dyn State, app: &AppName, kind: Kind, name: &str) -> Result<Error, StoreError> {
    if !state.has_app(app)? {
        return Ok(Error::NoApp(app.clone()));
    }
    let units = state.units(app, kind)?;
    let names = units.iter().filter(|unit| unit.is_visible()).map(|unit| unit.key.name.as_str());
    let near = nearest(name, names);
    Ok(Error::NoUnit { kind, name: name.to_owned(), near })
}

/// How many of the newest versions a suggestion looks at; a wrong id must not cost a scan of all.
const SUGGESTION_VERSIONS: u64 = 100;

fn no_version(state: &dyn State, unit: &Unit, at: &Qualifier) -> Result<Error, StoreError> {
    let newest = unit.next_number.get().saturating_sub(1);
    let was_there = match at {
        Qualifier::Named(id) => state.version_by_id(unit.uid, id)?.is_some(),
        Qualifier::Number(number) => *number < unit.next_number,
        Qualifier::Latest | Qualifier::Draft => false,
    };
    if was_there {
        let (kind, name) = (unit.key.kind, unit.key.name.clone());
        return Ok(Error::Deleted { kind, name, at: at.to_string() });
    }
    let page = Page { after: newest.saturating_sub(SUGGESTION_VERSIONS), limit: usize::MAX };
    let versions = state.versions(unit.uid, page)?;
    let aliases = state.aliases(unit.uid)?;
    let ids = versions.iter().map(|version| version.id.as_str());
    let near = nearest(&at.to_string(), ids.chain(aliases.iter().map(|alias| alias.name.as_str())));
    let (kind, name) = (unit.key.kind, unit.key.name.clone());
    Ok(Error::NoVersion { kind, name, at: at.to_string(), near })
}

/// The candidate most like a text, if any is alike enough to be a slip.
pub(crate) fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    const ALIKE: f32 = 0.6;
    let alike = |candidate: &str| similar::TextDiff::from_chars(text, candidate).ratio();
    let best = candidates.map(|candidate| (alike(candidate), candidate));
    let best = best.filter(|(ratio, _)| *ratio >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, candidate)| candidate.to_owned())
}
