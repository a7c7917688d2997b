//! What routes are now: what their latest version says, with the shares that their targets have got to.

use folio_model::{RouteSpec, TriggerSpec, Unit, Version};

use crate::ports::{State, StoreError};
use crate::trigger;

/// A route as it stands, with its latest version; nothing if the trigger is no route, or has no version.
pub(crate) fn standing(
    state: &dyn State,
    unit: &Unit,
) -> Result<Option<(Version, RouteSpec)>, StoreError> {
    let latest = if unit.latest.is_some() { latest(state, unit)? } else { None };
    match latest {
        Some((version, spec)) => Ok(Some((version, with_split(state, unit, spec)?))),
        None => Ok(None),
    }
}

/// What a route's latest version says; nothing if the trigger is no route.
pub(super) fn latest(
    state: &dyn State,
    unit: &Unit,
) -> Result<Option<(Version, RouteSpec)>, StoreError> {
    Ok(match trigger::latest(state, unit)? {
        (version, TriggerSpec::Http(spec)) => Some((version, spec)),
        _ => None,
    })
}

/// A route with what its targets get now, which is no longer what its spec says once a canary moved it.
pub(crate) fn with_split(
    state: &dyn State,
    unit: &Unit,
    spec: RouteSpec,
) -> Result<RouteSpec, StoreError> {
    Ok(match state.split(unit.uid)? {
        Some(targets) => RouteSpec { targets, ..spec },
        None => spec,
    })
}
