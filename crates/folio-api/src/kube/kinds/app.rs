//! Apps: folio's own object, and the namespace that an app is to Kubernetes.

use async_trait::async_trait;
use folio_core::object::identity::identity;
use folio_core::request::Cascade;
use folio_model::{AppName, Labels, Right, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

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

    /// It is in no namespace.
    fn identity(&self, (kind, _): (&str, &AppName), object: &Value) -> Uuid {
        identity(&[kind, "", object["metadata"]["name"].as_str().unwrap_or_default()])
    }

    /// Its spec is the same for all.
    fn kept_beside(&self, _object: &Value) -> Labels {
        Labels::new()
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        Ok(vec![namespace(of.app, of.folio.app_made_at(of.app).await?)])
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        let app: AppName = put.named()?;
        match put.before {
            // An app is its name: all that can be changed is what is said about it.
            Some(_) => put.folio.mark(put.caller, &app).await?,
            None => drop(put.folio.create_app(put.caller, &app).await?),
        }
        Ok(Made::default())
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
