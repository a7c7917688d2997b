//! The archives that packages came from, byte for byte: which there are, and their bytes.

use std::collections::BTreeMap;

use folio_model::{AppName, Digest, Kind, Name, VersionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ports::{Page, State};
use crate::upload::{Download, Error};
use crate::{Folio, history};

/// An archive that packages came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArchiveView {
    /// Its SHA-256, which names it.
    pub id: Digest,
    /// The packages that came from it, by name.
    pub packages: Vec<ArchiveUse>,
}

/// A package that came from an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArchiveUse {
    /// The package.
    pub package: Name,
    /// Its version; none for its draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionId>,
}

impl Folio {
    /// Lists the archives that an app's packages came from, by digest.
    pub async fn archives(&self, app: &AppName) -> Result<Vec<ArchiveView>, history::Error> {
        let app = app.clone();
        self.look(move |state| archives(state, &app)).await
    }

    /// The bytes of an archive that a package of the app came from.
    pub async fn archive(&self, app: &AppName, id: Digest) -> Result<Download, Error> {
        let archives = self.archives(app).await?;
        if !archives.iter().any(|archive| archive.id == id) {
            return Err(Error::NoArchive { app: app.clone(), id });
        }
        self.stored(None, id).await
    }
}

fn archives(state: &dyn State, app: &AppName) -> Result<Vec<ArchiveView>, history::Error> {
    history::known(state, app)?;
    let mut found: BTreeMap<Digest, Vec<ArchiveUse>> = BTreeMap::new();
    for unit in state.units(app, Kind::Package)? {
        let mut add = |archive: Option<Digest>, version| {
            let package = unit.key.name.clone();
            if let Some(archive) = archive {
                found.entry(archive).or_default().push(ArchiveUse { package, version });
            }
        };
        for version in state.versions(unit.uid, Page::ALL)? {
            add(version.archive, Some(version.id));
        }
        add(unit.draft.as_ref().and_then(|draft| draft.archive), None);
    }
    let view = |(id, packages)| ArchiveView { id, packages };
    Ok(found.into_iter().map(view).collect())
}
