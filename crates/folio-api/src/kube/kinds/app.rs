//! Apps: folio's own object, and the namespace that an app is to Kubernetes.

use async_trait::async_trait;
use folio_core::request::Cascade;
use folio_kinds::spec::LAST_APPLIED;
use folio_model::{AppName, Right, Timestamp};
use serde_json::json;

use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column};

/// The label that Kubernetes gives every namespace.
const OWN_LABEL: &str = "kubernetes.io/metadata.name";

/// `App` of `folio.dev`.
#[derive(Debug)]
pub(crate) struct Apps;

/// `Namespace`.
#[derive(Debug)]
pub(crate) struct Namespaces;

#[async_trait]
impl Mapping for Apps {
    fn columns(&self) -> Vec<Column> {
        vec![
            column("Version", &["/spec/appVersion"]),
            column("Latest", &["/status/latest"]),
            column("Live", &["/status/live"]),
            AGE,
        ]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let summary = of.folio.show_app(of.app).await?;
        let mut spec = json!({});
        if let Some(newest) = &summary.newest {
            spec["appVersion"] = newest.as_str().into();
        }
        let status = json!({ "latest": summary.latest, "live": summary.live });
        let body = json!({ "spec": spec, "status": status });
        Ok(vec![Item {
            created_at: of.folio.app_made_at(of.app).await?,
            ..Item::new(of.app, of.app.as_str(), body)
        }])
    }
}

#[async_trait]
impl Mapping for Namespaces {
    fn verbs(&self) -> &'static [&'static str] {
        &["create", "delete", "get", "list", "patch", "update", "watch"]
    }

    fn columns(&self) -> Vec<Column> {
        vec![column("Status", &["/status/phase"]), AGE]
    }

    fn needs(&self, _verb: &str) -> Right {
        Right::Administer
    }

    fn is_namespaced(&self) -> bool {
        false
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        Ok(vec![namespace(of.app, of.folio.app_made_at(of.app).await?)])
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        // An app is its name: there is nothing of it to change, and what is said about it is not kept.
        if put.before.is_none() {
            let app: AppName = put.named()?;
            put.folio.create_app(put.caller, &app).await?;
        }
        let lost = lost(put);
        let warnings = (!lost.is_empty()).then(|| {
            format!(
                "labels and annotations of a namespace are not kept, as an app has none: {}",
                lost.join(", ")
            )
        });
        Ok(Made { warnings: warnings.into_iter().collect(), ..Made::default() })
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let name = &remove.found.name;
        let app: AppName = name.parse().map_err(|_| remove.target.not_found(name))?;
        remove.folio.delete_app(remove.caller, &app, Cascade::Yes).await?;
        Ok(())
    }
}

fn namespace(app: &AppName, created_at: Option<Timestamp>) -> Item {
    let body = json!({ "spec": { "finalizers": [] }, "status": { "phase": "Active" } });
    let labels = vec![(OWN_LABEL, app.to_string())];
    Item { app: None, labels, created_at, ..Item::new(app, app.as_str(), body) }
}

/// The labels and annotations that somebody says of a namespace. What kubectl notes for itself is not said.
fn lost(put: &Put<'_>) -> Vec<String> {
    let said = |of: &str| put.after["metadata"][of].as_object().into_iter().flatten();
    let labels = said("labels").filter(|(key, value)| *key != OWN_LABEL || *value != put.name);
    let annotations = said("annotations").filter(|(key, _)| *key != LAST_APPLIED);
    labels.chain(annotations).map(|(key, _)| key.clone()).collect()
}
