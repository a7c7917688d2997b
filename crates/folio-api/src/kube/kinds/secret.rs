//! Secrets as Kubernetes writes them. Their values are sealed and never shown; fingerprints stand in for them.

use std::collections::BTreeSet;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use folio_core::request::Onto;
use folio_core::secret::SecretFields;
use folio_model::{Fingerprint, Kind, UnitKey};
use serde_json::{Map, Value, json};

use super::config_map::{entries, unit};
use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::resource::WRITE;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column};

/// `Secret`.
#[derive(Debug)]
pub(crate) struct Secrets;

#[async_trait]
impl Mapping for Secrets {
    fn verbs(&self) -> &'static [&'static str] {
        WRITE
    }

    fn columns(&self) -> Vec<Column> {
        vec![column("Type", &["/type"]), column("Data", &["/data"]), AGE]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let secrets = of.folio.secrets(of.app).await?;
        let items = secrets.into_iter().map(|secret| {
            let hidden =
                |fingerprint: &Fingerprint| Value::from(BASE64.encode(fingerprint.to_string()));
            let keys = secret.keys.iter();
            let data: Map<String, Value> =
                keys.map(|(key, fingerprint)| (key.to_string(), hidden(fingerprint))).collect();
            Item {
                changed_in: Some(secret.revision),
                created_at: Some(secret.version.created_at),
                ..Item::new(of.app, secret.name.as_str(), json!({ "type": "Opaque", "data": data }))
            }
        });
        Ok(items.collect())
    }

    /// A value that is what was shown instead of it stays what it is.
    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        let shown = put.before.and_then(|before| before.body["data"].as_object());
        let wrong =
            |name: &str, what: String| Put::wrong("data", format_args!("\"{name}\": {what}"));
        let (mut set, mut kept) = (Map::new(), BTreeSet::new());
        for (name, text) in entries(put.after, "data")? {
            kept.insert(name.to_owned());
            if shown.is_some_and(|shown| shown.get(name).is_some_and(|own| own == text)) {
                continue;
            }
            BASE64.decode(text).map_err(|error| wrong(name, error.to_string()))?;
            set.insert(name.to_owned(), json!({ "base64": text }));
        }
        for (name, text) in entries(put.after, "stringData")? {
            kept.insert(name.to_owned());
            set.insert(name.to_owned(), text.into());
        }
        let names = shown.into_iter().flatten().map(|(name, _)| name);
        let unset: Vec<_> = names.filter(|name| !kept.contains(*name)).collect();
        let fields = serde_json::from_value(json!({ "set": set, "unset": unset }));
        let fields: SecretFields = fields.map_err(|error| wrong("", error.to_string()))?;
        let onto = if put.before.is_some() { Onto::Existing } else { Onto::Nothing };
        let key = UnitKey { app: put.app()?.clone(), kind: Kind::Secret, name: put.named()? };
        let seen = put.before.and_then(|before| before.changed_in);
        put.folio.set_secret(put.caller, &key, fields, (onto, seen)).await?;
        Ok(Made::default())
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let key = unit(remove, Kind::Secret)?;
        remove.folio.delete_secret(remove.caller, &key, None).await?;
        Ok(())
    }
}
