//! Apps: namespaces with a history, releases and a host of their own, and the plan that says how much they may have.

use folio_model::{
    AppName, AppPlan, Edit, Kind, LiveMode, Place, Pointer, ReleaseId, Right, Timestamp, VersionId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::builder::Builder;
use crate::ports::{State, StoreError};
use crate::release::{Expiry, PinnedAt, Standing, expire};
use crate::request::{Caller, Cascade, Releasing};
use crate::view::Done;
use crate::{Class, Code, Explain, Folio, Referrer, delete, folio};

/// Why an app was not made, changed or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is there already.
    #[error("app `{0}` already exists")]
    Exists(AppName),
    /// It was, and its name is kept.
    #[error("there was an app `{0}`, and its name is never given to another")]
    Retired(AppName),
    /// The first app stays.
    #[error("app `{0}` is what addresses and the bare domain mean, and cannot be deleted")]
    First(AppName),
    /// It still has units or domains.
    #[error("app `{app}` cannot be deleted: it has {}", units(.referrers))]
    InUse {
        /// The app.
        app: AppName,
        /// Its units and domains.
        referrers: Vec<Referrer>,
    },
    /// A plan that leaves nothing.
    #[error("a plan allows at least one release")]
    NoRelease,
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

fn units(referrers: &[Referrer]) -> String {
    match referrers {
        [only] => format!("{} `{}`", only.kind, only.name),
        several => {
            let domains = several.iter().filter(|referrer| referrer.kind == "domain").count();
            let counted = |count: usize, noun: &str| match count {
                0 => None,
                1 => Some(format!("1 {noun}")),
                count => Some(format!("{count} {noun}s")),
            };
            let all = [counted(several.len() - domains, "unit"), counted(domains, "domain")];
            all.into_iter().flatten().collect::<Vec<_>>().join(" and ")
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::Exists(_) => Code("app_exists"),
            Self::Retired(_) => Code("app_retired"),
            Self::First(_) | Self::NoRelease => Code("bad_request"),
            Self::InUse { .. } => Code("in_use"),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Exists(_) | Self::Retired(_) | Self::InUse { .. } => Class::Conflict,
            Self::First(_) | Self::NoRelease => Class::Invalid,
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Exists(app) => format!("use it with `--app {app}`"),
            Self::Retired(_) => "choose another name".to_owned(),
            Self::First(_) => "delete what is in it instead".to_owned(),
            Self::InUse { app, .. } => {
                format!(
                    "delete them first, or all at once with `folio app delete {app} --cascade`; \
                     `folio app show --app {app}` lists them"
                )
            }
            Self::NoRelease => "`folio app plan set --releases 1` is the least".to_owned(),
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::InUse { referrers, .. } => referrers.clone(),
            _ => Vec::new(),
        }
    }
}

/// How an app stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppSummary {
    /// Its name.
    pub app: AppName,
    /// Its newest app version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<VersionId>,
    /// When that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
    /// The newest release that can be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<ReleaseId>,
    /// What its own host shows.
    pub live: Vec<ReleaseId>,
    /// Where live stays, if it does not follow the newest release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<PinnedAt>,
    /// How many releases can be reached.
    pub releases: u64,
    /// How much it may have.
    pub plan: AppPlan,
}

/// What a plan is changed to; what is left out stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanChange {
    /// Releases that can be reached at once.
    #[serde(default)]
    pub releases: Option<u32>,
    /// Releases that can be tagged at once.
    #[serde(default)]
    pub tagged: Option<u32>,
}

/// A plan, and what it made of the releases there were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanView {
    /// The plan.
    pub plan: AppPlan,
    /// What expired because of it.
    pub expiry: Expiry,
    /// How many tags there are, if that is more than the plan allows. They stay; no other can be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags_over_limit: Option<u64>,
}

impl Folio {
    /// Makes an app.
    pub async fn create_app(
        &self,
        caller: &Caller,
        app: &AppName,
    ) -> Result<Done<AppSummary>, Error> {
        caller.may(Right::Administer, None).map_err(folio::Error::from)?;
        let app = app.clone();
        let of = app.clone();
        let made = self
            .append(caller, &app, move |builder| {
                if builder.state.has_app(&of)? {
                    return Err(Error::Exists(of.clone()));
                }
                builder.say(format!("create app {of}"));
                builder.push(Edit::CreateApp { app: of.clone() })?;
                Ok(summary(builder.state, &of)?)
            })
            .await;
        made.map_err(|error| match error {
            // Only a name that was used before is neither free nor there.
            Error::Folio(folio::Error::Store(StoreError::Conflict { .. })) => Error::Retired(app),
            error => error,
        })
    }

    /// Lists the apps that the caller may see, by name.
    pub async fn apps(&self, caller: &Caller) -> Result<Vec<AppSummary>, Error> {
        let grant = caller.grant.clone();
        self.look(move |state| {
            let apps = state.apps()?;
            let seen = apps.iter().filter(|app| grant.allows(Right::View, Some(app)));
            seen.map(|app| Ok(summary(state, app)?)).collect()
        })
        .await
    }

