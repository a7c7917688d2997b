//! Carries a plan out: pushes what it says as edits of one change.

use std::collections::HashMap;

use folio_model::{
    Draft, Edit, Kind, Name, Origin, Owner, Place, Pointer, Snapshot, Unit, VersionId, VersionKey,
};

use super::plan::{Plan, Step, Uses};
use super::removal::Doomed;
use super::{Applied, Error, Form, Wanted};
use crate::builder::{Builder, NewVersion};
use crate::{code, publish};

/// Does what a plan says.
pub(super) fn carry_out(
    builder: &mut Builder<'_>,
    plan: Plan,
    wanted: &Wanted,
) -> Result<Applied, Error> {
    if plan.is_empty() {
        return Ok(plan.outcome(None));
    }
    let id = free_id(builder, &plan.steps)?;
    let applied = plan.outcome(Some(id.clone()));
    builder.name_app_version(id.clone());
    let mut made = HashMap::new();
    for step in plan.steps {
        let drafted = matches!(step.key.kind, Kind::Function | Kind::Package);
        if drafted && wanted.form == Form::Drafts {
            draft(builder, step, &wanted.owner)?;
        } else {
            publish(builder, step, &wanted.owner, (&id, &mut made))?;
        }
    }
    for mut unit in plan.drafts {
        builder.clear_draft(&mut unit)?;
    }
    for unit in plan.adopted {
        own(builder, &unit, &wanted.owner)?;
    }
    for doomed in plan.removal.into_doomed() {
        remove(builder, doomed)?;
    }
    builder.say(format!("apply {} as {id}", wanted.owner.name));
    Ok(applied)
}

/// An id that no version ever had and that no alias or name is in the way of.
fn free_id(builder: &mut Builder<'_>, steps: &[Step]) -> Result<VersionId, Error> {
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

fn publish(
    builder: &mut Builder<'_>,
    step: Step,
    owner: &Owner,
    (id, made): (&VersionId, &mut HashMap<Name, VersionKey>),
) -> Result<(), Error> {
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
    Ok(())
}

fn draft(builder: &mut Builder<'_>, step: Step, owner: &Owner) -> Result<(), Error> {
    let mut unit = code::claim(builder, &step.key, Origin::User)?;
    own(builder, &unit, owner)?;
    let uses = match step.uses {
        Uses::Version(key) => Some(key),
        Uses::Nothing | Uses::Made(_) => None,
    };
    let draft = Draft { snapshot: step.snapshot.digest(), uses, archive: step.archive };
    Ok(builder.set_draft(&mut unit, &step.snapshot, draft)?)
}

fn own(builder: &mut Builder<'_>, unit: &Unit, owner: &Owner) -> Result<(), Error> {
    if unit.owner.as_ref() == Some(owner) {
        return Ok(());
    }
    let (from, to) = (unit.owner.clone(), Some(owner.clone()));
    Ok(builder.push(Edit::Own { uid: unit.uid, from, to })?)
}

/// Removes a unit with everything it has.
fn remove(builder: &mut Builder<'_>, doomed: Doomed) -> Result<(), Error> {
    let Doomed { mut unit, versions } = doomed;
    for alias in builder.state.aliases(unit.uid)? {
        let pointer = Pointer::Alias { unit: unit.uid, name: alias.name };
        builder.point(pointer, Some(Place::Versions(alias.weights)), None)?;
    }
    for version in versions {
        builder.push(Edit::DeleteVersion { uid: unit.uid, version })?;
    }
    builder.clear_draft(&mut unit)?;
    Ok(builder.push(Edit::DeleteUnit { uid: unit.uid, key: unit.key })?)
}
