//! What a canary moves: two targets of a route, two versions of an alias, or two releases that are live.

use folio_model::{
    AppName, Canary, CanarySubject, Kind, Name, Number, Place, Pointer, Reference, ReleaseId,
    RouteSpec, Unit, UnitKey, UnitUid, Weights,
};

use super::{Error, RouteNow, alias_of};
use crate::builder::Builder;
use crate::ports::{StandingCanary, State, StoreError};
use crate::release;
use crate::resolve::{self, What};
use crate::route::{self, served};

/// Two targets of a route.
pub(super) fn of_route(
    state: &dyn State,
    (app, canary): (&AppName, &Name),
    name: &Name,
    (old, new): (Option<&Reference>, &Reference),
) -> Result<CanarySubject, Error> {
    let key = UnitKey { app: app.clone(), kind: Kind::Trigger, name: name.clone() };
    let unit = resolve::unit(state, &key)?;
    refuse_if_moved(state, (app, canary), &Pointer::Split { unit: unit.uid })?;
    let found = route::standing(state, &unit)?;
    let (_, spec) = found.ok_or_else(|| Error::NotARoute(name.clone()))?;
    let target = |wanted: &Reference| {
        let wanted_out = served(wanted);
        let mut targets = spec.targets.iter().map(|target| &target.function);
        let found = targets.find(|function| served(function) == wanted_out).cloned();
        let missing = || Error::NotATarget { route: name.clone(), function: wanted.clone() };
        found.ok_or_else(missing)
    };
    let new = target(new)?;
    let old = match old {
        Some(old) => target(old)?,
        None => {
            let mut others = spec.targets.iter().filter(|target| target.function != new);
            match (others.next(), others.next()) {
                (Some(only), None) => only.function.clone(),
                _ => return Err(Error::WhichOld),
            }
        }
    };
    if old == new {
        return Err(Error::Same(new.to_string()));
    }
    for function in [&old, &new] {
        resolve::resolve(state, app, Kind::Function, &served(function))?;
    }
    Ok(CanarySubject::Route { unit: unit.uid, route: name.clone(), old, new })
}

/// Two versions of an alias.
pub(super) fn of_alias(
    state: &dyn State,
    (app, canary): (&AppName, &Name),
    reference: &Reference,
    (old, new): (Option<&Reference>, &Reference),
) -> Result<CanarySubject, Error> {
    let not_an_alias = || Error::NotAnAlias(reference.clone());
    let (function, alias) = alias_of(reference).ok_or_else(not_an_alias)?;
    let key = UnitKey { app: app.clone(), kind: Kind::Function, name: function.clone() };
    let unit = resolve::unit(state, &key)?;
    let standing = state.alias(unit.uid, alias)?.ok_or_else(not_an_alias)?;
    let pointer = Pointer::Alias { unit: unit.uid, name: alias.clone() };
    refuse_if_moved(state, (app, canary), &pointer)?;
    let new = version(state, (app, &unit), new)?;
    let old = match old {
        Some(old) => version(state, (app, &unit), old)?,
        None => standing.weights.sole().ok_or(Error::WhichOld)?,
    };
    if old == new {
        return Err(Error::Same(format!("{function}@{new}")));
    }
    let mut shares = standing.weights.shares().iter();
    if let Some(other) = shares.find(|share| share.number != old && share.number != new) {
        return Err(Error::AliasElsewhere { alias: reference.clone(), number: other.number });
    }
    let (function, alias) = (function.clone(), alias.clone());
    Ok(CanarySubject::Alias { unit: unit.uid, function, alias, old, new })
}

/// The one version of a function that a reference means.
fn version(
    state: &dyn State,
    (app, function): (&AppName, &Unit),
    reference: &Reference,
) -> Result<Number, Error> {
    let resolved = resolve::resolve(state, app, Kind::Function, &served(reference))?;
    match resolved.what {
        What::Version(number) if resolved.unit.uid == function.uid => Ok(number),
        What::Version(_) | What::Split(..) | What::Draft => Err(Error::NotAVersion {
            function: function.key.name.clone(),
            reference: reference.clone(),
        }),
    }
}

/// Refuses to move what another running canary moves.
fn refuse_if_moved(
    state: &dyn State,
    (app, name): (&AppName, &Name),
    pointer: &Pointer,
) -> Result<(), Error> {
    let mut running = state.canaries(Some(app))?.into_iter().filter(StandingCanary::is_running);
    let other = running.find(|found| found.name != *name && self::pointer(found) == *pointer);
    other.map_or(Ok(()), |other| Err(Error::Busy { other: other.name }))
}

