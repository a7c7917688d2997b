//! Configs and secrets under the names that Kubernetes has for them.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use folio_core::config::ConfigFields;
use folio_core::request::{Onto, Run};
use folio_core::secret::SecretFields;
use folio_core::{Caller, Folio};
use folio_model::{
    AppName, ConfigKey, ConfigKeyError, ConfigSpec, Fingerprint, NameError, UnitKey, text_of,
};
use serde_json::{Map, Value, json};

use super::status::Status;
use super::views::{self, Item};
use super::{Asked, body, by, checks};

/// The configs of an app.
pub(crate) async fn config_maps(folio: &Folio, app: &AppName) -> Result<Vec<Item>, Status> {
    let configs = folio.configs(app).await?;
    let items = configs.into_iter().map(|config| {
        let spec = ConfigSpec { values: config.values, ..ConfigSpec::default() };
        let leaves = spec.leaves().into_iter();
        let data: Map<String, Value> =
            leaves.map(|(key, value)| (key, text_of(value).into())).collect();
        Item {
            app: Some(app.clone()),
            name: config.name.to_string(),
            revision: config.revision,
            created_at: Some(config.version.created_at),
            labels: Vec::new(),
            body: json!({ "data": data }),
        }
    });
    Ok(items.collect())
}

/// The secrets of an app. Their values are sealed and never shown; their fingerprints stand in for them.
pub(crate) async fn secrets(folio: &Folio, app: &AppName) -> Result<Vec<Item>, Status> {
    let secrets = folio.secrets(app).await?;
    let items = secrets.into_iter().map(|secret| {
        let hidden =
            |fingerprint: &Fingerprint| Value::from(BASE64.encode(fingerprint.to_string()));
        let keys = secret.keys.iter();
        let data: Map<String, Value> =
            keys.map(|(key, fingerprint)| (key.to_string(), hidden(fingerprint))).collect();
        Item {
            app: Some(app.clone()),
            name: secret.name.to_string(),
            revision: secret.revision,
            created_at: Some(secret.version.created_at),
            labels: Vec::new(),
            body: json!({ "type": "Opaque", "data": data }),
        }
    });
    Ok(items.collect())
}

/// Makes an app.
pub(super) async fn create_namespace(asked: Asked) -> Result<Response, Status> {
    let object = body::object(&asked.parts.headers, &asked.bytes)?;
    let name = checks::name(&object)?.to_owned();
    checks::identity(&asked.target, &name, &object)?;
    let app: AppName = name.parse().map_err(|error: NameError| {
        Status::invalid(
            "metadata.name",
            format!("metadata.name: Invalid value: \"{name}\": {error}"),
        )
    })?;
    let mut caller = by(asked.caller, &asked.parts);
    caller.run = if asked.query.dry_run { Run::Dry } else { Run::Real };
    let about = |status: Status| status.about("", "namespaces", &name);
    let made = asked.folio.create_app(&caller, &app).await.map_err(|error| about(error.into()))?;
    let head = *asked.folio.head().borrow();
    let object = views::namespace(made.result, head).object(&asked.target);
    Ok((StatusCode::CREATED, Json(object)).into_response())
}

fn entries<'a>(object: &'a Value, of: &str) -> Result<Vec<(&'a str, &'a str)>, Status> {
    let mut found = Vec::new();
    for (key, value) in object[of].as_object().into_iter().flatten() {
        let text = value.as_str().ok_or_else(|| {
            Status::invalid(of, format!("{of}: Invalid value: the value of `{key}` is no text"))
        })?;
        found.push((key.as_str(), text));
    }
    Ok(found)
}

pub(super) async fn set_config(
    folio: &Folio,
    caller: &Caller,
    key: &UnitKey,
    object: &Value,
) -> Result<(), Status> {
    let mut set = BTreeMap::new();
    for (name, text) in entries(object, "data")? {
        let parsed: ConfigKey = name.parse().map_err(|error: ConfigKeyError| {
            Status::invalid("data", format!("data: Invalid value: \"{name}\": {error}"))
        })?;
        set.insert(parsed, text.into());
    }
    if object["binaryData"].as_object().is_some_and(|data| !data.is_empty()) {
        let what = "binaryData: Forbidden: a config holds texts; keep bytes in a Secret";
        return Err(Status::invalid("binaryData", what));
    }
    let fields = ConfigFields { set, unset: BTreeSet::new(), replace: true };
    folio.set_config(caller, key, fields, None).await?;
    Ok(())
}

/// Sets a secret. A value that is what was shown instead of it stays what it is.
pub(super) async fn set_secret(
    folio: &Folio,
    caller: &Caller,
    (key, before): (&UnitKey, Option<&Value>),
    object: &Value,
) -> Result<(), Status> {
    let wrong = |name: &str, what: String| {
        Status::invalid("data", format!("data: Invalid value: \"{name}\": {what}"))
    };
    let (mut set, mut kept) = (serde_json::Map::new(), BTreeSet::new());
    for (name, text) in entries(object, "data")? {
        kept.insert(name.to_owned());
        if before.is_some_and(|before| before["data"][name] == text) {
            continue;
        }
        BASE64.decode(text).map_err(|error| wrong(name, error.to_string()))?;
        set.insert(name.to_owned(), json!({ "base64": text }));
    }
    for (name, text) in entries(object, "stringData")? {
        kept.insert(name.to_owned());
        set.insert(name.to_owned(), text.into());
    }
    let shown = before.into_iter().flat_map(|before| before["data"].as_object()).flatten();
    let unset: Vec<_> = shown.map(|(name, _)| name).filter(|name| !kept.contains(*name)).collect();
    let fields = serde_json::from_value(json!({ "set": set, "unset": unset }));
    let fields: SecretFields = fields.map_err(|error| wrong("", error.to_string()))?;
    let onto = if before.is_some() { Onto::Existing } else { Onto::Nothing };
    folio.set_secret(caller, key, fields, (onto, None)).await?;
    Ok(())
}
