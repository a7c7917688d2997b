//! What the release that is live means for work that no request asks for: which timers and other triggers there are,
//! and in which release the functions they call are looked up.
//!
//! Work is stamped with the release in which it was made and runs on it as long as that can be reached; then on what
//! is live, which is said.

use std::collections::BTreeSet;

use folio_model::{
    AppName, Digest, Edit, Entry, Kind, Live, Name, Number, Place, Placement, Pointer, ReleaseId,
    Timestamp, TriggerSpec, UnitUid,
};

use super::{by_id, live};
use crate::ports::{State, StoreError};
use crate::trigger;

/// App versions between two releases beyond which everything is looked at instead of what differs.
const GAP_MAX: u64 = 256;

/// The release that work is done in: what is live, or the larger share of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Main {
    pub(crate) id: ReleaseId,
    /// The app version it shows.
    pub(crate) number: Number,
    /// Since when it is live.
    pub(crate) since: Timestamp,
    /// The entry that made it so.
    pub(crate) revision: u64,
}

/// A trigger as the live release has it.
#[derive(Debug, Clone)]
pub(crate) struct LiveTrigger {
    pub(crate) unit: UnitUid,
    pub(crate) app: AppName,
    pub(crate) name: Name,
    pub(crate) snapshot: Digest,
    pub(crate) spec: TriggerSpec,
    /// The entry since which it is so.
    pub(crate) revision: u64,
    /// The release.
    pub(crate) release: ReleaseId,
    /// Since when it is live.
    pub(crate) live_since: Timestamp,
}

/// The release that work is done in; none if nothing of the app can be reached.
pub(crate) fn main(state: &dyn State, app: &AppName) -> Result<Option<Main>, StoreError> {
    let Some((live, revision)) = live(state, app)? else { return Ok(None) };
    let Some(id) = live.main().cloned() else { return Ok(None) };
    let number = number_of(state, app, &id)?;
    Ok(number.map(|number| Main { id, number, since: live.since, revision }))
}

/// A release that can be reached, as work is done in it.
pub(crate) fn reachable(
    state: &dyn State,
    app: &AppName,
    id: &ReleaseId,
) -> Result<Option<Number>, StoreError> {
    let found = by_id(state, app, id)?;
    match found.is_some_and(|found| found.release.is_accessible()) {
        true => number_of(state, app, id),
        false => Ok(None),
    }
}

/// A trigger as the live release of its app has it; none if it has no such trigger.
pub(crate) fn live_trigger(
    state: &dyn State,
    app: &AppName,
    unit: UnitUid,
) -> Result<Option<LiveTrigger>, StoreError> {
    let Some(main) = main(state, app)? else { return Ok(None) };
    match state.placement_at(unit, main.number)? {
        Some(placed) => of_placement(state, (app, &main), placed),
        None => Ok(None),
    }
}

/// Every trigger of every app, as the live release has it.
pub(crate) fn live_triggers(state: &dyn State) -> Result<Vec<LiveTrigger>, StoreError> {
    let (mut found, standing) = (Vec::new(), state.triggers()?);
    for app in state.apps()? {
        let Some(main) = main(state, &app)? else { continue };
        let newest = state.app_version_at(&app, None)?.map(|newest| newest.number);
        let placed = match newest == Some(main.number) {
            // What stands is what is live; only triggers have to be looked at.
            true => {
                let own = standing.iter().filter(|one| one.unit.key.app == app);
                let placed = own.map(|one| state.placement_at(one.unit.uid, main.number));
                placed.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
            }
            false => state.placements(&app, main.number)?,
        };
        for placed in placed {
            found.extend(of_placement(state, (&app, &main), placed)?);
        }
    }
    Ok(found)
}

fn of_placement(
    state: &dyn State,
    (app, main): (&AppName, &Main),
    placed: Placement,
) -> Result<Option<LiveTrigger>, StoreError> {
    let Placement { uid: unit, kind, name, latest, .. } = placed;
    let Some((number, _, snapshot)) = latest.filter(|_| kind == Kind::Trigger) else {
        return Ok(None);
    };
    // What it says now it said from its own entry on, unless it became live later.
    let living = state.unit_by_uid(unit)?.filter(|living| living.latest == Some(number));
    let revision = match living {
        Some(living) if came_live(state, app, main, living.revision)? => living.revision,
        _ => main.revision,
    };
    let spec = trigger::spec(state, snapshot)?;
    let (app, release, live_since) = (app.clone(), main.id.clone(), main.since);
    Ok(Some(LiveTrigger { unit, app, name, snapshot, spec, revision, release, live_since }))
}

