//! Makes a release inside a change: it appears, live goes along if it follows, and what is too much expires, all in
//! the entry of the change. Checking and expiring in one transaction is what keeps a tag from being left dangling.

use folio_model::{
    AppName, Live, LiveMode, Place, Pointer, Release, ReleaseId, ReleaseState, Timestamp, VersionId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::removal::{ExpiredRelease, Expiry, KeptRelease};
use super::retention::{Fate, Sizes, judge};
use super::{Standing, aside, follows, live};
use crate::builder::Builder;
use crate::ports::{Releases, StandingRelease, State, StoreError};
use crate::request::Releasing;

/// The release that a change made, and what that did to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Released {
    /// Its id.
    pub id: ReleaseId,
    /// Where live stays, if it does not go along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<PinnedAt>,
    /// How many app versions it brings along that were kept from being released.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreleased: u64,
    /// The releases that expired because of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expired: Vec<ReleaseId>,
    /// What keeps more releases than the plan allows, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_limit: Option<OverLimit>,
    /// The tag it is under, if it stands aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<ReleaseId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Where live stays although there is a newer release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinnedAt {
    /// The releases that are live.
    pub releases: Vec<ReleaseId>,
    /// Since when.
    pub since: Timestamp,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// More releases than the plan allows, each of which something keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverLimit {
    /// How many the plan allows.
    pub limit: u32,
    /// How many there are.
    pub accessible: u64,
    /// What keeps them: `tag beta`, `live`, `latest`.
    pub kept_by: Vec<String>,
}

/// How many app versions are looked back at to tell which were never released.
pub(super) const LOOK_BACK: usize = 100;

/// Releases an app version, as part of a change.
pub(crate) fn make(builder: &mut Builder<'_>, app_version: VersionId) -> Result<(), StoreError> {
    of_app_version(builder, app_version).map(|_| ())
}

/// As [`make`]; returns the release, and how everything stands with it.
pub(super) fn of_app_version(
    builder: &mut Builder<'_>,
    app_version: VersionId,
) -> Result<(StandingRelease, Standing), StoreError> {
    let app = builder.app().clone();
    let mut standing = Standing::read(builder.state, &app)?;
    let unreleased = unreleased(builder, &standing, &app_version)?;
    let aside = match builder.releasing() {
        Releasing::Aside(tag) => Some(tag.clone()),
        _ => None,
    };
    let made = StandingRelease {
        id: builder.fresh_release_id()?,
        release: Release {
            app_version,
            entry: builder.state.head()? + 1,
            created_at: builder.at(),
            state: ReleaseState::Accessible,
            ended_at: None,
            aside: aside.is_some(),
        },
    };
    let pointer = Pointer::Release { app: app.clone(), id: made.id.clone() };
    builder.point(pointer, None, Some(Place::Release(made.release.clone())))?;
    standing.accessible.push(made.clone());
    if let Some(tag) = aside {
        aside::put(builder, &mut standing, (&tag, &made))?;
        builder.releases(Released::aside(made.id.clone(), tag));
        return Ok((made, standing));
    }
    let promoted = *builder.releasing() == Releasing::Promote;
    let pinned = match promoted || follows(standing.live.as_ref()) {
        true => {
            let live = Live::only(made.id.clone(), LiveMode::Following, builder.at());
            go_live(builder, &mut standing, live)?;
            None
        }
        false => standing.live.as_ref().map(|(live, _)| PinnedAt::of(live)),
    };
    let Expiry { expired, over_limit, .. } = expire(builder, &mut standing, None)?;
    let expired = expired.into_iter().map(|gone| gone.id).collect();
    let id = made.id.clone();
    builder.releases(Released { id, pinned, unreleased, expired, over_limit, aside: None });
    Ok((made, standing))
}

impl Released {
    /// A release that everybody else sees nothing of.
    fn aside(id: ReleaseId, tag: ReleaseId) -> Self {
        let (pinned, expired, over_limit) = (None, Vec::new(), None);
        Self { id, pinned, unreleased: 0, expired, over_limit, aside: Some(tag) }
    }
}

/// Something about a change that its author may not expect, and what can be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// What.
    pub text: String,
    /// What to do.
    pub hint: Option<&'static str>,
}

impl Released {
    /// What it did that the author of the change may not expect.
    pub fn remarks(&self) -> Vec<Remark> {
        let (id, unreleased) = (&self.id, self.unreleased);
        let brings = (unreleased > 0).then(|| {
            let versions = if unreleased == 1 { "version" } else { "versions" };
            let text = format!("release {id} includes {unreleased} unreleased app {versions}");
            Remark { text, hint: None }
        });
        let stays = self.pinned.as_ref().map(|pinned| {
            let releases: Vec<_> = pinned.releases.iter().map(ReleaseId::as_str).collect();
            let since = pinned.since.strftime("%Y-%m-%d %H:%M:%S");
            let why = pinned.reason.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            let text = format!(
                "release {id} is not live: live is pinned at {} since {since}{why}",
                releases.join(", ")
            );
            let hint = "`folio release follow` makes it live, and `--promote` the next one";
            Remark { text, hint: Some(hint) }
        });
        let over = self.over_limit.as_ref().map(|over| {
            let text = format!(
                "over limit: {} releases, the plan allows {}; kept by {}",
                over.accessible,
                over.limit,
                over.kept_by.join(", ")
            );
            Remark { text, hint: None }
        });
        [brings, stays, over].into_iter().flatten().collect()
    }
}

