//! Bundles: one app version in one file, to be kept or brought to another server.
//!
//! A bundle holds what decides how the app behaves: every unit as it was in the app version, under the numbers and ids of
//! its versions, with aliases, tags and bytes. It holds nothing of how the app is run: no releases, plan, domains, jobs,
//! webhooks or canaries, and no value of a secret. Start at [`Folio::export_app`] and [`Folio::import_app`].

mod check;
mod entries;
mod gather;
mod import;
mod manifest;
mod nodes;

use std::sync::Arc;

use folio_model::{AppName, Kind, Name, Number, SecretKey, VersionId, canonical};
use futures::stream::{self, StreamExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::entries::Writer;
use self::manifest::Manifest;
use crate::history::{self, Moment};
use crate::ports::StoreError;
use crate::upload::Download;
use crate::{Class, Code, Explain, Folio, Referrer, app, folio, route, token};

pub use self::import::BrokenOff;

/// The bytes that are enough to tell whether a file is a bundle.
pub const START_BYTES: usize = 512;

/// Why an app version was not written or taken.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is something else.
    #[error("this is not a bundle of an app")]
    Unknown,
    /// It is not as it was written, or was never written by folio.
    #[error("the bundle is damaged: {what}")]
    Damaged {
        /// What is wrong with it.
        what: String,
    },
    /// It was written by a newer folio.
    #[error("the bundle has form {found}, and this folio reads forms up to {known}")]
    Newer {
        /// Its form.
        found: u32,
        /// The newest this program knows.
        known: u32,
    },
    /// There is too much of something.
    #[error("{found} {what} are more than the {max} allowed")]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// How much there was.
        found: u64,
        /// How much there may be.
        max: u64,
    },
    /// A version that the app version leads to is gone.
    #[error("{kind} `{name}` has no version {number} any more, to which the app version leads")]
    Lost {
        /// The unit's kind.
        kind: Kind,
        /// The unit's name.
        name: Name,
        /// The version.
        number: Number,
    },
    /// Its files were given back.
    #[error("files of app version `{0}` are no longer stored")]
    Swept(String),
    /// The app has something already.
    #[error("app `{app}` has {} already", units(.referrers))]
    Occupied {
        /// The app.
        app: AppName,
        /// What it has.
        referrers: Vec<Referrer>,
    },
    /// Functions read secrets that are not there.
    #[error("app `{app}` lacks secrets that its functions read: {}", secrets(.missing))]
    NoSecrets {
        /// The app.
        app: AppName,
        /// The secrets, with the keys that are missing.
        missing: Vec<(Name, Vec<SecretKey>)>,
    },
    /// A route takes what another app's takes.
    #[error(transparent)]
    Route(#[from] Box<route::Error>),
    /// The app could not be made.
    #[error(transparent)]
    App(#[from] app::Error),
    /// The app version was not found.
    #[error(transparent)]
    History(#[from] history::Error),
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

fn units(referrers: &[Referrer]) -> String {
    match referrers {
        [only] => format!("{} `{}`", only.kind, only.name),
        several => format!("{} units", several.len()),
    }
}

fn secrets(missing: &[(Name, Vec<SecretKey>)]) -> String {
    let each = missing.iter().map(|(name, keys)| {
        let keys: Vec<_> = keys.iter().map(SecretKey::as_str).collect();
        format!("`{name}` with {}", keys.join(", "))
    });
    each.collect::<Vec<_>>().join("; ")
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl From<token::Forbidden> for Error {
    fn from(error: token::Forbidden) -> Self {
        Self::Folio(error.into())
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::Unknown => Code("bundle_unknown"),
            Self::Damaged { .. } => Code("bundle_damaged"),
            Self::Newer { .. } => Code("bundle_newer"),
            Self::TooLarge { .. } => Code("bundle_too_large"),
            Self::Lost { .. } | Self::Swept(_) => Code("bundle_incomplete"),
            Self::Occupied { .. } => Code("app_not_empty"),
            Self::NoSecrets { .. } => Code("secrets_required"),
            Self::Route(error) => error.code(),
            Self::App(error) => error.code(),
            Self::History(error) => error.code(),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Unknown | Self::Damaged { .. } | Self::Newer { .. } => Class::Invalid,
            Self::TooLarge { .. } => Class::TooLarge,
            Self::Lost { .. } | Self::Swept(_) => Class::Gone,
            Self::Occupied { .. } | Self::NoSecrets { .. } => Class::Conflict,
            Self::Route(error) => error.class(),
            Self::App(error) => error.class(),
            Self::History(error) => error.class(),
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown => "`folio app export` writes one".to_owned(),
            Self::Damaged { .. } => {
                "copy it again from where it was exported; nothing was changed".to_owned()
            }
            Self::Newer { .. } => "import it with a newer folio".to_owned(),
            Self::TooLarge { .. } => {
                "have the operator raise the limit with `folio serve --limit`".to_owned()
            }
            Self::Lost { .. } => "export a newer app version".to_owned(),
            Self::Swept(_) => {
                "`folio gc` removed them after the grace period; export a newer app version"
                    .to_owned()
            }
            Self::Occupied { .. } => {
                "import it under another name with `--as NAME`; `folio app create` need not come first"
                    .to_owned()
            }
            Self::NoSecrets { app, missing } => {
                let (name, keys) = missing.first()?;
                let values = keys.iter().map(|key| format!(" --value {key}=..."));
                let make = format!("folio secret create {name}{}", values.collect::<String>());
                format!("`folio app create {app}` if there is none, then `{make} --app {app}`")
            }
            Self::Route(error) => return error.hint(),
            Self::App(error) => return error.hint(),
            Self::History(error) => return error.hint(),
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::Occupied { referrers, .. } => referrers.clone(),
            Self::NoSecrets { missing, .. } => {
                let referrer = |(name, _): &(Name, _)| Referrer {
                    kind: "secret".to_owned(),
                    name: name.to_string(),
                };
                missing.iter().map(referrer).collect()
            }
            Self::Route(error) => error.referrers(),
            _ => Vec::new(),
        }
    }
}

/// What a bundle became.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// The app it is now.
    pub app: AppName,
    /// Whether the app was made for it.
    pub created: bool,
    /// The app it was.
    pub from: AppName,
    /// The app version it was there.
    pub from_version: VersionId,
    /// Its units.
    pub units: u64,
    /// Their versions.
    pub versions: u64,
    /// Functions that read this app's secrets now, so that they are not quite what they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renewed: Vec<Name>,
    /// Functions and packages that wait until they are built here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Name>,
}

impl Folio {
    /// Writes an app version with everything it needs as one file. The same app version gives the same bytes, as long
    /// as no alias, tag or mark of the newest one moves.
    pub async fn export_app(&self, app: &AppName, moment: Moment) -> Result<Download, Error> {
        let of = app.clone();
        let manifest = self.look(move |state| gather::gather(state, &of, &moment)).await?;
        let blobs = self.blobs();
        let order = nodes::order(blobs.as_ref(), &manifest.roots()).await;
        let order = order.map_err(|error| match error {
            StoreError::MissingBlob { .. } => Error::Swept(manifest.app_version.id.to_string()),
            error => error.into(),
        })?;
        let mut writer = Writer::default();
        let start = writer.manifest(&canonical::encode(&manifest));
        let rest = stream::try_unfold(
            (blobs, Some(writer), order.into_iter()),
            async |(blobs, writer, mut order)| {
                let Some(mut writer) = writer else { return Ok(None) };
                let Some(digest) = order.next() else {
                    return Ok(Some((writer.end(), (blobs, None, order))));
                };
                let piece = writer.node(&Arc::clone(&blobs).get(digest).await?);
                Ok::<_, StoreError>(Some((piece, (blobs, Some(writer), order))))
            },
        );
        let name = format!("{app}-{}.tar", manifest.app_version.id);
        let content = stream::iter([Ok(start)]).chain(rest).boxed();
        Ok(Download { name: Some(name), digest: None, bytes: None, content })
    }
}

/// The app that a bundle is of, read from its beginning; none if that is no bundle, or not enough of it.
pub fn app_in(start: &[u8]) -> Option<AppName> {
    let (manifest, bytes) = entries::manifest_in(start)?;
    let manifest = Some(manifest).filter(|manifest| manifest.len() == bytes)?;
    serde_json::from_slice::<Manifest>(manifest).ok().map(|manifest| manifest.app)
}

/// How many bytes of a bundle [`app_in`] has to see, read from the first [`START_BYTES`].
pub fn manifest_bytes(start: &[u8]) -> Option<usize> {
    entries::manifest_in(start).map(|(_, bytes)| START_BYTES.saturating_add(bytes))
}
