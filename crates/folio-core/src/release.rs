//! Releases: which app versions can be reached from outside, and which of them an app's own host shows.
//!
//! Every change that makes an app version ends in `make`, inside its own transaction: the release, what expires
//! because of it, and what is live are one entry with the change. Start there. A release is never edited; whether
//! it can be reached, the tags on it and what is live are pointers.

mod aside;
pub(crate) mod contents;
mod due;
mod error;
pub(crate) mod held;
pub(crate) mod late;
pub(crate) mod live;
mod make;
mod policy;
mod removal;
mod retention;
mod split;
mod tags;
pub(crate) mod view;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use folio_model::{
    AppName, AppPlan, FULL_WEIGHT, Live, LiveMode, Place, Pointer, ReleaseId, ReleaseIdError,
    ReleaseState, Timestamp, VersionId, percent,
};

pub(crate) use self::aside::refuse as refuse_aside;
pub use self::error::Error;
pub use self::late::Late;
pub use self::live::LiveMove;
pub use self::make::{OverLimit, PinnedAt, Released, Remark};
pub(crate) use self::make::{expire, make, was_released};
pub use self::policy::{Keeping, PolicyChange, PolicyPart};
pub use self::removal::{Deletion, ExpiredRelease, Expiry, KeptRelease};
pub use self::split::{LiveSplit, LiveView};
pub use self::view::{AppVersionView, ReleaseLabel, ReleaseView};
use crate::history::{self, Moment};
use crate::ports::{Releases, StandingRelease, State, StoreError};
use crate::request::{Caller, IfSame};
use crate::view::Done;
use crate::{Folio, folio};

/// A release as people name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseRef {
    /// What the app's own host shows.
    Live,
    /// The newest that can be reached.
    Latest,
    /// The one with this tag or id.
    Named(ReleaseId),
}

impl FromStr for ReleaseRef {
    type Err = ReleaseIdError;
    fn from_str(text: &str) -> Result<Self, ReleaseIdError> {
        match text {
            "live" => Ok(Self::Live),
            "latest" => Ok(Self::Latest),
            _ => text.parse().map(Self::Named),
        }
    }
}

impl fmt::Display for ReleaseRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Live => "live",
            Self::Latest => "latest",
            Self::Named(id) => id.as_str(),
        })
    }
}

impl Folio {
    /// Lists an app's releases, newest first, below the entry that made one.
    pub async fn releases(
        &self,
        app: &AppName,
        below: Option<u64>,
        limit: usize,
    ) -> Result<Vec<ReleaseView>, Error> {
        let app = app.clone();
        let limit = limit.min(usize::try_from(self.limits().page_items_max).unwrap_or(usize::MAX));
        self.look(move |state| {
            known(state, &app)?;
            let standing = Standing::read(state, &app)?;
            let found = state.releases(&app, Releases::Before(below.unwrap_or(u64::MAX), limit))?;
            found.into_iter().map(|found| Ok(view::release(state, &standing, found)?)).collect()
        })
        .await
    }

    /// Shows one release, also one that can no longer be reached.
    pub async fn show_release(&self, app: &AppName, at: &ReleaseRef) -> Result<ReleaseView, Error> {
        let (app, at) = (app.clone(), at.clone());
        self.look(move |state| {
            known(state, &app)?;
            let found = find(state, &app, &at)?;
            Ok(view::release(state, &Standing::read(state, &app)?, found)?)
        })
        .await
    }

    /// Shows one release if it can be reached, and says why if it cannot.
    pub async fn reach_release(
        &self,
        app: &AppName,
        at: &ReleaseRef,
    ) -> Result<ReleaseView, Error> {
        let (app, at) = (app.clone(), at.clone());
        self.look(move |state| {
            known(state, &app)?;
            let found = reach(state, &app, &at)?;
            Ok(view::release(state, &Standing::read(state, &app)?, found)?)
        })
        .await
    }

    /// Releases an app version that was kept from it, or whose release is gone. One that can be reached already is
    /// answered with, unless another is asked for.
    pub async fn create_release(
        &self,
        caller: &Caller,
        app: &AppName,
        of: Moment,
        if_same: IfSame,
    ) -> Result<Done<ReleaseView>, Error> {
        let (app, moment) = (app.clone(), of.clone());
        let of_app = app.clone();
        let made = self.commit(caller, &of_app, move |builder| {
            let app = builder.app().clone();
            let version = history::app_version(builder.state, &app, &of)?;
            let releases = builder.state.releases(&app, Releases::Of(&version.id))?;
            let mut reached = None;
            for found in releases.into_iter().rev() {
                if reached.is_none() && aside::is_wanted(builder, &found)? {
                    reached = Some(found);
                }
            }
            if let (Some(found), IfSame::Keep) = (reached, if_same) {
                let standing = Standing::read(builder.state, &app)?;
                return Ok(view::release(builder.state, &standing, found)?);
            }
            contents::require(builder, &version)?;
            let (made, standing) = make::of_app_version(builder, version.id.clone())?;
            builder.say(format!("release app version {}", version.id));
            Ok::<_, Error>(view::release(builder.state, &standing, made)?)
        });
        match made.await {
            Ok(done) => Ok(done),
            Err(error) => Err(self.tell_not_kept(&app, moment, error).await),
        }
    }

