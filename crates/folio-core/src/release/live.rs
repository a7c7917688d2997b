//! Moves what an app's own host shows. A move by hand pins it; it goes back by the releases that had all the traffic.

use std::collections::BTreeMap;

use folio_model::{
    Actor, AppName, Canary, CanaryPhase, CanarySubject, Edit, Entry, Live, LiveMode, LiveShare,
    Place, Pointer, ReleaseId, Skew, Timestamp,
};
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::make::{go_live, replace_live};
use super::{Error, ReleaseRef, ReleaseView, Standing, by_id, known, reach, reach_public, view};
use crate::builder::Builder;
use crate::moves::{self, Step};
use crate::ports::{StandingRelease, State, StoreError};
use crate::request::Caller;
use crate::view::Done;
use crate::{Folio, canary};

/// One move of what is live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveMove {
    /// The ledger entry.
    pub entry: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Actor,
    /// What was done.
    pub message: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was live before.
    pub from: Vec<LiveShare>,
    /// What is live since.
    pub to: Vec<LiveShare>,
    /// Whether new releases follow it.
    pub mode: LiveMode,
}

/// How far back a rollback looks for a release that can still be reached.
const STEPS_BACK_MAX: usize = 1000;

impl Folio {
    /// Makes a release live and pins it: later releases do not take its place.
    pub async fn set_live(
        &self,
        caller: &Caller,
        app: &AppName,
        to: &ReleaseRef,
    ) -> Result<Done<ReleaseView>, Error> {
        let (app, to) = (app.clone(), to.clone());
        self.commit(caller, &app.clone(), move |builder| {
            refuse_if_rolling(builder.state, &app)?;
            let found = reach_public(builder.state, &app, &to)?;
            builder.say(format!("set live to release {}", found.id));
            pin(builder, &app, found)
        })
        .await
    }

    /// Has live follow the newest release again, from now on.
    pub async fn follow_live(
        &self,
        caller: &Caller,
        app: &AppName,
    ) -> Result<Done<ReleaseView>, Error> {
        let app = app.clone();
        self.commit(caller, &app.clone(), move |builder| {
            refuse_if_rolling(builder.state, &app)?;
            let latest = reach(builder.state, &app, &ReleaseRef::Latest)?;
            let mut standing = Standing::read(builder.state, &app)?;
            let live = Live::only(latest.id.clone(), LiveMode::Following, builder.at());
            let kept = standing.live.as_ref().is_some_and(|(now, _)| {
                now.mode == LiveMode::Following && now.shares == live.shares
            });
            if !kept {
                builder.say(format!("follow the latest release, {}", latest.id));
                go_live(builder, &mut standing, live)?;
            }
            Ok::<_, Error>(view::release(builder.state, &standing, latest)?)
        })
        .await
    }

    /// Takes live back to the release that had all the traffic before, or to a given one, and pins it. Rolling back
    /// twice goes back two releases. Makes no version, and ends a rollout.
    pub async fn roll_back_live(
        &self,
        caller: &Caller,
        app: &AppName,
        to: Option<&ReleaseRef>,
    ) -> Result<Done<ReleaseView>, Error> {
        let (app, to) = (app.clone(), to.cloned());
        self.commit(caller, &app.clone(), move |builder| {
            canary::end_rollout(builder, "live was rolled back")?;
            if let Some(to) = &to {
                let found = reach_public(builder.state, &app, to)?;
                builder.say(format!("roll back to release {}", found.id));
                return pin(builder, &app, found);
            }
            let (found, before) = past(builder.state, &app)?;
            builder.say(format!("roll back to release {}", found.id));
            let mut standing = Standing::read(builder.state, &app)?;
            let from = standing.live.take();
            let live = Live { before, ..pinned(builder, &found.id) };
            replace_live(builder, &mut standing, (from, live))?;
            Ok::<_, Error>(view::release(builder.state, &standing, found)?)
        })
        .await
    }

    /// Lists every move of what is live, newest first.
    pub async fn live_history(&self, app: &AppName) -> Result<Vec<LiveMove>, Error> {
        let app = app.clone();
        self.look(move |state| {
            known(state, &app)?;
            let pointer = Pointer::Live { app: app.clone() };
            let live = |place: Option<Place>| match place {
                Some(Place::Live(live)) => Some(live),
                _ => None,
            };
            let moved = |Step { entry, from, to }| {
                let to = live(to)?;
                Some(LiveMove {
                    entry: entry.seq,
                    at: entry.at,
                    by: entry.by,
                    message: entry.message,
                    reason: entry.reason.or(to.reason),
                    from: live(from).map(|from| from.shares).unwrap_or_default(),
                    to: to.shares,
                    mode: to.mode,
                })
            };
            Ok(moves::steps(state, &pointer)?.into_iter().rev().filter_map(moved).collect())
        })
        .await
    }
}

/// Refuses to move what is live while a rollout does.
pub(super) fn refuse_if_rolling(state: &dyn State, app: &AppName) -> Result<(), Error> {
    match canary::rollout(state, app)? {
        Some(found) => Err(Error::Rolling(found.name)),
        None => Ok(()),
    }
}

