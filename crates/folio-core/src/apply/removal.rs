//! Finds out what a deployment owns and no longer asks for, and whether anything stands in the way of its going.
//! A package that a function of the deployment still has versions of is kept, and that is said.

use std::collections::BTreeSet;

use folio_model::{Alias, AppName, Kind, Pointer, Unit, UnitKey, UnitUid, Version, VersionKey};

use super::work::Places;
use super::{AppliedPointer, AppliedUnit, Error, Outcome, PointerKind, Wanted};
use crate::delete::{self, guard, guard::Leaving};
use crate::ports::{Page, State, StoreError};

/// Units that go.
#[derive(Default)]
pub(super) struct Removal {
    doomed: Vec<Doomed>,
    /// What stays although it is no longer asked for, and why.
    pub(super) remarks: Vec<String>,
}

/// A unit that goes, with its versions.
pub(super) struct Doomed {
    pub(super) unit: Unit,
    pub(super) versions: Vec<Version>,
    pub(super) aliases: Vec<Alias>,
}

impl Doomed {
    /// A unit with everything that goes with it.
    pub(super) fn of(state: &dyn State, unit: Unit) -> Result<Self, StoreError> {
        let (versions, aliases) = (state.versions(unit.uid, Page::ALL)?, state.aliases(unit.uid)?);
        Ok(Self { unit, versions, aliases })
    }

    /// What becomes of the unit.
    pub(super) fn outcome(&self) -> AppliedUnit {
        let UnitKey { kind, name, .. } = self.unit.key.clone();
        AppliedUnit { kind, name, what: Outcome::Deleted, versions: self.versions.len() as u64 }
    }

    /// What becomes of what points to its versions.
    pub(super) fn pointers(&self) -> impl Iterator<Item = AppliedPointer> {
        self.aliases.iter().map(|alias| AppliedPointer {
            kind: PointerKind::Alias,
            name: format!("{}@{}", self.unit.key.name, alias.name),
            what: Outcome::Deleted,
        })
    }
}

impl Removal {
    pub(super) fn is_empty(&self) -> bool {
        self.doomed.is_empty()
    }

    /// What goes, units first that stand on others.
    pub(super) fn doomed(&self) -> impl Iterator<Item = &Doomed> {
        self.doomed.iter()
    }

    /// What goes, units first that stand on others.
    pub(super) fn into_doomed(self) -> Vec<Doomed> {
        self.doomed
    }
}

/// Plans what goes: refuses if something that stays uses it.
pub(super) fn plan(
    state: &dyn State,
    app: &AppName,
    wanted: &Wanted,
    wished: &Places<'_>,
) -> Result<Removal, Error> {
    let Some(owner) = &wanted.owner else { return Ok(Removal::default()) };
    let owned = state.owned(app, &owner.uid)?;
    let (stay, mut go): (Vec<Unit>, Vec<Unit>) = owned
        .into_iter()
        .filter(Unit::is_visible)
        .partition(|unit| wished.contains_key(&(unit.key.kind, &unit.key.name)));
    if go.is_empty() {
        return Ok(Removal::default());
    }
    let stay: BTreeSet<UnitUid> = stay.into_iter().map(|unit| unit.uid).collect();
    let mut removal = Removal::default();
    go.sort_by_key(|unit| std::cmp::Reverse(unit.key.kind.need()));
    for unit in go {
        let doomed = Doomed::of(state, unit)?;
        match still_used(state, &doomed, &stay)? {
            Some(remark) => removal.remarks.push(remark),
            None => removal.doomed.push(doomed),
        }
    }
    refuse_if_used(state, &removal, &stay)?;
    Ok(removal)
}

/// Why a package has to stay: a function that stays was published with it.
fn still_used(
    state: &dyn State,
    Doomed { unit, versions, .. }: &Doomed,
    stay: &BTreeSet<UnitUid>,
) -> Result<Option<String>, StoreError> {
    if unit.key.kind != Kind::Package {
        return Ok(None);
    }
    for version in versions {
        let key = VersionKey { unit: unit.uid, number: version.number };
        let users = state.users(key)?;
        if let Some(user) = users.into_iter().find(|user| stay.contains(&user.unit)) {
            let function = state.unit_by_uid(user.unit)?.map(|unit| unit.key.to_string());
            let function = function.unwrap_or_default();
            return Ok(Some(format!(
                "{} is kept, because version {} of {function} uses it",
                unit.key, user.number
            )));
        }
    }
    Ok(None)
}

fn refuse_if_used(
    state: &dyn State,
    removal: &Removal,
    stay: &BTreeSet<UnitUid>,
) -> Result<(), Error> {
    let mut leaving = Leaving::default();
    for Doomed { unit, versions, aliases } in &removal.doomed {
        let keys =
            versions.iter().map(|version| VersionKey { unit: unit.uid, number: version.number });
        leaving.versions.extend(keys);
        let aliases = aliases.iter().map(|alias| alias.name.clone());
        let aliases = aliases.map(|name| Pointer::Alias { unit: unit.uid, name });
        leaving.pointers.extend(aliases.clone());
        leaving.gone.extend(aliases);
        leaving.units.insert(unit.uid);
        leaving.drafts.insert(unit.uid);
    }
    // What stays is checked by what it is asked to be, not by what it was.
    leaving.units.extend(triggers_that_stay(state, stay)?);
    leaving.drafts.extend(stay);
    let mut referrers = guard::users(state, &leaving)?;
    for Doomed { unit, .. } in &removal.doomed {
        referrers.extend(guard::stranded_drafts(state, unit, &leaving, &|_| Ok(false))?);
    }
    if referrers.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = removal.doomed().map(|doomed| doomed.unit.key.to_string()).collect();
    let several = names.len() > 1;
    Err(delete::Error::InUse { what: names.join(", "), several, referrers }.into())
}

fn triggers_that_stay(
    state: &dyn State,
    stay: &BTreeSet<UnitUid>,
) -> Result<Vec<UnitUid>, StoreError> {
    let mut triggers = Vec::new();
    for &uid in stay {
        let kind = state.unit_by_uid(uid)?.map(|unit| unit.key.kind);
        if kind == Some(Kind::Trigger) {
            triggers.push(uid);
        }
    }
    Ok(triggers)
}
