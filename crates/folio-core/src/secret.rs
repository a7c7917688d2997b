//! Secrets: values that only code reads.
//!
//! They are sealed before any rule runs, and no verb, view, error or log tells one: people see fingerprints. Every
//! change of a secret is a version, and gives the functions that name it one too; what is published keeps what it
//! froze.

use std::collections::{BTreeMap, BTreeSet};

use folio_model::{
    AppName, Edit, Fingerprint, Kind, Name, Sealed, SecretKey, SecretSpec, Snapshot, Unit, UnitKey,
    canonical,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::builder::Builder;
use crate::ports::{Page, Plaintext, SecretPlace, State, StoreError, Vault};
use crate::request::{Caller, Onto};
use crate::settings::{self, Error, Renewed, SettingRemoved, Users};
use crate::view::{self, Done, VersionView};
use crate::{Folio, history};

/// What a command does to a secret.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SecretFields {
    /// Values to set, by key: each a text, or bytes as `{"base64": …}`.
    pub set: BTreeMap<SecretKey, Plaintext>,
    /// Keys to remove.
    pub unset: BTreeSet<SecretKey>,
}

/// One secret as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretView {
    /// The app.
    pub app: AppName,
    /// Its name.
    pub name: Name,
    /// Changes whenever it does.
    pub revision: u64,
    /// Its latest version.
    pub version: VersionView,
    /// The fingerprint of each value: it changes exactly when the value does, and tells nothing else.
    pub keys: BTreeMap<SecretKey, Fingerprint>,
}

/// A secret that was set, and who got it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretSet {
    /// The secret.
    #[serde(flatten)]
    pub secret: SecretView,
    /// The functions that name it and were given a new version or draft.
    #[serde(flatten)]
    pub users: Users,
}

/// What decides the outcome of a request, without its values.
#[derive(Serialize)]
struct Request<'a> {
    key: &'a UnitKey,
    set: &'a BTreeMap<SecretKey, Sealed>,
    unset: &'a BTreeSet<SecretKey>,
    create: bool,
    expect: Option<u64>,
}

impl Folio {
    /// Makes a secret, or sets and removes values of one, as one new version, and gives one to each function that
    /// names it. Changes nothing if it is so already.
    pub async fn set_secret(
        &self,
        caller: &Caller,
        key: &UnitKey,
        fields: SecretFields,
        (onto, expect): (Onto, Option<u64>),
    ) -> Result<Done<SecretSet>, Error> {
        let key = settings::key(&key.app, Kind::Secret, &key.name);
        let SecretFields { set: values, unset } = fields;
        let seal = |(name, value): (SecretKey, Plaintext)| {
            let place = SecretPlace { app: &key.app, secret: &key.name, key: &name };
            let sealed = self.vault.seal(place, &value)?;
            Ok::<_, Error>((name, sealed))
        };
        let given = values.into_iter().map(seal).collect::<Result<BTreeMap<_, _>, _>>()?;
        let create = onto == Onto::Nothing;
        let request = Request { key: &key, set: &given, unset: &unset, create, expect };
        let caller = with_request(caller, &request);
        let app = key.app.clone();
        self.commit(&caller, &app, move |builder| {
            let unit = builder.state.unit(&key)?.filter(Unit::is_visible);
            settings::check(builder.state, (&key, unit.as_ref()), Some(onto), expect)?;
            let base = match &unit {
                Some(unit) => Some(latest(builder.state, unit)?),
                None => None,
            };
            let spec = lay_over(&key, base.clone(), (&given, &unset))?;
            if let Some(unit) = unit.as_ref().filter(|_| base.as_ref() == Some(&spec)) {
                let secret = seen(builder.state, unit)?;
                return Ok(SecretSet { secret, users: Users::default() });
            }
            let verb = if unit.is_some() { "change" } else { "create" };
            builder.say(format!("{verb} secret {}", key.name));
            publish(builder, (&key, &key), spec)
        })
        .await
    }

    /// What stands for a value of a secret wherever people look. Nothing is kept of it.
    pub fn fingerprint(
        &self,
        key: &UnitKey,
        name: &SecretKey,
        value: &Plaintext,
    ) -> Result<Fingerprint, Error> {
        Ok(self.vault.seal(place(key, name), value)?.fingerprint)
    }

    /// Gives a secret another name, and a new version to each function that names it. What is published keeps the
    /// name it froze.
    pub async fn rename_secret(
        &self,
        caller: &Caller,
        key: &UnitKey,
        to: &Name,
        expect: Option<u64>,
    ) -> Result<Done<SecretSet>, Error> {
        let key = settings::key(&key.app, Kind::Secret, &key.name);
        let new = settings::key(&key.app, Kind::Secret, to);
        let (app, vault) = (key.app.clone(), self.vault.clone());
        self.commit(caller, &app, move |builder| {
            let unit = builder.state.unit(&key)?.filter(Unit::is_visible);
            let occupant = builder.state.unit(&new)?.filter(Unit::is_visible);
            settings::check(builder.state, (&new, occupant.as_ref()), Some(Onto::Nothing), None)?;
            settings::check(builder.state, (&key, unit.as_ref()), Some(Onto::Existing), expect)?;
            let unit = unit.expect("it was just checked");
            let spec = latest(builder.state, &unit)?;
            let spec = moved(vault.as_ref(), &key, &new, spec)?;
            for version in builder.state.versions(unit.uid, Page::ALL)? {
                builder.push(Edit::DeleteVersion { uid: unit.uid, version })?;
            }
            builder.push(Edit::DeleteUnit { uid: unit.uid, key: key.clone() })?;
            builder.say(format!("rename secret {} to {}", key.name, new.name));
            publish(builder, (&key, &new), spec)
        })
        .await
    }