    /// Releases the newest app version of every app that never had a release: what a server finds that was written
    /// before there were releases.
    pub async fn release_first(&self) -> Result<(), folio::Error> {
        let unreleased = self
            .look(|state| {
                let mut found = Vec::new();
                for app in state.apps()? {
                    if never_released(state, &app)?.is_some() {
                        found.push(app);
                    }
                }
                Ok::<_, StoreError>(found)
            })
            .await
            .map_err(folio::Error::from)?;
        for app in unreleased {
            let caller = Caller::new(folio_model::Actor::system());
            let of = app.clone();
            self.commit(&caller, &app, move |builder| {
                if let Some(newest) = never_released(builder.state, &of)? {
                    builder.say(format!("release app version {newest}"));
                    make(builder, newest)?;
                }
                Ok::<_, folio::Error>(())
            })
            .await?;
        }
        Ok(())
    }
}

/// The newest app version of an app that never had a release, unless nobody wanted one.
fn never_released(state: &dyn State, app: &AppName) -> Result<Option<VersionId>, StoreError> {
    if !state.releases(app, Releases::Before(u64::MAX, 1))?.is_empty() {
        return Ok(None);
    }
    let Some(newest) = state.app_version_at(app, None)? else { return Ok(None) };
    let held = state.entry(newest.entry)?.is_some_and(|entry| entry.unreleased);
    Ok((!held).then_some(newest.id))
}

fn known(state: &dyn State, app: &AppName) -> Result<(), folio::Error> {
    if state.has_app(app)? { Ok(()) } else { Err(folio::Error::NoApp(app.clone())) }
}

/// What of an app's releases can be reached, and under which names.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    /// Oldest first.
    pub(crate) accessible: Vec<StandingRelease>,
    /// Tags with the releases they are on, by name.
    pub(crate) tags: Vec<(ReleaseId, ReleaseId)>,
    /// What is live, and the entry that made it so.
    pub(crate) live: Option<(Live, u64)>,
    pub(crate) plan: AppPlan,
    /// Releases that had traffic before, and until when, where clients stay with them.
    pub(crate) lately: BTreeMap<ReleaseId, Timestamp>,
}

impl Standing {
    pub(crate) fn read(state: &dyn State, app: &AppName) -> Result<Self, StoreError> {
        let (live, plan) = (live(state, app)?, plan(state, app)?);
        let lately = match (&plan.policy.skew, &live) {
            (Some(skew), Some((live, _))) => live::lately(state, app, (live, skew))?,
            _ => BTreeMap::new(),
        };
        Ok(Self {
            accessible: state.releases(app, Releases::Accessible)?,
            tags: state.release_tags(app)?,
            live,
            plan,
            lately,
        })
    }

    /// The newest release that can be reached and stands not aside.
    pub(crate) fn latest(&self) -> Option<&ReleaseId> {
        let mut public = self.accessible.iter().filter(|found| !found.release.aside);
        public.next_back().map(|latest| &latest.id)
    }

    /// Whether a release that everybody sees is of an app version.
    fn shows(&self, version: &VersionId) -> bool {
        let mut public = self.accessible.iter().filter(|found| !found.release.aside);
        public.any(|found| found.release.app_version == *version)
    }

    /// Whether a release that can be reached stands aside.
    fn is_aside(&self, release: &ReleaseId) -> bool {
        self.accessible.iter().any(|found| found.id == *release && found.release.aside)
    }

    /// How many tags count: those on releases that everybody sees.
    fn tags_counted(&self, but: &ReleaseId) -> usize {
        let counted = |(name, on): &&(ReleaseId, ReleaseId)| name != but && !self.is_aside(on);
        self.tags.iter().filter(counted).count()
    }

    pub(crate) fn tags_on<'a>(
        &'a self,
        release: &'a ReleaseId,
    ) -> impl Iterator<Item = &'a ReleaseId> {
        self.tags.iter().filter(move |(_, on)| on == release).map(|(tag, _)| tag)
    }

    /// The share that a release has of what is live, if it is among it.
    pub(crate) fn live_share(&self, release: &ReleaseId) -> Option<u32> {
        let (live, _) = self.live.as_ref()?;
        live.shares.iter().find(|share| share.release == *release).map(|share| share.weight)
    }

    /// What keeps a release from expiring, in words.
    pub(crate) fn protectors(&self, release: &ReleaseId) -> Vec<String> {
        let live = self.live_share(release).map(|share| match share {
            FULL_WEIGHT => "live".to_owned(),
            share => format!("live {}", percent(share)),
        });
        let latest = self.latest().filter(|latest| *latest == release).map(|_| "latest".to_owned());
        let tags = self.tags_on(release).map(|tag| format!("tag {tag}"));
        let kept = self.plan.policy.kept.contains(release).then(|| "kept".to_owned());
        live.into_iter().chain(latest).chain(tags).chain(kept).collect()
    }
}

