//! Secrets as Kubernetes writes them. Their values are sealed and never shown; fingerprints stand in for them, in what is
//! kept beside a secret as well. A value is taken out of a request before anything else is made of it: see
//! [`Mapping::veil`].

use std::collections::BTreeSet;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use folio_core::ports::Plaintext;
use folio_core::request::Onto;
use folio_core::secret::SecretFields;
use folio_kinds::spec::{self, LAST_APPLIED};
use folio_model::{Fingerprint, Kind, Labels, SecretKey, SecretKeyError, UnitKey};
use serde_json::{Map, Value, json};

use super::config_map::{entries, unit};
use crate::kube::mapping::{Hidden, Item, Listing, Made, Mapping, Put, Remove, Veiling};
use crate::kube::resource::WRITE;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column};

/// What an object may say. Whatever else was sent is not kept, in case it is a value under a misspelt name.
const PARTS: [&str; 6] = ["apiVersion", "data", "kind", "metadata", "stringData", "type"];

/// The type of a secret that says none.
const OPAQUE: &str = "Opaque";

/// The annotation in which the type of a secret is kept, which is nothing to folio. Nobody sees it.
const TYPE: &str = "folio.dev/secret-type";

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

    /// A value that is what was shown instead of it stays what it is.
    fn veil(&self, of: &Veiling<'_>, sent: &mut Value) -> Result<Hidden, Status> {
        let Value::Object(sent) = sent else { return Ok(Hidden::new()) };
        sent.retain(|key, _| PARTS.contains(&key.as_str()));
        ["data", "stringData"].into_iter().try_for_each(|part| refuse_odd(sent, part))?;
        let name = of.name.parse().map_err(|error| {
            Put::wrong("metadata.name", format_args!("\"{}\": {error}", of.name))
        })?;
        let key = UnitKey { app: of.target.app()?.clone(), kind: Kind::Secret, name };
        let none = Map::new();
        let shown = of.before.and_then(|before| before["data"].as_object()).unwrap_or(&none);
        let mut hidden = Hidden::new();
        let mut hide = |name: &str, value: Vec<u8>| {
            let (name, value) = (parsed(name)?, Plaintext::new(value));
            let fingerprint = of.folio.fingerprint(&key, &name, &value)?;
            hidden.insert(name, value);
            Ok::<_, Status>(stand_in(&fingerprint))
        };
        if let Some(Value::Object(values)) = sent.get_mut("data") {
            let new = values.iter_mut().filter(|(name, value)| shown.get(*name) != Some(value));
            for (name, value) in new {
                let Some(text) = value.as_str() else { continue };
                let bytes = BASE64.decode(text).map_err(|error| wrong(name, error))?;
                *value = hide(name, bytes)?;
            }
        }
        if let Some(Value::Object(texts)) = sent.remove("stringData") {
            let data = sent.entry("data").or_insert_with(|| json!({}));
            if data.is_null() {
                *data = shown.keys().map(|name| (name.clone(), Value::Null)).collect();
            }
            for (name, value) in texts {
                match value {
                    Value::String(text) => data[&name] = hide(&name, text.into_bytes())?,
                    // Whoever takes back a text takes back the value, unless that is said anew.
                    _ if data[&name].is_null() => data[&name] = Value::Null,
                    _ => {}
                }
            }
        }
        veil_note(shown, sent);
        Ok(hidden)
    }

    fn complete(&self, before: Option<&Value>, after: &mut Value) {
        // `kubectl create secret` says an empty one.
        if after["type"].is_null() || after["type"] == "" {
            let was = before.map(|before| before["type"].clone());
            after["type"] = was.unwrap_or_else(|| OPAQUE.into());
        }
        match &mut after["data"] {
            Value::Object(values) => values.retain(|_, value| !value.is_null()),
            data => *data = json!({}),
        }
    }

    fn kept_beside(&self, object: &Value) -> Labels {
        let said = object["type"].as_str().filter(|said| *said != OPAQUE);
        said.map(|said| (TYPE.to_owned(), said.to_owned())).into_iter().collect()
    }

    /// What was kept before values were taken out of it is not shown either.
    fn show_kept(&self, item: &mut Item) {
        let Some((marks, _)) = &mut item.marks else { return };
        if let Some(said) = marks.annotations.remove(TYPE) {
            item.body["type"] = said.into();
        }
        let none = Map::new();
        let shown = item.body["data"].as_object().unwrap_or(&none);
        let noted = marks.annotations.remove(LAST_APPLIED);
        let noted = noted.and_then(|noted| spec::veiled(&noted, shown));
        marks.annotations.extend(noted.map(|noted| (LAST_APPLIED.to_owned(), noted)));
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let secrets = of.folio.secrets(of.app).await?;
        let items = secrets.into_iter().map(|secret| {
            let keys = secret.keys.iter();
            let data: Map<String, Value> =
                keys.map(|(key, fingerprint)| (key.to_string(), stand_in(fingerprint))).collect();
            Item {
                changed_in: Some(secret.revision),
                created_at: Some(secret.version.created_at),
                ..Item::new(of.app, secret.name.as_str(), json!({ "type": OPAQUE, "data": data }))
            }
        });
        Ok(items.collect())
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        if !put.after["type"].is_string() {
            return Err(Status::invalid("type", "type: Invalid type: it is no text"));
        }
        let mut kept = BTreeSet::new();
        for (name, _) in entries(put.after, "data")? {
            kept.insert(parsed(name)?);
        }
        let was = put.before.and_then(|before| before.body["data"].as_object());
        let was = was.into_iter().flatten().map(|(name, _)| parsed(name));
        let mut unset = was.collect::<Result<BTreeSet<_>, _>>()?;
        unset.retain(|name| !kept.contains(name));
        let mut set = put.hidden.clone();
        set.retain(|name, _| kept.contains(name));
        let onto = if put.before.is_some() { Onto::Existing } else { Onto::Nothing };
        let key = UnitKey { app: put.app()?.clone(), kind: Kind::Secret, name: put.named()? };
        let seen = put.before.and_then(|before| before.changed_in);
        let fields = SecretFields { set, unset };
        let done = put.folio.set_secret(put.caller, &key, fields, (onto, seen)).await?;
        Ok(Made::told(put, &done))
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let key = unit(remove, Kind::Secret)?;
        remove.folio.delete_secret(remove.caller, &key, None).await?;
        Ok(())
    }
}

