//! Moves aliases: a function's named pointers to versions, with shares of the calls. An alias never moves by
//! itself, and every move says what it expects to leave.

use folio_model::{
    Alias, FULL_WEIGHT, Kind, Name, Place, Pointer, Qualifier, Share, Unit, UnitKey, VersionId,
    Weights, WeightsError, percent,
};

use crate::builder::Builder;
use crate::delete::guard;
use crate::moves::{self, Step};
use crate::ports::{State, StoreError};
use crate::request::{AliasTarget, Caller, Expect};
use crate::serving::Unready;
use crate::view::{self, AliasView, Done, MoveView};
use crate::{Class, Code, Explain, Folio, Referrer, folio, resolve};

/// Why an alias was not moved.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such alias.
    #[error("function `{function}` has no alias `{alias}`")]
    NotFound {
        /// The function.
        function: Name,
        /// The alias.
        alias: VersionId,
        /// The nearest alias it has.
        near: Option<String>,
    },
    /// It exists already.
    #[error("function `{function}` already has an alias `{alias}`")]
    Exists {
        /// The function.
        function: Name,
        /// The alias.
        alias: VersionId,
    },
    /// It moved since the caller looked.
    #[error("alias `{alias}` of function `{function}` is at revision {found}, not {expected}")]
    Stale {
        /// The function.
        function: Name,
        /// The alias.
        alias: VersionId,
        /// What the caller saw.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// The name is a version's id.
    #[error(
        "`{alias}` {} the id of a version of function `{function}`; ids and aliases share one namespace{}",
        if *.survives { "is" } else { "was" },
        if *.survives { "" } else { ", and ids are never used again" }
    )]
    IsVersion {
        /// The function.
        function: Name,
        /// The alias.
        alias: VersionId,
        /// Whether that version is still there.
        survives: bool,
    },
    /// Packages have none.
    #[error("package `{0}` cannot have aliases; functions do")]
    OnPackage(Name),
    /// Too many targets.
    #[error("{found} targets are more than the {max} an alias may have")]
    TooManyTargets {
        /// How many were given.
        found: usize,
        /// The limit.
        max: u64,
    },
    /// The shares make no split.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// There is nothing to go back to.
    #[error("alias `{alias}` of function `{function}` has nowhere to roll back to")]
    NoPast {
        /// The function.
        function: Name,
        /// The alias.
        alias: VersionId,
    },
    /// What it pointed at is gone.
    #[error(
        "alias `{alias}` of function `{function}` pointed at version {number}, which was deleted"
    )]
    PastGone {
        /// The function.
        function: Name,
        /// The alias.
        alias: VersionId,
        /// The deleted version.
        number: folio_model::Number,
    },
    /// A trigger leads to it.
    #[error("cannot delete alias `{alias}` of function `{function}`: it is in use by {}", guard::names(.referrers))]
    InUse {
        /// The function.
        function: Name,
        /// The alias.
        alias: VersionId,
        /// Everything in the way.
        referrers: Vec<Referrer>,
    },
    /// A target cannot be called.
    #[error(transparent)]
    Unready(#[from] Unready),
    /// A name leads nowhere.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
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
            Self::NotFound { .. } => Code("alias_not_found"),
            Self::Exists { .. } => Code("alias_exists"),
            Self::Stale { .. } => Code("stale"),
            Self::IsVersion { .. } => Code("alias_is_id"),
            Self::OnPackage(_) => Code("not_for_packages"),
            Self::TooManyTargets { .. } => Code("too_many_targets"),
            Self::Weights(_) => Code("bad_weights"),
            Self::NoPast { .. } => Code("nothing_to_roll_back"),
            Self::PastGone { .. } => Code("rollback_target_deleted"),
            Self::InUse { .. } => Code("in_use"),
            Self::Unready(error) => error.code(),
            Self::Resolve(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NotFound { .. } => Class::NotFound,
            Self::OnPackage(_) | Self::Weights(_) => Class::Invalid,
            Self::TooManyTargets { .. } => Class::TooLarge,
            Self::Unready(error) => error.class(),
            Self::Resolve(error) => error.class(),
            Self::Folio(error) => error.class(),
            _ => Class::Conflict,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::NotFound { function, alias, .. } => {
                format!(
                    "make it with `folio fn alias create {function} --alias {alias} --version ...`"
                )
            }
            Self::Exists { function, alias } => {
                format!(
                    "move it with `folio fn alias update {function} --alias {alias} --version ...`"
                )
            }
            Self::Stale { function, .. } => {
                format!(
                    "look at it with `folio fn alias list {function}`, then repeat with its revision"
                )
            }
            Self::IsVersion { .. } => "choose another alias".to_owned(),
            Self::OnPackage(_) => "make the alias on a function that uses the package".to_owned(),
            Self::TooManyTargets { .. } => "use fewer, or raise `aliasTargetsMax`".to_owned(),
            Self::Weights(WeightsError::Sum(sum)) => {
                let give = "give every version its share: --version v1=90% --version v2=10%";
                format!("that is {}; {give}", in_percent(*sum))
            }
            Self::Weights(WeightsError::Twice(_)) => "name each version once".to_owned(),
            Self::NoPast { function, alias } | Self::PastGone { function, alias, .. } => {
                format!(
                    "`folio fn alias history {function} --alias {alias}` shows where it was; name a version with --version"
                )
            }
            Self::InUse { referrers, .. } => return referrers.first().map(guard::way_out),
            Self::Unready(error) => return error.hint(),
            Self::Resolve(error) => return error.hint(),
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::IsVersion { function, alias, survives: true } => {
                vec![Referrer { kind: "version".to_owned(), name: format!("{function}@{alias}") }]
            }
            Self::InUse { referrers, .. } => referrers.clone(),
            _ => Vec::new(),
        }
    }
}