    /// Lists an app's secrets by name.
    pub async fn secrets(&self, app: &AppName) -> Result<Vec<SecretView>, Error> {
        let app = app.clone();
        self.look(move |state| {
            history::known(state, &app)?;
            let units = state.units(&app, Kind::Secret)?;
            let made = units.iter().filter(|unit| unit.is_visible());
            Ok(made.map(|unit| seen(state, unit)).collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Shows one secret.
    pub async fn show_secret(&self, key: &UnitKey) -> Result<SecretView, Error> {
        let key = settings::key(&key.app, Kind::Secret, &key.name);
        self.look(move |state| {
            history::known(state, &key.app)?;
            match state.unit(&key)?.filter(Unit::is_visible) {
                Some(unit) => Ok(seen(state, &unit)?),
                None => Err(settings::not_found(state, &key)?.into()),
            }
        })
        .await
    }

    /// Deletes a secret. What froze it keeps it.
    pub async fn delete_secret(
        &self,
        caller: &Caller,
        key: &UnitKey,
        expect: Option<u64>,
    ) -> Result<Done<SettingRemoved>, Error> {
        let key = settings::key(&key.app, Kind::Secret, &key.name);
        self.remove_setting(caller, &key, expect).await
    }

    /// Tries whether the vault opens what was sealed, so that a wrong or missing key is noticed before anybody
    /// calls a function.
    pub async fn check_secrets(&self) -> Result<(), Error> {
        let vault = self.vault.clone();
        self.look(move |state| {
            let Some((key, digest)) = state.some_secret()? else { return Ok(()) };
            let spec = spec(state, digest)?;
            for (name, sealed) in spec.keys.iter().take(1) {
                vault.open(place(&key, name), sealed)?;
            }
            Ok(())
        })
        .await
    }
}

/// The caller with a request that is recognised by what is sealed: a plain digest of a value would let whoever
/// reads the store guess it.
fn with_request(caller: &Caller, request: &Request<'_>) -> Caller {
    let mut caller = caller.clone();
    if let Some(repeat) = &mut caller.repeat {
        repeat.request = canonical::digest(request);
    }
    caller
}

fn place<'a>(key: &'a UnitKey, name: &'a SecretKey) -> SecretPlace<'a> {
    SecretPlace { app: &key.app, secret: &key.name, key: name }
}

fn lay_over(
    key: &UnitKey,
    base: Option<SecretSpec>,
    (given, unset): (&BTreeMap<SecretKey, Sealed>, &BTreeSet<SecretKey>),
) -> Result<SecretSpec, Error> {
    let mut spec = base.unwrap_or_default();
    for unset in unset {
        if spec.keys.remove(unset).is_none() {
            return Err(Error::NoKey {
                kind: Kind::Secret,
                name: key.name.clone(),
                key: unset.to_string(),
                known: spec.keys.keys().map(SecretKey::to_string).collect(),
            });
        }
    }
    spec.keys.extend(given.clone());
    Ok(spec)
}

/// The values of a secret, sealed for another name.
fn moved(
    vault: &dyn Vault,
    from: &UnitKey,
    to: &UnitKey,
    spec: SecretSpec,
) -> Result<SecretSpec, Error> {
    let seal = |(name, sealed): (SecretKey, Sealed)| {
        let value = vault.open(place(from, &name), &sealed)?;
        let sealed = vault.seal(place(to, &name), &value)?;
        Ok::<_, Error>((name, sealed))
    };
    let keys = spec.keys.into_iter().map(seal).collect::<Result<_, _>>()?;
    Ok(SecretSpec { keys, bag: spec.bag })
}

/// Publishes a secret under its name, for those that name it by the one it had.
fn publish(
    builder: &mut Builder<'_>,
    (from, to): (&UnitKey, &UnitKey),
    spec: SecretSpec,
) -> Result<SecretSet, Error> {
    let keys = fingerprints(&spec);
    let version = settings::publish(builder, to, &Snapshot::Secret(spec))?;
    let description = format!("secret {} version {}", to.name, version.number);
    let snapshot = version.digest;
    let renewed = Renewed { name: &to.name, snapshot, description: &description };
    let users = settings::renew(builder, from, &renewed)?;
    let secret = SecretView {
        app: to.app.clone(),
        name: to.name.clone(),
        revision: builder.state.head()? + 1,
        version,
        keys,
    };
    Ok(SecretSet { secret, users })
}

fn seen(state: &dyn State, unit: &Unit) -> Result<SecretView, StoreError> {
    let (version, _) = settings::latest(state, unit)?;
    Ok(SecretView {
        app: unit.key.app.clone(),
        name: unit.key.name.clone(),
        revision: unit.revision,
        version: view::version(state, unit, version)?,
        keys: fingerprints(&latest(state, unit)?),
    })
}

fn fingerprints(spec: &SecretSpec) -> BTreeMap<SecretKey, Fingerprint> {
    spec.keys.iter().map(|(name, one)| (name.clone(), one.fingerprint.clone())).collect()
}

pub(crate) fn latest(state: &dyn State, unit: &Unit) -> Result<SecretSpec, StoreError> {
    let (version, _) = settings::latest(state, unit)?;
    spec(state, version.snapshot)
}

fn spec(state: &dyn State, digest: folio_model::Digest) -> Result<SecretSpec, StoreError> {
    match view::snapshot(state, digest)? {
        Snapshot::Secret(spec) => Ok(spec),
        _ => Err(StoreError::corrupt(format!("secret snapshot {digest}"))),
    }
}
