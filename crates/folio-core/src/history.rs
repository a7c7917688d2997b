//! Reads what is and what was: lists, versions, the log, and the app at any moment.

use std::sync::Arc;

use folio_model::{
    AppName, AppVersion, Edit, Entry, Kind, Number, Placement, Qualifier, Timestamp, Unit, UnitKey,
    UnitUid, VersionId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::build::{self, Builds};
use crate::ports::{Page, State, StoreError};
use crate::release::{self, AppVersionView, ReleaseRef, Standing};
use crate::request::Caller;
use crate::resolve::{self, Error as ResolveError};
use crate::view::{self, AppView, Done, PlacedView, UnitView, VersionView};
use crate::{Class, Code, Explain, Folio, folio};

/// Why something of the past was not found or described.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such app version.
    #[error("app `{app}` has no version `{at}`")]
    NoAppVersion {
        /// The app.
        app: AppName,
        /// What was asked for.
        at: String,
    },
    /// The app had no version yet.
    #[error("app `{app}` had no version at {at}")]
    Before {
        /// The app.
        app: AppName,
        /// The moment.
        at: Timestamp,
    },
    /// The app has no version at all.
    #[error("app `{0}` has no version yet")]
    Empty(AppName),
    /// No such release.
    #[error(transparent)]
    Release(Box<release::Error>),
    /// A name leads nowhere.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::NoAppVersion { .. } => Code("app_version_not_found"),
            Self::Before { .. } | Self::Empty(_) => Code("no_app_version_yet"),
            Self::Release(error) => error.code(),
            Self::Resolve(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NoAppVersion { .. } | Self::Before { .. } | Self::Empty(_) => Class::NotFound,
            Self::Release(error) => error.class(),
            Self::Resolve(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoAppVersion { .. } | Self::Before { .. } => {
                Some("`folio app list-version` shows what exists".to_owned())
            }
            Self::Empty(_) => Some("publish something with `folio fn version create`".to_owned()),
            Self::Release(error) => error.hint(),
            Self::Resolve(error) => error.hint(),
            Self::Folio(error) => error.hint(),
        }
    }
}

/// Which moment of an app is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// The newest app version.
    Now,
    /// The app version that stood at a time.
    Time(Timestamp),
    /// The app version of this id.
    Id(VersionId),
    /// The app version of this number.
    Number(Number),
    /// The app version that a release shows.
    Release(ReleaseRef),
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// The ledger entry.
    #[serde(flatten)]
    pub entry: Entry,
    /// The entry that took it back, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<u64>,
}

impl Folio {
    /// Lists an app's functions or packages, by name.
    pub async fn list(&self, app: &AppName, kind: Kind) -> Result<Vec<UnitView>, Error> {
        let app = app.clone();
        self.look(move |state| {
            known(state, &app)?;
            let units = state.units(&app, kind)?;
            let visible = units.iter().filter(|unit| unit.is_visible());
            visible.map(|unit| Ok(view::unit(state, unit)?)).collect()
        })
        .await
    }

    /// Finds a unit of any app by its identity, if it can be seen.
    pub async fn find_unit(&self, uid: UnitUid) -> Result<Option<UnitView>, Error> {
        self.look(move |state| {
            let unit = state.unit_by_uid(uid)?.filter(Unit::is_visible);
            Ok(unit.map(|unit| view::unit(state, &unit)).transpose()?)
        })
        .await
    }

    /// Lists a unit's versions, oldest first.
    pub async fn versions(&self, key: &UnitKey, page: Page) -> Result<Vec<VersionView>, Error> {
        let (key, page) = (key.clone(), self.bounded(page));
        let builds = Arc::clone(&self.builds);
        self.look(move |state| {
            let unit = resolve::unit(state, &key)?;
            let versions = state.versions(unit.uid, page)?;
            let view = |version| Ok(shown(&builds, state, view::version(state, &unit, version)?)?);
            versions.into_iter().map(view).collect()
        })
        .await
    }

    /// Shows one version.
    pub async fn version(&self, key: &UnitKey, at: &Qualifier) -> Result<VersionView, Error> {
        let (key, at) = (key.clone(), at.clone());
        let builds = Arc::clone(&self.builds);
        self.look(move |state| {
            let unit = resolve::unit(state, &key)?;
            let version = resolve::version(state, &unit, &at)?;
            Ok(shown(&builds, state, view::version(state, &unit, version)?)?)
        })
        .await
    }

    /// Changes what is said about a version, which decides nothing.
    pub async fn describe(
        &self,
        caller: &Caller,
        key: &UnitKey,
        at: &Qualifier,
        description: String,
    ) -> Result<Done<VersionView>, Error> {
        self.check_text("description", &description)?;
        let (app, key, at) = (key.app.clone(), key.clone(), at.clone());
        self.commit(caller, &app, move |builder| {
            let unit = resolve::unit(builder.state, &key)?;
            let version = resolve::version(builder.state, &unit, &at)?;
            let mut view = view::version(builder.state, &unit, version.clone())?;
            if version.description != description {
                builder.say(format!("describe {} {} {}", key.kind, key.name, version.id));
                view.description.clone_from(&description);
                view.described_at = Some(builder.at());
                builder.push(Edit::Describe {
                    uid: unit.uid,
                    number: version.number,
                    from: version.description,
                    to: description.clone(),
                    from_at: version.described_at,
                    to_at: view.described_at,
                })?;
            }
            Ok(view)
        })
        .await
    }

