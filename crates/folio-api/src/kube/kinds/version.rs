//! Published versions of functions and packages, to be read and deleted; what was published is never edited.

use async_trait::async_trait;
use folio_core::ports::Page;
use folio_core::request::Which;
use folio_core::view::{UnitView, VersionView};
use folio_kinds::{FISSION_VERSION, Manifest, mapping};
use folio_model::{Kind, Qualifier, Snapshot, UnitKey};
use serde_json::{Value, json};

use crate::kube::mapping::{Item, Listing, Mapping, Remove};
use crate::kube::object::written;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column, wide};

/// `FunctionVersion` and `PackageVersion`.
#[derive(Debug)]
pub(crate) struct Versions(pub(crate) Kind);

#[async_trait]
impl Mapping for Versions {
    fn verbs(&self) -> &'static [&'static str] {
        &["delete", "deletecollection", "get", "list", "watch"]
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            column("Of", &["/spec/function", "/spec/functionName", "/spec/package"]),
            column("Number", &["/spec/number", "/spec/sequence"]),
            column("Build", &["/status/buildstatus"]),
            column("By", &["/spec/createdBy", "/status/createdBy"]),
            AGE,
            wide("Description", &["/spec/description", "/status/description"]),
        ]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let mut items = Vec::new();
        for unit in of.folio.list(of.app, self.0).await? {
            for version in of.folio.versions(&key(of, &unit), Page::ALL).await? {
                items.push(item(of, &unit, &version));
            }
        }
        Ok(items)
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let (found, target) = (remove.found, remove.target);
        let missing = || target.not_found(&found.name);
        let unit = found.labels.iter().find(|(key, _)| *key == self.0.as_str());
        let unit = unit.map(|(_, name)| name.as_str()).ok_or_else(missing)?;
        let id = found.name.strip_prefix(unit).and_then(|rest| rest.strip_prefix('-'));
        let id = id.and_then(|id| id.parse().ok()).ok_or_else(missing)?;
        let name = unit.parse().map_err(|_| missing())?;
        let key = UnitKey { app: target.app()?.clone(), kind: self.0, name };
        let which = Which::One(Qualifier::Named(id));
        remove.folio.delete_versions(remove.caller, &key, which, None).await?;
        Ok(())
    }
}

pub(super) fn key(of: &Listing<'_>, unit: &UnitView) -> UnitKey {
    UnitKey { app: of.app.clone(), kind: unit.kind, name: unit.name.clone() }
}

fn item(of: &Listing<'_>, unit: &UnitView, version: &VersionView) -> Item {
    let (kind, name) = (unit.kind.as_str(), unit.name.to_string());
    let mut status = json!({ "buildstatus": version.build, "latest": version.latest });
    let spec = if of.target.resource.group == "fission.io" {
        status["createdBy"] = json!(version.created_by);
        status["description"] = version.description.as_str().into();
        in_fissions_words(unit, version)
    } else {
        let mut spec = json!({
            "number": version.number, "id": version.id, "snapshot": version.digest,
            "createdAt": written(version.created_at), "createdBy": version.created_by,
        });
        spec[kind] = name.clone().into();
        if !version.description.is_empty() {
            spec["description"] = version.description.as_str().into();
        }
        spec
    };
    Item {
        changed_in: Some(unit.revision),
        created_at: Some(version.created_at),
        labels: vec![(kind, name.clone())],
        ..Item::new(
            of.app,
            format!("{name}-{}", version.id),
            json!({ "spec": spec, "status": status }),
        )
    }
}

/// A version as Fission writes it, with the spec of its function.
fn in_fissions_words(unit: &UnitView, version: &VersionView) -> Value {
    let stored = mapping::stored(&version.spec, &version.name).ok();
    let manifest = stored.and_then(|stored| Manifest::of(stored, FISSION_VERSION).ok());
    let snapshot = manifest.map_or_else(|| json!({}), |found| found.as_value()["spec"].clone());
    let code = match &version.spec {
        Snapshot::Function(spec) => spec.package.snapshot.to_string(),
        _ => String::new(),
    };
    json!({
        "functionName": version.name, "functionUID": unit.uid, "functionGeneration": version.number,
        "sequence": version.number, "snapshot": snapshot, "packageDigest": code,
        "publishedAt": written(version.created_at),
    })
}
