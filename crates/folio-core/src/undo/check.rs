//! Checks that taking an entry back breaks nothing that came after it. Start at [`check`].

use folio_model::{
    Digest, Draft, Edit, Kind, Number, Owner, Place, Pointer, Snapshot, Unit, UnitKey, UnitUid,
    Version, VersionKey,
};

use super::reversal::Reversal;
use super::{Error, routes};
use crate::delete::guard;
use crate::ports::{State, StoreError};
use crate::{publish, release};

/// Refuses a reversal that does not fit what is there now, or that something stands in the way of.
pub(super) fn check(state: &dyn State, reversal: &Reversal) -> Result<(), Error> {
    for edit in &reversal.edits {
        if let Some(what) = changed(state, reversal, edit)? {
            return Err(Error::Changed { seq: reversal.seq, what });
        }
    }
    for uid in reversal.gaining() {
        if let Some(what) = name_taken(state, reversal, uid)? {
            return Err(Error::Changed { seq: reversal.seq, what });
        }
    }
    for uid in reversal.gaining().union(&reversal.losing()) {
        if let Some(what) = routes::dangles(state, reversal, *uid)? {
            return Err(Error::Changed { seq: reversal.seq, what });
        }
    }
    let mut referrers = guard::users(state, &reversal.leaving)?;
    for uid in reversal.losing() {
        let Some(unit) = state.unit_by_uid(uid)? else { continue };
        let shows = reversal.shows(state, uid)?;
        let held = |snapshot: Digest| {
            // A draft whose package moved on before loses nothing that it had.
            let had = guard::holds(state, &unit, snapshot)?;
            Ok(shows && (!had || reversal.holds(state, uid, snapshot)?))
        };
        referrers.extend(guard::stranded_drafts(state, &unit, &reversal.leaving, &held)?);
    }
    if referrers.is_empty() { Ok(()) } else { Err(Error::InUse { seq: reversal.seq, referrers }) }
}

/// What a step would replace that is not as the entry left it, if anything.
fn changed(
    state: &dyn State,
    reversal: &Reversal,
    edit: &Edit,
) -> Result<Option<String>, StoreError> {
    match edit {
        Edit::DeleteVersion { uid, version } => {
            let gone = state.version(VersionKey { unit: *uid, number: version.number })?.is_none();
            named_if(gone, state, reversal, (*uid, version))
        }
        Edit::RestoreVersion { uid, version } => {
            let refused = cannot_return(state, reversal, (*uid, version))?;
            named_if(refused, state, reversal, (*uid, version))
        }
        Edit::SetDraft { uid, from, to } => {
            draft_changed(state, reversal, *uid, (from.as_ref(), to.as_ref()))
        }
        Edit::Own { uid, from, .. } => owned_again(state, *uid, from.as_ref()),
        Edit::Describe { uid, number, from, .. } => {
            described_again(state, VersionKey { unit: *uid, number: *number }, from)
        }
        Edit::Move { pointer, from, to } => {
            moved_again(state, reversal, pointer, (from.as_ref(), to.as_ref()))
        }
        Edit::RestoreUnit { key, .. } => {
            let occupant = reversal.occupant(state, key)?;
            Ok(occupant.map(|_| format!("the name of {key}")))
        }
        Edit::DeleteUnit { .. } | Edit::CreateUnit { .. } | Edit::Publish { .. } => Ok(None),
        Edit::CreateApp { .. }
        | Edit::DeleteApp { .. }
        | Edit::AddToken { .. }
        | Edit::RevokeToken { .. }
        | Edit::Built { .. }
        | Edit::Forget { .. } => Ok(None),
    }
}

fn named_if(
    refused: bool,
    state: &dyn State,
    reversal: &Reversal,
    (uid, version): (UnitUid, &Version),
) -> Result<Option<String>, StoreError> {
    if !refused {
        return Ok(None);
    }
    let unit = reversal.name(state, uid)?;
    let of = unit.map_or_else(String::new, |key| format!(" of {key}"));
    Ok(Some(format!("version {}{of}", version.id)))
}

/// Whether a unit belongs to another deployment by now.
fn owned_again(
    state: &dyn State,
    uid: UnitUid,
    from: Option<&Owner>,
) -> Result<Option<String>, StoreError> {
    let Some(unit) = state.unit_by_uid(uid)? else { return Ok(None) };
    let changed = unit.owner.as_ref() != from;
    Ok(changed.then(|| format!("the deployment that {} belongs to", unit.key)))
}