/// What is shown instead of a value.
fn stand_in(fingerprint: &Fingerprint) -> Value {
    BASE64.encode(fingerprint.to_string()).into()
}

fn parsed(name: &str) -> Result<SecretKey, Status> {
    name.parse().map_err(|error: SecretKeyError| wrong(name, error))
}

fn wrong(name: &str, what: impl std::fmt::Display) -> Status {
    Put::wrong("data", format_args!("\"{name}\": {what}"))
}

/// Refuses a part that is no map of texts. What a patch takes away is null.
fn refuse_odd(sent: &Map<String, Value>, part: &str) -> Result<(), Status> {
    let what = match sent.get(part) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(values)) => {
            let mut odd = values.iter().filter(|(_, value)| !value.is_string() && !value.is_null());
            let Some((name, _)) = odd.next() else { return Ok(()) };
            format!("the value of `{name}` is no text")
        }
        Some(_) => "it is no map of texts".to_owned(),
    };
    Err(Status::invalid(part, format!("{part}: Invalid type: {what}")))
}

/// Takes the values out of what kubectl notes of what it applies.
fn veil_note(shown: &Map<String, Value>, sent: &mut Map<String, Value>) {
    let mut now = shown.clone();
    let data = sent.get("data").and_then(Value::as_object).into_iter().flatten();
    now.extend(data.map(|(name, value)| (name.clone(), value.clone())));
    now.retain(|_, value| value.is_string());
    let annotations = sent.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    let Some(Value::Object(annotations)) = annotations else { return };
    if let Some(Value::String(noted)) = annotations.get(LAST_APPLIED) {
        match spec::veiled(noted, &now) {
            Some(noted) => annotations.insert(LAST_APPLIED.to_owned(), noted.into()),
            None => annotations.remove(LAST_APPLIED),
        };
    }
}
