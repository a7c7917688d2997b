//! Configs under the name that Kubernetes has for them.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use folio_core::config::ConfigFields;
use folio_model::{ConfigKey, ConfigKeyError, ConfigSpec, Kind, UnitKey, text_of};
use serde_json::{Map, Value, json};

use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::resource::WRITE;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column};

/// `ConfigMap`.
#[derive(Debug)]
pub(crate) struct ConfigMaps;

#[async_trait]
impl Mapping for ConfigMaps {
    fn verbs(&self) -> &'static [&'static str] {
        WRITE
    }

    fn columns(&self) -> Vec<Column> {
        vec![column("Data", &["/data"]), AGE]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let configs = of.folio.configs(of.app).await?;
        let items = configs.into_iter().map(|config| {
            let spec = ConfigSpec { values: config.values, ..ConfigSpec::default() };
            let leaves = spec.leaves().into_iter();
            let data: Map<String, Value> =
                leaves.map(|(key, value)| (key, text_of(value).into())).collect();
            Item {
                changed_in: Some(config.revision),
                created_at: Some(config.version.created_at),
                ..Item::new(of.app, config.name.as_str(), json!({ "data": data }))
            }
        });
        Ok(items.collect())
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        let mut set = BTreeMap::new();
        for (name, text) in entries(put.after, "data")? {
            let parsed: ConfigKey = name.parse().map_err(|error: ConfigKeyError| {
                Put::wrong("data", format_args!("\"{name}\": {error}"))
            })?;
            set.insert(parsed, text.into());
        }
        if put.after["binaryData"].as_object().is_some_and(|data| !data.is_empty()) {
            let what = "binaryData: Forbidden: a config holds texts; keep bytes in a Secret";
            return Err(Status::invalid("binaryData", what));
        }
        let key = UnitKey { app: put.app()?.clone(), kind: Kind::Config, name: put.named()? };
        let fields = ConfigFields { set, unset: BTreeSet::new(), replace: true };
        let seen = put.before.and_then(|before| before.changed_in);
        let done = put.folio.set_config(put.caller, &key, fields, seen).await?;
        Ok(Made::told(put, &done))
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let key = unit(remove, Kind::Config)?;
        remove.folio.delete_config(remove.caller, &key, None).await?;
        Ok(())
    }
}

/// The unit that an object is.
pub(super) fn unit(remove: &Remove<'_>, kind: Kind) -> Result<UnitKey, Status> {
    let name = &remove.found.name;
    let name = name.parse().map_err(|_| remove.target.not_found(name))?;
    Ok(UnitKey { app: remove.target.app()?.clone(), kind, name })
}

/// The texts of a map of an object.
pub(super) fn entries<'a>(object: &'a Value, of: &str) -> Result<Vec<(&'a str, &'a str)>, Status> {
    let mut found = Vec::new();
    for (key, value) in object[of].as_object().into_iter().flatten() {
        let text = value.as_str().ok_or_else(|| {
            Status::invalid(of, format!("{of}: Invalid type: the value of `{key}` is no text"))
        })?;
        found.push((key.as_str(), text));
    }
    Ok(found)
}
