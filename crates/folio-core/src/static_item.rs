//! Static items: directories and files of an app that the gateway serves as they are.
//!
//! Every change of one is a version, and part of every release made after it. Serving them is the work of `serving`
//! and of the gateway.

use std::collections::BTreeMap;

use folio_model::{
    AppName, Content, Kind, Layout, Name, Origin, Snapshot, SnapshotError, StaticSpec, Unit,
    UnitKey,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::builder::{Builder, NewVersion};
use crate::ports::{State, StoreError};
use crate::request::{Caller, Cascade, ContentRef};
use crate::view::{self, Done, Removed, VersionView};
use crate::{
    Class, Code, Explain, Folio, code, content, delete, folio, history, publish, resolve, settings,
};

/// Why a static item was not found or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is at the path of another.
    #[error("static `{other}` is at `{path}` already")]
    Taken {
        /// The path.
        path: String,
        /// The item there.
        other: Name,
    },
    /// It is not as the caller saw it.
    #[error("static `{name}` is at revision {found}, not {expected}")]
    Stale {
        /// The item.
        name: Name,
        /// What the caller saw.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// A file that stands for others and is not among them.
    #[error("static `{name}` has no file `{file}`")]
    NoFile {
        /// The item.
        name: Name,
        /// The file.
        file: String,
    },
    /// The spec cannot be.
    #[error(transparent)]
    Spec(#[from] SnapshotError),
    /// The archive cannot be.
    #[error(transparent)]
    Archive(#[from] crate::archive::Error),
    /// What publishing refuses.
    #[error(transparent)]
    Publish(#[from] Box<publish::Error>),
    /// There is none of that name.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// What looking at an app refuses.
    #[error(transparent)]
    History(#[from] history::Error),
    /// What deleting refuses.
    #[error(transparent)]
    Delete(#[from] delete::Error),
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
            Self::Taken { .. } => Code("static_path_taken"),
            Self::Stale { .. } => Code("stale"),
            Self::NoFile { .. } => Code("static_file_missing"),
            Self::Spec(_) => Code("bad_spec"),
            Self::Archive(error) => error.code(),
            Self::Publish(error) => error.code(),
            Self::Resolve(error) => error.code(),
            Self::History(error) => error.code(),
            Self::Delete(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Taken { .. } | Self::Stale { .. } => Class::Conflict,
            Self::NoFile { .. } | Self::Spec(_) => Class::Invalid,
            Self::Archive(error) => error.class(),
            Self::Publish(error) => error.class(),
            Self::Resolve(error) => error.class(),
            Self::History(error) => error.class(),
            Self::Delete(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Taken { other, .. } => {
                Some(format!("give it another path, or change static `{other}`"))
            }
            Self::Stale { .. } => Some("look at it again: `folio static list`".to_owned()),
            Self::NoFile { .. } => Some("name it relative to the directory".to_owned()),
            Self::Spec(_) => None,
            Self::Archive(error) => error.hint(),
            Self::Publish(error) => error.hint(),
            Self::Resolve(error) => error.hint(),
            Self::History(error) => error.hint(),
            Self::Delete(error) => error.hint(),
            Self::Folio(error) => error.hint(),
        }
    }
}

/// What a static item is to be, all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StaticFields {
    /// Where it is.
    pub path: String,
    /// The files.
    pub content: ContentRef,
    /// The file that stands for a directory.
    #[serde(default)]
    pub index: Option<String>,
    /// The file that answers for paths that lead nowhere.
    #[serde(default)]
    pub fallback: Option<String>,
    /// The file that is shown for what is not found.
    #[serde(default)]
    pub error_page: Option<String>,
    /// Headers that every answer has.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// For how many seconds a browser need not ask again.
    #[serde(default)]
    pub expires: Option<u64>,
}

/// A static item as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaticView {
    /// The app.
    pub app: AppName,
    /// Its name.
    pub name: Name,
    /// Changes whenever it does.
    pub revision: u64,
    /// Its latest version.
    pub version: VersionView,
    /// What it says.
    pub spec: StaticSpec,
    /// How many files it holds.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Folio {
    /// Makes or replaces a static item; what is as it was makes no version.
    pub async fn set_static(
        &self,
        caller: &Caller,
        (app, name): (&AppName, &Name),
        fields: StaticFields,
        expect: Option<u64>,
    ) -> Result<Done<StaticView>, Error> {
        let content = match fields.content {
            ContentRef::Tree { tree, layout } => Content { tree, layout },
            ContentRef::Archive { archive } => {
                let blobs = self.blobs.as_ref();
                let tree = content::unpack(blobs, archive, self.limits()).await?;
                Content { tree, layout: Layout::Directory }
            }
        };
        let StaticFields { path, index, fallback, error_page, headers, expires, .. } = fields;
        let bag = folio_model::Bag::new();
        let spec = StaticSpec { path, content, index, fallback, error_page, headers, expires, bag };
        Snapshot::Static(spec.clone()).validate()?;
        let (files, bytes) = self.measure_static(name, &spec).await?;
        let key = UnitKey { app: app.clone(), kind: Kind::Static, name: name.clone() };
        self.commit(caller, app, move |builder| {
            let unit = builder.state.unit(&key)?.filter(Unit::is_visible);
            let found = unit.as_ref().map_or(0, |unit| unit.revision);
            if let Some(expected) = expect.filter(|expected| *expected != found) {
                return Err(Error::Stale { name: key.name.clone(), expected, found });
            }
            free(builder.state, &key, &spec)?;
            if let Some(unit) = &unit {
                let standing = seen(builder.state, unit)?;
                if standing.spec == spec {
                    return Ok(StaticView { files, bytes, ..standing });
                }
            }
            Ok(StaticView { files, bytes, ..set(builder, &key, &spec)? })
        })
        .await
    }

    /// Lists an app's static items, by name.
    pub async fn statics(&self, app: &AppName) -> Result<Vec<StaticView>, Error> {
        let app = app.clone();
        let views = self
            .look(move |state| {
                history::known(state, &app)?;
                let units = state.units(&app, Kind::Static)?;
                let made = units.iter().filter(|unit| unit.is_visible());
                Ok::<_, Error>(made.map(|unit| seen(state, unit)).collect::<Result<Vec<_>, _>>()?)
            })
            .await?;
        let mut measured = Vec::with_capacity(views.len());
        for view in views {
            measured.push(self.measured_static(view).await?);
        }
        Ok(measured)
    }

    /// Shows one static item.
    pub async fn show_static(&self, app: &AppName, name: &Name) -> Result<StaticView, Error> {
        let key = UnitKey { app: app.clone(), kind: Kind::Static, name: name.clone() };
        let view = self
            .look(move |state| {
                history::known(state, &key.app)?;
                Ok::<_, Error>(seen(state, &resolve::unit(state, &key)?)?)
            })
            .await?;
        self.measured_static(view).await
    }

    /// Deletes a static item. Releases that hold it keep it.
    pub async fn delete_static(
        &self,
        caller: &Caller,
        (app, name): (&AppName, &Name),
        expect: Option<u64>,
    ) -> Result<Done<Removed>, Error> {
        let key = UnitKey { app: app.clone(), kind: Kind::Static, name: name.clone() };
        Ok(self.delete(caller, &key, Cascade::No, expect).await?)
    }

    async fn measured_static(&self, view: StaticView) -> Result<StaticView, Error> {
        let about = self.blobs.about(view.spec.content.tree).await?;
        let totals = about.map(|about| about.totals).unwrap_or_default();
        Ok(StaticView { files: totals.files, bytes: totals.bytes, ..view })
    }

    /// Counts the files of an item, which may not be too many, and finds those that stand for others.
    async fn measure_static(&self, name: &Name, spec: &StaticSpec) -> Result<(u64, u64), Error> {
        let measured = self.measure(spec.content).await;
        measured.map_err(|error| Box::new(publish::Error::from(error)))?;
        let tree = spec.content.tree;
        let about = self.blobs.about(tree).await?;
        let about = about.ok_or(StoreError::MissingBlob { digest: tree })?;
        if let Some(file) = self.missing_file(spec).await? {
            return Err(Error::NoFile { name: name.clone(), file });
        }
        Ok((about.totals.files, about.totals.bytes))
    }
}

impl Folio {
    /// A file that an item names and does not have. An index stands for every directory, and not each need have one.
    pub(crate) async fn missing_file(
        &self,
        spec: &StaticSpec,
    ) -> Result<Option<String>, StoreError> {
        for file in [&spec.fallback, &spec.error_page].into_iter().flatten() {
            if !content::has_file(self.blobs.as_ref(), spec.content.tree, file).await? {
                return Ok(Some(file.clone()));
            }
        }
        Ok(None)
    }
}

/// Refuses a path that another item has.
fn free(state: &dyn State, key: &UnitKey, spec: &StaticSpec) -> Result<(), Error> {
    let bare = |path: &str| path.trim_end_matches('/').to_owned();
    for unit in state.units(&key.app, Kind::Static)? {
        if unit.key.name == key.name || !unit.is_visible() {
            continue;
        }
        let other = seen(state, &unit)?.spec;
        let same_layout = other.content.layout == spec.content.layout;
        if same_layout && bare(&other.path) == bare(&spec.path) {
            return Err(Error::Taken { path: spec.path.clone(), other: unit.key.name });
        }
    }
    Ok(())
}

fn set(builder: &mut Builder<'_>, key: &UnitKey, spec: &StaticSpec) -> Result<StaticView, Error> {
    let mut unit = code::claim(builder, key, Origin::User).map_err(Box::new)?;
    let verb = if unit.is_visible() { "change" } else { "create" };
    let id = builder.fresh_id()?;
    let new = NewVersion { id, uses: None, archive: None, description: String::new() };
    let snapshot = Snapshot::Static(spec.clone());
    let version = builder.publish(&mut unit, &snapshot, new)?;
    builder.say(format!("{verb} static {}", key.name));
    Ok(StaticView {
        app: key.app.clone(),
        name: key.name.clone(),
        revision: builder.state.head()? + 1,
        version: VersionView::new(&unit, version, snapshot, None, folio_model::Build::None),
        spec: spec.clone(),
        files: 0,
        bytes: 0,
    })
}

fn seen(state: &dyn State, unit: &Unit) -> Result<StaticView, StoreError> {
    let (version, snapshot) = settings::latest(state, unit)?;
    let Snapshot::Static(spec) = snapshot else {
        return Err(StoreError::corrupt(unit.key.to_string()));
    };
    Ok(StaticView {
        app: unit.key.app.clone(),
        name: unit.key.name.clone(),
        revision: unit.revision,
        version: view::version(state, unit, version)?,
        spec,
        files: 0,
        bytes: 0,
    })
}
