//! Finds out what a deployment owns and no longer asks for, and whether anything stands in the way of its going.
//! A package that a function of the deployment still has versions of is kept, and that is said.

use std::collections::BTreeSet;

use folio_model::{AppName, Kind, Pointer, Unit, UnitUid, Version, VersionKey};

use super::work::Places;
use super::{Error, Wanted};
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
}

impl Removal {
    pub(super) fn is_empty(&self) -> bool {
        self.doomed.is_empty()
    }

    /// The units, those first that stand on others.
    pub(super) fn units(&self) -> impl Iterator<Item = &Unit> {
        self.doomed.iter().map(|doomed| &doomed.unit)
    }

    /// The units with their versions, those first that stand on others.
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
        let versions = state.versions(unit.uid, Page::ALL)?;
        match still_used(state, &unit, &versions, &stay)? {
            Some(remark) => removal.remarks.push(remark),
            None => removal.doomed.push(Doomed { unit, versions }),
        }
    }
    refuse_if_used(state, &removal, &stay)?;
    Ok(removal)
}

/// Why a package has to stay: a function that stays was published with it.
fn still_used(
    state: &dyn State,
    unit: &Unit,
    versions: &[Version],
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
    for Doomed { unit, versions } in &removal.doomed {
        let keys =
            versions.iter().map(|version| VersionKey { unit: unit.uid, number: version.number });
        leaving.versions.extend(keys);
        let aliases = state.aliases(unit.uid)?.into_iter();
        let aliases: Vec<_> =
            aliases.map(|alias| Pointer::Alias { unit: unit.uid, name: alias.name }).collect();
        leaving.pointers.extend(aliases.iter().cloned());
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
    let names: Vec<_> = removal.units().map(|unit| unit.key.to_string()).collect();
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
