//! Configs: settings that code reads. Every change of one is a version, and gives the functions that name it one
//! too; what is published keeps what it froze.

use std::collections::{BTreeMap, BTreeSet};

use folio_model::{AppName, ConfigKey, ConfigSpec, Kind, Name, Snapshot, Unit, UnitKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::builder::Builder;
use crate::ports::{State, StoreError};
use crate::request::Caller;
use crate::settings::{self, Error, Renewed, SettingRemoved, Users};
use crate::view::{self, Done, VersionView};
use crate::{Folio, history};

/// What a command does to a config.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ConfigFields {
    /// Values to set, by key: `db.pool.size` is inside `db` and `pool`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<ConfigKey, Value>,
    /// Keys to remove, with everything below them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unset: BTreeSet<ConfigKey>,
    /// Whether what is not set goes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
}

/// One config as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigView {
    /// The app.
    pub app: AppName,
    /// Its name.
    pub name: Name,
    /// Changes whenever it does.
    pub revision: u64,
    /// Its latest version.
    pub version: VersionView,
    /// Its values.
    pub values: BTreeMap<String, Value>,
}

/// A config that was set, and who got it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSet {
    /// The config.
    #[serde(flatten)]
    pub config: ConfigView,
    /// The functions that name it and were given a new version or draft.
    #[serde(flatten)]
    pub users: Users,
}

impl Folio {
    /// Sets and removes values of a config as one new version, and gives one to each function that names it. Makes
    /// the config if there is none; changes nothing if it is so already.
    pub async fn set_config(
        &self,
        caller: &Caller,
        key: &UnitKey,
        fields: ConfigFields,
        expect: Option<u64>,
    ) -> Result<Done<ConfigSet>, Error> {
        let key = settings::key(&key.app, Kind::Config, &key.name);
        let app = key.app.clone();
        self.commit(caller, &app, move |builder| {
            let unit = builder.state.unit(&key)?.filter(Unit::is_visible);
            settings::check(builder.state, (&key, unit.as_ref()), None, expect)?;
            let base = match &unit {
                Some(unit) => Some(latest(builder.state, unit)?),
                None => None,
            };
            let spec = lay_over(&key, base.clone(), &fields)?;
            if let Some(unit) = unit.as_ref().filter(|_| base.as_ref() == Some(&spec)) {
                let config = seen(builder.state, unit)?;
                return Ok(ConfigSet { config, users: Users::default() });
            }
            set(builder, &key, spec)
        })
        .await
    }

    /// Lists an app's configs by name.
    pub async fn configs(&self, app: &AppName) -> Result<Vec<ConfigView>, Error> {
        let app = app.clone();
        self.look(move |state| {
            history::known(state, &app)?;
            let units = state.units(&app, Kind::Config)?;
            let made = units.iter().filter(|unit| unit.is_visible());
            Ok(made.map(|unit| seen(state, unit)).collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Shows one config.
    pub async fn show_config(&self, key: &UnitKey) -> Result<ConfigView, Error> {
        let key = settings::key(&key.app, Kind::Config, &key.name);
        self.look(move |state| {
            history::known(state, &key.app)?;
            match state.unit(&key)?.filter(Unit::is_visible) {
                Some(unit) => Ok(seen(state, &unit)?),
                None => Err(settings::not_found(state, &key)?.into()),
            }
        })
        .await
    }

    /// Deletes a config. What froze it keeps it.
    pub async fn delete_config(
        &self,
        caller: &Caller,
        key: &UnitKey,
        expect: Option<u64>,
    ) -> Result<Done<SettingRemoved>, Error> {
        let key = settings::key(&key.app, Kind::Config, &key.name);
        self.remove_setting(caller, &key, expect).await
    }
}

fn lay_over(
    key: &UnitKey,
    base: Option<ConfigSpec>,
    fields: &ConfigFields,
) -> Result<ConfigSpec, Error> {
    let made = base.is_none();
    let mut spec = base.unwrap_or_default();
    for unset in &fields.unset {
        if !spec.unset(unset) {
            return Err(Error::NoKey {
                kind: Kind::Config,
                name: key.name.clone(),
                key: unset.to_string(),
                known: spec.leaves().into_keys().collect(),
            });
        }
    }
    if fields.replace {
        spec.values.clear();
    }
    for (key, value) in &fields.set {
        spec.set(key, value.clone());
    }
    if made && spec.values.is_empty() {
        return Err(Error::Nothing { kind: Kind::Config, name: key.name.clone() });
    }
    Ok(spec)
}

fn set(builder: &mut Builder<'_>, key: &UnitKey, spec: ConfigSpec) -> Result<ConfigSet, Error> {
    let made = builder.state.unit(key)?.filter(Unit::is_visible).is_none();
    let values = spec.values.clone();
    let version = settings::publish(builder, key, &Snapshot::Config(spec))?;
    let description = format!("config {} version {}", key.name, version.number);
    let snapshot = version.digest;
    let renewed = Renewed { name: &key.name, snapshot, description: &description };
    let users = settings::renew(builder, key, &renewed)?;
    builder.say(format!("{} config {}", if made { "create" } else { "change" }, key.name));
    let config = ConfigView {
        app: key.app.clone(),
        name: key.name.clone(),
        revision: builder.state.head()? + 1,
        version,
        values,
    };
    Ok(ConfigSet { config, users })
}

fn seen(state: &dyn State, unit: &Unit) -> Result<ConfigView, StoreError> {
    let (version, _) = settings::latest(state, unit)?;
    Ok(ConfigView {
        app: unit.key.app.clone(),
        name: unit.key.name.clone(),
        revision: unit.revision,
        version: view::version(state, unit, version)?,
        values: latest(state, unit)?.values,
    })
}

fn latest(state: &dyn State, unit: &Unit) -> Result<ConfigSpec, StoreError> {
    match settings::latest(state, unit)? {
        (_, Snapshot::Config(spec)) => Ok(spec),
        _ => Err(StoreError::corrupt(unit.key.to_string())),
    }
}