/// Whether a version has no unit to return to, is there already, lost its package, or lost its names: its id
/// may have become an alias, and its object name the name of a unit.
fn cannot_return(
    state: &dyn State,
    reversal: &Reversal,
    (uid, version): (UnitUid, &Version),
) -> Result<bool, StoreError> {
    let Some(unit) = reversal.name(state, uid)? else { return Ok(true) };
    let there = state.version(VersionKey { unit: uid, number: version.number })?.is_some();
    if there || state.alias(uid, &version.id)?.is_some() {
        return Ok(true);
    }
    if let Some(package) = version.uses
        && !reversal.survives(state, package)?
    {
        return Ok(true);
    }
    let Ok(object) = format!("{}-{}", unit.name, version.id).parse() else { return Ok(false) };
    let other = state.unit(&UnitKey { name: object, ..unit })?;
    Ok(other.is_some_and(|other| other.is_visible()))
}

fn draft_changed(
    state: &dyn State,
    reversal: &Reversal,
    uid: UnitUid,
    (from, to): (Option<&Draft>, Option<&Draft>),
) -> Result<Option<String>, StoreError> {
    let Some(key) = reversal.name(state, uid)? else {
        return Ok(Some("the unit of its draft".to_owned()));
    };
    let draft = state.unit_by_uid(uid)?.and_then(|unit| unit.draft);
    if draft.as_ref() != from {
        return Ok(Some(format!("the draft of {key}")));
    }
    match to {
        Some(draft) if !package_stays(state, reversal, &key, draft)? => {
            Ok(Some(format!("the package of the draft of {key}")))
        }
        _ => Ok(None),
    }
}

/// Whether the package that a function draft stands on is there afterwards. A package stands on nothing.
fn package_stays(
    state: &dyn State,
    reversal: &Reversal,
    key: &UnitKey,
    draft: &Draft,
) -> Result<bool, StoreError> {
    if let Some(package) = draft.uses {
        return reversal.survives(state, package);
    }
    let Snapshot::Function(spec) = crate::view::snapshot(state, draft.snapshot)? else {
        return Ok(true);
    };
    let (kind, name) = (Kind::Package, spec.package.name);
    let package = reversal.unit(state, &UnitKey { kind, name, app: key.app.clone() })?;
    package.map_or(Ok(false), |package| reversal.shows(state, package))
}

fn described_again(
    state: &dyn State,
    key: VersionKey,
    from: &str,
) -> Result<Option<String>, StoreError> {
    let version = state.version(key)?;
    let same = version.is_some_and(|version| version.description == from);
    let number: Number = key.number;
    Ok((!same).then(|| format!("the description of version {number}")))
}

fn moved_again(
    state: &dyn State,
    reversal: &Reversal,
    pointer: &Pointer,
    (from, to): (Option<&Place>, Option<&Place>),
) -> Result<Option<String>, StoreError> {
    let current = state.place(pointer)?.map(|(place, _)| place);
    if current.as_ref() != from {
        return Ok(Some(pointer.to_string()));
    }
    let Some(to) = to else { return Ok(None) };
    // Ids and aliases share one namespace, and ids are never used again.
    if let Pointer::Alias { unit, name } = pointer
        && state.version_by_id(*unit, name)?.is_some()
    {
        return Ok(Some(format!("the name of {pointer}")));
    }
    if let Pointer::Live { app } | Pointer::ReleaseTag { app, .. } = pointer
        && !release::all_accessible(state, app, to)?
    {
        return Ok(Some(pointer.to_string()));
    }
    if let (Pointer::Domain { .. }, Place::App(app)) = (pointer, to)
        && !state.has_app(app)?
    {
        return Ok(Some(pointer.to_string()));
    }
    for target in to.versions(pointer) {
        if !reversal.survives(state, target)? {
            return Ok(Some(pointer.to_string()));
        }
    }
    Ok(None)
}

/// Says if a unit that is to be seen again would share its name with another unit's version.
fn name_taken(
    state: &dyn State,
    reversal: &Reversal,
    uid: UnitUid,
) -> Result<Option<String>, Error> {
    if state.unit_by_uid(uid)?.as_ref().is_some_and(Unit::is_visible) {
        return Ok(None);
    }
    let Some(key) = reversal.name(state, uid)? else { return Ok(None) };
    match publish::check_new_name(state, &key) {
        Ok(()) => Ok(None),
        Err(publish::Error::Folio(error)) => Err(error.into()),
        Err(_) => Ok(Some(format!("the name of {key}"))),
    }
}