/// Whether the entry that made something what it is was released at once, to what was live since.
fn came_live(
    state: &dyn State,
    app: &AppName,
    main: &Main,
    entry: u64,
) -> Result<bool, StoreError> {
    let pointer = Pointer::Live { app: app.clone() };
    let made = state.entry(entry)?;
    let edits = made.iter().flat_map(|entry| &entry.edits);
    let mut moved =
        edits.filter(|edit| matches!(edit, Edit::Move { pointer: moved, .. } if *moved == pointer));
    Ok(main.revision == entry || moved.next().is_some())
}

/// The units that an entry may have changed in what is live.
pub(crate) fn touched(
    state: &dyn State,
    entry: &Entry,
) -> Result<BTreeSet<(AppName, UnitUid)>, StoreError> {
    let mut units: BTreeSet<UnitUid> = entry.edits.iter().filter_map(Edit::unit).collect();
    for edit in &entry.edits {
        let Edit::Move { pointer: Pointer::Live { app }, from, to } = edit else { continue };
        let number = |place: &Option<Place>| match place {
            Some(Place::Live(live)) => number_live(state, app, live),
            _ => Ok(None),
        };
        if let (Some(from), Some(to)) = (number(from)?, number(to)?) {
            units.extend(between(state, app, (from, to))?);
        }
    }
    Ok(units.into_iter().map(|unit| (entry.app.clone(), unit)).collect())
}

/// The units in which two app versions differ, or all that either has where that is too far to tell.
fn between(
    state: &dyn State,
    app: &AppName,
    (one, other): (Number, Number),
) -> Result<BTreeSet<UnitUid>, StoreError> {
    if let Some(changed) = changed(state, app, (one, other))? {
        return Ok(changed);
    }
    let mut all = BTreeSet::new();
    for at in [one, other] {
        let placed = state.placements(app, at)?.into_iter();
        all.extend(placed.map(|placed| placed.uid));
    }
    Ok(all)
}

/// The units in which two app versions may differ; nothing if they are too far apart to tell.
pub(crate) fn changed(
    state: &dyn State,
    app: &AppName,
    (one, other): (Number, Number),
) -> Result<Option<BTreeSet<UnitUid>>, StoreError> {
    let (from, to) = (one.min(other), one.max(other));
    if to.get() - from.get() > GAP_MAX {
        return Ok(None);
    }
    let mut units = BTreeSet::new();
    let mut number = from;
    while number < to {
        number = number.next();
        let Some(version) = state.app_version(app, number)? else { return Ok(None) };
        let Some(entry) = state.entry(version.entry)? else { return Ok(None) };
        for edit in &entry.edits {
            units.extend(edit.unit());
            if let Edit::Built { readies, .. } = edit {
                units.extend(readies.iter().map(|ready| ready.unit));
            }
        }
    }
    Ok(Some(units))
}

fn number_live(
    state: &dyn State,
    app: &AppName,
    live: &Live,
) -> Result<Option<Number>, StoreError> {
    match live.main() {
        Some(id) => number_of(state, app, id),
        None => Ok(None),
    }
}

/// The entry that made a release, whether it can be reached or not.
pub(crate) fn made(
    state: &dyn State,
    app: &AppName,
    id: &ReleaseId,
) -> Result<Option<u64>, StoreError> {
    Ok(by_id(state, app, id)?.map(|found| found.release.entry))
}

/// The app version that a release shows, whether it can be reached or not.
pub(crate) fn number_of(
    state: &dyn State,
    app: &AppName,
    id: &ReleaseId,
) -> Result<Option<Number>, StoreError> {
    let Some(found) = by_id(state, app, id)? else { return Ok(None) };
    let version = state.app_version_by_id(app, &found.release.app_version)?;
    Ok(version.map(|version| version.number))
}