/// What holds the shares that a canary moves.
fn pointer(found: &StandingCanary) -> Pointer {
    match &found.canary.subject {
        CanarySubject::Route { unit, .. } => Pointer::Split { unit: *unit },
        CanarySubject::Alias { unit, alias, .. } => {
            Pointer::Alias { unit: *unit, name: alias.clone() }
        }
        CanarySubject::Live { .. } => Pointer::Live { app: found.app.clone() },
    }
}

/// Has the shares be what a canary stands for.
pub(super) fn shift(builder: &mut Builder<'_>, canary: &Canary) -> Result<(), Error> {
    match &canary.subject {
        CanarySubject::Route { unit, .. } => {
            let trigger = builder.state.unit_by_uid(*unit)?;
            let trigger = trigger.ok_or_else(|| StoreError::corrupt("a canary's route"))?;
            let split = builder.state.split(*unit)?;
            let standing = route::standing(builder.state, &trigger)?;
            let targets = standing.map(|(_, spec)| spec.targets).unwrap_or_default();
            shift_route(builder, canary, RouteNow { targets, split })?;
        }
        CanarySubject::Alias { unit, alias, old, new, .. } => {
            let before = builder.state.alias(*unit, alias)?;
            let before = before.map(|alias| Place::Versions(alias.weights));
            let to = Place::Versions(canary.weights(*old, *new));
            let pointer = Pointer::Alias { unit: *unit, name: alias.clone() };
            builder.point(pointer, before, Some(to))?;
        }
        CanarySubject::Live { .. } => release::live::shift(builder, canary)?,
    }
    Ok(())
}

/// Has the shares of a route be what a canary stands for.
pub(super) fn shift_route(
    builder: &mut Builder<'_>,
    canary: &Canary,
    route: RouteNow,
) -> Result<(), StoreError> {
    let CanarySubject::Route { unit, old, new, .. } = &canary.subject else { return Ok(()) };
    let to = Place::Targets(canary.targets(&route.targets, old, new));
    let pointer = Pointer::Split { unit: *unit };
    builder.point(pointer, route.split.map(Place::Targets), Some(to))
}

/// Whose answers are measured: those of the new code, and those of the old.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) new: Vec<Source>,
    pub(super) old: Vec<Source>,
}

/// Something whose answers are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Version(UnitUid, Number),
    Release(AppName, ReleaseId),
}

/// What the new code is at this moment, or why the canary can move its shares no longer.
pub(super) fn measured(
    state: &dyn State,
    app: &AppName,
    canary: &Canary,
) -> Result<Result<Measured, String>, StoreError> {
    match &canary.subject {
        CanarySubject::Route { unit, route, old, new } => {
            let standing = match state.unit_by_uid(*unit)? {
                Some(trigger) => route::standing(state, &trigger)?,
                None => None,
            };
            let Some((_, RouteSpec { targets, .. })) = standing else {
                return Ok(Err(format!("route {route} was deleted")));
            };
            let both = [old, new];
            let has = |function: &&Reference| targets.iter().any(|at| at.function == **function);
            if !both.iter().all(has) || canary.targets(&targets, old, new) != targets {
                return Ok(Err(format!("route {route} was changed")));
            }
            let sources = |function: &Reference| match resolve::resolve(
                state,
                app,
                Kind::Function,
                &served(function),
            ) {
                Ok(resolved) => Ok(Ok(versions(resolved))),
                Err(resolve::Error::Store(error)) => Err(error),
                Err(error) => Ok(Err(error.to_string())),
            };
            // What becomes of the old code is no reason to stop.
            let old = sources(old)?.unwrap_or_default();
            Ok(sources(new)?.map(|new| Measured { new, old }))
        }
        CanarySubject::Alias { unit, function, alias, old, new } => {
            let name = format!("{function}@{alias}");
            let Some(standing) = state.alias(*unit, alias)? else {
                return Ok(Err(format!("alias {name} was deleted")));
            };
            let expected: Weights = canary.weights(*old, *new);
            if standing.weights != expected {
                return Ok(Err(format!("alias {name} was moved")));
            }
            let of = |number: &Number| vec![Source::Version(*unit, *number)];
            Ok(Ok(Measured { new: of(new), old: of(old) }))
        }
        CanarySubject::Live { old, new, .. } => {
            let live = release::live(state, app)?.map(|(live, _)| live.shares);
            if live.as_ref() != Some(&canary.live_shares(old, new)) {
                return Ok(Err("live was moved".to_owned()));
            }
            let of = |release: &ReleaseId| vec![Source::Release(app.clone(), release.clone())];
            Ok(Ok(Measured { new: of(new), old: of(old) }))
        }
    }
}

fn versions(resolved: resolve::Resolved) -> Vec<Source> {
    let unit = resolved.unit.uid;
    match resolved.what {
        What::Version(number) => vec![Source::Version(unit, number)],
        What::Split(_, shares) => {
            shares.iter().map(|share| Source::Version(unit, share.number)).collect()
        }
        What::Draft => Vec::new(),
    }
}