    /// Shows how an app stands.
    pub async fn show_app(&self, app: &AppName) -> Result<AppSummary, Error> {
        let app = app.clone();
        self.look(move |state| match state.has_app(&app)? {
            true => Ok(summary(state, &app)?),
            false => Err(folio::Error::NoApp(app.clone()).into()),
        })
        .await
    }

    /// Deletes an app that has no units and no domains left, or with a cascade with all that it has. Its history stays, and its name
    /// is never given to another.
    pub async fn delete_app(
        &self,
        caller: &Caller,
        app: &AppName,
        cascade: Cascade,
    ) -> Result<Done<AppSummary>, Error> {
        caller.may(Right::Administer, Some(app)).map_err(folio::Error::from)?;
        let app = app.clone();
        // What is left of it is nothing that anybody could reach.
        let caller = &Caller { releasing: Releasing::Hold, ..caller.clone() };
        self.commit(caller, &app.clone(), move |builder| {
            if app == AppName::default_app() {
                return Err(Error::First(app.clone()));
            }
            match cascade {
                Cascade::Yes => drop(delete::whole::everything(builder, &app)?),
                Cascade::No => refuse_units(builder, &app)?,
            }
            let summary = summary(builder.state, &app)?;
            builder.say(format!("delete app {app}"));
            builder.push(Edit::DeleteApp { app: app.clone() })?;
            Ok(summary)
        })
        .await
    }

    /// Says how much an app may have; what is then too much and nothing keeps expires at once.
    pub async fn set_plan(
        &self,
        caller: &Caller,
        app: &AppName,
        change: PlanChange,
    ) -> Result<Done<PlanView>, Error> {
        caller.may(Right::Administer, None).map_err(folio::Error::from)?;
        let app = app.clone();
        self.commit(caller, &app.clone(), move |builder| {
            let mut standing = Standing::read(builder.state, &app)?;
            let from = builder.state.place(&Pointer::Plan { app: app.clone() })?;
            let plan = AppPlan {
                releases: change.releases.unwrap_or(standing.plan.releases),
                tagged: change.tagged.unwrap_or(standing.plan.tagged),
                policy: standing.plan.policy.clone(),
            };
            if plan.releases == 0 {
                return Err(Error::NoRelease);
            }
            let count = |name: &str, from: u32, to: u32| match from == to {
                true => format!("{to} {name}"),
                false => format!("{to} {name} (was {from})"),
            };
            let releases = count("releases", standing.plan.releases, plan.releases);
            let tagged = count("tagged", standing.plan.tagged, plan.tagged);
            builder.say(format!("set plan: {releases}, {tagged}"));
            let pointer = Pointer::Plan { app: app.clone() };
            let to = Some(Place::Plan(plan.clone()));
            builder.point(pointer, from.map(|(place, _)| place), to)?;
            standing.plan = plan.clone();
            let expiry = expire(builder, &mut standing, None)?;
            let tags_over_limit = tags_over_limit(&standing);
            Ok(PlanView { plan, expiry, tags_over_limit })
        })
        .await
    }
}

/// How many tags count, those on releases that everybody sees, if they are more than the plan allows.
fn tags_over_limit(standing: &Standing) -> Option<u64> {
    let public = standing.accessible.iter().filter(|found| !found.release.aside);
    let tags: usize = public.map(|found| standing.tags_on(&found.id).count()).sum();
    (tags > standing.plan.tagged as usize).then_some(tags as u64)
}

/// Refuses an app with units or domains; what nobody sees of it goes.
fn refuse_units(builder: &mut Builder<'_>, app: &AppName) -> Result<(), Error> {
    let mut referrers = Vec::new();
    for kind in Kind::ALL {
        for unit in builder.state.units(app, kind)? {
            if unit.is_visible() {
                let (kind, name) = (kind.to_string(), unit.key.name.to_string());
                referrers.push(Referrer { kind, name });
            } else {
                builder.push(Edit::DeleteUnit { uid: unit.uid, key: unit.key })?;
            }
        }
    }
    for found in builder.state.domains(Some(app))? {
        let (kind, name) = ("domain".to_owned(), found.domain.to_string());
        referrers.push(Referrer { kind, name });
    }
    if referrers.is_empty() { Ok(()) } else { Err(Error::InUse { app: app.clone(), referrers }) }
}

fn summary(state: &dyn State, app: &AppName) -> Result<AppSummary, StoreError> {
    let standing = Standing::read(state, app)?;
    let newest = state.app_version_at(app, None)?;
    let live = standing.live.as_ref().map(|(live, _)| live);
    let shown = live.into_iter().flat_map(|live| &live.shares).map(|share| share.release.clone());
    Ok(AppSummary {
        app: app.clone(),
        changed_at: newest.as_ref().map(|newest| newest.at),
        newest: newest.map(|newest| newest.id),
        latest: standing.latest().cloned(),
        live: shown.collect(),
        pinned: live.filter(|live| live.mode == LiveMode::Pinned).map(PinnedAt::of),
        releases: standing.accessible.iter().filter(|found| !found.release.aside).count() as u64,
        plan: standing.plan,
    })
}
