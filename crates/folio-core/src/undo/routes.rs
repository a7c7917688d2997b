//! Checks that a trigger which an undo brings back, or turns back, still leads somewhere.

use folio_model::{Kind, Qualifier, Target, TriggerSpec, UnitKey, UnitUid, VersionKey};

use super::reversal::Reversal;
use crate::ports::{State, StoreError};
use crate::{route, trigger};

/// What is in the way of a trigger being as it was, if anything is.
pub(super) fn dangles(
    state: &dyn State,
    reversal: &Reversal,
    uid: UnitUid,
) -> Result<Option<String>, StoreError> {
    let Some(key) = reversal.name(state, uid)?.filter(|key| key.kind == Kind::Trigger) else {
        return Ok(None);
    };
    let Some(snapshot) = reversal.standing(state, uid)? else { return Ok(None) };
    let spec = trigger::spec(state, snapshot)?;
    for target in spec.targets() {
        if !leads_somewhere(state, reversal, &key, target)? {
            return Ok(Some(format!("{}, to which {key} leads,", target.function)));
        }
    }
    if let Some(tag) = spec.tag()
        && !reversal.has_tag(state, &key, tag)?
    {
        return Ok(Some(format!("tag {tag}, which {key} runs,")));
    }
    let TriggerSpec::Http(spec) = spec else { return Ok(None) };
    // What the same undo turns back fitted together before, and does again.
    let turned = &reversal.gaining() | &reversal.losing();
    let taken = route::taken(state, (&key, &spec), |other| !turned.contains(&other))?;
    Ok(taken.map(|_| format!("the path of {key}")))
}

fn leads_somewhere(
    state: &dyn State,
    reversal: &Reversal,
    route: &UnitKey,
    target: &Target,
) -> Result<bool, StoreError> {
    let Some(name) = target.name().cloned() else { return Ok(true) };
    let key = UnitKey { kind: Kind::Function, name, app: route.app.clone() };
    let Some(unit) = reversal.unit(state, &key)? else { return Ok(false) };
    match &target.function.at {
        None | Some(Qualifier::Latest | Qualifier::Draft) => reversal.shows(state, unit),
        Some(Qualifier::Number(number)) => {
            reversal.survives(state, VersionKey { unit, number: *number })
        }
        Some(Qualifier::Named(id)) => {
            if reversal.has_alias(state, unit, id)? {
                return Ok(true);
            }
            match state.version_by_id(unit, id)? {
                Some((version, _)) => {
                    reversal.survives(state, VersionKey { unit, number: version.number })
                }
                None => Ok(false),
            }
        }
    }
}
