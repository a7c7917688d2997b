//! What a deploy does that finds everything as it should be: whatever was kept from being released is released now, and
//! a deploy that promotes makes it live. Without that, trying something out would keep it from everybody for ever.

use folio_model::{AppName, Live, LiveMode, ReleaseId, VersionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::make::{go_live, of_app_version, was_released};
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

/// What is to be done for an app of which nothing differs. A release that somebody deleted, or that expired, comes
/// back only where live is to follow; one that stands aside is none.
pub(crate) fn owed(
    state: &dyn State,
    app: &AppName,
    releasing: &Releasing,
) -> Result<Option<Late>, StoreError> {
    let promotes = match releasing {
        Releasing::Hold | Releasing::Aside(_) => return Ok(None),
        Releasing::Release => false,
        Releasing::Promote => true,
    };
    let Some(newest) = state.app_version_at(app, None)? else { return Ok(None) };
    if promotes {
        let standing = Standing::read(state, app)?;
        let latest = standing.latest().cloned();
        return Ok(match latest.filter(|_| standing.shows_latest(&newest.id)) {
            None => Some(Late::Released(newest.id)),
            Some(latest) => (!standing.has_live_follow(&latest)).then_some(Late::Live(latest)),
        });
    }
    // Looked at first: entries may be long, and most often there is a release.
    if was_released(state, app, &newest.id)? {
        return Ok(None);
    }
    let held = state.entry(newest.entry)?.is_some_and(|entry| entry.unreleased);
    Ok(held.then_some(Late::Released(newest.id)))
}

/// Does what is to be done, as part of a change.
pub(crate) fn settle(builder: &mut Builder<'_>) -> Result<Option<Late>, StoreError> {
    let owed = owed(builder.state, builder.app(), builder.releasing())?;
    match &owed {
        None => {}
        Some(Late::Released(version)) => {
            builder.say(format!("release app version {version}"));
            of_app_version(builder, version.clone())?;
        }
        Some(Late::Live(latest)) => {
            builder.say(format!("follow the latest release, {latest}"));
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
