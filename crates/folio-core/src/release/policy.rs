//! Says how an app treats its releases: what keeps them, how long, and whether clients stay with one.

use std::collections::BTreeSet;

use folio_model::{AppName, AppPlan, Place, Pointer, ReleasePolicy, Retention, Skew};
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Error, ReleaseRef, ReleaseView, Standing, find, known, plan, reach_public, view};
use crate::Folio;
use crate::builder::Builder;
use crate::ports::StoreError;
use crate::request::Caller;
use crate::view::Done;

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
            let mut skew = change.skew.clone();
            if let Some(oldest) = skew.as_mut().and_then(|skew| skew.oldest.as_mut()) {
                // A tag moves; what is too old does not.
                *oldest = find(builder.state, &app, &ReleaseRef::Named(oldest.clone()))?.id;
            }
            let before = plan(builder.state, &app)?.policy;
            let policy = alter(builder, |policy| {
                for part in &change.unset {
                    match part {
                        PolicyPart::Retention => policy.retention = Retention::default(),
                        PolicyPart::Skew => policy.skew = None,
                    }
                }
                policy.retention = change.retention.unwrap_or(policy.retention);
                policy.skew = skew.or(policy.skew.take());
            })?;
            builder.say(format!("set how releases are treated: {}", differs(&before, &policy)));
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

/// What is different about how an app treats its releases, and what it was.
fn differs(from: &ReleasePolicy, to: &ReleasePolicy) -> String {
    let (kept, stay) = (rules(&to.retention), stays(to.skew.as_ref()));
    let rules = (from.retention != to.retention)
        .then(|| format!("rules {kept} (were {})", rules(&from.retention)));
    let skew =
        (from.skew != to.skew).then(|| format!("skew {stay} (was {})", stays(from.skew.as_ref())));
    rules.into_iter().chain(skew).collect::<Vec<_>>().join("; ")
}

fn rules(retention: &Retention) -> String {
    let count = |name: &str, count: Option<u32>| count.map(|count| format!("{name} {count}"));
    let rules = [
        count("newest", retention.newest),
        retention.age_s.map(|seconds| format!("age {}", long(seconds))),
        count("daily", retention.daily),
        count("weekly", retention.weekly),
        retention.bytes.map(|bytes| format!("bytes {bytes}")),
    ];
    let rules: Vec<_> = rules.into_iter().flatten().collect();
    if rules.is_empty() { "none".to_owned() } else { rules.join(", ") }
}

fn stays(skew: Option<&Skew>) -> String {
    let Some(skew) = skew else { return "none".to_owned() };
    let oldest = skew.oldest.as_ref().map(|oldest| format!(", oldest {oldest}"));
    format!("{}{}", long(skew.max_age_s), oldest.unwrap_or_default())
}

/// A time as the rules are shown with it.
fn long(seconds: u64) -> String {
    format!("{:#}", SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX)))
}