/// Has what is live be what a rollout stands for.
pub(crate) fn shift(builder: &mut Builder<'_>, canary: &Canary) -> Result<(), StoreError> {
    let CanarySubject::Live { old, new, sticky } = &canary.subject else { return Ok(()) };
    let mut standing = Standing::read(builder.state, builder.app())?;
    let shares = canary.live_shares(old, new);
    let (reason, sticky) = match &canary.phase {
        CanaryPhase::Succeeded => (format!("rollout to {new} succeeded"), None),
        CanaryPhase::Failed { why } => (format!("rollout to {new} failed: {why}"), None),
        _ => (format!("rollout to {new}"), sticky.clone()),
    };
    let (mode, reason) = (LiveMode::Pinned, Some(reason));
    let same = |now: &Live| now.shares == shares && now.reason == reason;
    if standing.live.as_ref().is_some_and(|(now, _)| same(now)) {
        return Ok(());
    }
    let since = builder.at();
    let live = Live { shares, sticky, mode, since, reason, before: None };
    go_live(builder, &mut standing, live)
}

/// Makes one release live and keeps it so.
fn pin(
    builder: &mut Builder<'_>,
    app: &AppName,
    found: StandingRelease,
) -> Result<ReleaseView, Error> {
    let mut standing = Standing::read(builder.state, app)?;
    let live = pinned(builder, &found.id);
    let kept = standing.live.as_ref().is_some_and(|(now, _)| {
        now.mode == LiveMode::Pinned && now.shares == live.shares && now.reason == live.reason
    });
    if !kept {
        go_live(builder, &mut standing, live)?;
    }
    Ok(view::release(builder.state, &standing, found)?)
}

fn pinned(builder: &Builder<'_>, release: &ReleaseId) -> Live {
    let reason = builder.reason().map(str::to_owned);
    Live { reason, ..Live::only(release.clone(), LiveMode::Pinned, builder.at()) }
}

/// The release that had all the traffic before what is live now and can still be reached, and what was before it.
fn past(state: &dyn State, app: &AppName) -> Result<(StandingRelease, Option<u64>), Error> {
    let (now, _) = super::live(state, app)?.ok_or_else(|| Error::None(app.clone()))?;
    let mut before = now.before;
    for _ in 0..STEPS_BACK_MAX {
        let Some(entry) = before else { break };
        let live = live_at(state, app, entry)?;
        let found = match live.sole() {
            Some(release) if now.sole() != Some(release) => by_id(state, app, release)?,
            _ => None,
        };
        if let Some(found) = found.filter(|found| found.release.is_accessible()) {
            return Ok((found, live.before));
        }
        before = live.before;
    }
    Err(Error::NoPast(app.clone()))
}

/// How many moves of live are looked back at for releases that clients may still be with.
const MOVES_BACK_MAX: usize = 256;

/// The releases that had traffic before, each with the last moment it had any, as far back as clients may stay with one:
/// where live really was, because a rollback leaves a release that no later way back leads to.
pub(super) fn lately(
    state: &dyn State,
    app: &AppName,
    (now, skew): (&Live, &Skew),
) -> Result<BTreeMap<ReleaseId, Timestamp>, StoreError> {
    const AT_ONCE: usize = 8;
    let pointer = Pointer::Live { app: app.clone() };
    let stay = SignedDuration::from_secs(skew.max_age_s.try_into().unwrap_or(i64::MAX));
    let (mut lately, mut below) = (BTreeMap::new(), u64::MAX);
    for _ in 0..MOVES_BACK_MAX / AT_ONCE {
        let moved = state.moves_before(&pointer, below, AT_ONCE)?;
        for Entry { at, edits, .. } in &moved {
            let left = edits.iter().filter_map(|edit| match edit {
                Edit::Move { pointer: moved, from: Some(Place::Live(from)), .. } => {
                    (*moved == pointer).then_some(from)
                }
                _ => None,
            });
            for release in left.flat_map(releases_with_traffic) {
                // Later moves come first.
                lately.entry(release.clone()).or_insert(*at);
            }
        }
        let Some(Entry { seq, at, .. }) = moved.last() else { break };
        if now.since.duration_since(*at) > stay {
            break;
        }
        below = *seq;
    }
    Ok(lately)
}

/// The releases that answer while something is live.
pub(super) fn releases_with_traffic(live: &Live) -> impl Iterator<Item = &ReleaseId> {
    live.shares.iter().filter(|share| share.weight > 0).map(|share| &share.release)
}

/// What an entry made live.
fn live_at(state: &dyn State, app: &AppName, entry: u64) -> Result<Live, StoreError> {
    let pointer = Pointer::Live { app: app.clone() };
    let found = state.entry(entry)?;
    let edits = found.into_iter().flat_map(|entry| entry.edits);
    let live = edits.filter_map(|edit| match edit {
        Edit::Move { pointer: moved, to: Some(Place::Live(live)), .. } => {
            (moved == pointer).then_some(live)
        }
        _ => None,
    });
    live.last()
        .ok_or_else(|| StoreError::corrupt(format!("entry {entry}, which made a release live")))
}
