//! Says how an app treats its releases: what keeps them, how long, and whether clients stay with one.

use std::collections::{BTreeMap, BTreeSet};

use folio_model::{
    AppName, AppPlan, Digest, Place, Pointer, ReleaseId, ReleasePolicy, Retention, Skew, TreeEntry,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::retention::Sizes;
use super::{Error, ReleaseRef, ReleaseView, Standing, find, known, plan, reach_public, view};
use crate::builder::Builder;
use crate::ports::{State, StoreError};
use crate::request::Caller;
use crate::view::{self as views, Done};
use crate::{Folio, content};

/// What is to be different about how an app treats its releases.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PolicyChange {
    /// Which releases can be reached how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
    /// How long a client stays with the release it began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew: Option<Skew>,
    /// What is to be as if nothing had ever been said.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unset: BTreeSet<PolicyPart>,
}

/// A part of how an app treats its releases.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum PolicyPart {
    /// Which releases can be reached how long.
    Retention,
    /// How long a client stays with the release it began with.
    Skew,
}

/// How long a client may stay with a release.
const SKEW_S_MAX: u64 = 30 * 24 * 60 * 60;

impl Folio {
    /// Shows how an app treats its releases.
    pub async fn show_policy(&self, app: &AppName) -> Result<ReleasePolicy, Error> {
        let app = app.clone();
        self.look(move |state| {
            known(state, &app)?;
            Ok(plan(state, &app)?.policy)
        })
        .await
    }

    /// Says how an app treats its releases. Nothing expires by that before the next release or collection.
    pub async fn set_policy(
        &self,
        caller: &Caller,
        app: &AppName,
        change: PolicyChange,
    ) -> Result<Done<ReleasePolicy>, Error> {
        let app = app.clone();
        if let Some(skew) = &change.skew
            && !(1..=SKEW_S_MAX).contains(&skew.max_age_s)
        {
            return Err(Error::SkewTime(skew.max_age_s));
        }
        self.commit(caller, &app.clone(), move |builder| {
            if let Some(oldest) = change.skew.as_ref().and_then(|skew| skew.oldest.as_ref()) {
                find(builder.state, &app, &ReleaseRef::Named(oldest.clone()))?;
            }
            builder.say("set how releases are treated".to_owned());
            let policy = alter(builder, |policy| {
                for part in &change.unset {
                    match part {
                        PolicyPart::Retention => policy.retention = Retention::default(),
                        PolicyPart::Skew => policy.skew = None,
                    }
                }
                policy.retention = change.retention.unwrap_or(policy.retention);
                policy.skew = change.skew.clone().or(policy.skew.take());
            })?;
            Ok::<_, Error>(policy)
        })
        .await
    }

    /// Keeps a release that can be reached from expiring, until it is let go.
    pub async fn keep_release(
        &self,
        caller: &Caller,
        (app, which): (&AppName, &ReleaseRef),
        keeping: Keeping,
    ) -> Result<Done<ReleaseView>, Error> {
        let (app, which) = (app.clone(), which.clone());
        self.commit(caller, &app.clone(), move |builder| {
            let found = match keeping {
                Keeping::Keep => reach_public(builder.state, &app, &which)?,
                Keeping::LetGo => find(builder.state, &app, &which)?,
            };
            let standing = Standing::read(builder.state, &app)?;
            let kept = &standing.plan.policy.kept;
            let limit = standing.plan.tagged;
            let full = kept.len() >= limit as usize && !kept.contains(&found.id);
            if keeping == Keeping::Keep && full {
                return Err(Error::TooManyKept { app: app.clone(), limit });
            }
            let what = if keeping == Keeping::Keep { "keep" } else { "let go of" };
            builder.say(format!("{what} release {}", found.id));
            alter(builder, |policy| {
                match keeping {
                    Keeping::Keep => policy.kept.insert(found.id.clone()),
                    Keeping::LetGo => policy.kept.remove(&found.id),
                };
            })?;
            Ok(view::release(builder.state, &standing, found)?)
        })
        .await
    }

    /// The files that every release that can be reached holds, if that decides anything.
    pub(super) async fn release_sizes(&self, app: &AppName) -> Result<Option<Sizes>, Error> {
        let of = app.clone();
        let held: Option<BTreeMap<ReleaseId, BTreeSet<Digest>>> = self
            .look(move |state| {
                known(state, &of)?;
                let standing = Standing::read(state, &of)?;
                if standing.plan.policy.retention.bytes.is_none() {
                    return Ok::<_, Error>(None);
                }
                let mut held = BTreeMap::new();
                for found in standing.accessible {
                    held.insert(found.id.clone(), contents(state, &of, &found.id)?);
                }
                Ok(Some(held))
            })
            .await?;
        let Some(held) = held else { return Ok(None) };
        let mut trees: BTreeMap<Digest, Vec<(Digest, u64)>> = BTreeMap::new();
        for tree in held.values().flatten() {
            if !trees.contains_key(tree) {
                let listed = content::list_files(self.blobs.as_ref(), *tree).await?.into_iter();
                let files = listed.filter_map(|(_, entry)| match entry {
                    TreeEntry::File { digest, bytes, .. } => Some((digest, bytes)),
                    TreeEntry::Directory { .. } => None,
                });
                trees.insert(*tree, files.collect());
            }
        }
        let sized = held.into_iter().map(|(id, held)| {
            (id, held.iter().flat_map(|tree| trees[tree].iter().copied()).collect())
        });
        Ok(Some(sized.collect()))
    }
}

/// Whether a release is to be kept from expiring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// It is.
    Keep,
    /// It is not, any more.
    LetGo,
}

/// Changes how an app treats its releases.
fn alter(
    builder: &mut Builder<'_>,
    change: impl FnOnce(&mut ReleasePolicy),
) -> Result<ReleasePolicy, StoreError> {
    let pointer = Pointer::Plan { app: builder.app().clone() };
    let from = builder.state.place(&pointer)?.map(|(place, _)| place);
    let mut plan: AppPlan = plan(builder.state, builder.app())?;
    let before = plan.policy.clone();
    change(&mut plan.policy);
    if plan.policy != before {
        builder.point(pointer, from, Some(Place::Plan(plan.clone())))?;
    }
    Ok(plan.policy)
}

/// The trees of everything that a release shows.
fn contents(
    state: &dyn State,
    app: &AppName,
    release: &ReleaseId,
) -> Result<BTreeSet<Digest>, StoreError> {
    let Some(number) = super::held::number_of(state, app, release)? else {
        return Ok(BTreeSet::new());
    };
    let placed = state.placements(app, number)?.into_iter();
    let mut open: Vec<Digest> =
        placed.filter_map(|placed| placed.latest).map(|(_, _, snapshot)| snapshot).collect();
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    while let Some(digest) = open.pop() {
        if seen.insert(digest) {
            let snapshot = views::snapshot(state, digest)?;
            found.extend(snapshot.contents().map(|content| content.tree));
            open.extend(snapshot.pins());
        }
    }
    Ok(found)
}
