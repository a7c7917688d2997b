//! What a deploy does that finds everything as it should be: whatever was kept from being released is released now, and
//! a deploy that promotes makes it live. Without that, trying something out would keep it from everybody for ever.

use folio_model::{AppName, Edit, Entry, Live, LiveMode, Owner, ReleaseId, Unit, VersionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::make::{LOOK_BACK, go_live, of_app_version, was_released};
use super::{Standing, follows};
use crate::builder::Builder;
use crate::ports::{State, StoreError};
use crate::request::Releasing;

/// What was not reached, or not live, and is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Late {
    /// The newest app version gets a release.
    Released(VersionId),
    /// The latest release is live, and live follows from here on.
    Live(ReleaseId),
}

/// What is to be done for an app of which nothing differs from what an owner asks for. A release that somebody deleted,
/// or that expired, comes back only where live is to follow; one that stands aside is none.
pub(crate) fn owed(
    state: &dyn State,
    (app, owner): (&AppName, Option<&Owner>),
    releasing: &Releasing,
) -> Result<Option<Late>, StoreError> {
    let promotes = match releasing {
        Releasing::Hold | Releasing::Aside(_) => return Ok(None),
        Releasing::Release => false,
        Releasing::Promote => true,
    };
    let Some(newest) = state.app_version_at(app, None)? else { return Ok(None) };
    if is_held(state, app, owner)? {
        return Ok(Some(Late::Released(newest.id)));
    }
    if !promotes {
        return Ok(None);
    }
    let standing = Standing::read(state, app)?;
    if !standing.shows_latest(&newest.id) && was_released(state, app, &newest.id)? {
        return Ok(Some(Late::Released(newest.id)));
    }
    let latest = standing.latest().filter(|latest| !standing.has_live_follow(latest));
    Ok(latest.cloned().map(Late::Live))
}

/// Whether something of an owner's was kept from being released since the last release. What others keep from it is
/// theirs to release.
fn is_held(state: &dyn State, app: &AppName, owner: Option<&Owner>) -> Result<bool, StoreError> {
    let mut below = None;
    for _ in 0..LOOK_BACK {
        let Some(version) = state.app_versions_before(app, below, 1)?.pop() else { break };
        // Looked at first: entries may be long, and most often there is a release.
        if was_released(state, app, &version.id)? {
            break;
        }
        // One that was not kept shows nothing yet: it waits for its build.
        if let Some(entry) = state.entry(version.entry)?.filter(|entry| entry.unreleased)
            && !is_anothers(state, &entry, owner)?
        {
            return Ok(true);
        }
        below = Some(version.number);
    }
    Ok(false)
}

/// Whether no unit that an entry changed is an owner's. Whose it was that is gone by now is not known.
fn is_anothers(
    state: &dyn State,
    entry: &Entry,
    owner: Option<&Owner>,
) -> Result<bool, StoreError> {
    let Some(owner) = owner else { return Ok(false) };
    for uid in entry.edits.iter().filter_map(Edit::unit) {
        let unit = state.unit_by_uid(uid)?;
        let is_other = |unit: &Unit| unit.owner.as_ref().is_none_or(|other| other.uid != owner.uid);
        if !unit.as_ref().is_some_and(is_other) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Does what is to be done, as part of a change.
pub(crate) fn settle(
    builder: &mut Builder<'_>,
    owner: Option<&Owner>,
) -> Result<Option<Late>, StoreError> {
    let owed = owed(builder.state, (builder.app(), owner), builder.releasing())?;
    match &owed {
        None => {}
        Some(Late::Released(version)) => {
            builder.say_too(&format!("release app version {version}"));
            of_app_version(builder, version.clone())?;
        }
        Some(Late::Live(latest)) => {
            builder.say_too(&format!("follow the latest release, {latest}"));
            let mut standing = Standing::read(builder.state, builder.app())?;
            let live = Live::only(latest.clone(), LiveMode::Following, builder.at());
            go_live(builder, &mut standing, live)?;
        }
    }
    Ok(owed)
}

impl Standing {
    /// Whether the latest release is of an app version.
    fn shows_latest(&self, version: &VersionId) -> bool {
        let mut public = self.accessible.iter().filter(|found| !found.release.aside);
        public.next_back().is_some_and(|latest| latest.release.app_version == *version)
    }

    /// Whether a release is all that is live, and live goes along with the next one.
    fn has_live_follow(&self, release: &ReleaseId) -> bool {
        let sole = self.live.as_ref().and_then(|(live, _)| live.sole());
        follows(self.live.as_ref()) && sole == Some(release)
    }
}
