//! Removes releases: one that nothing shows, by hand, or those that the plan does not allow.

use folio_model::{AppName, FULL_WEIGHT, Live, LiveShare, Place, Pointer, ReleaseId, ReleaseState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::live::refuse_if_rolling;
use super::make::{OverLimit, expire, go_live};
use super::{Error, ReleaseRef, ReleaseView, Standing, reach, reach_public, view};
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
    /// The releases that can no longer be reached, oldest first, with why.
    pub expired: Vec<ExpiredRelease>,
    /// Those that stay, newest first, with what keeps them.
    pub kept: Vec<KeptRelease>,
    /// What keeps more releases than the plan allows, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_limit: Option<OverLimit>,
}

/// A release that can no longer be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpiredRelease {
    /// Its id.
    pub id: ReleaseId,
    /// Why.
    pub why: String,
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

    /// Expires what the rules of the app and its plan leave no room for and nothing keeps.
    pub async fn expire_releases(
        &self,
        caller: &Caller,
        app: &AppName,
    ) -> Result<Done<Expiry>, Error> {
        let (app, sizes) = (app.clone(), self.release_sizes(app).await?);
        self.commit(caller, &app.clone(), move |builder| {
            let mut standing = Standing::read(builder.state, &app)?;
            builder.say("expire releases".to_owned());
            Ok::<_, Error>(expire(builder, &mut standing, sizes.as_ref())?)
        })
        .await
    }

    /// Says what [`Folio::expire_releases`] would do, and why.
    pub async fn would_expire(&self, app: &AppName) -> Result<Expiry, Error> {
        let (app, clock, sizes) = (app.clone(), self.clock.clone(), self.release_sizes(app).await?);
        self.look(move |state| {
            super::known(state, &app)?;
            let caller = Caller::new(folio_model::Actor::system());
            let mut builder = Builder::new(state, &caller, &app, clock.as_ref());
            Ok(expire(&mut builder, &mut Standing::read(state, &app)?, sizes.as_ref())?)
        })
        .await
    }
}

/// Makes another release live in place of one, if it is live.
fn replace(
    builder: &mut Builder<'_>,
    standing: &mut Standing,
    found: &StandingRelease,
    other: &ReleaseRef,
) -> Result<(), Error> {
    let other = reach_public(builder.state, builder.app(), other)?;
    if other.id == found.id {
        return Err(Error::ReplacedByItself(found.id.clone()));
    }
    let Some((now, _)) = standing.live.as_ref().filter(|(live, _)| live.shows(&found.id)) else {
        return Ok(());
    };
    refuse_if_rolling(builder.state, builder.app())?;
    // What the others have of it they keep.
    let mut shares = now.shares.clone();
    let weight = shares.iter().filter(|at| at.release == found.id).map(|at| at.weight).sum();
    shares.retain(|share| share.release != found.id);
    match shares.iter_mut().find(|share| share.release == other.id) {
        Some(share) => share.weight += weight,
        None => shares.push(LiveShare { release: other.id, weight }),
    }
    let (sticky, reason) = (now.sticky.clone(), builder.reason().map(str::to_owned));
    let live = Live::shared(shares, builder.at())?;
    Ok(go_live(builder, standing, Live { sticky, reason, ..live })?)
}

/// What shows a release, so that it cannot be deleted.
fn users(standing: &Standing, app: &AppName, release: &ReleaseId) -> Vec<Referrer> {
    let referrer =
        |kind: &str, name: &str| Referrer { kind: kind.to_owned(), name: name.to_owned() };
    let live = standing.live_share(release).map(|share| match share {
        FULL_WEIGHT => referrer("live", app.as_str()),
        _ => referrer("split", app.as_str()),
    });
    let tags = standing.tags_on(release).map(|tag| referrer("release tag", tag.as_str()));
    live.into_iter().chain(tags).collect()
}