impl PinnedAt {
    pub(crate) fn of(live: &Live) -> Self {
        let releases = live.shares.iter().map(|share| share.release.clone()).collect();
        Self { releases, since: live.since, reason: live.reason.clone() }
    }
}

/// Makes something else live. Where it was before is noted in it, so that a rollback finds the way.
pub(super) fn go_live(
    builder: &mut Builder<'_>,
    standing: &mut Standing,
    mut live: Live,
) -> Result<(), StoreError> {
    let from = standing.live.take();
    if let Some((from, revision)) = &from {
        let same = from.sole().is_some() && from.sole() == live.sole();
        let had_all = from.sole().map(|_| *revision).filter(|_| !same);
        live.before = had_all.or(from.before);
    }
    replace_live(builder, standing, (from, live))
}

/// As [`go_live`], with where it was before already noted.
pub(super) fn replace_live(
    builder: &mut Builder<'_>,
    standing: &mut Standing,
    (from, to): (Option<(Live, u64)>, Live),
) -> Result<(), StoreError> {
    let pointer = Pointer::Live { app: builder.app().clone() };
    if standing.plan.policy.skew.is_some()
        && let Some((from, _)) = &from
    {
        let left = live::releases_with_traffic(from).map(|release| (release.clone(), builder.at()));
        standing.lately.extend(left);
    }
    let from = from.map(|(live, _)| Place::Live(live));
    builder.point(pointer, from, Some(Place::Live(to.clone())))?;
    standing.live = Some((to, builder.state.head()? + 1));
    Ok(())
}

/// Expires what the rules of the app and its plan leave no room for and nothing keeps.
pub(crate) fn expire(
    builder: &mut Builder<'_>,
    standing: &mut Standing,
    sizes: Option<&Sizes>,
) -> Result<Expiry, StoreError> {
    let fates = judge(standing, builder.at(), sizes);
    let mut expiry = Expiry { expired: Vec::new(), kept: Vec::new(), over_limit: None };
    for Fate { found: StandingRelease { id, release }, kept_by, rules, expires } in fates {
        let Some(why) = expires else {
            let by = kept_by.into_iter().chain(rules).collect();
            expiry.kept.push(KeptRelease { id, by });
            continue;
        };
        if release.aside {
            let found = StandingRelease { id: id.clone(), release };
            aside::end(builder, standing, &found, ReleaseState::Expired)?;
            expiry.expired.push(ExpiredRelease { id, why });
            continue;
        }
        let pointer = Pointer::Release { app: builder.app().clone(), id: id.clone() };
        let ended = release.ended(ReleaseState::Expired, builder.at());
        builder.point(pointer, Some(Place::Release(release)), Some(Place::Release(ended)))?;
        expiry.expired.push(ExpiredRelease { id, why });
    }
    standing.accessible.retain(|found| !expiry.expired.iter().any(|gone| gone.id == found.id));
    let counted = expiry.kept.iter().filter(|kept| !standing.is_aside(&kept.id)).count();
    let (limit, accessible) = (standing.plan.releases, counted as u64);
    expiry.over_limit = (accessible > u64::from(limit)).then(|| OverLimit {
        limit,
        accessible,
        kept_by: expiry.kept.iter().flat_map(|kept| kept.by.clone()).collect(),
    });
    expiry.kept.reverse();
    Ok(expiry)
}

/// How many app versions in a row before this one were kept from being released. Most often the one before was not,
/// so they are looked at one by one.
fn unreleased(
    builder: &Builder<'_>,
    standing: &Standing,
    of: &VersionId,
) -> Result<u64, StoreError> {
    let (state, app) = (builder.state, builder.app());
    let (mut count, mut below) = (0, None);
    for _ in 0..LOOK_BACK {
        let before = state.app_versions_before(app, below, 1)?.pop();
        let Some(version) = before else { break };
        below = Some(version.number);
        if version.id == *of {
            continue;
        }
        if standing.shows(&version.id) || was_released(state, app, &version.id)? {
            break;
        }
        let held = state.entry(version.entry)?.is_some_and(|entry| entry.unreleased);
        count += u64::from(held);
        if !held {
            break;
        }
    }
    Ok(count)
}

/// Whether an app version ever had a release that everybody saw.
pub(crate) fn was_released(
    state: &dyn State,
    app: &AppName,
    version: &VersionId,
) -> Result<bool, StoreError> {
    let releases = state.releases(app, Releases::Of(version))?;
    Ok(releases.iter().any(|found| !found.release.aside))
}
