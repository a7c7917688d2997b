//! Moves the aliases and canaries of an apply, once it is known what its units have become.

use std::collections::HashMap;

use folio_model::{
    AppName, CanarySubject, Kind, Name, Number, Owner, Place, Pointer, Reference, RouteSpec,
    Target, Unit, UnitKey,
};

use super::{AliasMove, CanaryStart, PointerStep, standing_route, weights};
use crate::apply::{Error, Fault};
use crate::builder::Builder;
use crate::canary::{self, RouteNow};
use crate::route::served;

/// What the units of an apply have become when its pointers are moved.
pub(in crate::apply) struct Made<'a> {
    /// The units that got a version, with their number if that can be called.
    pub(in crate::apply) versions: &'a HashMap<UnitKey, Option<Number>>,
    pub(in crate::apply) owner: Option<&'a Owner>,
    /// The routes that are asked for.
    pub(in crate::apply) routes: &'a [(Name, RouteSpec)],
}

/// Moves a pointer. Says why not, where it has to wait.
pub(in crate::apply) fn carry_out(
    builder: &mut Builder<'_>,
    app: &AppName,
    step: PointerStep,
    made: &Made<'_>,
) -> Result<Option<String>, Error> {
    match step {
        PointerStep::Alias(AliasMove { function, alias, shares, .. }) => {
            let key = UnitKey { app: app.clone(), kind: Kind::Function, name: function };
            let number = made.versions.get(&key).copied().flatten();
            let Some(to) = weights(&shares, number) else {
                let name = &key.name;
                return Ok(Some(format!(
                    "alias {name}@{alias} stays as it is until {name} is built; apply again then"
                )));
            };
            let unit = builder.uid_of(&key)?;
            let before = builder.state.alias(unit, &alias)?;
            let before = before.map(|alias| Place::Versions(alias.weights));
            builder.point(
                Pointer::Alias { unit, name: alias },
                before,
                Some(Place::Versions(to)),
            )?;
        }
        PointerStep::Canary(step) => {
            let at = step.at.clone();
            start(builder, app, *step, made).map_err(|error| match error {
                canary::Error::Folio(error) => Error::Folio(error),
                other => Error::Faults(vec![Fault::new(at, other.to_string())]),
            })?;
        }
        PointerStep::Forget(found) => canary::remove(builder, &found)?,
        PointerStep::Say(saying) => saying.carry_out(builder)?,
    }
    Ok(None)
}

fn start(
    builder: &mut Builder<'_>,
    app: &AppName,
    start: CanaryStart,
    made: &Made<'_>,
) -> Result<(), canary::Error> {
    let CanaryStart { asked, plan, before, .. } = start;
    let key = UnitKey { app: app.clone(), kind: Kind::Trigger, name: asked.route.clone() };
    let unit = builder.uid_of(&key)?;
    let renewed = made.versions.contains_key(&key);
    let split = if renewed { None } else { builder.state.split(unit)? };
    let asked_for = made.routes.iter().find(|(name, _)| *name == asked.route);
    let targets = match (&split, asked_for) {
        (Some(targets), _) => targets.clone(),
        (None, Some((_, spec))) => spec.targets.clone(),
        (None, None) => {
            standing_route(builder.state, &key)?.map(|spec| spec.targets).unwrap_or_default()
        }
    };
    let old = written(&targets, &asked.old);
    let new = written(&targets, &asked.new);
    let subject = CanarySubject::Route { unit, route: asked.route.clone(), old, new };
    let canary = canary::unstarted(subject, plan, made.owner.cloned());
    let route = Some(RouteNow { targets, split });
    canary::begin(builder, (app, &asked.name), before, canary, route)?;
    Ok(())
}

/// A function as a route writes it.
fn written(targets: &[Target], function: &Reference) -> Reference {
    let mut targets = targets.iter().map(|target| &target.function);
    targets.find(|found| served(found) == served(function)).unwrap_or(function).clone()
}

/// The number of a unit's version that was just made, if it can be called.
pub(in crate::apply) fn callable(unit: &Unit) -> Option<Number> {
    unit.latest.filter(|latest| Some(*latest) == unit.newest)
}