/// How far shares are from a whole, as most people write them: `101 %, not 100 %`.
pub(crate) fn in_percent(sum: u64) -> String {
    let sum = percent(u32::try_from(sum).unwrap_or(u32::MAX));
    format!("{sum}, not {}", percent(FULL_WEIGHT))
}

impl Folio {
    /// Makes or moves an alias.
    pub async fn point(
        &self,
        caller: &Caller,
        (key, alias): (&UnitKey, &VersionId),
        targets: Vec<AliasTarget>,
        expect: Expect,
    ) -> Result<Done<AliasView>, Error> {
        let max = self.limits().alias_targets_max;
        if targets.len() as u64 > max {
            return Err(Error::TooManyTargets { found: targets.len(), max });
        }
        let (app, key, alias) = (key.app.clone(), key.clone(), alias.clone());
        self.commit(caller, &app, move |builder| {
            let unit = function(builder.state, &key)?;
            let current = expected(builder.state, &unit, &alias, expect)?;
            let weights = weigh(builder.state, &unit, &targets)?;
            let verb = if current.is_some() { "move" } else { "create" };
            builder.say(format!("{verb} alias {alias} of {}", key.name));
            place(builder, &unit, &alias, (current, weights))
        })
        .await
    }

    /// Moves an alias back to where it was before its newest move, or to one version.
    pub async fn roll_back(
        &self,
        caller: &Caller,
        (key, alias): (&UnitKey, &VersionId),
        to: Option<AliasTarget>,
        expect: Expect,
    ) -> Result<Done<AliasView>, Error> {
        let (app, key, alias) = (key.app.clone(), key.clone(), alias.clone());
        self.commit(caller, &app, move |builder| {
            let unit = function(builder.state, &key)?;
            let current = expected(builder.state, &unit, &alias, expect)?;
            let weights = match &to {
                Some(target) => weigh(builder.state, &unit, std::slice::from_ref(target))?,
                None => past(builder, &unit, &alias)?,
            };
            builder.say(format!("roll alias {alias} of {} back", key.name));
            place(builder, &unit, &alias, (current, weights))
        })
        .await
    }

    /// Removes an alias; the versions it pointed at stay.
    pub async fn delete_alias(
        &self,
        caller: &Caller,
        (key, alias): (&UnitKey, &VersionId),
        expect: Expect,
    ) -> Result<Done<AliasView>, Error> {
        let (app, key, alias) = (key.app.clone(), key.clone(), alias.clone());
        self.commit(caller, &app, move |builder| {
            let unit = function(builder.state, &key)?;
            let current = expected(builder.state, &unit, &alias, expect)?;
            let Some(current) = current else {
                return Err(not_found(builder.state, &unit, &alias)?);
            };
            let view = view::alias(builder.state, &unit, current.clone())?;
            let pointer = Pointer::Alias { unit: unit.uid, name: alias.clone() };
            let gone = [pointer.clone()].into();
            let leaving = guard::Leaving { gone, ..guard::Leaving::default() };
            let referrers = guard::users(builder.state, &leaving)?;
            if !referrers.is_empty() {
                let (function, alias) = (key.name.clone(), alias.clone());
                return Err(Error::InUse { function, alias, referrers });
            }
            builder.point(pointer, Some(Place::Versions(current.weights)), None)?;
            builder.say(format!("delete alias {alias} of {}", key.name));
            Ok(view)
        })
        .await
    }

    /// Lists a function's aliases, by name.
    pub async fn aliases(&self, key: &UnitKey) -> Result<Vec<AliasView>, Error> {
        let key = key.clone();
        self.look(move |state| {
            let unit = function(state, &key)?;
            let aliases = state.aliases(unit.uid)?;
            aliases.into_iter().map(|alias| Ok(view::alias(state, &unit, alias)?)).collect()
        })
        .await
    }

    /// Lists every move of an alias, newest first, also after it was removed.
    pub async fn alias_history(
        &self,
        key: &UnitKey,
        alias: &VersionId,
    ) -> Result<Vec<MoveView>, Error> {
        let (key, alias) = (key.clone(), alias.clone());
        self.look(move |state| {
            let unit = function(state, &key)?;
            let steps = moves::steps(state, &pointer(&unit, &alias))?;
            if steps.is_empty() {
                return Err(not_found(state, &unit, &alias)?);
            }
            let view = |place: Option<Place>| {
                let weights = weights(place);
                view::targets(state, unit.uid, weights.as_ref().map_or(&[], Weights::shares))
            };
            let moved = |Step { entry, from, to }| {
                Ok(MoveView {
                    from: view(from)?,
                    to: view(to)?,
                    entry: entry.seq,
                    at: entry.at,
                    by: entry.by,
                    reason: entry.reason,
                })
            };
            steps.into_iter().rev().map(moved).collect()
        })
        .await
    }
}

