//! Removes releases: one that nothing shows, by hand, or those that the plan does not allow.

use folio_model::{AppName, Live, LiveMode, Place, Pointer, ReleaseId, ReleaseState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::make::{OverLimit, expire, go_live};
use super::{Error, ReleaseRef, ReleaseView, Standing, reach, view};
use crate::builder::Builder;
use crate::ports::StandingRelease;
use crate::request::Caller;
use crate::view::Done;
use crate::{Folio, Referrer};

/// What may go along when a release is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deletion {
    /// The release that becomes live if the deleted one is.
    pub replace_with: Option<ReleaseRef>,
    /// Whether the tags on it go too.
    pub untag: bool,
}

/// What expired, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Expiry {
    /// The releases that can no longer be reached.
    pub expired: Vec<ReleaseId>,
    /// Those that stay, with what keeps them.
    pub kept: Vec<KeptRelease>,
    /// What keeps more releases than the plan allows, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_limit: Option<OverLimit>,
}

/// A release that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptRelease {
    /// Its id.
    pub id: ReleaseId,
    /// What keeps it; nothing if there is still room for it.
    pub by: Vec<String>,
}

impl Folio {
    /// Deletes a release. One that is live, tagged or shared is refused, unless what takes its place is named.
    pub async fn delete_release(
        &self,
        caller: &Caller,
        (app, which): (&AppName, &ReleaseRef),
        deletion: Deletion,
    ) -> Result<Done<ReleaseView>, Error> {
        let (app, which) = (app.clone(), which.clone());
        self.commit(caller, &app.clone(), move |builder| {
            let found = reach(builder.state, &app, &which)?;
            let mut standing = Standing::read(builder.state, &app)?;
            builder.say(format!("delete release {}", found.id));
            if let Some(other) = &deletion.replace_with {
                replace(builder, &mut standing, &found, other)?;
            }
            let tags: Vec<_> = standing.tags_on(&found.id).cloned().collect();
            for tag in tags.iter().filter(|_| deletion.untag) {
                let pointer = Pointer::ReleaseTag { app: app.clone(), name: tag.clone() };
                builder.point(pointer, Some(Place::Tagged(found.id.clone())), None)?;
                standing.tags.retain(|(name, _)| name != tag);
            }
            let referrers = users(&standing, &app, &found.id);
            if !referrers.is_empty() {
                return Err(Error::InUse { release: found.id.clone(), referrers });
            }
            let ended = found.release.ended(ReleaseState::Deleted, builder.at());
            let pointer = Pointer::Release { app: app.clone(), id: found.id.clone() };
            let from = Some(Place::Release(found.release.clone()));
            builder.point(pointer, from, Some(Place::Release(ended.clone())))?;
            standing.accessible.retain(|other| other.id != found.id);
            let gone = StandingRelease { release: ended, ..found };
            Ok(view::release(builder.state, &standing, gone)?)
        })
        .await
    }

    /// Expires what the plan does not allow and nothing keeps.
    pub async fn expire_releases(
        &self,
        caller: &Caller,
        app: &AppName,
    ) -> Result<Done<Expiry>, Error> {
        let app = app.clone();
        self.commit(caller, &app.clone(), move |builder| {
            let mut standing = Standing::read(builder.state, &app)?;
            builder.say("expire releases".to_owned());
            Ok::<_, Error>(expiry(builder, &mut standing)?)
        })
        .await
    }

    /// Says what [`Folio::expire_releases`] would do, and why.
    pub async fn would_expire(&self, app: &AppName) -> Result<Expiry, Error> {
        let (app, clock) = (app.clone(), self.clock.clone());
        self.look(move |state| {
            super::known(state, &app)?;
            let caller = Caller::new(folio_model::Actor::system());
            let mut builder = Builder::new(state, &caller, &app, clock.as_ref());
            Ok(expiry(&mut builder, &mut Standing::read(state, &app)?)?)
        })
        .await
    }
}

/// Expires what is too much, and says what stays.
pub(crate) fn expiry(
    builder: &mut Builder<'_>,
    standing: &mut Standing,
) -> Result<Expiry, crate::ports::StoreError> {
    let (expired, over_limit) = expire(builder, standing)?;
    let kept = standing.accessible.iter().rev();
    let kept = kept.map(|found| {
        let by = standing.protectors(&found.id);
        KeptRelease { id: found.id.clone(), by }
    });
    Ok(Expiry { expired, kept: kept.collect(), over_limit })
}

/// Makes another release live in place of one, if it is live.
fn replace(
    builder: &mut Builder<'_>,
    standing: &mut Standing,
    found: &StandingRelease,
    other: &ReleaseRef,
) -> Result<(), Error> {
    let other = reach(builder.state, builder.app(), other)?;
    if other.id == found.id {
        return Err(Error::ReplacedByItself(found.id.clone()));
    }
    if standing.live_share(&found.id).is_some() {
        let reason = builder.reason().map(str::to_owned);
        let live = Live::only(other.id, LiveMode::Pinned, builder.at());
        go_live(builder, standing, Live { reason, ..live })?;
    }
    Ok(())
}

/// What shows a release, so that it cannot be deleted.
fn users(standing: &Standing, app: &AppName, release: &ReleaseId) -> Vec<Referrer> {
    let referrer =
        |kind: &str, name: &str| Referrer { kind: kind.to_owned(), name: name.to_owned() };
    let live = standing.live_share(release).map(|_| referrer("live", app.as_str()));
    let tags = standing.tags_on(release).map(|tag| referrer("release tag", tag.as_str()));
    live.into_iter().chain(tags).collect()
}
