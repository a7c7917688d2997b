//! Carries a plan out: pushes what it says as edits of one change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use folio_model::{
    AppName, Digest, Draft, Edit, Kind, Name, Origin, Owner, Place, Pointer, RouteSpec, Snapshot,
    TriggerSpec, Unit, UnitKey, VersionId, VersionKey,
};

use super::plan::{Plan, Step, Uses};
use super::pointers::{self, Made};
use super::removal::Doomed;
use super::{Applied, Error, Form, Wanted, Wish};
use crate::builder::{Builder, NewVersion};
use crate::{code, publish, settings};

/// Does what a plan says.
pub(super) fn carry_out(
    builder: &mut Builder<'_>,
    app: &AppName,
    plan: Plan,
    wanted: &Wanted,
) -> Result<Applied, Error> {
    if plan.is_empty() {
        return Ok(plan.outcome(wanted, None));
    }
    let id = free_id(builder, &plan.steps)?;
    let made = plan.makes_an_app_version().then(|| id.clone());
    let mut applied = plan.outcome(wanted, made);
    builder.name_app_version(id.clone());
    let renewal = Renewal::of(&plan.steps);
    let (mut made, mut versions) = (HashMap::new(), HashMap::new());
    for step in plan.steps {
        let drafted = matches!(step.key.kind, Kind::Function | Kind::Package);
        if drafted && wanted.form == Form::Drafts {
            draft(builder, step, wanted.owner.as_ref())?;
        } else {
            let unit = publish(builder, step, wanted.owner.as_ref(), (&id, &mut made))?;
            versions.insert(unit.key.clone(), pointers::callable(&unit));
        }
    }
    settings::renew_others(builder, &renewal.configs, &renewal.planned)?;
    for mut unit in plan.drafts {
        builder.clear_draft(&mut unit)?;
    }
    for unit in plan.adopted {
        own(builder, &unit, wanted.owner.as_ref())?;
    }
    for doomed in plan.removal.into_doomed() {
        remove(builder, doomed)?;
    }
    let routes = routes(wanted);
    let made = Made { versions: &versions, owner: wanted.owner.as_ref(), routes: &routes };
    for step in plan.pointers {
        let pointer = step.outcome();
        if let Some(remark) = pointers::carry_out(builder, app, step, &made)? {
            applied.pointers.retain(|moved| Some(moved) != pointer.as_ref());
            applied.waiting.extend(pointer);
            applied.remarks.push(remark);
        }
    }
    let name = wanted.owner.as_ref().map_or("manifests", |owner| &owner.name);
    builder.say(match &applied.id {
        _ if wanted.asks_for_nothing() => format!("destroy {name}"),
        Some(id) => format!("apply {name} as {id}"),
        None => format!("apply {name}"),
    });
    Ok(applied)
}

/// The configs that change. The functions that name one and that the apply does not change itself get a version that
/// has it.
#[derive(Default)]
struct Renewal {
    configs: Vec<(UnitKey, Digest)>,
    planned: HashSet<UnitKey>,
}

impl Renewal {
    fn of(steps: &[Step]) -> Self {
        let configs = steps.iter().filter(|step| step.key.kind == Kind::Config);
        let configs: Vec<_> =
            configs.map(|step| (step.key.clone(), step.snapshot.digest())).collect();
        if configs.is_empty() {
            return Self::default();
        }
        Self { configs, planned: steps.iter().map(|step| step.key.clone()).collect() }
    }
}

/// The routes that are asked for.
fn routes(wanted: &Wanted) -> Vec<(Name, RouteSpec)> {
    let route = |wish: &Arc<Wish>| match &wish.spec {
        Snapshot::Trigger(TriggerSpec::Http(spec)) => Some((wish.name.clone(), spec.clone())),
        _ => None,
    };
    let asked = !wanted.pointers.is_empty();
    wanted.wishes.iter().filter(|_| asked).filter_map(route).collect()
}

/// An id that no version ever had and that no alias or name is in the way of.
pub(super) fn free_id(builder: &mut Builder<'_>, steps: &[Step]) -> Result<VersionId, Error> {
    loop {
        let id = builder.fresh_id()?;
        let free = |step: &Step| {
            publish::check_names(builder.state, &step.key, step.unit.as_ref(), &id).is_ok()
        };
        if steps.iter().all(free) {
            return Ok(id);
        }
    }
}

/// Publishes what a step says, in the place of a draft. Returns the unit as it is then.
pub(super) fn publish(
    builder: &mut Builder<'_>,
    step: Step,
    owner: Option<&Owner>,
    (id, made): (&VersionId, &mut HashMap<Name, VersionKey>),
) -> Result<Unit, Error> {
    let mut unit = code::claim(builder, &step.key, Origin::User)?;
    own(builder, &unit, owner)?;
    builder.clear_draft(&mut unit)?;
    let uses = match step.uses {
        Uses::Nothing => None,
        Uses::Version(key) => Some(key),
        Uses::Made(name) => made.get(&name).copied(),
    };
    let new =
        NewVersion { id: id.clone(), uses, archive: step.archive, description: String::new() };
    let version = builder.publish(&mut unit, &step.snapshot, new)?;
    if let Snapshot::Package(_) = step.snapshot {
        made.insert(step.key.name, VersionKey { unit: unit.uid, number: version.number });
    }
    Ok(unit)
}

fn draft(builder: &mut Builder<'_>, step: Step, owner: Option<&Owner>) -> Result<(), Error> {
    let mut unit = code::claim(builder, &step.key, Origin::User)?;
    own(builder, &unit, owner)?;
    let uses = match step.uses {
        Uses::Version(key) => Some(key),
        Uses::Nothing | Uses::Made(_) => None,
    };
    let draft = Draft { snapshot: step.snapshot.digest(), uses, archive: step.archive };
    Ok(builder.set_draft(&mut unit, &step.snapshot, draft)?)
}

/// Notes whose a unit is. Whoever is no deployment leaves it whose it was.
fn own(builder: &mut Builder<'_>, unit: &Unit, owner: Option<&Owner>) -> Result<(), Error> {
    if owner.is_none() || unit.owner.as_ref() == owner {
        return Ok(());
    }
    let (from, to) = (unit.owner.clone(), owner.cloned());
    Ok(builder.push(Edit::Own { uid: unit.uid, from, to })?)
}

/// Removes a unit with everything it has.
pub(super) fn remove(builder: &mut Builder<'_>, doomed: Doomed) -> Result<(), Error> {
    let Doomed { mut unit, versions, aliases } = doomed;
    for alias in aliases {
        let pointer = Pointer::Alias { unit: unit.uid, name: alias.name };
        builder.point(pointer, Some(Place::Versions(alias.weights)), None)?;
    }
    for version in versions {
        builder.push(Edit::DeleteVersion { uid: unit.uid, version })?;
    }
    builder.clear_draft(&mut unit)?;
    builder.clear_split(&unit)?;
    Ok(builder.push(Edit::DeleteUnit { uid: unit.uid, key: unit.key })?)
}