fn function(state: &dyn State, key: &UnitKey) -> Result<Unit, Error> {
    match key.kind {
        Kind::Function => Ok(resolve::unit(state, key)?),
        _ => Err(Error::OnPackage(key.name.clone())),
    }
}

pub(crate) fn expected(
    state: &dyn State,
    unit: &Unit,
    alias: &VersionId,
    expect: Expect,
) -> Result<Option<Alias>, Error> {
    let found = state.alias(unit.uid, alias)?;
    let (function, name) = (unit.key.name.clone(), alias.clone());
    match (expect, found) {
        (Expect::Absent, Some(_)) => Err(Error::Exists { function, alias: name }),
        (Expect::Absent, None) => match state.version_by_id(unit.uid, alias)? {
            Some((_, survives)) => Err(Error::IsVersion { function, alias: name, survives }),
            None => Ok(None),
        },
        (Expect::Present, Some(found)) => Ok(Some(found)),
        (Expect::Revision(expected), Some(found)) if found.revision == expected => Ok(Some(found)),
        (Expect::Revision(expected), Some(found)) => {
            Err(Error::Stale { function, alias: name, expected, found: found.revision })
        }
        (Expect::Present | Expect::Revision(_), None) => Err(not_found(state, unit, alias)?),
    }
}

fn not_found(state: &dyn State, unit: &Unit, alias: &VersionId) -> Result<Error, StoreError> {
    let aliases = state.aliases(unit.uid)?;
    let near = resolve::nearest(alias.as_str(), aliases.iter().map(|alias| alias.name.as_str()));
    Ok(Error::NotFound { function: unit.key.name.clone(), alias: alias.clone(), near })
}

pub(crate) fn weigh(
    state: &dyn State,
    unit: &Unit,
    targets: &[AliasTarget],
) -> Result<Weights, Error> {
    let share = |target: &AliasTarget| {
        if target.version == Qualifier::Draft {
            let (kind, name) = (unit.key.kind, unit.key.name.clone());
            return Err(resolve::Error::IsDraft { kind, name }.into());
        }
        let version = resolve::version(state, unit, &target.version)?;
        if let Some(unready) = Unready::of(state, unit, &version)? {
            return Err(unready.into());
        }
        Ok(Share { number: version.number, weight: target.weight })
    };
    let shares = targets.iter().map(share).collect::<Result<_, Error>>()?;
    Ok(Weights::new(shares)?)
}

pub(crate) fn place(
    builder: &mut Builder<'_>,
    unit: &Unit,
    alias: &VersionId,
    (current, weights): (Option<Alias>, Weights),
) -> Result<AliasView, Error> {
    let kept = current.as_ref().filter(|current| current.weights == weights);
    let revision = match kept {
        Some(current) => current.revision,
        None => builder.state.head()? + 1,
    };
    let pointer = Pointer::Alias { unit: unit.uid, name: alias.clone() };
    let from = current.map(|alias| Place::Versions(alias.weights));
    builder.point(pointer, from, Some(Place::Versions(weights.clone())))?;
    let moved = Alias { name: alias.clone(), weights, revision };
    Ok(view::alias(builder.state, unit, moved)?)
}

fn pointer(unit: &Unit, alias: &VersionId) -> Pointer {
    Pointer::Alias { unit: unit.uid, name: alias.clone() }
}

fn weights(place: Option<Place>) -> Option<Weights> {
    match place {
        Some(Place::Versions(weights)) => Some(weights),
        _ => None,
    }
}

/// Where the alias was before its newest move that stands. Rolling back twice goes back two moves; a rollback
/// that was taken back counts no more, so the move it rolled back stands again.
fn past(builder: &mut Builder<'_>, unit: &Unit, alias: &VersionId) -> Result<Weights, Error> {
    let mut newest = None;
    for Step { entry, from, to } in
        moves::steps(builder.state, &pointer(unit, alias))?.into_iter().rev()
    {
        let counts = entry.undoes.is_none() && from != to;
        if counts && builder.state.undone_by(entry.seq)?.is_none() {
            newest = Some((entry.seq, from));
            break;
        }
    }
    let past = newest.and_then(|(entry, from)| Some((entry, weights(from)?)));
    let (function, name) = (unit.key.name.clone(), alias.clone());
    let Some((entry, weights)) = past else {
        return Err(Error::NoPast { function, alias: name });
    };
    for share in weights.shares() {
        let key = folio_model::VersionKey { unit: unit.uid, number: share.number };
        if builder.state.version(key)?.is_none() {
            return Err(Error::PastGone { function, alias: name, number: share.number });
        }
    }
    builder.rolls_back(entry);
    Ok(weights)
}