/// What is live in an app, and the entry that made it so.
pub(crate) fn live(state: &dyn State, app: &AppName) -> Result<Option<(Live, u64)>, StoreError> {
    match state.place(&Pointer::Live { app: app.clone() })? {
        Some((Place::Live(live), revision)) => Ok(Some((live, revision))),
        Some(_) => Err(StoreError::corrupt(format!("what is live in app `{app}`"))),
        None => Ok(None),
    }
}

/// How much an app may have.
pub(crate) fn plan(state: &dyn State, app: &AppName) -> Result<AppPlan, StoreError> {
    match state.place(&Pointer::Plan { app: app.clone() })? {
        Some((Place::Plan(plan), _)) => Ok(plan),
        Some(_) => Err(StoreError::corrupt(format!("the plan of app `{app}`"))),
        None => Ok(AppPlan::default()),
    }
}

fn by_id(
    state: &dyn State,
    app: &AppName,
    id: &ReleaseId,
) -> Result<Option<StandingRelease>, StoreError> {
    match state.place(&Pointer::Release { app: app.clone(), id: id.clone() })? {
        Some((Place::Release(release), _)) => Ok(Some(StandingRelease { id: id.clone(), release })),
        Some(_) => Err(StoreError::corrupt(format!("release `{id}` of app `{app}`"))),
        None => Ok(None),
    }
}

fn tagged(
    state: &dyn State,
    app: &AppName,
    tag: &ReleaseId,
) -> Result<Option<ReleaseId>, StoreError> {
    match state.place(&Pointer::ReleaseTag { app: app.clone(), name: tag.clone() })? {
        Some((Place::Tagged(release), _)) => Ok(Some(release)),
        Some(_) => Err(StoreError::corrupt(format!("release tag `{tag}` of app `{app}`"))),
        None => Ok(None),
    }
}

/// The release that a name means, whether it can be reached or not.
pub(crate) fn find(
    state: &dyn State,
    app: &AppName,
    at: &ReleaseRef,
) -> Result<StandingRelease, Error> {
    let id = match at {
        ReleaseRef::Live => {
            let (live, _) = live(state, app)?.ok_or_else(|| Error::None(app.clone()))?;
            live.sole().cloned().ok_or_else(|| Error::Split(app.clone()))?
        }
        ReleaseRef::Latest => {
            let found = state.releases(app, Releases::Accessible)?;
            let latest = found.into_iter().rfind(|found| !found.release.aside);
            return latest.ok_or_else(|| Error::None(app.clone()));
        }
        ReleaseRef::Named(name) => tagged(state, app, name)?.unwrap_or_else(|| name.clone()),
    };
    match by_id(state, app, &id)? {
        Some(found) => Ok(found),
        None => Err(unknown(state, app, &id)?),
    }
}

fn unknown(state: &dyn State, app: &AppName, id: &ReleaseId) -> Result<Error, StoreError> {
    let (app, id) = (app.clone(), id.clone());
    let version = id.as_str().parse().ok();
    let version = version.map(|version| state.app_version_by_id(&app, &version)).transpose()?;
    if version.flatten().is_some() {
        return Ok(Error::NotReleased { app, version: id.to_string() });
    }
    let known = state.releases(&app, Releases::Accessible)?;
    let names = known.iter().map(|found| found.id.as_str());
    let tags = state.release_tags(&app)?;
    let names = names.chain(tags.iter().map(|(tag, _)| tag.as_str()));
    let near = crate::resolve::nearest(id.as_str(), names);
    Ok(Error::NotFound { app, release: id, near })
}

/// The release that a name means, if it can be reached.
pub(crate) fn reach(
    state: &dyn State,
    app: &AppName,
    at: &ReleaseRef,
) -> Result<StandingRelease, Error> {
    let found = find(state, app, at)?;
    let (app, release) = (app.clone(), found.id.clone());
    match (found.release.state, found.release.ended_at) {
        (ReleaseState::Accessible, _) => Ok(found),
        (ReleaseState::Expired, at) => Err(Error::Expired { app, release, at }),
        (ReleaseState::Deleted, at) => Err(Error::Deleted { app, release, at }),
    }
}

/// The release that a name means, if it can be reached and stands not aside.
pub(crate) fn reach_public(
    state: &dyn State,
    app: &AppName,
    at: &ReleaseRef,
) -> Result<StandingRelease, Error> {
    let found = reach(state, app, at)?;
    if found.release.aside { Err(Error::Aside(found.id)) } else { Ok(found) }
}

/// Whether everything that a place names can be reached.
pub(crate) fn all_accessible(
    state: &dyn State,
    app: &AppName,
    place: &Place,
) -> Result<bool, StoreError> {
    let releases: Vec<&ReleaseId> = match place {
        Place::Live(live) => live.shares.iter().map(|share| &share.release).collect(),
        Place::Tagged(release) => vec![release],
        _ => Vec::new(),
    };
    for id in releases {
        if !by_id(state, app, id)?.is_some_and(|found| found.release.is_accessible()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether live goes along with a new release.
fn follows(live: Option<&(Live, u64)>) -> bool {
    live.is_none_or(|(live, _)| live.mode == LiveMode::Following)
}
