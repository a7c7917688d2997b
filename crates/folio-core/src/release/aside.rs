//! Releases that stand aside: for whoever tries something out. One is reached by its id and its tag; it is never latest or
//! live, live does not follow it, and the plan does not count it. The next one under the same tag takes its place, and
//! one that nobody renews goes with the next [`super::expire`].

use std::time::Duration;

use folio_model::{Place, Pointer, ReleaseId, ReleaseState};

use super::tags::as_version;
use super::{Standing, by_id, tagged};
use crate::builder::Builder;
use crate::folio;
use crate::ports::{StandingRelease, StoreError};
use crate::request::Releasing;

/// How long one stays that nobody renews.
pub(super) const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Refuses a tag for releases aside that means a release which everybody sees.
pub(crate) fn refuse(builder: &Builder<'_>) -> Result<(), folio::Error> {
    let Releasing::Aside(tag) = builder.releasing() else { return Ok(()) };
    let (state, app) = (builder.state, builder.app());
    let what = match tagged(state, app, tag)? {
        Some(on) => match by_id(state, app, &on)? {
            Some(found) if !found.release.aside => format!("on release `{on}`"),
            _ => return Ok(()),
        },
        None if by_id(state, app, tag)?.is_some() || state.id_taken(app, &as_version(tag))? => {
            "the id of a release or version".to_owned()
        }
        None => return Ok(()),
    };
    Err(folio::Error::AsideTag { tag: tag.clone(), what })
}

/// Whether a release of an app version is what is wanted: one that everybody sees, or the one that a tag is on.
pub(super) fn is_wanted(
    builder: &Builder<'_>,
    found: &StandingRelease,
) -> Result<bool, StoreError> {
    match builder.releasing() {
        Releasing::Aside(tag) => {
            let on = tagged(builder.state, builder.app(), tag)?;
            Ok(found.release.is_accessible() && on.as_ref() == Some(&found.id))
        }
        _ => Ok(found.release.is_public()),
    }
}

/// Puts a release under its tag; the one that was there goes.
pub(super) fn put(
    builder: &mut Builder<'_>,
    standing: &mut Standing,
    (tag, made): (&ReleaseId, &StandingRelease),
) -> Result<(), StoreError> {
    let app = builder.app().clone();
    let before = standing.tags.iter().find(|(name, _)| name == tag).map(|(_, on)| on.clone());
    let pointer = Pointer::ReleaseTag { app, name: tag.clone() };
    let to = Some(Place::Tagged(made.id.clone()));
    builder.point(pointer, before.clone().map(Place::Tagged), to)?;
    standing.tags.retain(|(name, _)| name != tag);
    let gone = standing.accessible.iter().find(|found| Some(&found.id) == before.as_ref());
    if let Some(gone) = gone.filter(|gone| gone.release.aside).cloned() {
        end(builder, standing, &gone, ReleaseState::Deleted)?;
    }
    standing.tags.push((tag.clone(), made.id.clone()));
    standing.tags.sort();
    Ok(())
}

/// Ends a release aside, with the tags that are left on it.
pub(super) fn end(
    builder: &mut Builder<'_>,
    standing: &mut Standing,
    found: &StandingRelease,
    state: ReleaseState,
) -> Result<(), StoreError> {
    let app = builder.app().clone();
    let tags: Vec<_> = standing.tags_on(&found.id).cloned().collect();
    for tag in tags {
        let pointer = Pointer::ReleaseTag { app: app.clone(), name: tag };
        builder.point(pointer, Some(Place::Tagged(found.id.clone())), None)?;
    }
    standing.tags.retain(|(_, on)| *on != found.id);
    let pointer = Pointer::Release { app, id: found.id.clone() };
    let ended = found.release.ended(state, builder.at());
    let from = Some(Place::Release(found.release.clone()));
    builder.point(pointer, from, Some(Place::Release(ended)))?;
    standing.accessible.retain(|other| other.id != found.id);
    Ok(())
}