    /// Lists what was done in an app, newest first, below a place in the ledger.
    pub async fn log(
        &self,
        app: &AppName,
        below: Option<u64>,
        limit: usize,
    ) -> Result<Vec<LogLine>, Error> {
        let (app, limit) = (app.clone(), self.bounded(Page { after: 0, limit }).limit);
        self.look(move |state| {
            known(state, &app)?;
            let entries = state.entries_before(&app, below.unwrap_or(u64::MAX), limit)?;
            let line = |entry: Entry| {
                let undone_by = state.undone_by(entry.seq)?;
                Ok(LogLine { entry, undone_by })
            };
            entries.into_iter().map(line).collect()
        })
        .await
    }

    /// Lists an app's versions with their releases, newest first, below a number.
    pub async fn app_versions(
        &self,
        app: &AppName,
        below: Option<Number>,
        limit: usize,
    ) -> Result<Vec<AppVersionView>, Error> {
        let (app, limit) = (app.clone(), self.bounded(Page { after: 0, limit }).limit);
        self.look(move |state| {
            known(state, &app)?;
            let standing = Standing::read(state, &app)?;
            let versions = state.app_versions_before(&app, below, limit)?.into_iter();
            let view = |version| Ok(release::view::app_version(state, &standing, version)?);
            versions.map(view).collect()
        })
        .await
    }

    /// Shows the whole app at a moment.
    pub async fn app_at(&self, app: &AppName, moment: Moment) -> Result<AppView, Error> {
        let app = app.clone();
        self.look(move |state| {
            let version = shown_version(state, &app, &moment)?;
            let placements = state.placements(&app, version.number)?;
            Ok(AppView {
                units: placements.into_iter().filter_map(placed).collect(),
                id: version.id,
                number: version.number,
                at: version.at,
                by: version.by,
                message: version.message,
                git: version.git,
            })
        })
        .await
    }

    /// A page no longer than allowed.
    fn bounded(&self, page: Page) -> Page {
        let max = usize::try_from(self.limits().page_items_max).unwrap_or(usize::MAX);
        Page { limit: page.limit.min(max), ..page }
    }
}

/// A version with how far its build really is.
fn shown(
    builds: &Arc<Builds>,
    state: &dyn State,
    mut view: VersionView,
) -> Result<VersionView, StoreError> {
    build::overlay(builds, state, &view.spec, &mut view.build)?;
    Ok(view)
}

pub(crate) fn known(state: &dyn State, app: &AppName) -> Result<(), Error> {
    if state.has_app(app)? { Ok(()) } else { Err(folio::Error::NoApp(app.clone()).into()) }
}

pub(crate) fn app_version(
    state: &dyn State,
    app: &AppName,
    moment: &Moment,
) -> Result<AppVersion, Error> {
    known(state, app)?;
    let (found, missing) = match moment {
        Moment::Now => (state.app_version_at(app, None)?, Error::Empty(app.clone())),
        Moment::Time(at) => {
            (state.app_version_at(app, Some(*at))?, Error::Before { app: app.clone(), at: *at })
        }
        Moment::Id(id) => (
            state.app_version_by_id(app, id)?,
            Error::NoAppVersion { app: app.clone(), at: id.to_string() },
        ),
        Moment::Number(number) => (
            state.app_version(app, *number)?,
            Error::NoAppVersion { app: app.clone(), at: number.to_string() },
        ),
        Moment::Release(at) => {
            let found =
                release::find(state, app, at).map_err(|error| Error::Release(error.into()))?;
            let id = found.release.app_version;
            let missing = Error::NoAppVersion { app: app.clone(), at: id.to_string() };
            (state.app_version_by_id(app, &id)?, missing)
        }
    };
    found.ok_or(missing)
}

/// The app version to look at, which may also be named by the id or tag of a release that shows it.
pub(crate) fn shown_version(
    state: &dyn State,
    app: &AppName,
    moment: &Moment,
) -> Result<AppVersion, Error> {
    let found = app_version(state, app, moment);
    let (Err(Error::NoAppVersion { .. }), Moment::Id(id)) = (&found, moment) else { return found };
    let Ok(release) = id.as_str().parse() else { return found };
    let release = Moment::Release(ReleaseRef::Named(release));
    match app_version(state, app, &release) {
        Err(Error::Release(_)) => found,
        released => released,
    }
}

pub(crate) fn placed(placement: Placement) -> Option<PlacedView> {
    let newest = placement.pending.as_ref().map(|(_, _, digest)| *digest);
    let digest = placement.snapshot().or(newest)?;
    let (number, id) = placement.latest.map(|(number, id, _)| (number, id)).unzip();
    let pending = placement.pending.map(|(_, id, _)| id);
    let Placement { kind, name, draft, .. } = placement;
    Some(PlacedView { kind, name, number, id, pending, digest, draft: draft.is_some() })
}
